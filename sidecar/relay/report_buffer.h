// Reports on their way to the operator: thinned to the interval that it asks for, and kept, within a bound, while it is
// away. The oldest give way, and their number is reported. Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "attune/v1/telemetry.pb.h"
#include "base/time_source.h"

namespace attune::sidecar {

class ReportBuffer {
 public:
  // At most `reports_max` wait. `wanted`: there is an operator; without one nothing is kept.
  ReportBuffer(size_t reports_max, bool wanted) : reports_max_(reports_max), wanted_(wanted) {}

  // As the operator asks; until then every report counts.
  void SetInterval(Duration interval) { interval_ = interval; }
  // One that comes sooner than the operator wants one is held back, and gives way to the next. What a coordinator says
  // of its right to act is not held back.
  void Add(v1::PodReport report, MonotonicTime now);
  // What was held back counts after all: no newer one will come.
  void FlushHeld();

  bool empty() const { return reports_.empty(); }
  size_t size() const { return reports_.size(); }
  uint64_t sent() const { return sent_; }
  uint64_t dropped() const { return dropped_; }
  // The oldest, counted as sent; nullopt: none waits.
  std::optional<v1::PodReport> Take();
  // The one that was taken last was not sent after all.
  void PutBack(const v1::PodReport& report);

 private:
  void Append(v1::PodReport report);

  const size_t reports_max_;
  const bool wanted_;
  Duration interval_{};
  MonotonicTime added_at_{};           // when one last went in
  std::optional<v1::PodReport> held_;  // the newest that came too soon
  std::string lease_reported_;         // of the coordinator, by the report that went in last
  std::deque<v1::PodReport> reports_;
  uint64_t sent_ = 0, dropped_ = 0;
};

}  // namespace attune::sidecar
