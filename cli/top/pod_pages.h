// What pods use at this moment, from the pages of their sidecars: the same that Prometheus reads.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time_source.h"
#include "cli/runs/job_view.h"

namespace attune::cli {

// What such a page says of its pod (sidecar/metrics.h); absent is what it does not say.
struct PodFigures {
  std::optional<double> cpu_cores, cpu_limit, throttled, memory_bytes, memory_limit, rate, rows;
};

// Lines that say nothing of these are skipped, whatever they are. Pure.
PodFigures ReadPodPage(std::string_view page);
// Into the view; what is absent leaves the view as it is. Pure.
void AddFigures(const PodFigures& figures, PodView& pod);

// Keeps the figures between looks. Reading takes at most kBudget a look however many pods there are and however slow
// they answer: what was not reached keeps its figures, and comes first the next time. Not thread-safe.
class PodPages {
 public:
  using Read = std::function<StatusOr<std::string>(const PodView& pod, Duration timeout)>;

  // `time` must outlive it.
  PodPages(Read read, const TimeSource& time) : read_(std::move(read)), time_(time) {}

  // Reads what is due of the view's pods that run, and adds what is known.
  void AddTo(JobView& view);
  // Why no page could be read at the last look; "" when one could, or there was nothing to read.
  const std::string& problem() const { return problem_; }

  static constexpr Duration kBudget = std::chrono::milliseconds(1500);
  static constexpr Duration kPageTimeout = std::chrono::seconds(1);
  static constexpr Duration kRetryAfter = std::chrono::seconds(10);  // of a pod that did not answer
  static constexpr Duration kShownFor = std::chrono::seconds(15);    // older figures are not shown

 private:
  struct Known {
    PodFigures figures;
    std::optional<MonotonicTime> read_at, failed_at;
  };
  // False: there was no answer.
  bool ReadOne(const PodView& pod, Duration left);

  const Read read_;
  const TimeSource& time_;
  std::map<std::string, Known> known_;  // by pod
  std::string next_;                    // pod that was not reached at the last look
  std::string problem_;
};

}  // namespace attune::cli
