#include "ps/core/rows/row_node.h"

#include <utility>

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

void RowNode::Receive(NodeId from, Message message, MonotonicTime now, RowOutputs& out) {
  if (inbox_.Keep(from, message)) {
    out.need_map = true;
    return;
  }
  Handle(from, std::move(message), now, out);
  HandleOwn(now, out);
}

void RowNode::Handle(NodeId from, Message&& message, MonotonicTime now, RowOutputs& out) {
  if (!inbox_.Admits(from, message, out)) return;
  std::visit(Overloaded{
                 [&](Push&& push) { operations_.On(from, std::move(push), now, out); },
                 [&](Pull&& pull) { operations_.On(from, std::move(pull), now, out); },
                 [&](InstallWanted&& wanted) { operations_.On(from, std::move(wanted), now, out); },
                 [&](Localize&& localize) { operations_.On(from, std::move(localize), now, out); },
                 [&](MoveOrder&& order) { moves_.On(from, order, now, out); },
                 [&](Handover&& handover) { arrivals_.On(from, std::move(handover), now, out); },
                 [&](HandoverAck&& ack) { On(from, ack, now, out); },
                 [&](HomeHandoff&& handoff) {
                   const auto complete = moves_.Take(handoff);
                   if (!complete.empty()) arrivals_.Activate(complete, now, out);
                 },
                 [&](Replicate&& replicate) {
                   if (!copies_.Admit(from, replicate, out)) return;
                   if (node_.IsMember(replicate.origin)) LearnSettled(replicate.origin, replicate.acked_below, out);
                   copies_.Take(from, std::move(replicate), out);
                 },
                 [&](ReplicateRefused&& refused) { operations_.On(std::move(refused), now, out); },
                 [&](Install&& install) { copies_.Take(from, install, out); },
                 [&](InstallAck&& ack) {
                   const auto answer = installs_.On(from, ack);
                   if (!answer) return;
                   arrivals_.Answered(answer->withheld, out);
                   installs_.Pump(out);
                   arrivals_.CheckJoins(out);
                 },
                 [&](JoinMarker&& marker) {
                   installs_.On(from, marker);
                   if (marker.join_id != MapVersion()) return arrivals_.CheckJoins(out);
                   out.report = true;
                 },
                 [&](Round&& round) { replicas_.On(from, round, now, out); },
                 [&](SnapshotRows&& rows) { snapshot_.Take(from, std::move(rows), out); },
                 [&](SnapshotRowsAck&& ack) { arrivals_.Answered(snapshot_.Answered(ack), out); },
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

void RowNode::HandleOwn(MonotonicTime now, RowOutputs& out) {
  while (std::optional<Message> message = node_.TakeOwn()) Handle(node_.self(), *std::move(message), now, out);
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
    inbox_.Forget(member.node);
  }
  moves_.EndLostHandovers();
  arrivals_.ForgetRemoved();
}

void RowNode::AdoptMap(ShardMap next, MonotonicTime now, RowOutputs& out) {
  const ShardMap old = node_.Adopt(std::move(next));
  const bool recovery = node_.map().recovered_at > old.version;
  snapshot_.LearnMarked(node_.map().marked);
  ForgetRemoved(old);
  replicas_.AdoptMap(old);
  if (recovery) ForgetUnrecovered(out);
  const auto [given_away, dropped] =
      shards_.Adopt(old, node_.map(), node_.self(), !node_.options().call_back_from_servers);
  auto operations = operations_.TakeAffected(recovery, given_away);
  copies_.Drop(dropped, out);
  for (const BackupJoins::Answer& answer : installs_.EndJoins()) arrivals_.Answered(answer.withheld, out);
  installs_.BeginJoins(old, out);
  installs_.MarkLeaving(old, out);
  moves_.SendHandoffs(given_away, !recovery, out);
  if (recovery) {
    copies_.AskAgain(out);
    recovery_.Begin(out);
  }
  moves_.PlanCallBacks();
  operations_.Requeue(std::move(operations), now, out);
  HandleOwn(now, out);
  recovery_.Answer(out);
  Resolve(now, out);
  moves_.CallBack(now, out);
  HandleOwn(now, out);
  arrivals_.CheckJoins(out);
  const bool some_wait = inbox_.Release([&](NodeId from, Message message) {
    Handle(from, std::move(message), now, out);
    HandleOwn(now, out);
  });
  out.need_map = out.need_map || some_wait;
  out.report = true;
}

// What a recovery does not continue: it starts over under the new map.
void RowNode::ForgetUnrecovered(RowOutputs& out) {
  for (const uint64_t withheld : snapshot_.Release()) arrivals_.Answered(withheld, out);
  if (!node_.Mutant(RowMutation::kOldOrdersSurviveRecovery)) moves_.ForgetOrders();
  moves_.ForgetCallBacks();
  copies_.ForgetRequests();
  restore_.Forget();
  recovery_.Forget();
}

// --- rows that have arrived elsewhere, or come back by a recovery

void RowNode::On(NodeId from, const HandoverAck& ack, MonotonicTime now, RowOutputs& out) {
  const auto handover = moves_.Acknowledged(from, ack);
  if (!handover) return;
  recovery_.Learn(*handover, ack);
  recovery_.Answer(out);
  Resolve(now, out);
  arrivals_.CheckJoins(out);
  if (moves_.handovers().empty()) out.report = true;
}

void RowNode::On(NodeId from, FetchedRows&& fetched, MonotonicTime now, RowOutputs& out) {
  records_.Learn(fetched.records, node_.map());  // also from an earlier recovery: what is settled is sent once only
  if (fetched.recovered_at != node_.map().recovered_at) return;
  if (const auto why = tables_.WhyUnfit(fetched.rows)) return node_.Reject(from, "FetchedRows", *why, out);
  if (!fetched.rows.keys.empty()) {
    recovery_.Take(fetched);
    arrivals_.Take(fetched.rows, fetched.records, now, out);
  }
  if (!fetched.last) return;
  if (fetched.all_but) {
    if (const auto shards = recovery_.EndFetchAll(from)) arrivals_.Activate(*shards, now, out);
    return;
  }
  for (const auto& [table, keys] : recovery_.EndFetches(from)) {
    if (Status status = tables_.Rows(table)->CreateRows(keys, RowVersion(node_.map().recoveries, 0)); !status.ok()) {
      return node_.Lose(std::move(status), out);
    }
    arrivals_.Arrived({.table = table, .keys = keys, .versions = {}, .move_numbers = {}, .values = {}}, {}, now, out);
  }
  if (recovery_.fetching() == 0) out.report = true;
}

void RowNode::Resolve(MonotonicTime now, RowOutputs& out) {
  const auto resolved = recovery_.Resolve(out);
  if (!resolved) return;
  installs_.CopyPromoted(resolved->promoted, out);
  arrivals_.Activate(resolved->active, now, out);
  if (resolved->restored.empty()) return;
  restore_.Begin(resolved->restored, out);
  if (restore_.complete()) arrivals_.Activate(restore_.End(out), now, out);
}

void RowNode::Restore(const RestoreOrder& order, const TableStore* rows, const FilterRecords& filter, MonotonicTime now,
                      RowOutputs& out) {
  if (!restore_.Take(order, rows, filter, out) || !restore_.complete()) return;
  arrivals_.Activate(restore_.End(out), now, out);
}

// --- snapshots

Status RowNode::BeginSnapshot(CutId cut, MonotonicTime, RowOutputs& out) {
  EndSnapshot(false, out);
  return snapshot_.Begin(cut, moves_.handovers().next(), out);
}

void RowNode::EndSnapshot(bool kept, RowOutputs& out) {
  for (const uint64_t withheld : snapshot_.End(kept)) arrivals_.Answered(withheld, out);
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
  report.rows_foreign = shards_.foreign_rows() + shards_.ForeignHandovers();
  report.handovers_open = moves_.handovers().size();
  report.operations_waiting = operations_.waiting().rows() + operations_.waiting().queued() + parked() +
                              copies_.rows_held() + moves_.orders().rows();
  report.operations_waiting += installs_.LeaveMarkersMissing();
  report.rows_to_come = moves_.rows_to_come();
  report.rows_received = node_.counters().rows_received;
  report.rows_sent = node_.counters().rows_sent;
  report.shards_restored = restore_.totals().shards;
  report.rows_restored = restore_.totals().rows;
  report.rows_begun_anew = restore_.totals().rows_begun_again;
  return report;
}

std::string RowNode::WhatWaits() const {
  std::string text;
  const auto add = [&](const char* what, size_t count) {
    if (count > 0) text += std::string(text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add("keys with waiting operations", operations_.waiting().rows());
  add("operations queued at the home", operations_.waiting().queued());
  add("held replicates", copies_.rows_held());
  add("orders", moves_.orders().rows());
  add("unacknowledged handovers", moves_.handovers().size());
  add("withheld handover acks", arrivals_.withheld());
  add("unanswered installs", installs_.joins().open_installs());
  add("peers with stalled messages", inbox_.stalled().senders());
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
