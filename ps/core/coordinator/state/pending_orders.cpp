#include "ps/core/coordinator/state/pending_orders.h"

#include <algorithm>

namespace attune::ps {
namespace {

std::vector<CommandId> IdsOf(const auto& orders) {
  std::vector<CommandId> ids;
  for (const auto& order : orders) ids.push_back(order.id);
  return ids;
}

}  // namespace

// --- switches

std::vector<CommandId> SwitchOrders::AbandonAll() { return IdsOf(std::exchange(orders_, {})); }

SwitchOrders::Done SwitchOrders::Late(const Order& order, ClockBoard& clocks,
                                      const std::function<std::string(NodeId)>& name) {
  std::string text = "switching to " + ToString(order.mode) + ": ";
  if (order.begun) {
    const std::vector<NodeId> missing = clocks.Missing();
    text += missing.empty() ? "no time left" : name(missing.front()) + " has not answered";
    clocks.Release();
  } else {
    text += "the switch before has not reached all workers";
  }
  return {.result = {.id = order.id, .status = Error(StatusCode::kDeadlineExceeded, text), .text = {}},
          .event = text + "; " + ToString(clocks.mode()) + " continues"};
}

std::optional<SwitchOrders::Done> SwitchOrders::Continue(MonotonicTime now, ClockBoard& clocks, bool may_begin,
                                                         const std::function<std::string(NodeId)>& name,
                                                         bool trusts_workers) {
  if (orders_.empty()) return std::nullopt;
  Order& order = orders_.front();
  const auto end = [&](Done done) {
    orders_.pop_front();
    return done;
  };
  if (!order.begun && order.mode == clocks.mode()) {
    return end(
        {.result = {.id = order.id, .status = OkStatus(), .text = ToString(order.mode) + " already"}, .event = {}});
  }
  if (now >= order.deadline) return end(Late(order, clocks, name));
  if (!order.begun) {
    if (!may_begin || !clocks.CanPrepare()) return std::nullopt;
    clocks.Prepare();
    order.begun = true;
    if (!clocks.AllPromised()) return std::nullopt;  // else there is no worker
  } else if (!clocks.AllPromised() && !trusts_workers) {
    return std::nullopt;
  }
  const uint64_t from = clocks.hold_at();
  clocks.Switch(order.mode);
  const std::string text = ToString(order.mode) + " from step " + std::to_string(from) + " on";
  return end({.result = {.id = order.id, .status = OkStatus(), .text = text}, .event = "synchronization: " + text});
}

// --- placement

bool PlacementOrders::HasCount() const {
  return std::ranges::any_of(orders_, [](const Order& order) { return order.leaving == NodeId(); });
}

std::vector<CommandResult> PlacementOrders::TakeAnswered(MonotonicTime now, bool acts, const Servers& servers,
                                                         const std::function<bool(NodeId)>& is_here) {
  std::vector<CommandResult> results;
  const std::string staying = std::to_string(servers.staying);
  const bool as_wanted = settled_ && !servers.any_leaves && servers.staying == servers_wanted_;
  std::erase_if(orders_, [&](const Order& order) {
    const bool drains = order.leaving != NodeId();
    if (acts && drains && !is_here(order.leaving)) {
      results.push_back({.id = order.id, .status = OkStatus(), .text = "drained"});
    } else if (acts && !drains && as_wanted) {
      results.push_back({.id = order.id, .status = OkStatus(), .text = staying + " servers share the shards evenly"});
    } else if (now >= order.deadline) {
      const std::string text = std::to_string(shards_to_change_) + " shards are still to change, " + staying + " of " +
                               std::to_string(servers_wanted_) + " servers are here" + servers.apart + "; it continues";
      results.push_back({.id = order.id, .status = Error(StatusCode::kDeadlineExceeded, text), .text = {}});
    } else {
      return false;
    }
    return true;
  });
  return results;
}

std::vector<CommandId> PlacementOrders::AbandonAll() { return IdsOf(std::exchange(orders_, {})); }

// --- processes that are gone

std::vector<CommandResult> GoneOrders::TakeAnswered(MonotonicTime now, MapVersion newest, bool may_act,
                                                    const std::function<bool(const NodeGone&)>& has_part,
                                                    const std::function<bool(MapVersion)>& is_known) {
  std::vector<CommandResult> results;
  std::erase_if(orders_, [&](Order& order) {
    const bool is_a_server = order.process.role == Role::kServer && order.process.pod != 0;
    bool has_an_effect_to_come = !may_act || (is_a_server && has_part(order.process));
    if (has_an_effect_to_come) {
      order.done_by = {};
    } else if (is_a_server) {
      if (order.done_by == MapVersion()) order.done_by = newest;
      has_an_effect_to_come = !is_known(order.done_by);
    }
    if (has_an_effect_to_come && now < order.deadline) return false;
    const Status late = Error(StatusCode::kDeadlineExceeded, "the servers have not agreed on it yet; ask again");
    results.push_back({.id = order.id, .status = has_an_effect_to_come ? late : OkStatus(), .text = {}});
    return true;
  });
  return results;
}

std::vector<CommandId> GoneOrders::AbandonAll() { return IdsOf(std::exchange(orders_, {})); }

}  // namespace attune::ps
