// The copy of what only the coordinator knows, at another server. One copy is in progress at a time, and it holds
// everything, so nothing is merged; answers wait for the copy that knows what they tell.
//
// No server keeps an older one: should the coordinator be lost together with the copy, its successor would take the
// older one for the newest, and hand out again what has been done since. So when the copy has moved, a map says from
// which number on copies count, and answers wait, too, until all who had an older one have that map.
#include <algorithm>
#include <tuple>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

// Empty: not known.
std::string CoordinatorCore::MachineOfHost() const {
  const auto is_host = [&](const auto& entry) {
    return entry.second.member.role == Role::kServer && entry.second.member.index == options_.host_index;
  };
  const auto host = std::ranges::find_if(nodes_, is_host);
  return host == nodes_.end() ? "" : host->second.member.machine;
}

// The first other server by index that every majority counts which may decide for the next coordinator; one on this
// machine, which may be lost as a whole, and one that leaves only when there is no other. Of a server that has just
// joined a successor may not have heard.
const CoordinatorCore::Node* CoordinatorCore::MirrorHost() const {
  if (!options_.may_be_followed || !options_.host_index || !map_.formed()) return nullptr;
  const std::string machine = MachineOfHost();
  const Node* host = nullptr;
  for (const auto& [id, node] : nodes_) {
    if (node.member.role != Role::kServer || node.lost || node.member.index == *options_.host_index) continue;
    const auto rank = [&](const Node& of) {
      const bool votes = std::ranges::all_of(office_.configurations(), [&](const Voters& voters) {
        return std::ranges::find(voters.nodes, of.member.node) != voters.nodes.end();
      });
      const bool here = !machine.empty() && of.member.machine == machine;
      return std::tuple(!votes, here, of.member.leaving, of.member.index);
    };
    if (host == nullptr || rank(node) < rank(*host)) host = &node;
  }
  return host;
}

CoordinatorRecord CoordinatorCore::RecordAll() const {
  CoordinatorRecord record{.number = record_number_,
                           .host = {},
                           .goal = options_.goal,
                           .items = options_.items,
                           .lease_items = options_.lease_items,
                           .servers = options_.servers,
                           .synchronization = ToString(clocks_.mode()),
                           .load = options_.load,
                           .resume = options_.resume,
                           .servers_wanted = servers_wanted_,
                           .backups = options_.backups,
                           // Those who join before the next copy arrives are not in this one.
                           .next_node = NodeId(next_node_.value() + static_cast<uint32_t>(kMembersMax)),
                           .nodes = {},
                           .tables = {},
                           .data_sets = {},
                           .newest = restore_point_,
                           .newest_steps = restore_steps_,
                           .steps_of_gone = steps_of_gone_,
                           .trained_seconds = {},
                           .smoothed_loss = smoothed_loss_,
                           .lost_after_goal = lost_after_goal_,
                           .loss_windows = loss_windows_,
                           .goal_reached = goal_reached_,
                           .closing_from = closing_from_,
                           .metrics = metrics_.states(),
                           .evaluations = evaluations_.state(),
                           .best = best_.kept()};
  if (first_worker_ != kNever) record.trained_seconds = Seconds(now_ - first_worker_);
  for (const auto& [id, node] : nodes_) {
    record.nodes.push_back({.node = id, .uses_leases = node.uses_leases});
    if (node.member.role == Role::kServer && node.member.index == options_.host_index) record.host = id;
  }
  for (const TableEntry& table : tables_) {
    record.tables.push_back({.spec = table.spec, .failed = !table.failed.ok(), .opened = table.opened});
  }
  for (const DataSet& data_set : data_sets_) {
    CoordinatorRecord::DataSet copy{.progress = data_set.ledger.Record(true),
                                    .follows_goal = data_set.follows_goal,
                                    .holders = {},
                                    .closing = data_set.closing,
                                    .when_due = data_set.when_due};
    copy.progress.name = data_set.name;
    for (const auto& [id, lease] : data_set.ledger.leases()) {
      copy.holders.push_back({id, lease.worker});  // as Record() lists them
    }
    record.data_sets.push_back(std::move(copy));
  }
  return record;
}

std::optional<CoordinatorRecord> CoordinatorCore::LastRecord() const {
  if (taking_over_ || !failed_.ok() || !map_.formed()) return std::nullopt;
  CoordinatorRecord record = RecordAll();
  record.number = record_number_ + 1;
  return record;
}

void CoordinatorCore::Hold(NodeId id, RequestId request, Message message) {
  const Node* node = Find(id);
  if (node == nullptr) return;
  held_.push_back({.number = record_number_ + 1,  // the copy in progress does not know it yet
                   .node = id,
                   .connection = node->connection,
                   .request = request,
                   .message = std::move(message)});
}

// Nothing is acknowledged out of office: the next coordinator may not know of it.
void CoordinatorCore::Release(uint64_t up_to, CoordinatorOutputs& out) {
  if (!InOffice(now_)) return;
  while (!held_.empty() && held_.front().number <= up_to) {
    Held held = std::move(held_.front());
    held_.pop_front();
    if (Node* node = Find(held.node)) {
      node->pending.erase(held.request);
      Send(*node, held.message, out);
      node->answers.insert_or_assign(held.request, std::move(held.message));
    } else if (held.connection) {
      out.send.push_back({.to = *held.connection, .message = std::move(held.message)});
    }
  }
}

void CoordinatorCore::OnMessage(Node& node, const MirrorAck& message, MonotonicTime, CoordinatorOutputs& out) {
  if (node.member.node != mirror_ || message.number > record_number_) return;
  mirrored_ = std::max(mirrored_, message.number);
  ReleaseMirrored(out);
}

// Whose copy is out of date and not dropped yet.
void CoordinatorCore::DropOlderCopies(CoordinatorOutputs& out) {
  std::erase_if(older_copies_, [&](NodeId id) {
    const Node* node = Find(id);
    if (node == nullptr || id == mirror_) return true;
    return map_.records_from >= first_record_there_ && KnownMap(*node) >= records_told_;
  });
  const bool arrived = mirrored_ >= first_record_there_;
  if (older_copies_.empty() || !arrived || map_.records_from >= first_record_there_ || !InOffice(now_)) return;
  map_.records_from = first_record_there_;
  PublishMembers(out);
  records_told_ = map_.version;
}

void CoordinatorCore::ReleaseMirrored(CoordinatorOutputs& out) {
  DropOlderCopies(out);
  if (older_copies_.empty() && mirrored_ >= first_record_there_) Release(mirrored_, out);
}

void CoordinatorCore::GoOnWithMirror(CoordinatorOutputs& out) {
  const Node* host = MirrorHost();
  if (host == nullptr) {
    mirror_ = NodeId();
    return Release(UINT64_MAX, out);
  }
  const NodeId before = std::exchange(mirror_, host->member.node);
  const bool moved = before != mirror_;
  if (moved) {
    if (before != NodeId()) older_copies_.insert(before);
    first_record_there_ = record_number_ + 1;
  }
  ReleaseMirrored(out);  // what waited for the office, or for servers with an older copy
  const bool under_way = mirrored_ < record_number_;
  if (under_way && !moved) {
    if (now_ < mirror_again_) return;  // else the same number again: it may be lost
  } else {
    if (!moved && held_.empty() && !record_changed_) return;
    ++record_number_;
    record_changed_ = false;
  }
  mirror_again_ = now_ + options_.send_again_after;
  Send(*host, MirrorUpdate{.record = RecordAll()}, out);
}

}  // namespace attune::ps
