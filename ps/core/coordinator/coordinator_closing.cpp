// The end of the job: a goal is reached, and the closing work done (ps/core/progress/job_ending.h).
#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {

void CoordinatorCore::CheckGoals(MonotonicTime now, CoordinatorOutputs& out) {
  loss_.CloseWindow(now);
  MakeEvaluationDue(now, out);
  if (end_.goal_reached() || !leadership_.Held(now)) return;
  GoalFacts facts{.verdict = metrics_.verdict(),
                  .trained = data_sets_.TrainedToTheEnd(),
                  .steps = options_.goal.steps ? members_.TotalSteps() : 0,
                  .loss = loss_,
                  .trained_for = {}};
  if (first_worker_ != kNever) facts.trained_for = now - first_worker_;
  if (std::string reason = ReachedGoal(options_.goal, facts); !reason.empty()) ReachGoal(std::move(reason), out);
}

void CoordinatorCore::ReachGoal(std::string reason, CoordinatorOutputs& out) {
  end_.Reach(std::move(reason));
  mirror_.NoteChange();
  data_sets_.BeginClosing();
  out.goal_reached = end_.goal();
  out.events.push_back("goal reached: " + end_.goal());
  for (const auto& [id, node] : members_) Send(node, GoalReached{.reason = end_.goal()}, out);
  ServeLeases(now_, out);  // all who wait are informed that there is no more
  FinishWhenEmpty(out);
}

void CoordinatorCore::FinishWhenEmpty(CoordinatorOutputs& out) {
  if (!end_.goal_reached() || IsFinished() || !leadership_.Held(now_)) return;
  for (const auto& [id, node] : members_) {
    if (node.member.role == Role::kWorker) return;
  }
  if (cuts_.HasBest()) return;  // mostly of the value that reached the goal; it has a deadline
  const DataSet* open = data_sets_.OpenClosingWork();
  const bool is_open = open != nullptr && !options_.mutations.closing_not_awaited;
  if (!end_.ClosingIsDone(data_sets_.HasClosingWork(), is_open)) {
    if (!end_.MayReport()) return;
    out.events.push_back(open == nullptr ? "the goal is reached and no worker has left in order since; waiting for one"
                                         : "the goal is reached and the closing work \"" + open->name +
                                               "\" is not done; waiting for a worker");
    return;
  }
  phase_ = Phase::kFinished;
  out.finished = true;
  ReleaseAnswers(true, out);  // no coordinator will follow, and the servers end now
  AnswerAll(Error(StatusCode::kFailedPrecondition, "the job is finished"), out);
  out.events.push_back("finished: the last worker has left");
  for (const auto& [id, node] : members_) Send(node, Finished{}, out);
}

}  // namespace attune::ps
