// One job as the display shows it: plain values, gathered from the API and, in a local run, from live telemetry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/runs/jobs.h"
#include "operator/api/training_job.h"

namespace attune::telemetry {
struct JobSample;
}

namespace attune::cli {

struct PodView {
  std::string name, role, state;
  std::optional<double> rate;    // workers, samples per second
  std::optional<uint64_t> rows;  // servers
  std::optional<uint64_t> memory_bytes;
  std::optional<double> cpu_cores, cpu_limit;
  std::optional<uint64_t> memory_limit;
  std::optional<double> throttled;  // share of the time that its limit of CPU held it up
  std::string address;              // of the pod; "" before it has one
};

struct JobView {
  std::string name, name_space, uid, phase;
  std::optional<double> fraction;            // of the goal
  uint64_t epoch = 0, epochs = 0;            // epoch counts from 0; epochs 0: the goal is not in epochs
  std::optional<double> steps, epochs_done;  // of all workers together, so far
  std::optional<int32_t> threads;            // of a worker, where the spec says
  std::optional<api::RoleUsage> server_usage, worker_usage;
  std::optional<double> loss, rate, remaining_seconds;
  std::string sample_unit;
  int32_t servers_ready = 0, servers_wanted = 0, workers_ready = 0, workers_wanted = 0;
  uint64_t reprocessed_items = 0;
  std::string synchronization;      // "BSP"; "" with Async and while unknown
  std::string slowest_worker;       // "" when none is waited for
  std::string trouble;              // who is not heard of, or that no step ends; "" when all is well
  std::string trouble_since;        // RFC 3339
  std::vector<std::string> errors;  // what needs a person's help, whole
  // Since one looks, oldest first; of the live display. Of a metric one value for each time it was reported.
  std::vector<double> loss_trend, rate_trend;
  std::vector<std::pair<std::string, std::vector<double>>> metric_trends;  // by name, in the order of `metrics`
  std::optional<uint64_t> moving_bytes_left;
  std::optional<double> moving_rows_per_second;
  std::string checkpoint;  // directory of the newest; "" for none
  std::string checkpoint_time;
  std::string best_checkpoint;  // "checkpoint 7 in DIR, held_out_loss 3.187 at epoch 41"
  uint64_t checkpoint_bytes = 0, checkpoint_number = 0, checkpoint_step = 0;
  uint64_t recoveries = 0, restored_rows = 0;
  std::string tuning;                                   // what the tuner does, and why; "" when the job is not tuned
  std::string tuning_stage;                             // "Trying"
  std::optional<double> remaining_low, remaining_high;  // as the tuner believes
  std::vector<api::TuningDecision> decisions;           // the tuner's last ones, oldest first
  std::string move;                                     // of a pod to another machine: what is said of the last one
  bool moving = false;                                  // it is not done yet
  std::vector<PodView> pods;                            // ordered by role and index
  std::vector<JobEvent> events;                         // oldest first
  double started = 0, ended = 0;                        // seconds since 1970; 0: not yet
  enum class Outcome { kNone, kSucceeded, kFailed, kDeleted } outcome = Outcome::kNone;
  std::string tuned;    // what tuning did, "1 x 1 at 353k \u2192 2 x 6 at 1.51M words/s ..."; of a run that has ended
  std::string failure;  // message of the Failed condition, with the last lines of the log
  std::optional<api::JobResult> result;
  std::vector<api::MetricStatus> metrics;  // by name
};

// What condition Progressing complains of, "no step ends: j-server-1 is not heard of, since 2027-01-15T08:00:02Z"; ""
// when it does not.
std::string TroubleOf(const api::TrainingJobStatus& status);
// Workers whose programs have ended with code 0 in a job of which no step is done: such a program does not take part.
// Said at once; that it counts as a failure follows within seconds, when the coordinator's word is newer than the end.
// "" when there is none.
std::string EndedWithoutAStep(const api::TrainingJob& job, const std::vector<kube::Json>& pods);
JobView MakeView(const api::TrainingJob& job, const std::vector<kube::Json>& pods, std::vector<JobEvent> events);
// Replaces the slow-changing figures of the status by what the sidecars said last.
void AddTelemetry(const telemetry::JobSample& sample, JobView& view);

}  // namespace attune::cli
