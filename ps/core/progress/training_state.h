// How training goes, by what programs report: the loss, metrics, for how long it has trained, which checkpoint is the
// best and when an evaluation is due. One value that checkpoints and the coordinator's record take along.
//
// Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/progress/best_checkpoint.h"
#include "ps/core/progress/evaluation_schedule.h"
#include "ps/core/progress/job_ending.h"
#include "ps/core/progress/metric_board.h"
#include "ps/core/progress/smoothed_loss.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/progress_state.h"

namespace attune::ps {

class TrainingState {
 public:
  TrainingState(const JobGoal& goal, Duration loss_window);

  // With the coordinator's first step.
  void Begin(MonotonicTime now) { loss_.Begin(now); }
  // The first worker has joined; later ones change nothing. `before`: seconds that the job had trained when the
  // checkpoint was cut that it continues from.
  void NoteWorker(double before, MonotonicTime now);
  // Since the first worker joined; nullopt: none has.
  std::optional<Duration> TrainedFor(MonotonicTime now) const;
  double TrainedSeconds(MonotonicTime now) const;

  // --- reports

  void AddLoss(double sum, uint64_t samples) { loss_.Add(sum, samples); }
  std::optional<double> smoothed_loss() const { return loss_.value(); }
  Status Report(const std::string& metric, std::optional<double> value, const MetricPlace& place, MonotonicTime now);
  // Whether that reports are refused is to be said: once.
  bool MayReportRefusal() { return !std::exchange(refusal_reported_, true); }
  std::vector<MetricState> metrics() const { return metrics_.states(); }
  // Why training is over; empty: it continues. `trained`: DataSets::TrainedToTheEnd.
  std::string ReachedGoal(const JobGoal& goal, const DataSet* trained, uint64_t steps, MonotonicTime now) const;
  // The window of the loss ends when it is over.
  void CloseWindow(MonotonicTime now) { loss_.CloseWindow(now); }

  // --- the best checkpoint (ps/core/progress/best_checkpoint.h)

  bool BestIsDue(MonotonicTime now, bool goal_reached) const { return best_.IsDue(metrics_, now, goal_reached); }
  void BeginBest() { best_.Begin(); }
  bool WouldBeBest() const { return best_.WouldBeBest(metrics_); }
  BestCheckpoint MarkBest(const std::string& directory, uint64_t checkpoint) const {
    return best_.Mark(metrics_, directory, checkpoint);
  }
  void EndBest(const std::optional<BestCheckpoint>& complete, MonotonicTime now, Duration took) {
    best_.End(complete, now, took);
  }
  const std::optional<BestCheckpoint>& best() const { return best_.kept(); }

  // --- evaluations on the way

  EvaluationSchedule& evaluations() { return evaluations_; }
  const EvaluationSchedule& evaluations() const { return evaluations_; }

  // --- records

  // The job continues from this checkpoint. A manifest is a file: what counts here of its metrics and of its best
  // checkpoint replaces what it says of them.
  void ResumeFrom(CutRecord& resume);
  void Fill(CutRecord& record, MonotonicTime now) const;
  void Fill(CoordinatorRecord& record, MonotonicTime now) const;
  // From the record of the coordinator before, whose goal is that of the job.
  void Restore(const CoordinatorRecord& record, MonotonicTime now);

 private:
  SmoothedLoss loss_;
  MetricBoard metrics_;
  BestCheckpointKeeper best_;
  EvaluationSchedule evaluations_;
  MonotonicTime first_worker_ = kNever;
  bool refusal_reported_ = false;
};

}  // namespace attune::ps
