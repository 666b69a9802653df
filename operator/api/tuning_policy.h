// Who looks for a better setting of a running job, for what, and how far it may go: spec.tuning (docs/tuning.md).
#pragma once

#include <cstdint>
#include <optional>

namespace attune::api {

enum class TuningMode {
  kOff,
  kRecommend,    // says in the status what it would do, and touches nothing
  kInitial,      // looks for a good setting at the beginning, then leaves it
  kInPlaceOnly,  // changes only what needs no other pods
  kAuto,
};
const char* ToString(TuningMode mode);

// What the tuner may do with one knob (operator/tuner/space/knob.h).
struct KnobPolicy {
  std::optional<int32_t> min, max;  // absent: those of the role
  std::optional<int32_t> pinned;    // this value and no other
};

// The same of an amount that one pod gets, in the unit of the role's resources.
struct AmountPolicy {
  std::optional<int64_t> min, max;  // absent: those of the role's resources
  std::optional<int64_t> pinned;
};

// What follows when a part of a job has a problem: spec.tuning.findings. What is found: operator/tuner/detectors.h.
enum class FindingPolicy {
  kByMode,  // acts where spec.tuning.mode allows it, and is reported elsewhere
  kAct,
  kReport,
  kOff,  // not even reported
};

struct FindingPolicies {
  FindingPolicy memory = FindingPolicy::kByMode;
  FindingPolicy straggler = FindingPolicy::kByMode;
  FindingPolicy network = FindingPolicy::kByMode;     // rows arrive late although servers have CPU left
  FindingPolicy hot_server = FindingPolicy::kByMode;  // the operator does nothing about it; kOff: not reported
};

// What "better" means.
enum class ObjectiveKind {
  kTime,             // the goal as soon as possible
  kCost,             // at the least cost
  kTimeUnderBudget,  // as soon as possible for at most a budget
};

// Money in any currency. A core and a GiB count as much as the limits of pods allow them.
struct TuningObjective {
  ObjectiveKind kind = ObjectiveKind::kTime;
  double core_hour = 1, gib_hour = 0;
  std::optional<double> budget;  // for the whole job
};

// Where the operator keeps what it chooses for a job.
enum class WriteTo {
  kByOwner,  // the status where another controller states the replicas, else the spec
  kSpec,     // as a user would
  kStatus,   // the spec stays what its owner says (status/chosen_settings.h)
};

struct Tuning {
  TuningMode mode = TuningMode::kOff;
  WriteTo write_to = WriteTo::kByOwner;
  bool paused = false;
  int64_t window_seconds = 5;  // shortest time at a setting that is worth measuring
  TuningObjective objective;
  KnobPolicy servers, workers, threads;
  // How far apart workers may get (tuner::kSlackAsync: without bound). Not the tuner's to choose unless it has a range.
  KnobPolicy slack;
  AmountPolicy worker_cpu, server_cpu;  // millicores
  FindingPolicies findings;
};

}  // namespace attune::api
