#include "ps/core/progress/training_state.h"

#include <chrono>

namespace attune::ps {
namespace {

Duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

TrainingState::TrainingState(const JobGoal& goal, Duration loss_window)
    : loss_(loss_window),
      metrics_(goal.target_metric, goal.early_stopping, goal.best_checkpoint),
      best_(goal.best_checkpoint),
      evaluations_(goal.evaluate_every_epochs, goal.evaluate_every_steps) {}

void TrainingState::NoteWorker(double before, MonotonicTime now) {
  if (first_worker_ == kNever) first_worker_ = now - FromSeconds(before);
}

std::optional<Duration> TrainingState::TrainedFor(MonotonicTime now) const {
  return first_worker_ == kNever ? std::nullopt : std::optional<Duration>(now - first_worker_);
}

double TrainingState::TrainedSeconds(MonotonicTime now) const {
  return first_worker_ == kNever ? 0 : Seconds(now - first_worker_);
}

Status TrainingState::Report(const std::string& metric, std::optional<double> value, const MetricPlace& place,
                             MonotonicTime now) {
  if (Status status = metrics_.Report(metric, value, place); !status.ok()) return status;
  best_.Note(metric, metrics_, now);
  return OkStatus();
}

std::string TrainingState::ReachedGoal(const JobGoal& goal, const DataSet* trained, uint64_t steps,
                                       MonotonicTime now) const {
  return attune::ps::ReachedGoal(goal, {.verdict = metrics_.verdict(),
                                        .trained = trained,
                                        .steps = steps,
                                        .loss = loss_,
                                        .trained_for = TrainedFor(now)});
}

void TrainingState::ResumeFrom(CutRecord& resume) {
  metrics_.Continue(resume.metrics);
  best_.Restore(resume.best);
  resume.metrics = metrics_.states();
  resume.best = best_.kept();
}

void TrainingState::Fill(CutRecord& record, MonotonicTime now) const {
  record.seconds = TrainedSeconds(now);
  record.metrics = metrics_.states();
  record.best = best_.kept();
}

void TrainingState::Fill(CoordinatorRecord& record, MonotonicTime now) const {
  if (first_worker_ != kNever) record.trained_seconds = Seconds(now - first_worker_);
  record.smoothed_loss = loss_.value();
  record.loss_windows = loss_.windows();
  record.metrics = metrics_.states();
  record.evaluations = evaluations_.state();
  record.best = best_.kept();
}

void TrainingState::Restore(const CoordinatorRecord& record, MonotonicTime now) {
  const JobGoal& goal = record.goal;
  loss_.Restore(record.smoothed_loss, record.loss_windows);
  metrics_ = MetricBoard(goal.target_metric, goal.early_stopping, goal.best_checkpoint);
  metrics_.Restore(record.metrics);
  best_ = BestCheckpointKeeper(goal.best_checkpoint);
  best_.Restore(record.best);
  evaluations_ = EvaluationSchedule(goal.evaluate_every_epochs, goal.evaluate_every_steps);
  evaluations_.Restore(record.evaluations);
  if (record.trained_seconds) first_worker_ = now - FromSeconds(*record.trained_seconds);
}

}  // namespace attune::ps
