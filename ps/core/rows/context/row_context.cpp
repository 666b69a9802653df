#include "ps/core/rows/context/row_context.h"

#include <variant>

#include "base/check.h"

namespace attune::ps {

ShardMap RowContext::Adopt(ShardMap next) {
  ATTUNE_CHECK(next.version > map_.version) << "map " << next.version << " after " << map_.version;
  return std::exchange(map_, std::move(next));
}

void RowContext::Send(NodeId to, Message message, RowOutputs& out) {
  SetMapVersion(message, map_.version);
  if (to != self_) {
    if (IsMember(to)) out.send.push_back({.to = to, .message = std::move(message)});
    return;
  }
  const bool answer = std::holds_alternative<PushAck>(message) || std::holds_alternative<PushRefused>(message) ||
                      std::holds_alternative<PullReply>(message) || std::holds_alternative<PullRefused>(message);
  if (answer) {
    out.send.push_back({.to = to, .message = std::move(message)});
  } else {
    to_self_.push_back(std::move(message));
  }
}

std::optional<Message> RowContext::TakeOwn() {
  if (to_self_.empty()) return std::nullopt;
  std::optional<Message> message(std::move(to_self_.front()));
  to_self_.pop_front();
  return message;
}

void RowContext::Reject(NodeId from, const char* kind, const std::string& why, RowOutputs& out) {
  ++counters_.rejected;
  out.rejected.push_back({.from = from, .why = std::string(kind) + ": " + why});
}

void RowContext::Lose(Status status, RowOutputs& out) {
  if (!status.ok() && !out.lost) out.lost = std::move(status);
}

}  // namespace attune::ps
