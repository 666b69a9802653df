// How far a job is towards its goal: its clock, its steps, what is left of both. A goal may be stated again while the
// job runs; the clock of a job begins with its first report, or with the first question when that comes earlier, and
// never goes back. A plain value.
#pragma once

#include <optional>

#include "operator/tuner/belief/job_description.h"

namespace attune::tuner {

class GoalProgress {
 public:
  explicit GoalProgress(const Goal& goal) : goal_(goal) {}

  // A window that ends at `time` would be older than what is known: a clock may jump ahead, but one that goes back
  // would make old news look new.
  bool IsOutOfOrder(double time) const;
  // A window of training that ends at `time`.
  void Absorb(double time, double seconds, double steps);
  // Something else has happened at `time`; it does not begin the job.
  void Notice(double time);
  // A question at `now`, which may be late or no number. Returns the seconds since the job began.
  double Advance(double now);
  // See Tuner::SetEnding.
  void SetEnding(double now, const Ending& ending);

  // Updates of single workers until the job ends at the latest; infinite where it ends by time or by its loss alone.
  double StepsToGo() const;
  // The same in seconds, `now` seconds after the begin.
  double SecondsToGo(double now, double seconds_per_update) const;
  // The goal is a number of updates, whatever they are worth; otherwise a loss or a metric.
  bool CountsUpdates() const { return goal_.kind == GoalKind::kSteps || goal_.kind == GoalKind::kEpochs; }
  // What falls towards TargetLoss() while a metric comes nearer to its own.
  double LossOf(double metric) const;
  double TargetLoss() const;

  const Goal& goal() const { return goal_; }
  double last_time() const { return last_time_; }
  double age() const { return last_time_ - started_.value_or(last_time_); }
  // Between the clock of reports and questions, and seconds since the job began. REQUIRES: it has begun.
  double SinceStart(double time) const { return time - *started_; }
  double TimeAt(double since_start) const { return *started_ + since_start; }

  struct Dump {
    std::optional<double> started;
    double last_time = 0, steps = 0, seconds = 0;
  };
  Dump Save() const { return {started_, last_time_, steps_, seconds_}; }
  void Load(const Dump& dump);

 private:
  Goal goal_;
  std::optional<double> started_;
  double last_time_ = 0;
  double steps_ = 0, seconds_ = 0;  // of training that was reported
};

}  // namespace attune::tuner
