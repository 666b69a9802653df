#include "operator/controller/tuning/state/job_course.h"

#include <algorithm>
#include <utility>

namespace attune::controller {

void JobCourse::Begin(const TuningInput& now) {
  kept_.here = now.wanted;
  kept_.moving = kept_.trial = false;
  kept_.failures = now.failures;
  running_.reset();
}

// Who turns around on the way has not been at the setting in between.
void JobCourse::Leave(const TuningInput& now) {
  if (!kept_.moving) running_ = kept_.here;
  kept_.moving = true;
  kept_.moving_since = now.time;
  kept_.ordered_generation = now.generation;
}

void JobCourse::Order(const TuningInput& now, const JobSetting& target, bool trial) {
  Leave(now);
  kept_.from = std::exchange(kept_.here, JobSetting(target));
  kept_.trial = trial;
  kept_.failures = now.failures;
  ++kept_.changes;
}

void JobCourse::GoBack(const TuningInput& now) {
  Order(now, JobSetting(kept_.from), false);
  kept_.from = kept_.here;
}

// What a user chose on the way replaces the target only: should it not come about, the job goes back to where it was.
void JobCourse::Follow(const TuningInput& now) {
  if (!kept_.moving) kept_.from = now.wanted;
  Leave(now);
  kept_.here = now.wanted;
  kept_.trial = false;
}

void JobCourse::Arrive(const TuningInput& now) {
  kept_.moving = false;
  running_.reset();
  CountFailures(now);
}

void JobCourse::CountFailures(const TuningInput& now) { kept_.failures = std::max(kept_.failures, now.failures); }

// An operator that came while the job moved knows where it left from.
const JobSetting& JobCourse::running() const {
  if (!kept_.moving) return kept_.here;
  return running_ ? *running_ : kept_.from;
}

void JobCourse::Load(Kept kept) {
  kept_ = std::move(kept);
  running_.reset();
}

}  // namespace attune::controller
