#include "ps/core/coordinator/state/goals.h"

#include <algorithm>
#include <string>
#include <utility>

namespace attune::ps {

Goals::Goals(JobContext& job, Replies& replies)
    : job_(job), replies_(replies), training_(job.options().goal, job.options().loss_window) {
  if (CutRecord* resume = job_.resume()) training_.ResumeFrom(*resume);
}

void Goals::AddLoss(const Heartbeat& before, const Heartbeat& next) {
  training_.AddLoss(next.loss_sum - before.loss_sum,
                    next.loss_samples - std::min(next.loss_samples, before.loss_samples));
}

// Reports are requests like any other: each counts once, and is answered when the copy of the coordinator's state has
// it.
bool Goals::OnReport(const MemberState& node, const ReportMetric& message, const MetricPlace& place,
                     CoordinatorOutputs& out) {
  const RequestId request = message.header.request;
  Status status = training_.Report(message.name, message.value, place, job_.now());
  if (!status.ok()) {
    if (training_.MayReportRefusal()) out.events.push_back(std::string(attune::Message(status)));
    replies_.Refuse(node.member.node, request, std::move(status), out);
    return false;
  }
  replies_.Reply(node.member.node, request, Done{.request = request}, out);
  return true;
}

bool Goals::Check(const DataSet* trained, CoordinatorOutputs& out) {
  training_.CloseWindow(job_.now());
  if (reached() || !job_.Leads()) return false;
  const JobGoal& goal = job_.options().goal;
  const uint64_t steps = goal.steps ? job_.members().TotalSteps() : 0;
  std::string reason = training_.ReachedGoal(goal, trained, steps, job_.now());
  if (reason.empty()) return false;
  end_.Reach(std::move(reason));
  replies_.NoteChange();
  out.goal_reached = end_.goal();
  out.events.push_back("goal reached: " + end_.goal());
  job_.SendToAll(GoalReached{.reason = end_.goal()}, out);
  return true;
}

void Goals::SendReason(const MemberState& node, CoordinatorOutputs& out) const {
  if (reached()) JobContext::Send(node, GoalReached{.reason = end_.goal()}, out);
}

void Goals::NoteJoined() {
  const CutRecord* resume = std::as_const(job_).resume();
  training_.NoteWorker(resume != nullptr ? resume->seconds : 0, job_.now());
}

bool Goals::MayFinish(bool has_closing_work, const DataSet* open, CoordinatorOutputs& out) {
  const bool is_open = open != nullptr && !job_.mutations().closing_not_awaited;
  if (end_.ClosingIsDone(has_closing_work, is_open)) return true;
  if (end_.MayReport()) {
    out.events.push_back(open == nullptr ? "the goal is reached and no worker has left in order since; waiting for one"
                                         : "the goal is reached and the closing work \"" + open->name +
                                               "\" is not done; waiting for a worker");
  }
  return false;
}

void Goals::Restore(const CoordinatorRecord& record) {
  training_.Restore(record, job_.now());
  end_.Restore(record.goal_reached, record.closing_from);
}

void Goals::Fill(CoordinatorRecord& record) const {
  record.goal_reached = end_.goal();
  record.closing_from = end_.closing_from();
  training_.Fill(record, job_.now());
}

void Goals::Fill(JobProgress& progress) const {
  progress.goal_reached = end_.goal();
  progress.smoothed_loss = training_.smoothed_loss();
  progress.trained_seconds = training_.TrainedSeconds(job_.now());
  progress.metrics = training_.metrics();
  progress.best_checkpoint = training_.best();
}

}  // namespace attune::ps
