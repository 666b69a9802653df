#include "ps/core/link/request_book.h"

#include <algorithm>
#include <utility>

namespace attune::ps {
namespace {

template <typename AnyMessage>
auto* FindHeader(AnyMessage& message) {
  return std::visit(
      [](auto& body) -> std::conditional_t<std::is_const_v<AnyMessage>, const RequestHeader, RequestHeader>* {
        if constexpr (requires { body.header; }) {
          return &body.header;
        } else {
          return nullptr;
        }
      },
      message);
}

}  // namespace

RequestHeader* HeaderOf(Message& message) { return FindHeader(message); }
const RequestHeader* HeaderOf(const Message& message) { return FindHeader(message); }

RequestId RequestBook::Enter(uint64_t call, MonotonicTime deadline, Message message, MonotonicTime now,
                             Duration send_again_after) {
  const RequestId request = std::exchange(next_, next_.Next());
  HeaderOf(message)->request = request;
  open_.emplace(request, Open{.call = call,
                              .deadline = deadline,
                              .message = std::move(message),
                              .send_again = now + send_again_after,
                              .backoff = send_again_after});
  return request;
}

Message RequestBook::Stamped(RequestId request, MonotonicTime now) const {
  const Open& open = open_.at(request);
  Message message = open.message;
  RequestHeader* header = HeaderOf(message);
  header->answered_below = answered_below();
  header->remaining = open.deadline == kNever ? Duration::max() : std::max(Duration::zero(), open.deadline - now);
  return message;
}

std::optional<RequestBook::Open> RequestBook::Answered(RequestId request) {
  const auto it = open_.find(request);
  if (it == open_.end()) return std::nullopt;
  Open open = std::move(it->second);
  open_.erase(it);
  return open;
}

void RequestBook::Abandon(uint64_t call) {
  for (auto& [id, open] : open_) {
    if (open.call == call) open.abandoned = true;
  }
}

RequestId RequestBook::answered_below() const {
  const RequestId oldest = open_.empty() ? next_ : open_.begin()->first;
  return RequestId(oldest.value() - 1);
}

}  // namespace attune::ps
