#include "ps/core/coordinator/coordinator_core.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attune::ps {

void CoordinatorOutputs::Clear() {
  send.clear();
  close.clear();
  begin_checkpoint.reset();
  commit_checkpoint.reset();
  command_results.clear();
  events.clear();
  rejected.clear();
  goal_reached.reset();
  superseded = false;
  finished = false;
  failed.reset();
}

CoordinatorCore::CoordinatorCore(CoordinatorOptions options) : job_(std::move(options)) {
  const CutRecord* resume = std::as_const(job_).resume();
  recoveries_.SetNewest(job_.options().load, resume != nullptr ? resume->steps : 0);
}

// --- steps

void CoordinatorCore::Step(CoordinatorInput input, MonotonicTime now, CoordinatorOutputs& out) {
  if (job_.phase().superseded()) return;
  const CoordinatorOptions& options = job_.options();
  if (job_.times().Step(now, options.check_interval, options.send_again_after)) {
    inquiry_.Begin();
    goals_.Begin();
  }
  SkipPause(out);
  std::visit([&](auto&& body) { On(std::forward<decltype(body)>(body), out); }, std::move(input));
  if (job_.times().CheckIsDue()) On(CoordinatorTimer{}, out);
  tables_.StopWaitingForTheGone(out);
  if (job_.phase().superseded()) {
    out.Clear();
    out.superseded = true;
  } else if (job_.phase().taking_over()) {
    watch_.AnswerGoneOrders(out);
    ContinueTakeover(out);
  } else {
    Continue(out);
  }
}

void CoordinatorCore::Continue(CoordinatorOutputs& out) {
  if (job_.Leads()) {  // else another coordinator may be at work
    AfterCut(checkpoints_.Continue(out), out);
    while (pace_.ContinueSwitch(!checkpoints_.PreparesCopies(), out)) leases_.Serve(out);
    pace_.SendChanges(out);
    ContinuePlacement(out);
    watch_.AnswerGoneOrders(out);
  }
  ContinueMirror(out);
}

// This process has stood still: what it did not hear meanwhile is no evidence (base/pause_watch.h). Its lease is not
// moved: that runs out while it sleeps.
void CoordinatorCore::SkipPause(CoordinatorOutputs& out) {
  const Duration pause = job_.times().Paused(job_.options().pause_tolerance);
  if (pause == Duration::zero() || job_.mutations().late_step_is_evidence) return;
  job_.silence().SkipPause(pause, job_.now());
  job_.last_server().SkipPause(pause);
  watch_.SkipPause(pause);
  tables_.SkipPause(pause);
  checkpoints_.SkipPause(pause);
  inquiry_.SkipPause(pause);
  pace_.SkipPause(pause);
  placement_.SkipPause(pause);
  out.events.push_back("the coordinator's process stood still for " +
                       std::to_string(static_cast<int64_t>(Seconds(pause))) +
                       " s; that time counts for no member's silence");
}

// --- members

// What follows from a change of whether it may act.
void CoordinatorCore::CheckLease(CoordinatorOutputs& out) {
  Leadership& leadership = job_.leadership();
  const bool held = job_.Leads();
  if (const std::optional<bool> leads = leadership.NoteHeld(job_.now())) {
    out.events.push_back(*leads ? "a majority of the servers supports the coordinator; it continues"
                                : "the coordinator lacks the support of a majority of the servers; it suspends until "
                                  "they are heard of, proven gone, or the operator confirms it");
  }
  leadership.WantConfirmation(map(), job_.phase().finished(), job_.now());
  if (held && map().formed() && leadership.NeedsOtherVoters(map(), job_.now())) placement_.PublishMembers(out);
}

void CoordinatorCore::CheckLiveness(CoordinatorOutputs& out) {
  if (job_.last_server().IsLostFor(job_.options().replacement_grace, job_.now())) {
    return FailJob(Error(StatusCode::kDataLoss,
                         "the last server is lost and no other one has joined; start the job "
                         "again from its last checkpoint"),
                   out);
  }
  CheckLease(out);
  departures_.LoseTheGone(out);
  watch_.CheckLinks(out);
  departures_.LoseTheSilent(out);
  FinishWhenEmpty(out);
}

void CoordinatorCore::EndLeave(NodeId id, CoordinatorOutputs& out) {
  const Leave leave = departures_.EndLeave(id, out);
  CheckGoals(out);
  if (!leave.drained) goals_.NoteLeft(id);  // one that was asked to leave may have had the closing work before it
  FinishWhenEmpty(out);
}

// --- rows

void CoordinatorCore::ContinuePlacement(CoordinatorOutputs& out) {
  const std::vector<NodeId> leavers = placement_.Continue(out);
  bool changed = false;
  for (const NodeId id : leavers) {
    const MemberState& node = job_.members().at(id);
    if (node.leave) {
      EndLeave(id, out);
    } else if (node.is_server()) {
      departures_.Release(id, out);
    } else {
      continue;  // the coordinator before has had its Leave: it is sent again, and waits for the answer
    }
    changed = true;
  }
  if (changed) placement_.PublishMembers(out);
}

void CoordinatorCore::AfterCut(Checkpoints::Outcome outcome, CoordinatorOutputs& out) {
  using Outcome = Checkpoints::Outcome;
  if (outcome == Outcome::kNothing) return;
  placement_.NoteChange();
  if (outcome == Outcome::kPartIn) return;
  if (outcome == Outcome::kBestEnded) FinishWhenEmpty(out);  // which waits for it
  leases_.Serve(out);
}

// --- another coordinator follows, or this one follows another

void CoordinatorCore::ContinueMirror(CoordinatorOutputs& out) {
  const bool moved = replies_.ChooseHost();
  if (!replies_.HasHost()) return replies_.Release(true, out);
  ReleaseMirrored(out);  // what waited for the lease, or for servers with an older copy
  if (const Node* host = replies_.CopyDue(moved)) JobContext::Send(*host, MirrorUpdate{.record = Record()}, out);
}

void CoordinatorCore::ReleaseMirrored(CoordinatorOutputs& out) {
  if (const std::optional<uint64_t> from = replies_.ToAnnounce()) {
    placement_.PublishRecordsFrom(*from, out);
    replies_.NoteAnnounced();
  }
  replies_.Release(false, out);
}

CoordinatorRecord CoordinatorCore::Record() const {
  CoordinatorRecord record;
  record.number = replies_.number();
  job_.Fill(record);
  recoveries_.Fill(record);
  goals_.Fill(record);
  pace_.Fill(record);
  tables_.Fill(record);
  leases_.Fill(record);
  placement_.Fill(record);
  return record;
}

std::optional<CoordinatorRecord> CoordinatorCore::LastRecord() const {
  if (job_.phase().taking_over() || job_.phase().failed() || !map().formed()) return std::nullopt;
  CoordinatorRecord record = Record();
  ++record.number;
  return record;
}

void CoordinatorCore::ContinueTakeover(CoordinatorOutputs& out) {
  if (job_.phase().failed()) return;
  const std::optional<Inquiry::Found> found = inquiry_.Continue(out);
  if (!found) return;
  job_.phase().Lead();
  if (!found->record) {
    job_.SetMap(found->map);
    return FailJob(inquiry_.EndWithoutRecord(out), out);
  }
  restoration_.Restore(found->map, *found->record, inquiry_.End(), out);
  for (const auto& [id, node] : job_.members()) {
    admissions_.SendWelcome(node, out);
    if (node.is_server()) tables_.SendOpenOrders(node, out);
  }
  CheckGoals(out);
  FinishWhenEmpty(out);
}

// --- the end of the job

void CoordinatorCore::CheckGoals(CoordinatorOutputs& out) {
  leases_.MakeEvaluationDue(out);
  if (!goals_.Check(leases_.TrainedToTheEnd(), out)) return;
  leases_.BeginClosing(out);
  FinishWhenEmpty(out);
}

void CoordinatorCore::FinishWhenEmpty(CoordinatorOutputs& out) {
  if (!goals_.reached() || job_.phase().finished() || !job_.Leads()) return;
  if (job_.members().AnyWorker()) return;
  if (checkpoints_.HasBest()) return;  // mostly of the value that reached the goal; it has a deadline
  if (!goals_.MayFinish(leases_.HasClosingWork(), leases_.OpenClosingWork(), out)) return;
  job_.phase().Finish();
  out.finished = true;
  replies_.Release(true, out);  // no coordinator will follow, and the servers end now
  AnswerAll(Error(StatusCode::kFailedPrecondition, "the job is finished"), out);
  out.events.push_back("finished: the last worker has left");
  job_.SendToAll(Finished{}, out);
}

void CoordinatorCore::FailJob(const Status& reason, CoordinatorOutputs& out) {
  if (!job_.phase().Fail(reason)) return;
  out.failed = reason;
  AnswerAll(reason, out);
  out.events.push_back("the job failed: " + std::string(reason.message()));
  job_.SendToAll(SessionLost{.status = reason}, out);
}

// The job is over: nothing that was asked for will happen.
void CoordinatorCore::AnswerAll(const Status& status, CoordinatorOutputs& out) {
  for (const CommandId id : pace_.AbandonAll()) JobContext::Answer(id, status, {}, out);
  for (const CommandId id : placement_.AbandonAll()) JobContext::Answer(id, status, {}, out);
  for (const CommandId id : watch_.AbandonAll()) JobContext::Answer(id, status, {}, out);
  for (const CommandId id : checkpoints_.AbandonAll()) JobContext::Answer(id, status, {}, out);
}

JobProgress CoordinatorCore::progress() const {
  JobProgress progress;
  job_.Fill(progress);
  inquiry_.Fill(progress);
  recoveries_.Fill(progress, map().recoveries);
  goals_.Fill(progress);
  pace_.Fill(progress);
  leases_.Fill(progress);
  checkpoints_.Fill(progress);
  placement_.Fill(progress);
  return progress;
}

}  // namespace attune::ps
