#include "ps/core/server_core.h"

#include <algorithm>
#include <utility>

namespace attune::ps {

void ServerOutputs::Clear() {
  send.clear();
  save.reset();
  finished = false;
  lost.reset();
}

ServerCore::ServerCore(ServerOptions options) : options_(std::move(options)) {}

void ServerCore::Step(ServerInput input, MonotonicTime now, ServerOutputs& out) {
  if (coordinator_since_ == kNever) coordinator_since_ = now;
  std::visit([&](auto&& body) { On(std::move(body), now, out); }, std::move(input));
  if (now >= WakeAt()) On(Timer{}, now, out);
}

MonotonicTime ServerCore::WakeAt() const {
  if (ended_) return kNever;
  MonotonicTime wake = std::min(next_heartbeat_, next_deadline_);
  if (!coordinator_connected_ && coordinator_since_ != kNever) {
    wake = std::min(wake, coordinator_since_ + options_.coordinator_lost_after);
  }
  if (coordinator_connected_ && node_ == NodeId()) wake = std::min(wake, join_sent_ + options_.ask_again_after);
  return wake;
}

size_t ServerCore::parked() const {
  size_t count = 0;
  for (const auto& [origin, pulls] : parked_) count += pulls.size();
  return count;
}

void ServerCore::On(Received input, MonotonicTime now, ServerOutputs& out) {
  if (ended_) return;
  std::visit([&](auto&& body) { OnMessage(input.from, std::move(body), now, out); }, std::move(input.message));
}

void ServerCore::On(Timer, MonotonicTime now, ServerOutputs& out) {
  if (ended_) return;
  if (!coordinator_connected_ && now >= coordinator_since_ + options_.coordinator_lost_after) {
    return Lose(Error(StatusCode::kUnavailable, "the coordinator has not been reachable for " +
                                                    std::to_string(Seconds(options_.coordinator_lost_after)) +
                                                    " s; see the log of server 0"),
                out);
  }
  if (coordinator_connected_ && node_ == NodeId() && now >= join_sent_ + options_.ask_again_after) SendJoin(now, out);
  if (now >= next_heartbeat_) SendHeartbeat(now, out);
  if (now >= next_deadline_) DropOverdue(now);
}

// --- coordinator

void ServerCore::On(PeerConnected input, MonotonicTime now, ServerOutputs& out) {
  if (ended_ || input.peer != kCoordinator) return;
  coordinator_connected_ = true;
  coordinator_since_ = now;
  SendJoin(now, out);
}

void ServerCore::On(PeerDisconnected input, MonotonicTime now, ServerOutputs&) {
  if (input.peer == kCoordinator) {
    coordinator_connected_ = false;
    coordinator_since_ = now;
  }
  std::erase_if(acknowledged_early_, [&](const Push& push) { return push.origin == input.peer; });
}

void ServerCore::SendJoin(MonotonicTime now, ServerOutputs& out) {
  join_sent_ = now;
  out.send.push_back({.to = kCoordinator,
                      .message = Join{.incarnation = options_.incarnation,
                                      .job_uid = options_.job_uid,
                                      .role = Role::kServer,
                                      .index = options_.index,
                                      .address = options_.address}});
}

void ServerCore::OnMessage(NodeId, Welcome&& message, MonotonicTime now, ServerOutputs& out) {
  if (node_ == NodeId()) {
    node_ = message.node;
    SendHeartbeat(now, out);
  }
  if (message.map.formed()) AdoptMap(std::move(message.map), now, out);
}

void ServerCore::OnMessage(NodeId, JoinRefused&& message, MonotonicTime, ServerOutputs& out) {
  Lose(Annotate(message.status, "joining the job"), out);
}

void ServerCore::OnMessage(NodeId, SessionLost&& message, MonotonicTime, ServerOutputs& out) {
  Lose(std::move(message.status), out);
}

void ServerCore::OnMessage(NodeId, Finished&&, MonotonicTime, ServerOutputs& out) {
  ended_ = true;
  out.finished = true;
}

void ServerCore::Lose(Status status, ServerOutputs& out) {
  ended_ = true;
  out.lost = std::move(status);
}

void ServerCore::SendHeartbeat(MonotonicTime now, ServerOutputs& out) {
  next_heartbeat_ = now + options_.heartbeat_interval;
  if (!coordinator_connected_ || node_ == NodeId()) return;
  out.send.push_back(
      {.to = kCoordinator, .message = Heartbeat{.number = ++heartbeat_, .map_version = map_.version, .leases = {}}});
}

// --- map

void ServerCore::OnMessage(NodeId, MapUpdate&& message, MonotonicTime now, ServerOutputs& out) {
  AdoptMap(std::move(message.map), now, out);
}

void ServerCore::AdoptMap(ShardMap map, MonotonicTime now, ServerOutputs& out) {
  if (map.version <= map_.version || node_ == NodeId()) return;
  if (const Status status = Validate(map); !status.ok()) return Lose(status, out);
  if (!map.Contains(node_)) {
    return Lose(Error(StatusCode::kAborted,
                      "this server (node " + std::to_string(node_.value()) + ") is no longer a member of the job"),
                out);
  }
  // An origin that is gone for good: nothing of it may be applied any more, so nothing need be remembered.
  for (const Member& member : map_.members) {
    if (map.Contains(member.node)) continue;
    filter_.Forget(member.node);
    parked_.erase(member.node);
  }
  map_ = std::move(map);
  HandleHeld(now, out);
}

void ServerCore::HandleHeld(MonotonicTime now, ServerOutputs& out) {
  std::deque<Held> held = std::exchange(held_, {});
  for (Held& entry : held) {
    if (now >= entry.deadline) continue;
    std::visit([&](auto&& body) { OnMessage(entry.from, std::move(body), now, out); }, std::move(entry.message));
  }
}

void ServerCore::AskForMap(MonotonicTime now, ServerOutputs& out) {
  if (!coordinator_connected_ || (map_asked_ && now < *map_asked_ + options_.ask_again_after)) return;
  map_asked_ = now;
  out.send.push_back({.to = kCoordinator, .message = MapRequest{.have = map_.version}});
}

// --- tables

TableStore* ServerCore::Find(TableId table) const {
  const size_t index = size_t{table.value()} - 1;
  return index < tables_.size() ? tables_[index].get() : nullptr;
}

void ServerCore::OnMessage(NodeId, InstallTable&& message, MonotonicTime, ServerOutputs& out) {
  Status status;
  if (message.table == TableId() || message.table.value() > kTablesMax) {
    status = Error(StatusCode::kResourceExhausted, "table id " + std::to_string(message.table.value()) +
                                                       " is outside 1 .. " + std::to_string(kTablesMax));
  } else if (Find(message.table) == nullptr) {
    StatusOr<std::unique_ptr<TableStore>> store = options_.create_store(message.spec);
    status = store.status();
    if (store.ok()) {
      tables_.resize(std::max<size_t>(tables_.size(), message.table.value()));
      tables_[message.table.value() - 1] = *std::move(store);
    }
  }
  out.send.push_back(
      {.to = kCoordinator, .message = TableInstalled{.table = message.table, .status = std::move(status)}});
}

void ServerCore::OnMessage(NodeId, WriteTables&& message, MonotonicTime, ServerOutputs& out) {
  const auto [it, is_new] = saves_.try_emplace(message.save);
  if (!is_new) {
    if (it->second) out.send.push_back({.to = kCoordinator, .message = *it->second});
    return;
  }
  constexpr size_t kRemembered = 8;  // the coordinator runs one save at a time; late copies name an old one
  while (saves_.size() > kRemembered) saves_.erase(saves_.begin());
  out.save = SaveOrder{.save = message.save,
                       .directory = std::move(message.directory),
                       .part = message.part,
                       .checkpoint = message.checkpoint,
                       .base = message.base};
}

void ServerCore::On(SaveEnded input, MonotonicTime, ServerOutputs& out) {
  TablesWritten written{.save = input.save, .status = std::move(input.status), .files = std::move(input.files)};
  saves_[input.save] = written;
  out.send.push_back({.to = kCoordinator, .message = std::move(written)});
}

}  // namespace attune::ps
