// Where a job is among its settings and where it goes: what was ordered, or a user chose, until as many pods take part;
// and where it goes back to when that does not come about. While it moves, it runs on at the setting that it leaves.
// A plain value, of one thread; nothing of it fails.
#pragma once

#include <cstdint>
#include <optional>

#include "operator/controller/observe/tuning_values.h"

namespace attune::controller {

class JobCourse {
 public:
  // A tuner begins with the setting that the spec asks for.
  void Begin(const TuningInput& now);
  // To another setting; `trial`: only to try it.
  void Order(const TuningInput& now, const JobSetting& target, bool trial);
  // The setting that was ordered is given up for the one before, from which there is no way back.
  void GoBack(const TuningInput& now);
  // A user has chosen another setting.
  void Follow(const TuningInput& now);
  // It has come about.
  void Arrive(const TuningInput& now);
  // The job stays where it is; `trial`: to try that.
  void Keep(bool trial) { kept_.trial = trial; }
  // Failures until now are not held against what follows.
  void CountFailures(const TuningInput& now);

  const JobSetting& here() const { return kept_.here; }  // or where the job goes
  const JobSetting& from() const { return kept_.from; }
  // Where the pods that train are.
  const JobSetting& running() const;
  bool is_moving() const { return kept_.moving; }
  bool is_trial() const { return kept_.trial; }
  bool HasWayBack() const { return kept_.from != kept_.here; }
  // A process has failed since the job left for here, or since failures were counted.
  bool HasFailed(const TuningInput& now) const { return now.failures > kept_.failures; }
  // The spec is as it was when the change was ordered.
  bool IsUnwritten(const TuningInput& now) const { return now.generation == kept_.ordered_generation; }
  double Waited(const TuningInput& now) const { return now.time - kept_.moving_since; }

  // What another operator continues from.
  struct Kept {
    JobSetting here, from;
    bool moving = false, trial = false;
    int64_t ordered_generation = 0;
    double moving_since = 0;
    int32_t failures = 0;
    uint64_t changes = 0;  // ordered since the job began
  };
  const Kept& kept() const { return kept_; }
  void Load(Kept kept);

 private:
  void Leave(const TuningInput& now);

  Kept kept_;
  std::optional<JobSetting> running_;  // since the job left there, until it has arrived; not kept
};

}  // namespace attune::controller
