// What the tuner does to a job, as its status says it. For people: nothing is decided from it. What the operator itself
// must not forget is in an object of its own (operator/controller/objects/tuning_record.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::api {

// A setting of the knobs that are the tuner's to choose, with what it expects there.
struct TuningSetting {
  int32_t servers = 0, workers = 0;
  std::optional<int32_t> threads, slack;                        // absent: not its to choose
  std::optional<int32_t> worker_millicores, server_millicores;  // of one pod; likewise
  std::optional<double> updates_per_second;                     // of all workers, as believed at the last decision
  std::optional<double> remaining_seconds;                      // to the goal, had the job this setting from there on
};

// One change of setting.
struct TuningDecision {
  uint64_t number = 0;                  // 1, 2, ... since the job began
  double elapsed_seconds = 0;           // since the job began
  std::string time;                     // the same by the calendar, RFC 3339
  std::string kind;                     // Trial, Move
  std::string from, to;                 // "servers=1 workers=2"
  std::string why, expected, measured;  // "+12 % (±4.0 %)" of progress per second; "": not measured
  std::string outcome;                  // Open, Kept, RolledBack, NotTaken, Crashed, Unjudged
  // The same for programs: progress per second there over that of the best setting known before, and seconds of full
  // rate that the change was expected to cost. Absent: not measured; of a decision of an earlier version.
  std::optional<double> expected_speedup = {}, measured_speedup = {}, cost_seconds = {};
};

// What policies say of the job (operator/policy/resolve.h).
struct PolicyInForce {
  std::string policies;  // "ClusterTuningPolicy night, TuningPolicy research/own"
  std::string mode;      // in force
  std::string conflict;  // "": none
};

struct TuningStatus {
  std::string stage;                      // Learning, Moving, Trying, Keeping, Paused, Finished, Unavailable, Off
  std::string message;                    // why, in a sentence or two
  int32_t servers = 0, workers = 0;       // the setting it wants now; 0: none yet
  std::string since;                      // RFC 3339, of the stage
  std::optional<int32_t> threads, slack;  // likewise; absent: not its to choose
  std::optional<int32_t> worker_millicores, server_millicores;  // of one pod; likewise
  std::optional<int32_t> recommended_servers, recommended_workers, recommended_threads, recommended_slack;
  std::optional<int32_t> recommended_worker_millicores, recommended_server_millicores;
  std::optional<double> remaining_low, remaining_seconds, remaining_high;  // 90 % interval
  uint64_t changes = 0;
  uint64_t policy_refusals = 0;                          // times that a policy kept it from a change
  std::optional<TuningSetting> current = {}, best = {};  // what the job has; what is best as far as is known
  std::vector<TuningDecision> decisions = {};            // the last kDecisionsShown, oldest first
  // Of a job that an operator of an earlier version tuned: what is in the record since. Read until it has been moved.
  std::string state = {};

  static constexpr size_t kDecisionsShown = 5;
};

}  // namespace attune::api
