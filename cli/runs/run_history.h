// What a report page is made from: one job's figures over time, recorded while it is followed. A value of bounded size:
// when it is full every other point goes, so it covers the whole run however long that is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/runs/job_view.h"

namespace attune::cli {

inline constexpr uint64_t kHistoryBytesMax = 16 << 20;  // of the file

struct RunPoint {
  double time = 0;  // seconds since 1970
  std::optional<double> loss, rate, fraction, remaining_seconds;
  std::optional<double> moving_rows_per_second, moving_bytes_left;
  int32_t servers = 0, workers = 0;       // ready
  std::optional<double> memory_bytes;     // of all processes
  std::string pace;                       // "BSP"; "" with Async and while unknown
  std::map<std::string, double> metrics;  // the last value of each that the program had reported by then
  std::optional<double> steps, epochs;    // that all workers together have done so far
  int32_t threads = 0;                    // of a worker; 0: as its program begins
  std::vector<double> worker_rates;       // in the order of RunHistory::workers; NaN where none was reported
  std::optional<api::RoleUsage> server_usage, worker_usage;
};

struct RunHistory {
  std::string name, name_space, phase, sample_unit, synchronization;
  double started = 0, ended = 0;     // seconds since 1970; 0: not yet
  std::vector<RunPoint> points;      // oldest first
  std::vector<std::string> workers;  // pods whose rates the points have, in the order in which they were first seen
  std::vector<JobEvent> events;      // oldest first, at most kEventsMax
  std::vector<std::pair<std::string, double>> results;
  std::optional<double> loss, rate;  // as last shown: the figures that the terminal ends with
  // The best that was reported of each metric, as far as another value came after it.
  struct Best {
    std::string name;
    double value = 0;
    std::string where;  // "at epoch 30"
  };
  std::vector<Best> best;
  std::string best_checkpoint;  // as JobView has it; "": none
  // What else is known of the run, for the page's head: ("manifest", "job.yaml"), ("machine", "2 cores, ...").
  std::vector<std::pair<std::string, std::string>> about;
  uint64_t reprocessed_items = 0, recoveries = 0, restored_rows = 0;

  static constexpr size_t kPointsMax = 2000;
  static constexpr size_t kEventsMax = 300;
  static constexpr size_t kWorkersMax = 24;  // more lines cannot be read, and would be most of the file
};

class RunRecorder {
 public:
  // Looks closer together than the present spacing add no point; events and outcome are taken from each.
  void Add(const JobView& view, double now);
  void Describe(std::vector<std::pair<std::string, std::string>> about) { history_.about = std::move(about); }
  // Of a job that was ended from outside, which its own status does not say.
  void SetPhase(std::string phase) { history_.phase = std::move(phase); }
  const RunHistory& history() const { return history_; }

 private:
  void AddPoint(const JobView& view, double now);
  void AddLastMetrics(const JobView& view, double now);
  void AddRates(const JobView& view, RunPoint& point);
  RunHistory history_;
  double spacing_ = 0.9;  // seconds
};

// A file that `attune report` reads later, or during the run.
std::string SaveHistory(const RunHistory& history);
// InvalidArgument when it is no such file.
StatusOr<RunHistory> LoadHistory(const std::string& text);
// Its name in a run directory.
std::string HistoryFile(const std::string& job);

}  // namespace attune::cli
