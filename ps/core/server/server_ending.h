// How a server ends: with its job, with an error, or as one that was to leave. Nothing is taken up afterwards. Pure.
// Externally synchronized.
#pragma once

#include <optional>
#include <utility>

#include "base/status.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class ServerEnding {
 public:
  // The server ends: OK, or with this error.
  Status Finish() { return Lose(OkStatus()); }
  Status Lose(Status status) {
    over_ = true;
    return status;
  }
  // The same when it hears that it is no member. One that was to leave has nothing to do here any more: its release
  // may have been lost with the coordinator that gave it, and the next one knows no such member. Aborted: start it
  // again; other errors say that the job has failed. `self`: what the map says of this server, or null.
  Status EndAsNoMember(Status status, const Member* self) {
    const bool released = status.code() == StatusCode::kAborted && self != nullptr && self->leaving;
    return released ? Finish() : Lose(std::move(status));
  }
  bool over() const { return over_; }

  // A coordinator has said that the job's goal is reached; the server stays until it is asked to end.
  void ReachGoal() { goal_reached_ = true; }
  bool goal_reached() const { return goal_reached_; }

 private:
  bool over_ = false;
  bool goal_reached_ = false;
};

}  // namespace attune::ps
