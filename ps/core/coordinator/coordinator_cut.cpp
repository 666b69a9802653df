// Checkpoints: all workers stand before a step, all nodes copy their rows, workers continue, nodes write
// (docs/protocol.md#checkpoints). Under Async no worker stands; then only items known to be done before the first mark
// count as contained. What a program saves goes the same way, but waits for no step and says nothing about data.
#include <algorithm>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"
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

void CoordinatorCore::OnCommand(CommandId id, const TakeCheckpoint& command, MonotonicTime deadline,
                                CoordinatorOutputs& out) {
  if (Status status = CheckDirectory(command.directory, map_.formed()); !status.ok()) {
    return Answer(id, std::move(status), {}, out);
  }
  if (cuts_.IsFull()) {
    return Answer(id, Error(StatusCode::kResourceExhausted, "too many checkpoints wait; wait for some"), {}, out);
  }
  cuts_.Add({.directory = command.directory, .deadline = deadline, .command = id});
}

void CoordinatorCore::OnMessage(Node& node, const SaveTables& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const RequestId request = message.header.request;
  Status status = CheckDirectory(message.directory, map_.formed());
  if (status.ok() && cuts_.IsFull()) {
    status = Error(StatusCode::kResourceExhausted, "too many checkpoints wait; save again later");
  }
  if (!status.ok()) {
    return Reply(node.member.node, request, Refused{.request = request, .status = std::move(status)}, out);
  }
  cuts_.Add({.directory = message.directory,
             .deadline = message.header.remaining < kNever - now ? now + message.header.remaining : kNever,
             .asker = node.member.node,
             .request = request});
}

// Every row is at some node or on its way between two; marks see to the latter (ps/core/rows/row_snapshot.cpp). During
// a recovery some are only in copies.
bool CoordinatorCore::RowsCanBeCopied() const {
  return members_.AllReady(map_) && !tables_.IsLoading() && !members_.without_server();
}

CutRecord CoordinatorCore::RecordNow() const {
  CutRecord record{.synchronization = ToString(clocks_.mode()),
                   .clock = clocks_.holding() ? clocks_.hold_at() : clocks_.floor(),
                   .steps = members_.TotalSteps(),
                   .data_sets = data_sets_.Records()};
  training_.Fill(record, times_.now());
  return record;
}

// One more reason for a checkpoint like any other.
void CoordinatorCore::CutTheBest(MonotonicTime now) {
  constexpr Duration kTimeout = std::chrono::minutes(2);  // as for one that is asked for
  if (IsFinished() || !map_.formed() || cuts_.HasBest() || cuts_.IsFull()) return;
  if (!training_.BestIsDue(now, end_.goal_reached())) return;
  training_.BeginBest();
  cuts_.Add({.directory = options_.goal.best_checkpoint->directory, .deadline = now + kTimeout, .best = true});
}

void CoordinatorCore::GoOnWithCut(MonotonicTime now, CoordinatorOutputs& out) {
  CutTheBest(now);
  if (cuts_.empty()) return;
  const auto name = [this](NodeId id) { return members_.Name(id); };
  const Status status = cuts_.CheckFirst(now, clocks_, training_.WouldBeBest(), name);
  if (!status.ok()) return EndCut(status, out);
  if (cuts_.CanBegin(clocks_) && RowsCanBeCopied()) out.begin_checkpoint = cuts_.Begin(now);
  if (cuts_.CanMark(clocks_) && RowsCanBeCopied()) MarkAll(now, out);
  if (cuts_.AllMarked()) WriteAll(now, out);
}

void CoordinatorCore::On(CheckpointBegun input, MonotonicTime, CoordinatorOutputs& out) {
  if (!cuts_.IsBeginning(input.cut)) return;
  if (!input.status.ok()) return EndCut(input.status, out);
  cuts_.Hold(input.checkpoint, input.base, clocks_);
}

void CoordinatorCore::MarkAll(MonotonicTime now, CoordinatorOutputs& out) {
  const CheckpointRequest& asked = cuts_.first().asked;
  CutRecord record = asked.exact() ? RecordNow() : CutRecord();
  if (asked.best) record.best = training_.MarkBest(asked.directory, cuts_.first().checkpoint);
  std::set<NodeId> reporting;
  for (const auto& [id, node] : members_) {
    if (node.reports()) reporting.insert(id);
  }
  cuts_.Mark(reporting, std::move(record), now);
  for (const auto& [id, node] : members_) SendCutOrder(node, out);
}

void CoordinatorCore::WriteAll(MonotonicTime now, CoordinatorOutputs& out) {
  cuts_.Write(clocks_);
  for (const auto& [id, node] : members_) SendCutOrder(node, out);
  placement_.NoteChange();
  ServeLeases(now, out);
}

void CoordinatorCore::SendCutOrder(const Node& node, CoordinatorOutputs& out) {
  if (std::optional<Message> order = cuts_.OrderFor(node.member.node)) Send(node, *std::move(order), out);
}

void CoordinatorCore::OnMessage(Node& node, const MarkDone& message, MonotonicTime, CoordinatorOutputs&) {
  cuts_.OnMarked(message.cut, node.member.node);
}

void CoordinatorCore::OnMessage(Node& node, const SnapshotDone& message, MonotonicTime, CoordinatorOutputs& out) {
  switch (cuts_.OnWritten(node.member.node, message)) {
    case CheckpointCuts::Written::kEnded:
      return Send(node, CutEnded{.cut = message.cut}, out);
    case CheckpointCuts::Written::kKnown:
      return;
    case CheckpointCuts::Written::kFailed:
      return EndCut(Annotate(message.status, members_.Name(node.member.node)), out);
    case CheckpointCuts::Written::kTaken:
      break;
  }
  placement_.NoteChange();  // a node that leaves may go now
  std::optional<CheckpointCommit> commit = cuts_.Commit();
  if (!commit) return;
  commit->tables = tables_.Specs();
  out.commit_checkpoint = std::move(commit);
}

void CoordinatorCore::On(CheckpointCommitted input, MonotonicTime, CoordinatorOutputs& out) {
  if (cuts_.IsFirst(input.cut)) EndCut(input.status, out);
}

// Rows that are lost without a copy come from it from now on.
void CoordinatorCore::RememberCheckpoint(const CheckpointCut& cut, CoordinatorOutputs& out) {
  recoveries_.SetNewest({.directory = cut.asked.directory, .checkpoint = cut.checkpoint, .clock = cut.record.clock},
                        cut.record.steps);
  data_sets_.NoteNewest(cut.record);
  mirror_.NoteChange();
  for (const auto& [id, node] : members_) {
    if (node.member.role == Role::kServer) Send(node, NewestCheckpoint{.point = recoveries_.newest()}, out);
  }
}

void CoordinatorCore::TakeFromNewest() {
  recoveries_.TakeFromNewest(members_.TotalSteps(), data_sets_.TrainedSinceNewest(recoveries_.newest().checkpoint == 0),
                             end_.goal_reached());
  mirror_.NoteChange();
}

void CoordinatorCore::EndCut(const Status& status, CoordinatorOutputs& out) {
  const CheckpointCut cut = cuts_.End(status.ok(), clocks_);
  const CheckpointRequest& asked = cut.asked;
  for (const auto& [id, part] : cut.parts) {
    if (const Node* node = members_.Find(id)) Send(*node, CutEnded{.cut = cut.id}, out);
  }
  placement_.NoteChange();
  std::string text = Describe(cut, status);
  if (asked.best) {
    const Duration took = cut.phase == CheckpointCut::Phase::kWaiting ? Duration::zero() : times_.now() - cut.begun_at;
    training_.EndBest(status.ok() ? cut.record.best : std::nullopt, times_.now(), took);
    text += status.ok() ? ", the best by " + Describe(*cut.record.best) : "; the best one so far stays";
  }
  out.events.push_back(status.ok() ? text + " written to " + asked.directory : text);
  if (asked.exact() && status.ok()) RememberCheckpoint(cut, out);
  if (asked.best) {
    FinishWhenEmpty(out);  // which waits for it
  } else if (asked.command) {
    Answer(*asked.command, Annotate(status, "checkpoint to " + asked.directory), status.ok() ? text : std::string(),
           out);
  } else if (status.ok()) {
    Reply(asked.asker, asked.request, Done{.request = asked.request}, out);
  } else {
    Reply(asked.asker, asked.request, Refused{.request = asked.request, .status = status}, out);
  }
  ServeLeases(times_.now(), out);
}

}  // namespace attune::ps
