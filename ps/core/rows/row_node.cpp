#include "ps/core/rows/row_node.h"

#include <algorithm>
#include <utility>

#include "ps/core/protocol/message_rights.h"

namespace attune::ps {
namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

// --- tables

bool RowNode::OwnsNow(TableId table, Key key) const {
  const TableStore* store = tables_.Rows(table);
  if (store == nullptr || shards_.empty()) return false;
  const uint32_t shard = node_.ShardOf(key);
  if (shards_.IsPlain(shard)) return true;
  if (shards_.IsActive(shard) && !shards_.directory().Contains({table, key})) return true;
  return store->Contains(key);
}

// --- messages

// Behind one that waits, all do: they come in order.
bool RowNode::MustStall(NodeId from, const Message& message) const {
  if (from == node_.self()) return false;
  const bool newer =
      MapVersionOf(message) > node_.map().version && !node_.Mutant(RowMutation::kNewerMessageUnderOldMap);
  return newer || stalled_.Holds(from);
}

bool RowNode::HasRoomFor(NodeId from, const Message& message) const {
  return !stalled_.Holds(from) || !MustStall(from, message) || stalled_.HasRoom(from);
}

void RowNode::Receive(NodeId from, Message message, MonotonicTime now, RowOutputs& out) {
  if (MustStall(from, message)) {
    stalled_.Add(from, std::move(message));
    out.need_map = true;
    return;
  }
  Handle(from, std::move(message), now, out);
  DrainSelf(now, out);
}

void RowNode::Handle(NodeId from, Message&& message, MonotonicTime now, RowOutputs& out) {
  const Party sender = PartyOf(from, node_.map());
  if (from != node_.self() && sender == Party::kUnknown && !node_.Mutant(RowMutation::kRemovedNodeAccepted) &&
      !(node_.Mutant(RowMutation::kRemovedNodesHandoverAccepted) && std::holds_alternative<Handover>(message))) {
    return;
  }
  // What has waited for a map came before the role of its sender was known.
  if (from != node_.self() && !MayCome(message.index(), sender, PartyOf(node_.self(), node_.map()))) {
    return node_.Reject(from, NameOf(message), WithoutRight(sender, PartyOf(node_.self(), node_.map())), out);
  }
  Deliver(from, std::move(message), now, out);
}

void RowNode::Deliver(NodeId from, Message&& message, MonotonicTime now, RowOutputs& out) {
  std::visit(Overloaded{
                 [&](Push&& push) { On(from, std::move(push), now, out); },
                 [&](Pull&& pull) { On(from, std::move(pull), now, out); },
                 [&](InstallWanted&& wanted) { On(from, std::move(wanted), now, out); },
                 [&](Localize&& localize) { On(from, std::move(localize), now, out); },
                 [&](MoveOrder&& order) { moves_.On(from, order, now, out); },
                 [&](Handover&& handover) { On(from, std::move(handover), now, out); },
                 [&](HandoverAck&& ack) { On(from, ack, now, out); },
                 [&](HomeHandoff&& handoff) {
                   if (const auto complete = moves_.Take(handoff); !complete.empty()) Activate(complete, now, out);
                 },
                 [&](Replicate&& replicate) { On(from, std::move(replicate), out); },
                 [&](ReplicateRefused&& refused) { On(std::move(refused), now, out); },
                 [&](Install&& install) { copies_.Take(from, install, out); },
                 [&](InstallAck&& ack) {
                   const auto answer = installs_.On(from, ack);
                   if (!answer) return;
                   Answered(answer->withheld, out);
                   installs_.Pump(out);
                   CheckJoins(out);
                 },
                 [&](JoinMarker&& marker) {
                   installs_.On(from, marker);
                   if (marker.join_id != MapVersion()) return CheckJoins(out);
                   out.report = true;
                 },
                 [&](SnapshotRows&& rows) { snapshot_.Take(from, std::move(rows), out); },
                 [&](SnapshotRowsAck&& ack) { Answered(snapshot_.Answered(ack), out); },
                 [&](CollectOwners&& collect) { recovery_.On(from, collect, out); },
                 [&](OwnersReport&& report) {
                   if (recovery_.On(from, report)) Resolve(now, out);
                 },
                 [&](FetchRows&& fetch) { copies_.Serve(from, fetch, out); },
                 [&](FetchedRows&& fetched) { On(from, std::move(fetched), now, out); },
                 [](auto&&) {},
             },
             std::move(message));
}

void RowNode::DrainSelf(MonotonicTime now, RowOutputs& out) {
  while (std::optional<Message> message = node_.TakeOwn()) Handle(node_.self(), *std::move(message), now, out);
}

void RowNode::DrainStalled(MonotonicTime now, RowOutputs& out) {
  const bool some_wait = stalled_.Release(node_.map().version, [&](NodeId from, Message message) {
    Handle(from, std::move(message), now, out);
    DrainSelf(now, out);
  });
  out.need_map = out.need_map || some_wait;
}

void RowNode::LearnSettled(NodeId origin, SequenceNumber acked_below, RowOutputs& out) {
  if (records_.filter().MergeAckedBelow(origin, acked_below)) pulls_.Retry(origin, out);
}

// --- maps

void RowNode::ForgetRemoved(const ShardMap& old) {
  records_.ForgetRemoved(node_.map());
  for (const Member& member : old.members) {
    if (node_.IsMember(member.node)) continue;
    pulls_.Forget(member.node);
    recovery_.ForgetNode(member.node);
    copies_.ForgetRequests(member.node);
    installs_.Forget(member.node);
    if (!node_.Mutant(RowMutation::kRemovedNodeAccepted) && !node_.Mutant(RowMutation::kRemovedNodesHandoverAccepted)) {
      stalled_.Forget(member.node);
    }
  }
  moves_.EndLostHandovers();
  withheld_.EraseIf([&](NodeId to) { return !node_.IsMember(to); });
}

void RowNode::AdoptMap(ShardMap next, MonotonicTime now, RowOutputs& out) {
  const ShardMap old = node_.Adopt(std::move(next));
  const bool recovery = node_.map().recovered_at > old.version;
  snapshot_.LearnMarked(node_.map().marked);
  ForgetRemoved(old);
  std::vector<Queued> operations;
  if (recovery) {
    ForgetUnrecovered(out);
    if (!node_.Mutant(RowMutation::kWaitingOpsKeptAtRecovery)) operations = waiting_.TakeAll();
  }
  const auto [given_away, dropped] =
      shards_.Adopt(old, node_.map(), node_.self(), !node_.options().call_back_from_servers);
  served_.SetShards(node_.map().shard_count());
  if (recovery || !given_away.empty()) {
    std::ranges::move(waiting_.TakeQueue(), std::back_inserter(operations));
  }
  if (!given_away.empty()) {
    for (Pull& pull : pulls_.TakeElsewhere(given_away)) {
      operations.push_back({.from = node_.self(), .message = std::move(pull)});
    }
  }
  copies_.Drop(dropped, out);
  for (const BackupJoins::Answer& answer : installs_.EndJoins()) Answered(answer.withheld, out);
  installs_.BeginJoins(old, out);
  installs_.MarkLeaving(old, out);
  moves_.SendHandoffs(given_away, !recovery, out);
  if (recovery) {
    copies_.AskAgain(out);
    recovery_.Begin(out);
  }
  moves_.PlanCallBacks();
  Requeue(std::move(operations), now, out);
  DrainSelf(now, out);
  recovery_.Answer(out);
  Resolve(now, out);
  moves_.CallBack(now, out);
  DrainSelf(now, out);
  CheckJoins(out);
  DrainStalled(now, out);
  out.report = true;
}

// What a recovery does not continue: it starts over under the new map.
void RowNode::ForgetUnrecovered(RowOutputs& out) {
  for (const uint64_t withheld : snapshot_.Release()) Answered(withheld, out);
  if (!node_.Mutant(RowMutation::kOldOrdersSurviveRecovery)) moves_.ForgetOrders();
  moves_.ForgetCallBacks();
  copies_.ForgetRequests();
  restore_.Forget();
  recovery_.Forget();
}

// --- what others may know

RowsReport RowNode::Report() const {
  RowsReport report{.map_version = node_.map().version};
  report.shards_not_ready = shards_.NotReady();
  if (recovery_.fetching() > 0 && report.shards_not_ready == 0) report.shards_not_ready = 1;
  report.joins_done = installs_.joins().Done();
  report.copies_to_send = installs_.joins().rows_to_install();
  report.rows_held = RowTables::Count(tables_.rows());
  report.copies = RowTables::Count(tables_.copies());
  report.rows_foreign = shards_.foreign_rows();
  report.handovers_open = moves_.handovers().size();
  report.operations_waiting =
      waiting_.rows() + waiting_.queued() + parked() + copies_.rows_held() + moves_.orders().rows();
  report.operations_waiting += installs_.LeaveMarkersMissing();
  report.rows_to_come = moves_.rows_to_come();
  report.rows_received = node_.counters().rows_received;
  report.rows_sent = node_.counters().rows_sent;
  report.shards_restored = restore_.totals().shards;
  report.rows_restored = restore_.totals().rows;
  report.rows_begun_anew = restore_.totals().rows_begun_again;
  return report;
}

void RowNode::ForEachStalled(const std::function<void(NodeId from, const Message&)>& visit) const {
  stalled_.ForEach(visit);
}

std::string RowNode::WhatWaits() const {
  std::string text;
  const auto add = [&](const char* what, size_t count) {
    if (count > 0) text += std::string(text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add("keys with waiting operations", waiting_.rows());
  add("operations queued at the home", waiting_.queued());
  add("held replicates", copies_.rows_held());
  add("orders", moves_.orders().rows());
  add("unacknowledged handovers", moves_.handovers().size());
  add("withheld handover acks", withheld_.size());
  add("unanswered installs", installs_.joins().open_installs());
  add("peers with stalled messages", stalled_.senders());
  add("rows being fetched", recovery_.fetching());
  add("recoveries in progress", recovery_.is_collecting() ? 1 : 0);
  return text;
}

NodeId RowNode::DirectoryOwner(TableId table, Key key) const {
  if (shards_.empty() || !shards_.IsActive(node_.ShardOf(key))) return {};
  const RowDirectory::Entry* entry = shards_.directory().Find({table, key});
  return entry == nullptr ? node_.self() : entry->owner;
}

}  // namespace attune::ps
