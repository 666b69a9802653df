#include "operator/tuner/belief/goal_progress.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attune::tuner {

bool GoalProgress::IsOutOfOrder(double time) const {
  return started_ && time < last_time_ - 1e-6 * std::abs(last_time_) - 1e-9;
}

void GoalProgress::Absorb(double time, double seconds, double steps) {
  if (!started_) started_ = time - seconds;
  last_time_ = std::max(last_time_, time);
  steps_ += steps;
  seconds_ += seconds;
}

void GoalProgress::Notice(double time) { last_time_ = std::max(last_time_, time); }

double GoalProgress::Advance(double now) {
  if (!std::isfinite(now)) now = last_time_;
  now = std::max(now, last_time_);
  if (!started_) started_ = now;
  last_time_ = now;
  return now - *started_;
}

void GoalProgress::SetEnding(double now, const Ending& ending) {
  constexpr double kStepsMin = 1, kSecondsMin = 1e-3;  // a goal is positive
  const double steps = steps_ + std::max(ending.steps, kStepsMin);
  if (goal_.kind == GoalKind::kSteps) {
    goal_.target = steps;
  } else if (goal_.kind == GoalKind::kEpochs) {
    goal_.target = steps / goal_.steps_per_epoch;
  } else {
    goal_.max_steps = steps;
  }
  goal_.max_seconds = std::max(now - started_.value_or(now), 0.0) + std::max(ending.seconds, kSecondsMin);
}

double GoalProgress::StepsToGo() const {
  // A job that continues beyond its limit has none.
  const double cap = steps_ < goal_.max_steps ? goal_.max_steps - steps_ : std::numeric_limits<double>::infinity();
  if (goal_.kind == GoalKind::kSteps) return std::max(0.0, std::min(goal_.target - steps_, cap));
  if (goal_.kind == GoalKind::kEpochs)
    return std::max(0.0, std::min(goal_.target * goal_.steps_per_epoch - steps_, cap));
  return std::max(0.0, cap);
}

double GoalProgress::SecondsToGo(double now, double seconds_per_update) const {
  return std::min(StepsToGo() * seconds_per_update, std::max(0.0, goal_.max_seconds - now));
}

double GoalProgress::LossOf(double metric) const {
  return goal_.metric_falls ? metric : std::max(2 * goal_.target, 1.0) - metric;
}

double GoalProgress::TargetLoss() const {
  return goal_.kind == GoalKind::kMetric ? LossOf(goal_.target) : goal_.target;
}

void GoalProgress::Load(const Dump& dump) {
  started_ = dump.started;
  last_time_ = dump.last_time;
  steps_ = dump.steps;
  seconds_ = dump.seconds;
}

}  // namespace attune::tuner
