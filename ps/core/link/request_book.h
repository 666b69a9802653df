// Requests to the coordinator that wait for their answer: numbers them, remembers what to send again and when.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class RequestBook {
 public:
  struct Open {
    uint64_t call = 0;       // the asker's own number; 0: no caller waits
    MonotonicTime deadline;  // of the asker; the request itself stays open until answered
    Message message;
    MonotonicTime send_again;
    Duration backoff{};
    bool abandoned = false;  // the asker has given up
  };

  // Enters a request; the message's header gets its number. Returns what to send.
  RequestId Enter(uint64_t call, MonotonicTime deadline, Message message, MonotonicTime now, Duration send_again_after);
  // The message as it is to be sent at `now`: header with current remaining time and answered_below.
  Message Stamped(RequestId request, MonotonicTime now) const;
  // Takes the request out; nothing when it is unknown (a second copy of the answer).
  std::optional<Open> Answered(RequestId request);
  // The same for an answer that only questions of these kinds get: another one stays open.
  template <typename... Kinds>
  std::optional<Open> AnsweredAs(RequestId request) {
    const auto it = open_.find(request);
    if (it == open_.end() || !(std::holds_alternative<Kinds>(it->second.message) || ...)) return std::nullopt;
    return Answered(request);
  }
  // The open request of `call`, if any, is kept but no caller waits for it any more.
  void Abandon(uint64_t call);
  // All requests up to this are answered.
  RequestId answered_below() const;

  std::map<RequestId, Open>& open() { return open_; }
  const std::map<RequestId, Open>& open() const { return open_; }
  // Asks of this kind in flight.
  template <typename Kind>
  bool Has() const {
    for (const auto& [id, request] : open_) {
      if (std::holds_alternative<Kind>(request.message)) return true;
    }
    return false;
  }

 private:
  RequestId next_{1};
  std::map<RequestId, Open> open_;
};

// The header inside a request; nullptr for messages without one.
RequestHeader* HeaderOf(Message& message);
const RequestHeader* HeaderOf(const Message& message);

}  // namespace attune::ps
