// A server when its job gets another coordinator: whom it obeys, what it keeps for the next one, and how others learn
// where that one is (docs/protocol.md#another-coordinator).
#include <utility>

#include "ps/core/server/server_core.h"

namespace attune::ps {

std::string CoordinatorAddress(const std::string& address, uint16_t port) {
  const size_t colon = address.rfind(':');
  return colon == std::string::npos ? "" : address.substr(0, colon + 1) + std::to_string(port);
}

void ServerCore::KeepRecord(CoordinatorRecord record) {
  if (record.number < map().records_from) return;
  if (!mirror_ || mirror_->number < record.number) mirror_ = std::move(record);
}

void ServerCore::OnMessage(NodeId, MirrorUpdate&& message, MonotonicTime, ServerOutputs& out) {
  const uint64_t number = message.record.number;
  KeepRecord(std::move(message.record));
  out.send.push_back({.to = kCoordinator, .message = MirrorAck{.number = number}});
}

void ServerCore::OnQuestion(const SupportQuestion& question, MonotonicTime now) {
  coordinator_heard_ = now;
  support_.OnQuestion(term_, question.number, question.lasts, now);
}

void ServerCore::OnMessage(NodeId, Promise&& message, MonotonicTime now, ServerOutputs& out) {
  OnQuestion(message.support, now);
  Promised promised{
      .map = map(),
      .standing = {.number = heartbeat_, .map_version = map().version, .leases = {}, .supports = support_.number()},
      .sync = {},
      .tables = {},
      .mirror = mirror_,
      .supported_term = support_.FormerTerm(now),
      .support_left = support_.FormerLeft(now)};
  const auto& tables = rows_.tables();
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i] == nullptr) continue;
    promised.tables.push_back({.table = TableId(static_cast<uint32_t>(i + 1)), .spec = tables[i]->spec()});
  }
  out.send.push_back({.to = kCoordinator, .message = std::move(promised)});
}

void ServerCore::On(CoordinatorHere input, MonotonicTime, ServerOutputs& out) {
  if (ended_ || input.term <= coordinator_at_.term || input.term < term_) return;
  term_ = input.term;
  coordinator_at_ = {.term = input.term, .host = node_, .port = input.port, .address = options_.address};
  ReportCoordinatorsPlace({}, out);
}

void ServerCore::OnCoordinatorAt(NodeId from, const CoordinatorAt& message, ServerOutputs& out) {
  if (message.term <= coordinator_at_.term || message.term < term_ || message.host == node_) return;
  const std::optional<std::string> address = notices_.Check(from, message, map(), term_);
  if (!address) return;
  coordinator_at_ = message;
  term_ = message.term;
  out.coordinator = CoordinatorPlace{.term = message.term, .address = CoordinatorAddress(*address, message.port)};
  ReportCoordinatorsPlace({}, out);
}

// To one peer, or to all.
void ServerCore::ReportCoordinatorsPlace(std::optional<NodeId> only, ServerOutputs& out) {
  if (coordinator_at_.host == NodeId()) return;
  if (only) return out.send.push_back({.to = *only, .message = coordinator_at_});
  for (const NodeId peer : linked_) out.send.push_back({.to = peer, .message = coordinator_at_});
}

}  // namespace attune::ps
