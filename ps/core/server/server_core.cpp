#include "ps/core/server/server_core.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

namespace attune::ps {

namespace {

RowOptions OptionsOfRows(const ServerOptions& options) {
  RowOptions rows;
  rows.create_store = options.create_store;
  rows.create_copies = options.create_copies;
  rows.row_memory = options.row_memory;
  rows.mutation = options.mutations.row;
  return rows;
}

// What it says of itself whenever it joins.
Join Introduction(const ServerOptions& options) {
  return {.incarnation = options.incarnation,
          .job_uid = options.job_uid,
          .role = Role::kServer,
          .index = options.index,
          .address = options.address,
          .machine = options.machine};
}

void Send(NodeId to, Message message, ServerOutputs& out) {
  out.send.push_back({.to = to, .message = std::move(message)});
}
void SendToCoordinator(Message message, ServerOutputs& out) { Send(kCoordinator, std::move(message), out); }

// Where the coordinator is, to every peer.
void PassOn(const CoordinatorAt* notice, const ServerPeers& peers, ServerOutputs& out) {
  if (notice == nullptr) return;
  for (const NodeId peer : peers.connected()) Send(peer, *notice, out);
}

// OK: the server ends with success.
void End(Status status, ServerOutputs& out) {
  if (status.ok()) {
    out.finished = true;
  } else {
    out.lost = std::move(status);
  }
}

}  // namespace

ServerCore::ServerCore(ServerOptions options)
    : options_(std::move(options)),
      membership_(Introduction(options_), options_.ask_again_after),
      heartbeats_(options_.heartbeat_interval),
      rows_(OptionsOfRows(options_)),
      links_(WithMutations(options_.link, options_.mutations.link)),
      cut_(options_.index),
      load_(options_.load_interval) {}

void ServerCore::Step(ServerInput input, MonotonicTime now, ServerOutputs& out) {
  now = now_ = std::max(now, now_);  // a clock that goes back stands still
  std::visit([&](auto&& body) { On(std::move(body), now, out); }, std::move(input));
  if (now >= WakeAt()) On(Timer{}, now, out);
}

MonotonicTime ServerCore::WakeAt() const {
  if (ending_.over()) return kNever;
  return std::min({membership_.ask_again_at(), heartbeats_.next(), rows_.WakeAt(), links_.WakeAt()});
}

template <typename Other>
void ServerCore::OnMessage(NodeId, Other&& message, MonotonicTime now, ServerOutputs& out) {
  if constexpr (std::is_same_v<Other, Mark>) {
    if (node() == NodeId()) return;
    CutPart::Outputs cut;
    cut_.On(std::move(message), rows_, now, cut);
    Forward(cut, now, out);
  } else if constexpr (std::is_same_v<Other, WriteSnapshot> || std::is_same_v<Other, CutEnded>) {
    CutPart::Outputs cut;
    cut_.On(message, rows_, cut);
    Forward(cut, now, out);
  } else if constexpr (std::is_same_v<Other, NewestCheckpoint>) {
    rows_.SetRestorePoint(std::move(message.point));
  }
}

void ServerCore::On(Received input, MonotonicTime now, ServerOutputs& out) {
  if (ending_.over() || rights_.Refuses(input.message, input.from, PartyOf(input.from, map()), out.rejected)) return;
  if (const auto* at = std::get_if<CoordinatorAt>(&input.message)) return OnCoordinatorAt(input.from, *at, out);
  if (input.from == kCoordinator && !terms_.Obeys(input.term, options_.mutations.old_term_not_refused)) return;
  if (IsRowMessage(input.message)) return OnRowMessage(std::move(input), now, out);
  std::visit([&](auto&& body) { OnMessage(input.from, std::move(body), now, out); }, std::move(input.message));
}

// --- rows

void ServerCore::OnRowMessage(Received input, MonotonicTime now, ServerOutputs& out) {
  if (node() == NodeId()) return;
  if (!MayServe(now)) return fenced_.Keep(std::move(input));  // others may have taken its place
  const NodeId from = input.from;
  std::vector<Message> delivered;
  if (!rows_.inbox().HasRoomFor(from, input.message)) {
    LeaveOut(input);
    AskForMap(now, out);
  }
  links_.Receive(std::move(input), now, delivered, out.send);
  RowOutputs rows;
  for (Message& message : delivered) rows_.Receive(from, std::move(message), now, rows);
  Forward(rows, now, out);
}

void ServerCore::Forward(RowOutputs& rows, MonotonicTime now, ServerOutputs& out) {
  out.rejected.insert(out.rejected.end(), rows.rejected.begin(), rows.rejected.end());
  for (Outgoing& outgoing : rows.send) {
    const NodeId to = outgoing.to;
    // What has waited here runs when a map or rows come. Without a lease others may have taken this server's place: it
    // acknowledges and shows nothing, and a caller that waits asks again.
    if (IsAnswer(outgoing.message) && !MayServe(now)) continue;
    if (!map().Contains(to) || links_.Send(std::move(outgoing), now, out.send)) continue;
    return End(ending_.Lose(Error(StatusCode::kResourceExhausted,
                                  Describe(map(), to) + " takes too little of what this server sends it")),
               out);
  }
  if (cut_.waits()) {
    CutPart::Outputs cut;
    cut_.GoOn(rows_, cut);
    if (!cut.to_coordinator.empty()) Forward(cut, now, out);
  }
  for (RestoreOrder& order : rows.restore) out.restore.push_back(std::move(order));
  out.rows_restored += rows.rows_restored;
  out.rows_begun_anew += rows.rows_begun_anew;
  if (rows.need_map) AskForMap(now, out);
  if (rows.report) SendReport(out);
  if (rows.lost) End(ending_.Lose(std::move(*rows.lost)), out);
}

void ServerCore::SendReport(ServerOutputs& out) {
  if (!membership_.CanReport() || !map().formed()) return;
  RowsReport report = rows_.Report();
  report.number = ++reports_;
  report.operations_waiting += links_.queued();
  SendToCoordinator(std::move(report), out);
}

void ServerCore::On(Timer, MonotonicTime now, ServerOutputs& out) {
  if (ending_.over()) return;
  if (now >= membership_.ask_again_at()) {
    SendToCoordinator(membership_.Ask(map().formed(), terms_.term(), now), out);
  }
  if (heartbeats_.Due(now)) SendHeartbeat(now, out);
  rows_.OnTimer(now);
  links_.OnTimer(now, out.send);
}

// --- coordinator

void ServerCore::On(PeerConnected input, MonotonicTime now, ServerOutputs& out) {
  if (ending_.over()) return;
  if (input.peer != kCoordinator) {
    peers_.Connected(input.peer);
    heartbeats_.Hasten(now);
    if (const CoordinatorAt* notice = terms_.notice()) Send(input.peer, *notice, out);
    return links_.Connected(input.peer, now, out.send);
  }
  membership_.Connected();
  SendToCoordinator(membership_.Ask(map().formed(), terms_.term(), now), out);
}

// However long the coordinator is away, the server stays, fenced: another one may be appointed at any time.
void ServerCore::On(PeerDisconnected input, MonotonicTime, ServerOutputs&) {
  if (input.peer == kCoordinator) return membership_.Disconnected();
  peers_.Disconnected(input.peer);
  links_.Disconnected(input.peer);
}

void ServerCore::OnMessage(NodeId, Welcome&& message, MonotonicTime now, ServerOutputs& out) {
  if (membership_.Welcomed(message.node)) rows_.SetSelf(node());
  terms_.OnQuestion(message.support, now);
  if (message.map.formed()) AdoptMap(std::move(message.map), now, out);
  SendHeartbeat(now, out);
}

void ServerCore::OnMessage(NodeId, JoinRefused&& message, MonotonicTime, ServerOutputs& out) {
  End(ending_.EndAsNoMember(Annotate(message.status, "joining the job"), map().Find(node())), out);
}

void ServerCore::OnMessage(NodeId, SessionLost&& message, MonotonicTime, ServerOutputs& out) {
  End(ending_.EndAsNoMember(std::move(message.status), map().Find(node())), out);
}

void ServerCore::OnMessage(NodeId, GoalReached&&, MonotonicTime, ServerOutputs&) { ending_.ReachGoal(); }

void ServerCore::OnMessage(NodeId, Finished&&, MonotonicTime, ServerOutputs& out) { End(ending_.Finish(), out); }

void ServerCore::SendHeartbeat(MonotonicTime now, ServerOutputs& out) {
  heartbeats_.Schedule(now);
  if (!membership_.CanReport()) return;
  const uint64_t number = heartbeats_.TakeNumber();
  heartbeats_.Sent(now);
  SendToCoordinator(Heartbeat{.number = number,
                              .map_version = map().version,
                              .leases = {},
                              .supports = terms_.support().number(),
                              .unreached = peers_.Unreached(map(), node())},
                    out);
  SendReport(out);
  if (auto load = load_.Next(rows_, now)) SendToCoordinator(*std::move(load), out);
}

void ServerCore::OnMessage(NodeId, HeartbeatAck&& message, MonotonicTime now, ServerOutputs& out) {
  heartbeats_.Answered(message.number, message.liveness);
  if (MayServe(now)) {
    for (Received& input : fenced_.Take()) On(std::move(input), now, out);
  }
  terms_.OnQuestion(message.support, now);
  // A coordinator without the leader lease gets it again with the next answers: they need not wait for the usual time.
  if (message.liveness == Duration::zero() && message.support.number != 0) heartbeats_.Hasten(now);
}

// --- map

void ServerCore::OnMessage(NodeId, MapUpdate&& message, MonotonicTime now, ServerOutputs& out) {
  AdoptMap(std::move(message.map), now, out);
}

void ServerCore::AdoptMap(ShardMap next, MonotonicTime now, ServerOutputs& out) {
  if (next.version <= map().version || node() == NodeId()) return;
  if (map().formed() && next.shard_count() != map().shard_count()) {
    return out.rejected.push_back({kCoordinator, "a map of " + std::to_string(next.shard_count()) +
                                                     " shards in a job of " + std::to_string(map().shard_count())});
  }
  if (!next.Contains(node())) {
    Status status = Error(StatusCode::kAborted,
                          "this server (node " + std::to_string(node().value()) + ") is no longer a member of the job");
    return End(ending_.EndAsNoMember(std::move(status), map().Find(node())), out);
  }
  for (const NodeId gone : ServerPeers::Gone(map(), next)) {
    links_.Forget(gone);
    out.disconnect.push_back(gone);  // also who dialed this server: nothing is kept for it
  }
  for (const NodeId past : links_.ForgetPast(next)) out.disconnect.push_back(past);
  for (const NodeId gone : out.disconnect) peers_.Disconnected(gone);
  for (Member& member : ServerPeers::ToConnect(map(), next, node())) out.connect.push_back(std::move(member));
  terms_.OnMap(next);
  RowOutputs rows;
  rows_.AdoptMap(std::move(next), now, rows);
  Forward(rows, now, out);
  for (const auto& [from, notice] : terms_.TakeEarly()) OnCoordinatorAt(from, notice, out);
}

void ServerCore::AskForMap(MonotonicTime now, ServerOutputs& out) {
  if (auto request = membership_.AskForMap(map().version, now)) SendToCoordinator(*request, out);
}

// --- tables

void ServerCore::OnMessage(NodeId, InstallTable&& message, MonotonicTime now, ServerOutputs& out) {
  const auto& tables = rows_.tables();
  const size_t index = size_t{message.table.value()} - 1;
  const bool installed = index < tables.size() && tables[index] != nullptr;
  if (message.load.checkpoint == 0 || installed) return Install(message, {}, out);
  if (map().version < message.map_version) return AskForMap(now, out);  // the order comes again
  if (auto order = loads_.Begin(message, terms_.term(), node(), map())) out.load.push_back(*std::move(order));
}

void ServerCore::On(TableLoaded input, MonotonicTime, ServerOutputs& out) {
  if (ending_.over()) return;
  switch (loads_.Ended(input, terms_.term(), node(), map())) {
    case TableLoads::Next::kNothing:
      return;
    case TableLoads::Next::kReadAgain:
      return out.load.push_back(std::move(input.order));
    case TableLoads::Next::kRefuse:
      return SendToCoordinator(TableInstalled{.table = input.order.install.table, .status = std::move(input.status)},
                               out);
    case TableLoads::Next::kInstall:
      return Install(input.order.install, std::move(input.table), out);
  }
}

void ServerCore::Install(const InstallTable& install, LoadedTable loaded, ServerOutputs& out) {
  Status status = rows_.InstallTable(install.table, install.spec, std::move(loaded));
  SendToCoordinator(TableInstalled{.table = install.table, .status = std::move(status)}, out);
}

// --- another coordinator

void ServerCore::OnMessage(NodeId, MirrorUpdate&& message, MonotonicTime, ServerOutputs& out) {
  const uint64_t number = message.record.number;
  KeepRecord(std::move(message.record));
  SendToCoordinator(MirrorAck{.number = number}, out);
}

void ServerCore::OnMessage(NodeId, Promise&& message, MonotonicTime now, ServerOutputs& out) {
  terms_.OnQuestion(message.support, now);
  const SupportGiven& support = terms_.support();
  Promised promised{.map = map(),
                    .standing = {.number = heartbeats_.number(),
                                 .map_version = map().version,
                                 .leases = {},
                                 .supports = support.number()},
                    .sync = {},
                    .tables = {},
                    .mirror = terms_.kept(),
                    .supported_term = support.FormerTerm(now),
                    .support_left = support.FormerLeft(now)};
  const auto& tables = rows_.tables();
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i] == nullptr) continue;
    promised.tables.push_back({.table = TableId(static_cast<uint32_t>(i + 1)), .spec = tables[i]->spec()});
  }
  SendToCoordinator(std::move(promised), out);
}

void ServerCore::On(CoordinatorHere input, MonotonicTime, ServerOutputs& out) {
  if (ending_.over()) return;
  if (terms_.BeginsHere({.term = input.term, .host = node(), .port = input.port, .address = options_.address})) {
    PassOn(terms_.notice(), peers_, out);
  }
}

void ServerCore::OnCoordinatorAt(NodeId from, const CoordinatorAt& message, ServerOutputs& out) {
  auto place = terms_.Follow(from, message, node(), map());
  if (!place) return;
  out.coordinator = *std::move(place);
  PassOn(terms_.notice(), peers_, out);
}

// --- checkpoints

void ServerCore::On(RowsRead input, MonotonicTime now, ServerOutputs& out) {
  if (ending_.over()) return;
  RowOutputs rows;
  rows_.Restore(input.order, input.status.ok() ? input.rows.get() : nullptr, input.filter, now, rows);
  Forward(rows, now, out);
}

void ServerCore::On(SnapshotWritten input, MonotonicTime now, ServerOutputs& out) {
  CutPart::Outputs cut;
  cut_.On(std::move(input), rows_, now, cut);
  Forward(cut, now, out);
}

void ServerCore::Forward(CutPart::Outputs& cut, MonotonicTime now, ServerOutputs& out) {
  for (Message& message : cut.to_coordinator) SendToCoordinator(std::move(message), out);
  if (cut.write) out.write_snapshot = std::move(cut.write);
  out.call_off_snapshot = out.call_off_snapshot || cut.call_off;
  Forward(cut.rows, now, out);
}

}  // namespace attune::ps
