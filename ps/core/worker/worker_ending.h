// How a worker's session ends: the program leaves, or the session is lost. Which calls are refused from then on, and
// when nothing is taken up any more. Pure. Externally synchronized.
#pragma once

#include <utility>

#include "base/status.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class WorkerEnding {
 public:
  // The program has made its last call.
  void Leave() { leaving_ = true; }
  bool leaving() const { return leaving_; }
  // The coordinator has confirmed it: this worker is no member any more.
  void Left() { left_ = true; }
  bool left() const { return left_; }

  // True: the session is lost now, with this error. Once.
  bool Lose(const Status& status) {
    if (!lost_.ok()) return false;
    lost_ = status;
    return true;
  }
  const Status& lost() const { return lost_; }  // not OK: the session is lost
  // What a message says that ends the session.
  static Status ErrorOf(JoinRefused&& message) { return Annotate(message.status, "joining the job"); }
  static Status ErrorOf(SessionLost&& message) { return std::move(message.status); }
  // It came too late.
  static Status ErrorOf(const Finished&) {
    return Error(StatusCode::kOutOfRange, "joining the job: it is finished, and nothing is left to do");
  }

  // Why a call is refused; OK: calls are taken.
  Status Refusal() const {
    if (!lost_.ok() || !leaving_) return lost_;
    return Error(StatusCode::kFailedPrecondition, "this worker is leaving the job; no further calls are taken");
  }
  bool takes_calls() const { return lost_.ok() && !leaving_; }
  // Nothing is taken up any more.
  bool over() const { return !lost_.ok() || left_; }

 private:
  Status lost_;
  bool leaving_ = false;
  bool left_ = false;
};

}  // namespace attune::ps
