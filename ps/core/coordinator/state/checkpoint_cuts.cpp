#include "ps/core/coordinator/state/checkpoint_cuts.h"

#include <algorithm>
#include <utility>

#include "base/pause_watch.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

using Phase = CheckpointCut::Phase;

std::string Describe(const CheckpointCut& cut, const Status& status) {
  if (!status.ok()) {
    return "checkpoint to " + cut.asked.directory + " failed: " + std::string(attune::Message(status));
  }
  return "checkpoint " + std::to_string(cut.checkpoint) +
         (cut.asked.exact() ? " at step " + std::to_string(cut.record.clock) + " (" + cut.record.synchronization + ")"
                            : "");
}

bool CheckpointCuts::IsFull() const { return cuts_.size() >= kCommandsMax; }

void CheckpointCuts::Add(CheckpointRequest request) {
  cuts_.push_back({.id = std::exchange(next_, next_.Next()), .asked = std::move(request)});
}

bool CheckpointCuts::HasBest() const {
  return std::ranges::any_of(cuts_, [](const CheckpointCut& cut) { return cut.asked.best; });
}

std::vector<CommandId> CheckpointCuts::AbandonAll() {
  std::vector<CommandId> commands;
  for (const CheckpointCut& cut : std::exchange(cuts_, {})) {
    if (cut.asked.command) commands.push_back(*cut.asked.command);
  }
  return commands;
}

Status CheckpointCuts::CheckFirst(MonotonicTime now, const ClockBoard& clocks, bool is_better, const NameOf& name) {
  const CheckpointCut& cut = cuts_.front();
  if (std::exchange(node_gone_, false)) {
    return Error(StatusCode::kAborted, "a node left or was lost meanwhile; take another checkpoint");
  }
  if (cut.phase == Phase::kMarking && now - cut.marked_at >= mark_timeout_) {
    return Error(StatusCode::kDeadlineExceeded,
                 cut.unmarked.empty() ? "no time left" : name(*cut.unmarked.begin()) + " has not copied its rows");
  }
  if (cut.phase == Phase::kMarking && cut.holds && clocks.hold_at() != cut.record.clock) {
    return Error(StatusCode::kAborted, "a worker was found to be beyond step " + std::to_string(cut.record.clock) +
                                           "; take another checkpoint");
  }
  if (now >= cut.asked.deadline && cut.phase != Phase::kCommitting) {
    std::string text = "a lost server's rows are still being recovered, or a server has not taken the newest map";
    if (cut.phase == Phase::kHolding && !clocks.Missing().empty()) {
      text = name(clocks.Missing().front()) + " has not come to step " + std::to_string(clocks.hold_at());
    } else if (cut.phase == Phase::kWriting) {
      text = "not all nodes have written in time";
    }
    return Error(StatusCode::kDeadlineExceeded, text);
  }
  if (cut.asked.best && cut.phase < Phase::kMarking && !is_better) {
    return Error(StatusCode::kAborted, "a later value, before the rows were copied, is no better");
  }
  return OkStatus();
}

bool CheckpointCuts::CanBegin(const ClockBoard& clocks) const {
  if (cuts_.empty() || cuts_.front().phase != Phase::kWaiting) return false;
  return !cuts_.front().asked.exact() || clocks.CanPrepare();
}

CheckpointOrder CheckpointCuts::Begin(MonotonicTime now) {
  CheckpointCut& cut = cuts_.front();
  cut.phase = Phase::kBeginning;
  cut.begun_at = now;
  return {.cut = cut.id, .directory = cut.asked.directory};
}

bool CheckpointCuts::IsBeginning(CutId cut) const { return IsFirst(cut) && cuts_.front().phase == Phase::kBeginning; }

void CheckpointCuts::Hold(uint64_t checkpoint, uint64_t base, ClockBoard& clocks) {
  CheckpointCut& cut = cuts_.front();
  cut.checkpoint = checkpoint;
  cut.base = base;
  cut.phase = Phase::kHolding;
  cut.holds = cut.asked.exact() && clocks.mode().bounded();
  if (cut.holds) clocks.Prepare();
}

bool CheckpointCuts::CanMark(const ClockBoard& clocks) const {
  if (cuts_.empty() || cuts_.front().phase != Phase::kHolding) return false;
  return !cuts_.front().holds || clocks.AllStand() || mutations_.mark_before_all_stand;
}

void CheckpointCuts::Mark(const std::set<NodeId>& nodes, CutRecord record, MonotonicTime now) {
  CheckpointCut& cut = cuts_.front();
  cut.phase = Phase::kMarking;
  cut.marked_at = now;
  cut.record = std::move(record);
  cut.unmarked = nodes;
  for (const NodeId node : nodes) cut.parts[node] = std::nullopt;
}

void CheckpointCuts::TakeIn(NodeId node) {
  if (!Marking()) return;
  CheckpointCut& cut = cuts_.front();
  if (cut.parts.try_emplace(node, std::nullopt).second) cut.unmarked.insert(node);
}

void CheckpointCuts::OnMarked(CutId cut, NodeId node) {
  if (IsFirst(cut)) cuts_.front().unmarked.erase(node);
}

bool CheckpointCuts::AllMarked() const {
  return Marking() && (cuts_.front().unmarked.empty() || mutations_.release_before_all_marks);
}

void CheckpointCuts::Write(ClockBoard& clocks) {
  CheckpointCut& cut = cuts_.front();
  cut.phase = Phase::kWriting;
  cut.unmarked.clear();
  marked_ = cut.id;
  if (std::exchange(cut.holds, false)) clocks.Release();
}

CheckpointCuts::Written CheckpointCuts::OnWritten(NodeId node, const SnapshotDone& done) {
  if (!IsFirst(done.cut)) return Written::kEnded;
  CheckpointCut& cut = cuts_.front();
  const auto part = cut.parts.find(node);
  if (part == cut.parts.end() || part->second) return Written::kKnown;
  if (!done.status.ok()) return Written::kFailed;
  part->second = done;
  return Written::kTaken;
}

std::optional<CheckpointCommit> CheckpointCuts::Commit() {
  CheckpointCut& cut = cuts_.front();
  const bool all = std::ranges::all_of(cut.parts, [](const auto& entry) { return entry.second.has_value(); });
  if (!all || cut.phase != Phase::kWriting || node_gone_) return std::nullopt;
  cut.phase = Phase::kCommitting;
  CheckpointCommit commit{.cut = cut.id,
                          .directory = cut.asked.directory,
                          .checkpoint = cut.checkpoint,
                          .base = cut.base,
                          .tables = {},
                          .files = {},
                          .record = cut.record};
  if (commit.record.best && commit.record.best->directory == commit.directory) commit.record.best->directory.clear();
  for (const auto& [id, done] : cut.parts) {
    commit.files.insert(commit.files.end(), done->files.begin(), done->files.end());
  }
  return commit;
}

CheckpointCut CheckpointCuts::End(bool complete, ClockBoard& clocks) {
  CheckpointCut cut = std::move(cuts_.front());
  cuts_.pop_front();
  node_gone_ = false;
  if (cut.holds) clocks.Release();
  if (complete && cut.asked.exact()) {
    ++completed_;
    last_clock_ = cut.record.clock;
  }
  return cut;
}

std::optional<Message> CheckpointCuts::OrderFor(NodeId node) const {
  if (!HasOpenPart(node)) return std::nullopt;
  const CheckpointCut& cut = cuts_.front();
  if (cut.phase == Phase::kWriting) return WriteSnapshot{.cut = cut.id};
  return attune::ps::Mark{.cut = cut.id,
                          .checkpoint = cut.checkpoint,
                          .base = cut.base,
                          .directory = cut.asked.directory,
                          .clock = cut.record.clock};
}

bool CheckpointCuts::HasOpenPart(NodeId node) const {
  if (cuts_.empty()) return false;
  const auto part = cuts_.front().parts.find(node);
  return part != cuts_.front().parts.end() && !part->second;
}

void CheckpointCuts::NoteGone(NodeId node, const Status& why) {
  if (cuts_.empty() || cuts_.front().phase == Phase::kCommitting) return;
  if (HasOpenPart(node) || (!why.ok() && cuts_.front().parts.contains(node))) node_gone_ = true;
}

bool CheckpointCuts::Marking() const { return !cuts_.empty() && cuts_.front().phase == Phase::kMarking; }

bool CheckpointCuts::PreparesCopies() const {
  return !cuts_.empty() && cuts_.front().phase > Phase::kWaiting && cuts_.front().phase < Phase::kWriting;
}

void CheckpointCuts::SkipPause(Duration pause) {
  for (CheckpointCut& cut : cuts_) cut.marked_at = MovedBy(pause, cut.marked_at);
}

}  // namespace attune::ps
