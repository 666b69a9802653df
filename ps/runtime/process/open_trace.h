// A row of this process that the operator has asked to look at (TraceRow of proto/attune/v1/telemetry.proto): begun
// with the directive, answered when its time is over. One at a time: another one takes its place.
//
// Belongs to the thread of the reporter.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/runtime/process/directives.h"

namespace attune::v1 {
class TraceRow;
}

namespace attune::ps {

// What the process does about it. Both are called on the reporter's thread.
struct TraceCallbacks {
  std::function<Status(const std::string& table, uint64_t key)> begin;
  std::function<std::vector<std::string>()> end;  // what was seen since, oldest first
};

class OpenTrace {
 public:
  static constexpr Duration kLongest = std::chrono::seconds(60);

  // Both must outlive it.
  OpenTrace(const TraceCallbacks& callbacks, AnswerBox& answers) : callbacks_(callbacks), answers_(answers) {}

  // Refused where it cannot be: no such table, no time, or more than kLongest.
  void Begin(uint64_t directive, const v1::TraceRow& asked, MonotonicTime now);
  // When its time is over; kNever: none is open.
  MonotonicTime due() const { return open_ ? open_->until : kNever; }
  void AnswerWhenDue(MonotonicTime now);

 private:
  struct Open {
    uint64_t directive = 0;
    MonotonicTime until{};
  };

  const TraceCallbacks& callbacks_;
  AnswerBox& answers_;
  std::optional<Open> open_;
};

}  // namespace attune::ps
