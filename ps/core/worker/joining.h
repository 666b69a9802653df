// How a worker becomes a member: when it asks the coordinator, how many servers the job still waits for, and the
// program's call that ends when it may begin. Pure. Externally synchronized.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/time_source.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

class Joining {
 public:
  explicit Joining(Duration ask_again_after) : ask_again_after_(ask_again_after) {}

  void Sent(MonotonicTime now) { sent_ = now; }
  // When to ask again while there is no answer.
  MonotonicTime again_at() const { return sent_ + ask_again_after_; }
  void Welcomed(uint32_t servers_expected, uint32_t servers_joined) {
    expected_ = servers_expected;
    joined_ = servers_joined;
  }
  // Of a job that has not formed.
  std::string WhatIsMissing() const {
    return std::to_string(joined_) + " of " + std::to_string(expected_) +
           " servers have joined; see the logs of the missing ones";
  }

  void Wait(CallId call) { call_ = call; }
  bool waits() const { return call_.has_value(); }
  void GiveUp(CallId call) {
    if (call_ == call) call_.reset();
  }
  // Requires waits(). The program may begin.
  CallId TakeCall() { return *std::exchange(call_, std::nullopt); }

 private:
  const Duration ask_again_after_;
  MonotonicTime sent_{};
  uint32_t expected_ = 0, joined_ = 0;
  std::optional<CallId> call_;
};

}  // namespace attune::ps
