// The job of a simulation: trains as its model says, changes its setting when that is asked for, and shows itself as a
// look of the operator sees it. A plain value; time passes as its user says.
#pragma once

#include "base/random.h"
#include "cli/simulation/simulation.h"

namespace attune::cli {

class SimulatedJob {
 public:
  // Pods are there, and training begins.
  explicit SimulatedJob(const SimulationPlan& plan);

  const controller::TuningInput& Look() const { return look_; }
  // Another setting is asked for; it comes about as changes do.
  void Change(const controller::JobSetting& setting);
  // Trains on for `seconds`, or until the goal.
  void Train(double seconds);
  // Trains on to the goal at the present setting.
  void Finish();

  bool has_ended() const { return ended_; }
  bool has_reached_goal() const { return reached_; }
  double fraction() const { return reached_ ? 1 : effective_ / plan_.total_steps; }  // of the goal
  double seconds() const { return look_.time; }                                      // since the job began
  const controller::JobSetting& actual() const { return actual_; }

  // A job begins with its servers, and workers follow.
  static double StartSeconds(const JobModel& model) { return 2 * model.pod_start_seconds; }

 private:
  double Speed() const;  // share of what the model says, by the change in progress
  double NextEvent() const;
  void Advance(double seconds);
  void Count();
  void ShowPods();
  void ShowLoss(double steps);
  double LossAt(double effective) const;

  const SimulationPlan& plan_;
  controller::TuningInput look_;
  controller::JobSetting actual_;
  ModelFigures figures_;
  Random random_;
  double steps_ = 0, effective_ = 0;
  // By the clock of the job: new pods take part, rows have moved, what stands still continues.
  double arrives_ = 0, moved_ = 0, resumes_ = 0;
  bool ended_ = false, reached_ = false;
};

}  // namespace attune::cli
