#include "tests/ps/core/intent/managed_row.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace attune::ps {
namespace {

// What getting from one state to another costs: a copy for each new replica or owner, half of one for the way back.
double CostOfChange(const ManagedJob& job, const RowHolders& before, const RowHolders& after) {
  double copies = 0;
  if (after.owner != before.owner) {
    if (after.owner == RowHolders::kHome) copies += 0.5;
    if (after.owner != RowHolders::kHome && !before.replicas[after.owner]) copies += 1;
  }
  for (uint32_t node = 0; node < job.nodes; ++node) {
    if (after.replicas[node] && !before.replicas[node] && node != before.owner) copies += 1;
  }
  return copies * job.copy();
}

// What the uses of one slot cost.
double CostOfSlot(const ManagedJob& job, const RowHolders& row, std::span<const SlotUse> uses) {
  double copies = 0;
  double remotes = 0;
  const auto writers = std::ranges::count_if(uses, [](const SlotUse& use) { return use.writes > 0; });
  if (row.owner != RowHolders::kHome) {
    for (const SlotUse& use : uses) {
      if (use.node != row.owner) remotes += 2 * (use.reads + use.writes);
    }
    return (writers > 0 && job.is_guarded ? job.copy() : 0) + remotes * job.remote();
  }
  for (const SlotUse& use : uses) {
    if (!row.replicas[use.node]) remotes += use.reads + use.writes;
    if (row.replicas[use.node] && use.writes > 0) copies += 1;
  }
  for (uint32_t node = 0; node < job.nodes && writers > 0; ++node) {
    if (!row.replicas[node]) continue;
    const bool others = std::ranges::any_of(uses, [&](const SlotUse& u) { return u.writes > 0 && u.node != node; });
    if (others) copies += 1;
  }
  return copies * job.copy() + remotes * job.remote();
}

// The slots in which a use comes within the look-ahead, happens, or has happened.
std::vector<uint32_t> EventsOf(const ManagedJob& job, const UseTrace& trace) {
  std::vector<uint32_t> slots;
  for (const SlotUse& use : trace) {
    slots.push_back(use.slot + 1 - std::min(use.slot + 1, job.look_ahead));
    slots.push_back(use.slot);
    slots.push_back(use.slot + 1);
  }
  std::ranges::sort(slots);
  slots.erase(std::ranges::unique(slots).begin(), slots.end());
  return slots;
}

// What nodes have announced, as slots pass.
class Announcements {
 public:
  Announcements(const ManagedJob& job, const UseTrace& trace) : job_(job), trace_(trace), nodes_(job.nodes) {}

  void Advance(uint32_t slot) {
    for (; next_ < trace_.size() && trace_[next_].slot < slot + job_.look_ahead; ++next_) {
      const SlotUse& use = trace_[next_];
      NodeView& node = nodes_[use.node];
      node.use.reads += use.reads;
      node.use.writes += use.writes;
      node.touches += use.touches();
      node.until = use.slot + 1;
    }
    for (; first_ < trace_.size() && trace_[first_].slot < slot; ++first_) {
      const SlotUse& use = trace_[first_];
      NodeView& node = nodes_[use.node];
      node.use.reads -= use.reads;
      node.use.writes -= use.writes;
      node.touches -= use.touches();
    }
  }
  std::span<const SlotUse> UsesIn(uint32_t slot) const {
    size_t end = first_;
    while (end < trace_.size() && trace_[end].slot == slot) ++end;
    return std::span(trace_).subspan(first_, end - first_);
  }
  void CountRefreshes(std::span<const SlotUse> uses) {
    const bool is_written = std::ranges::any_of(uses, [](const SlotUse& use) { return use.writes > 0; });
    for (NodeView& node : nodes_) {
      if (!is_written) break;
      ++node.refreshes_since_use;
    }
    for (const SlotUse& use : uses) nodes_[use.node].refreshes_since_use = 0;
  }
  std::span<const NodeView> nodes() const { return nodes_; }

 private:
  const ManagedJob& job_;
  const UseTrace& trace_;
  std::vector<NodeView> nodes_;
  size_t first_ = 0;  // not passed
  size_t next_ = 0;   // not within the look-ahead
};

std::vector<uint32_t> Announced(std::span<const NodeView> nodes) {
  std::vector<uint32_t> found;
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].touches > 0) found.push_back(node);
  }
  return found;
}

void SetReplicas(std::span<const uint32_t> nodes, RowHolders& row) {
  row.owner = RowHolders::kHome;
  row.replicas.assign(row.replicas.size(), false);
  for (const uint32_t node : nodes) row.replicas[node] = true;
}

void SetOwner(uint32_t node, RowHolders& row) {
  row.replicas.assign(row.replicas.size(), false);
  row.owner = node;
}

// All states of a job of few nodes: the home with any replicas, then each owner.
std::vector<RowHolders> AllStates(uint32_t nodes) {
  std::vector<RowHolders> states;
  for (uint32_t set = 0; set < (1U << nodes); ++set) {
    RowHolders state{.replicas = std::vector<bool>(nodes)};
    for (uint32_t node = 0; node < nodes; ++node) state.replicas[node] = ((set >> node) & 1) != 0;
    states.push_back(state);
  }
  for (uint32_t node = 0; node < nodes; ++node) {
    states.push_back({.owner = node, .replicas = std::vector<bool>(nodes)});
  }
  return states;
}

}  // namespace

void LeaveAlone(const ManagedJob&, std::span<const NodeView>, uint32_t, RowHolders&) {}

void ReplicateAnnounced(const ManagedJob&, std::span<const NodeView> nodes, uint32_t, RowHolders& row) {
  SetReplicas(Announced(nodes), row);
}

void MoveAnnounced(const ManagedJob&, std::span<const NodeView> nodes, uint32_t, RowHolders& row) {
  const std::vector<uint32_t> announced = Announced(nodes);
  if (announced.empty() || std::ranges::count(announced, row.owner) > 0) return;
  SetOwner(*std::ranges::max_element(announced, {}, [&](uint32_t node) { return nodes[node].touches; }), row);
}

void MoveOrReplicate(const ManagedJob&, std::span<const NodeView> nodes, uint32_t, RowHolders& row) {
  const std::vector<uint32_t> announced = Announced(nodes);
  if (announced.empty()) {
    if (row.owner == RowHolders::kHome) SetReplicas({}, row);
  } else if (announced.size() == 1) {
    SetOwner(announced.front(), row);
  } else {
    SetReplicas(announced, row);
  }
}

void DecideByCost(const ManagedJob& job, std::span<const NodeView> nodes, uint32_t slot, RowHolders& row) {
  std::vector<RowInterest> interests;
  for (uint32_t node = 0; node < job.nodes; ++node) {
    const RowPlace place = row.owner == node    ? RowPlace::kOwned
                           : row.replicas[node] ? RowPlace::kReplicated
                                                : RowPlace::kLeft;
    const bool is_announced = nodes[node].touches >= 2 || (nodes[node].touches > 0 && place != RowPlace::kLeft);
    if (!is_announced && place == RowPlace::kLeft) continue;
    interests.push_back({.node = NodeId(node + 1),
                         .use = is_announced ? nodes[node].use : RowUse{},
                         .seconds = is_announced ? (nodes[node].until - slot) * job.slot_seconds : 0,
                         .place = place,
                         .refreshes_since_use = nodes[node].refreshes_since_use});
  }
  DecideRow(interests, job.row, {}, AccessCosts{.flushes_per_second = 1 / job.slot_seconds});
  SetReplicas({}, row);
  for (const RowInterest& interest : interests) {
    const uint32_t node = interest.node.value() - 1;
    if (interest.place == RowPlace::kOwned) row.owner = node;
    row.replicas[node] = interest.place == RowPlace::kReplicated;
  }
}

double CostOf(const ManagedJob& job, const UseTrace& trace, ManagementRule rule) {
  Announcements announcements(job, trace);
  RowHolders row{.replicas = std::vector<bool>(job.nodes)};
  double cost = 0;
  for (const uint32_t slot : EventsOf(job, trace)) {
    announcements.Advance(slot);
    const RowHolders before = row;
    rule(job, announcements.nodes(), slot, row);
    cost += CostOfChange(job, before, row);
    const std::span<const SlotUse> uses = announcements.UsesIn(slot);
    cost += CostOfSlot(job, row, uses);
    announcements.CountRefreshes(uses);
  }
  return cost;
}

double LeastCost(const ManagedJob& job, const UseTrace& trace) {
  ATTUNE_CHECK(job.nodes <= 4) << job.nodes << " nodes have too many states";
  const std::vector<RowHolders> states = AllStates(job.nodes);
  std::vector<std::vector<double>> change(states.size(), std::vector<double>(states.size()));
  for (size_t from = 0; from < states.size(); ++from) {
    for (size_t to = 0; to < states.size(); ++to) change[from][to] = CostOfChange(job, states[from], states[to]);
  }
  std::vector<double> least = change[0];  // the first state: no node has anything
  for (size_t first = 0; first < trace.size();) {
    size_t end = first;
    while (end < trace.size() && trace[end].slot == trace[first].slot) ++end;
    std::vector<double> next(states.size(), std::numeric_limits<double>::infinity());
    for (size_t to = 0; to < states.size(); ++to) {
      for (size_t from = 0; from < states.size(); ++from) next[to] = std::min(next[to], least[from] + change[from][to]);
      next[to] += CostOfSlot(job, states[to], std::span(trace).subspan(first, end - first));
    }
    least = std::move(next);
    first = end;
  }
  return *std::ranges::min_element(least);
}

}  // namespace attune::ps
