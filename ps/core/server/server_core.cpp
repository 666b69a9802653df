#include "ps/core/server/server_core.h"

#include <algorithm>
#include <utility>

namespace attune::ps {

void ServerOutputs::Clear() {
  send.clear();
  connect.clear();
  disconnect.clear();
  load.clear();
  restore.clear();
  rows_restored = rows_begun_anew = 0;
  write_snapshot.reset();
  call_off_snapshot = false;
  coordinator.reset();
  rejected.clear();
  finished = false;
  lost.reset();
}

namespace {

RowOptions OptionsOfRows(const ServerOptions& options) {
  RowOptions rows;
  rows.create_store = options.create_store;
  rows.create_copies = options.create_copies;
  rows.row_memory = options.row_memory;
  rows.mutation = options.mutations.row;
  return rows;
}

}  // namespace

ServerCore::ServerCore(ServerOptions options)
    : options_(std::move(options)),
      rows_(OptionsOfRows(options_)),
      links_(WithMutations(options_.link, options_.mutations.link)),
      cut_(options_.index) {}

void ServerCore::Step(ServerInput input, MonotonicTime now, ServerOutputs& out) {
  now = now_ = std::max(now, now_);  // a clock that goes back stands still
  std::visit([&](auto&& body) { On(std::move(body), now, out); }, std::move(input));
  if (now >= WakeAt()) On(Timer{}, now, out);
}

MonotonicTime ServerCore::WakeAt() const {
  if (ended_) return kNever;
  MonotonicTime wake = std::min({next_heartbeat_, rows_.WakeAt(), links_.WakeAt()});
  if (coordinator_connected_ && node_ == NodeId()) wake = std::min(wake, join_sent_ + options_.ask_again_after);
  return wake;
}

void ServerCore::On(Received input, MonotonicTime now, ServerOutputs& out) {
  if (ended_ || rights_.Refuses(input.message, input.from, PartyOf(input.from, map()), out.rejected)) return;
  if (const auto* at = std::get_if<CoordinatorAt>(&input.message)) return OnCoordinatorAt(input.from, *at, out);
  if (input.from == kCoordinator && input.term != 0) {
    if (!notices_.IsNear(term_, input.term)) return;
    if (input.term < term_ && !options_.mutations.old_term_not_refused) return;
    term_ = std::max(term_, input.term);
  }
  if (IsRowMessage(input.message)) return OnRowMessage(std::move(input), now, out);
  std::visit([&](auto&& body) { OnMessage(input.from, std::move(body), now, out); }, std::move(input.message));
}

// --- rows

void ServerCore::OnRowMessage(Received input, MonotonicTime now, ServerOutputs& out) {
  if (node_ == NodeId()) return;
  if (!lease_.Valid(now)) return fenced_.Keep(std::move(input));  // others may have taken its place
  const NodeId from = input.from;
  std::vector<Message> delivered;
  if (!rows_.HasRoomFor(from, input.message)) {
    LeaveOut(input);
    AskForMap(now, out);
  }
  links_.Receive(std::move(input), now, delivered, out.send);
  RowOutputs rows;
  for (Message& message : delivered) rows_.Receive(from, std::move(message), now, rows);
  Forward(rows, now, out);
}

void ServerCore::TakeUpWhatWaited(MonotonicTime now, ServerOutputs& out) {
  if (!lease_.Valid(now)) return;
  for (Received& input : fenced_.Take()) On(std::move(input), now, out);
}

void ServerCore::Forward(RowOutputs& rows, MonotonicTime now, ServerOutputs& out) {
  out.rejected.insert(out.rejected.end(), rows.rejected.begin(), rows.rejected.end());
  for (Outgoing& outgoing : rows.send) {
    const NodeId to = outgoing.to;
    // What has waited here runs when a map or rows come. Without a lease others may have taken this server's place: it
    // acknowledges and shows nothing, and a caller that waits asks again.
    if (IsAnswer(outgoing.message) && !lease_.Valid(now)) continue;
    if (!map().Contains(to) || links_.Send(std::move(outgoing), now, out.send)) continue;
    return Lose(
        Error(StatusCode::kResourceExhausted, Describe(map(), to) + " takes too little of what this server sends it"),
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
  if (rows.lost) Lose(std::move(*rows.lost), out);
}

void ServerCore::SendReport(ServerOutputs& out) {
  if (!coordinator_connected_ || node_ == NodeId() || !map().formed()) return;
  RowsReport report = rows_.Report();
  report.number = ++report_;
  report.operations_waiting += links_.queued();
  out.send.push_back({.to = kCoordinator, .message = std::move(report)});
}

void ServerCore::On(Timer, MonotonicTime now, ServerOutputs& out) {
  if (ended_) return;
  if (coordinator_connected_ && node_ == NodeId() && now >= join_sent_ + options_.ask_again_after) SendJoin(now, out);
  if (now >= next_heartbeat_) SendHeartbeat(now, out);
  rows_.OnTimer(now);
  links_.OnTimer(now, out.send);
}

// --- coordinator

void ServerCore::On(PeerConnected input, MonotonicTime now, ServerOutputs& out) {
  if (ended_) return;
  if (input.peer != kCoordinator) {
    linked_.insert(input.peer);
    HeartbeatSoon(now);
    ReportCoordinatorsPlace(input.peer, out);
    return links_.Connected(input.peer, now, out.send);
  }
  coordinator_connected_ = true;
  SendJoin(now, out);
}

// However long the coordinator is away, the server stays, fenced: another one may be appointed at any time.
void ServerCore::On(PeerDisconnected input, MonotonicTime, ServerOutputs&) {
  if (input.peer == kCoordinator) {
    coordinator_connected_ = false;
    return;
  }
  linked_.erase(input.peer);
  links_.Disconnected(input.peer);
}

void ServerCore::SendJoin(MonotonicTime now, ServerOutputs& out) {
  join_sent_ = now;
  // A number counts with a map only: the coordinator that gave it may have been lost before the job had formed.
  if (!map().formed()) node_ = NodeId();
  out.send.push_back({.to = kCoordinator,
                      .message = Join{.incarnation = options_.incarnation,
                                      .job_uid = options_.job_uid,
                                      .role = Role::kServer,
                                      .index = options_.index,
                                      .address = options_.address,
                                      .machine = options_.machine,
                                      .node = node_,
                                      .term = term_}});
}

void ServerCore::OnMessage(NodeId, Welcome&& message, MonotonicTime now, ServerOutputs& out) {
  if (node_ == NodeId()) {
    node_ = message.node;
    rows_.SetSelf(node_);
  }
  OnQuestion(message.support, now);
  if (message.map.formed()) AdoptMap(std::move(message.map), now, out);
  SendHeartbeat(now, out);
}

void ServerCore::OnMessage(NodeId, JoinRefused&& message, MonotonicTime, ServerOutputs& out) {
  EndAsNoMember(Annotate(message.status, "joining the job"), out);
}

void ServerCore::OnMessage(NodeId, SessionLost&& message, MonotonicTime, ServerOutputs& out) {
  EndAsNoMember(std::move(message.status), out);
}

void ServerCore::OnMessage(NodeId, GoalReached&&, MonotonicTime, ServerOutputs&) { goal_reached_ = true; }

void ServerCore::OnMessage(NodeId, Finished&&, MonotonicTime, ServerOutputs& out) {
  ended_ = true;
  out.finished = true;
}

void ServerCore::Lose(Status status, ServerOutputs& out) {
  ended_ = true;
  out.lost = std::move(status);
}

// One that was to leave has nothing to do here any more: its release may have been lost with the coordinator that gave
// it, and the next one knows no such member. Aborted: start it again; other errors say that the job has failed.
void ServerCore::EndAsNoMember(Status status, ServerOutputs& out) {
  const Member* self = map().Find(node_);
  if (status.code() != StatusCode::kAborted || self == nullptr || !self->leaving) return Lose(std::move(status), out);
  ended_ = true;
  out.finished = true;
}

void ServerCore::SendHeartbeat(MonotonicTime now, ServerOutputs& out) {
  next_heartbeat_ = now + options_.heartbeat_interval;
  if (!coordinator_connected_ || node_ == NodeId()) return;
  lease_.Sent(++heartbeat_, now);
  out.send.push_back({.to = kCoordinator,
                      .message = Heartbeat{.number = heartbeat_,
                                           .map_version = map().version,
                                           .leases = {},
                                           .supports = support_.number(),
                                           .unreached = Unreached()}});
  SendReport(out);
  if (auto load = load_.Next(rows_, now)) out.send.push_back({.to = kCoordinator, .message = *std::move(load)});
}

// Servers keep links to each other; workers dial.
std::vector<NodeId> ServerCore::Unreached() const {
  std::vector<NodeId> unreached;
  for (const Member& member : map().members) {
    const bool should_be_linked = member.role == Role::kServer && member.node != node_;
    if (should_be_linked && !linked_.contains(member.node) && unreached.size() < kUnreachedMax) {
      unreached.push_back(member.node);
    }
  }
  return unreached;
}

void ServerCore::OnMessage(NodeId, HeartbeatAck&& message, MonotonicTime now, ServerOutputs& out) {
  lease_.Answered(message.number, message.liveness);
  TakeUpWhatWaited(now, out);
  OnQuestion(message.support, now);
  // A coordinator without the leader lease gets it again with the next answers: they need not wait for the usual time.
  if (message.liveness == Duration::zero() && message.support.number != 0) HeartbeatSoon(now);
}

void ServerCore::HeartbeatSoon(MonotonicTime now) {
  next_heartbeat_ = std::min(next_heartbeat_, now + options_.heartbeat_interval / 5);
}

// --- map

void ServerCore::OnMessage(NodeId, MapUpdate&& message, MonotonicTime now, ServerOutputs& out) {
  AdoptMap(std::move(message.map), now, out);
}

void ServerCore::AdoptMap(ShardMap next, MonotonicTime now, ServerOutputs& out) {
  if (next.version <= map().version || node_ == NodeId()) return;
  if (map().formed() && next.shard_count() != map().shard_count()) {
    return out.rejected.push_back({kCoordinator, "a map of " + std::to_string(next.shard_count()) +
                                                     " shards in a job of " + std::to_string(map().shard_count())});
  }
  if (!next.Contains(node_)) {
    return EndAsNoMember(Error(StatusCode::kAborted, "this server (node " + std::to_string(node_.value()) +
                                                         ") is no longer a member of the job"),
                         out);
  }
  for (const Member& member : map().members) {
    if (next.Contains(member.node)) continue;
    links_.Forget(member.node);
    out.disconnect.push_back(member.node);  // also who dialed this server: nothing is kept for it
  }
  for (const NodeId past : links_.ForgetPast(next)) out.disconnect.push_back(past);
  for (const NodeId gone : out.disconnect) linked_.erase(gone);
  for (const Member& member : next.members) {
    if (member.role == Role::kServer && member.node != node_ && !map().Contains(member.node)) {
      out.connect.push_back(member);
    }
  }
  support_.OnMap(next.version.term());
  if (mirror_ && mirror_->number < next.records_from) mirror_.reset();  // another server has a newer one
  RowOutputs rows;
  rows_.AdoptMap(std::move(next), now, rows);
  Forward(rows, now, out);
  for (const auto& [from, notice] : notices_.TakeEarly()) OnCoordinatorAt(from, notice, out);
}

void ServerCore::AskForMap(MonotonicTime now, ServerOutputs& out) {
  if (!coordinator_connected_ || (map_asked_ && now < *map_asked_ + options_.ask_again_after)) return;
  map_asked_ = now;
  out.send.push_back({.to = kCoordinator, .message = MapRequest{.have = map().version}});
}

// --- tables

// A table of a checkpoint is not opened before every home has its rows and every backup their copies. Both read them,
// so the loss of a server meanwhile takes none away.
void ServerCore::OnMessage(NodeId, InstallTable&& message, MonotonicTime now, ServerOutputs& out) {
  const size_t index = size_t{message.table.value()} - 1;
  const bool installed = index < tables().size() && tables()[index] != nullptr;
  if (message.load.checkpoint == 0 || installed) return Install(message, {}, out);
  if (map().version < message.map_version) return AskForMap(now, out);  // the order comes again
  if (!map().formed() || !loading_.insert(message.table).second) return;
  out.load.push_back(ToLoad(message));
}

LoadOrder ServerCore::ToLoad(const InstallTable& install) const {
  LoadOrder order{.install = install, .term = term_, .homes = {}, .backups = {}};
  for (uint32_t i = 0; i < map().shard_count(); ++i) {
    const Shard& shard = map().shards[i];
    if (shard.home == node_) order.homes.push_back(ShardId(i));
    if (shard.backup == node_ || shard.next_backup == node_) order.backups.push_back(ShardId(i));
  }
  return order;
}

void ServerCore::On(TableLoaded input, MonotonicTime, ServerOutputs& out) {
  if (ended_) return;
  const InstallTable& install = input.order.install;
  if (input.order.term != term_) {  // the coordinator that is obeyed now asks itself, and may number tables otherwise
    loading_.erase(install.table);
    return;
  }
  if (!input.status.ok()) {
    loading_.erase(install.table);
    out.send.push_back(
        {.to = kCoordinator, .message = TableInstalled{.table = install.table, .status = std::move(input.status)}});
    return;
  }
  LoadOrder order = ToLoad(install);
  if (order.homes != input.order.homes || order.backups != input.order.backups) {  // a server was lost meanwhile
    out.load.push_back(std::move(order));
    return;
  }
  loading_.erase(install.table);
  Install(install, std::move(input.table), out);
}

void ServerCore::Install(const InstallTable& install, LoadedTable loaded, ServerOutputs& out) {
  Status status = rows_.InstallTable(install.table, install.spec, std::move(loaded));
  out.send.push_back(
      {.to = kCoordinator, .message = TableInstalled{.table = install.table, .status = std::move(status)}});
}

// --- checkpoints

void ServerCore::OnMessage(NodeId, NewestCheckpoint&& message, MonotonicTime, ServerOutputs&) {
  rows_.SetRestorePoint(std::move(message.point));
}

void ServerCore::On(RowsRead input, MonotonicTime now, ServerOutputs& out) {
  if (ended_) return;
  RowOutputs rows;
  rows_.Restore(input.order, input.status.ok() ? input.rows.get() : nullptr, input.filter, now, rows);
  Forward(rows, now, out);
}

void ServerCore::OnMessage(NodeId, Mark&& message, MonotonicTime now, ServerOutputs& out) {
  if (node_ == NodeId()) return;
  CutPart::Outputs cut;
  cut_.On(std::move(message), rows_, now, cut);
  Forward(cut, now, out);
}

void ServerCore::OnMessage(NodeId, WriteSnapshot&& message, MonotonicTime now, ServerOutputs& out) {
  CutPart::Outputs cut;
  cut_.On(message, rows_, cut);
  Forward(cut, now, out);
}

void ServerCore::OnMessage(NodeId, CutEnded&& message, MonotonicTime now, ServerOutputs& out) {
  CutPart::Outputs cut;
  cut_.On(message, rows_, cut);
  Forward(cut, now, out);
}

void ServerCore::On(SnapshotWritten input, MonotonicTime now, ServerOutputs& out) {
  CutPart::Outputs cut;
  cut_.On(std::move(input), rows_, now, cut);
  Forward(cut, now, out);
}

void ServerCore::Forward(CutPart::Outputs& cut, MonotonicTime now, ServerOutputs& out) {
  for (Message& message : cut.to_coordinator) {
    out.send.push_back({.to = kCoordinator, .message = std::move(message)});
  }
  if (cut.write) out.write_snapshot = std::move(cut.write);
  out.call_off_snapshot = out.call_off_snapshot || cut.call_off;
  Forward(cut.rows, now, out);
}

}  // namespace attune::ps
