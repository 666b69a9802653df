// The requests of one node: which are in progress, and the answers that it may not have heard of, so that each request
// is handled once however often it is sent. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class AnswerBook {
 public:
  enum class Received : uint8_t { kNew, kAnswered, kNothingToDo };

  // kNew: it is to be taken up; kAnswered: AnswerTo() is to be sent again.
  Received Receive(const RequestHeader& header) {
    heard_below_ = std::max(heard_below_, header.answered_below);
    answers_.erase(answers_.begin(), answers_.upper_bound(heard_below_));
    if (header.request <= heard_below_ || pending_.contains(header.request)) return Received::kNothingToDo;
    return answers_.contains(header.request) ? Received::kAnswered : Received::kNew;
  }
  // Requires an answer that the node has not heard of.
  const Message& AnswerTo(RequestId request) const { return answers_.at(request); }
  // An older request that waits keeps its sender from saying that answers to later ones have arrived.
  bool ManyBehindAWait() const { return answers_.size() >= kAnswersBehindAWait; }
  bool IsFull() const { return pending_.size() + answers_.size() >= kRequestsInFlightMax; }

  void TakeUp(RequestId request) { pending_.insert(request); }
  void Answered(RequestId request, Message answer) {
    pending_.erase(request);
    answers_.insert_or_assign(request, std::move(answer));
  }

 private:
  RequestId heard_below_;
  std::map<RequestId, Message> answers_;  // given, not known to have arrived
  std::set<RequestId> pending_;           // taken up, not answered
};

}  // namespace attune::ps
