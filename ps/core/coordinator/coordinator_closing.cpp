// What programs say of the model, when they are to evaluate it, and the end of the job: a goal is reached, and the
// closing work done (ps/core/progress/job_ending.h). Reports are requests like any other: each counts once, and is
// answered when the copy of the coordinator's state has it.
#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {

void CoordinatorCore::OnMessage(Node& node, const ReportMetric& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const RequestId request = message.header.request;
  Status status = training_.Report(message.name, message.value, data_sets_.PlaceAt(members_.TotalSteps()), now);
  if (!status.ok()) {
    if (training_.MayReportRefusal()) out.events.push_back(std::string(attune::Message(status)));
    return Reply(node.member.node, request, Refused{.request = request, .status = std::move(status)}, out);
  }
  Reply(node.member.node, request, Done{.request = request}, out);
  CheckGoals(now, out);
}

void CoordinatorCore::MakeEvaluationDue(MonotonicTime now, CoordinatorOutputs& out) {
  if (!training_.evaluations().any() || end_.goal_reached() || !leadership_.Held(now)) return;
  if (!data_sets_.AdvanceEvaluations(training_.evaluations(), members_.TotalSteps())) return;
  mirror_.NoteChange();
  ServeLeases(now, out);
}

void CoordinatorCore::CheckGoals(MonotonicTime now, CoordinatorOutputs& out) {
  training_.CloseWindow(now);
  MakeEvaluationDue(now, out);
  if (end_.goal_reached() || !leadership_.Held(now)) return;
  const JobGoal& goal = options_.goal;
  const uint64_t steps = goal.steps ? members_.TotalSteps() : 0;
  std::string reason = training_.ReachedGoal(goal, data_sets_.TrainedToTheEnd(), steps, now);
  if (!reason.empty()) ReachGoal(std::move(reason), out);
}

void CoordinatorCore::ReachGoal(std::string reason, CoordinatorOutputs& out) {
  end_.Reach(std::move(reason));
  mirror_.NoteChange();
  data_sets_.BeginClosing();
  out.goal_reached = end_.goal();
  out.events.push_back("goal reached: " + end_.goal());
  for (const auto& [id, node] : members_) Send(node, GoalReached{.reason = end_.goal()}, out);
  ServeLeases(times_.now(), out);  // all who wait are informed that there is no more
  FinishWhenEmpty(out);
}

void CoordinatorCore::FinishWhenEmpty(CoordinatorOutputs& out) {
  if (!end_.goal_reached() || IsFinished() || !leadership_.Held(times_.now())) return;
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
