#include "ps/core/coordinator/checkpoints.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ps/core/membership/members/row_reports.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

Status CheckDirectory(const std::string& directory, bool serves) {
  if (!serves) return Error(StatusCode::kFailedPrecondition, "the job does not serve yet; ask again when it does");
  if (!directory.empty() && directory.size() <= kPathBytesMax) return OkStatus();
  return Error(StatusCode::kInvalidArgument, "a checkpoint needs a directory of 1 to " + std::to_string(kPathBytesMax) +
                                                 " bytes that all servers share");
}

}  // namespace

void Checkpoints::OnCommand(CommandId id, const TakeCheckpoint& command, MonotonicTime deadline,
                            CoordinatorOutputs& out) {
  if (Status status = CheckDirectory(command.directory, job_.map().formed()); !status.ok()) {
    return JobContext::Answer(id, std::move(status), {}, out);
  }
  if (cuts_.IsFull()) {
    const Status full = Error(StatusCode::kResourceExhausted, "too many checkpoints wait; wait for some");
    return JobContext::Answer(id, full, {}, out);
  }
  cuts_.Add({.directory = command.directory, .deadline = deadline, .command = id});
}

void Checkpoints::OnMessage(const MemberState& node, const SaveTables& message, CoordinatorOutputs& out) {
  const RequestId request = message.header.request;
  Status status = CheckDirectory(message.directory, job_.map().formed());
  if (status.ok() && cuts_.IsFull()) {
    status = Error(StatusCode::kResourceExhausted, "too many checkpoints wait; save again later");
  }
  if (!status.ok()) return replies_.Refuse(node.member.node, request, std::move(status), out);
  cuts_.Add({.directory = message.directory,
             .deadline = job_.DeadlineAfter(message.header.remaining),
             .asker = node.member.node,
             .request = request});
}

// Every row is at some node or on its way between two; marks see to the latter (ps/core/rows/row_snapshot.cpp). During
// a recovery some are only in copies.
bool Checkpoints::RowsCanBeCopied() const {
  const MemberTable& members = std::as_const(job_).members();
  return AllReady(members, job_.map()) && !tables_.IsLoading() && !job_.last_server().is_lost();
}

CutRecord Checkpoints::RecordNow() const {
  const ClockBoard& clocks = pace_.clocks();
  CutRecord record{.synchronization = ToString(clocks.mode()),
                   .clock = clocks.holding() ? clocks.hold_at() : clocks.floor(),
                   .steps = job_.members().TotalSteps(),
                   .data_sets = leases_.Records()};
  goals_.Fill(record);
  return record;
}

// One more reason for a checkpoint like any other.
void Checkpoints::CutTheBest() {
  constexpr Duration kTimeout = std::chrono::minutes(2);  // as for one that is asked for
  if (job_.phase().finished() || !job_.map().formed() || cuts_.HasBest() || cuts_.IsFull()) return;
  if (!goals_.BestIsDue()) return;
  goals_.training().BeginBest();
  cuts_.Add(
      {.directory = job_.options().goal.best_checkpoint->directory, .deadline = job_.now() + kTimeout, .best = true});
}

Checkpoints::Outcome Checkpoints::Continue(CoordinatorOutputs& out) {
  CutTheBest();
  if (cuts_.empty()) return Outcome::kNothing;
  const auto name = [this](NodeId id) { return job_.members().Name(id); };
  const Status status = cuts_.CheckFirst(job_.now(), pace_.clocks(), goals_.training().WouldBeBest(), name);
  if (!status.ok()) return End(status, out);
  if (cuts_.CanBegin(pace_.clocks()) && RowsCanBeCopied()) out.begin_checkpoint = cuts_.Begin(job_.now());
  if (cuts_.CanMark(pace_.clocks()) && RowsCanBeCopied()) MarkAll(out);
  return cuts_.AllMarked() ? WriteAll(out) : Outcome::kNothing;
}

Checkpoints::Outcome Checkpoints::On(const CheckpointBegun& input, CoordinatorOutputs& out) {
  if (!cuts_.IsBeginning(input.cut)) return Outcome::kNothing;
  if (!input.status.ok()) return End(input.status, out);
  cuts_.Hold(input.checkpoint, input.base, pace_.clocks());
  return Outcome::kNothing;
}

void Checkpoints::MarkAll(CoordinatorOutputs& out) {
  const CheckpointRequest& asked = cuts_.first().asked;
  CutRecord record = asked.exact() ? RecordNow() : CutRecord();
  if (asked.best) record.best = goals_.training().MarkBest(asked.directory, cuts_.first().checkpoint);
  std::set<NodeId> reporting;
  for (const auto& [id, node] : job_.members()) {
    if (node.reports()) reporting.insert(id);
  }
  cuts_.Mark(reporting, std::move(record), job_.now());
  for (const auto& [id, node] : job_.members()) SendOrder(node, out);
}

Checkpoints::Outcome Checkpoints::WriteAll(CoordinatorOutputs& out) {
  cuts_.Write(pace_.clocks());
  for (const auto& [id, node] : job_.members()) SendOrder(node, out);
  return Outcome::kContinues;
}

void Checkpoints::SendOrder(const MemberState& node, CoordinatorOutputs& out) const {
  if (std::optional<Message> order = cuts_.OrderFor(node.member.node)) JobContext::Send(node, *std::move(order), out);
}

Checkpoints::Outcome Checkpoints::OnMessage(const MemberState& node, const SnapshotDone& message,
                                            CoordinatorOutputs& out) {
  switch (cuts_.OnWritten(node.member.node, message)) {
    case CheckpointCuts::Written::kEnded:
      JobContext::Send(node, CutEnded{.cut = message.cut}, out);
      return Outcome::kNothing;
    case CheckpointCuts::Written::kKnown:
      return Outcome::kNothing;
    case CheckpointCuts::Written::kFailed:
      return End(Annotate(message.status, job_.members().Name(node.member.node)), out);
    case CheckpointCuts::Written::kTaken:
      break;
  }
  if (std::optional<CheckpointCommit> commit = cuts_.Commit()) {
    commit->tables = tables_.Specs();
    out.commit_checkpoint = std::move(commit);
  }
  return Outcome::kPartIn;
}

Checkpoints::Outcome Checkpoints::On(const CheckpointCommitted& input, CoordinatorOutputs& out) {
  return cuts_.IsFirst(input.cut) ? End(input.status, out) : Outcome::kNothing;
}

// Rows that are lost without a copy come from it from now on.
void Checkpoints::Remember(const CheckpointCut& cut, CoordinatorOutputs& out) {
  recoveries_.SetNewest({.directory = cut.asked.directory, .checkpoint = cut.checkpoint, .clock = cut.record.clock},
                        cut.record.steps);
  leases_.NoteNewest(cut.record);
  replies_.NoteChange();
  job_.SendToAll(Role::kServer, NewestCheckpoint{.point = recoveries_.newest()}, out);
}

Checkpoints::Outcome Checkpoints::End(const Status& status, CoordinatorOutputs& out) {
  const CheckpointCut cut = cuts_.End(status.ok(), pace_.clocks());
  const CheckpointRequest& asked = cut.asked;
  for (const auto& [id, part] : cut.parts) {
    if (const MemberState* node = job_.members().Find(id)) JobContext::Send(*node, CutEnded{.cut = cut.id}, out);
  }
  std::string text = Describe(cut, status);
  if (asked.best) {
    const Duration took = cut.phase == CheckpointCut::Phase::kWaiting ? Duration::zero() : job_.now() - cut.begun_at;
    goals_.training().EndBest(status.ok() ? cut.record.best : std::nullopt, job_.now(), took);
    text += status.ok() ? ", the best by " + Describe(*cut.record.best) : "; the best one so far stays";
  }
  out.events.push_back(status.ok() ? text + " written to " + asked.directory : text);
  if (asked.exact() && status.ok()) Remember(cut, out);
  if (asked.best) return Outcome::kBestEnded;
  if (asked.command) {
    JobContext::Answer(*asked.command, Annotate(status, "checkpoint to " + asked.directory),
                       status.ok() ? text : std::string(), out);
  } else if (status.ok()) {
    replies_.Reply(asked.asker, asked.request, Done{.request = asked.request}, out);
  } else {
    replies_.Refuse(asked.asker, asked.request, status, out);
  }
  return Outcome::kEnded;
}

void Checkpoints::Fill(JobProgress& progress) const {
  progress.checkpoints = cuts_.completed();
  progress.checkpoint_clock = cuts_.last_clock();
}

}  // namespace attune::ps
