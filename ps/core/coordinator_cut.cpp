// Checkpoints: all workers stand before a step, all nodes copy their rows, workers go on, nodes write (protocol 5.5).
// Under Async nobody stands; then only items known to be done before the first mark count as contained.
#include <algorithm>
#include <utility>

#include "ps/core/coordinator_core.h"

namespace attune::ps {

void CoordinatorCore::OnCommand(CommandId id, const TakeCheckpoint& command, MonotonicTime deadline,
                                CoordinatorOutputs& out) {
  if (command.directory.empty() || command.directory.size() > kPathBytesMax || !map_.formed()) {
    return Answer(
        id,
        Error(StatusCode::kInvalidArgument, "a checkpoint needs a job that serves and a directory of at most " +
                                                std::to_string(kPathBytesMax) + " bytes"),
        {}, out);
  }
  if (cuts_.size() >= kCommandsMax) {
    return Answer(id, Error(StatusCode::kResourceExhausted, "too many checkpoints wait; wait for some"), {}, out);
  }
  cuts_.push_back({.command = id,
                   .id = std::exchange(next_cut_, next_cut_.Next()),
                   .directory = command.directory,
                   .deadline = deadline,
                   .marked_at = kNever,
                   .record = {},
                   .unmarked = {},
                   .parts = {}});
}

// No rows on their way, so that each is copied by exactly one node.
bool CoordinatorCore::NothingMoves() const {
  if (!AllReady() || last_server_lost_ != kNever) return false;
  const bool copying =
      std::ranges::any_of(map_.shards, [](const Shard& shard) { return shard.next_backup != NodeId(); });
  return !copying && std::ranges::all_of(nodes_, [](const auto& entry) {
    return !entry.second.rows || (entry.second.rows->rows_to_come == 0 && entry.second.rows->handovers_open == 0);
  });
}

CutRecord CoordinatorCore::RecordNow() const {
  CutRecord record{.synchronization = ToString(clocks_.mode()),
                   .clock = clocks_.holding() ? clocks_.hold_at() : clocks_.floor(),
                   .steps = TotalSteps(),
                   .seconds = first_worker_ == kNever ? 0 : Seconds(now_ - first_worker_),
                   .data_sets = {}};
  for (const DataSet& data_set : data_sets_) {
    record.data_sets.push_back(data_set.ledger.Record());
    record.data_sets.back().name = data_set.name;
  }
  return record;
}

void CoordinatorCore::GoOnWithCut(MonotonicTime now, CoordinatorOutputs& out) {
  if (cuts_.empty()) return;
  Cut& cut = cuts_.front();
  using enum Cut::Phase;
  if (std::exchange(cut_failed_, false)) {
    return EndCut(Error(StatusCode::kAborted, "a node left or was lost meanwhile; take another checkpoint"), out);
  }
  if (cut.phase == kMarking && now - cut.marked_at >= options_.mark_timeout) {
    return EndCut(
        Error(StatusCode::kDeadlineExceeded,
              cut.unmarked.empty() ? "no time left" : Name(*cut.unmarked.begin()) + " has not copied its rows"),
        out);
  }
  if (cut.phase == kMarking && clocks_.holding() && clocks_.hold_at() != cut.record.clock) {
    return EndCut(Error(StatusCode::kAborted, "a worker was found to be beyond step " +
                                                  std::to_string(cut.record.clock) + "; take another checkpoint"),
                  out);
  }
  if (now >= cut.deadline && cut.phase != kCommitting) {
    std::string text = "rows are still moving";
    if (cut.phase == kHolding && !clocks_.Missing().empty()) {
      text = Name(clocks_.Missing().front()) + " has not come to step " + std::to_string(clocks_.hold_at());
    } else if (cut.phase == kWriting) {
      text = "not all nodes have written in time";
    }
    return EndCut(Error(StatusCode::kDeadlineExceeded, text), out);
  }
  if (cut.phase == kWaiting && NothingMoves() && clocks_.CanPrepare()) {
    cut.phase = kBeginning;
    out.begin_checkpoint = CheckpointOrder{.cut = cut.id, .directory = cut.directory};
  }
  if (cut.phase == kHolding && NothingMoves() &&
      (!clocks_.mode().bounded() || clocks_.AllStand() || options_.mutations.mark_before_all_stand)) {
    MarkAll(now, out);
  }
  if (cut.phase == kMarking && (cut.unmarked.empty() || options_.mutations.release_before_all_marks)) {
    cut.phase = kWriting;
    if (clocks_.holding()) clocks_.Release();
    ServeLeases(now, out);
  }
}

void CoordinatorCore::On(CheckpointBegun input, MonotonicTime, CoordinatorOutputs& out) {
  if (cuts_.empty() || cuts_.front().id != input.cut || cuts_.front().phase != Cut::Phase::kBeginning) return;
  if (!input.status.ok()) return EndCut(input.status, out);
  Cut& cut = cuts_.front();
  cut.checkpoint = input.checkpoint;
  cut.base = input.base;
  cut.phase = Cut::Phase::kHolding;
  if (clocks_.mode().bounded()) clocks_.Prepare();
}

void CoordinatorCore::MarkAll(MonotonicTime now, CoordinatorOutputs& out) {
  Cut& cut = cuts_.front();
  cut.phase = Cut::Phase::kMarking;
  cut.marked_at = now;
  cut.record = RecordNow();
  for (const auto& [id, node] : nodes_) {
    if (!Reports(node)) continue;
    cut.unmarked.insert(id);
    cut.parts[id] = std::nullopt;
  }
  for (const auto& [id, node] : nodes_) SendMark(node, out);
}

void CoordinatorCore::SendMark(const Node& node, CoordinatorOutputs& out) {
  if (cuts_.empty()) return;
  const Cut& cut = cuts_.front();
  const auto part = cut.parts.find(node.member.node);
  if (part == cut.parts.end() || part->second) return;
  Send(node,
       Mark{.cut = cut.id,
            .checkpoint = cut.checkpoint,
            .base = cut.base,
            .directory = cut.directory,
            .clock = cut.record.clock},
       out);
}

void CoordinatorCore::OnMessage(Node& node, const MarkDone& message, MonotonicTime, CoordinatorOutputs&) {
  if (!cuts_.empty() && cuts_.front().id == message.cut) cuts_.front().unmarked.erase(node.member.node);
}

void CoordinatorCore::OnMessage(Node& node, const SnapshotDone& message, MonotonicTime, CoordinatorOutputs& out) {
  if (cuts_.empty() || cuts_.front().id != message.cut) {
    return Send(node, CutEnded{.cut = message.cut}, out);
  }
  Cut& cut = cuts_.front();
  const auto part = cut.parts.find(node.member.node);
  if (part == cut.parts.end() || part->second) return;
  if (!message.status.ok()) return EndCut(Annotate(message.status, Name(node.member.node)), out);
  cut.unmarked.erase(node.member.node);
  part->second = message;
  const bool all = std::ranges::all_of(cut.parts, [](const auto& entry) { return entry.second.has_value(); });
  if (!all || cut.phase == Cut::Phase::kCommitting) return;
  if (clocks_.holding()) clocks_.Release();
  cut.phase = Cut::Phase::kCommitting;
  CheckpointCommit commit{.cut = cut.id,
                          .directory = cut.directory,
                          .checkpoint = cut.checkpoint,
                          .base = cut.base,
                          .tables = {},
                          .files = {},
                          .record = cut.record};
  for (const TableEntry& table : tables_) commit.tables.push_back(table.spec);
  for (const auto& [id, done] : cut.parts) {
    commit.files.insert(commit.files.end(), done->files.begin(), done->files.end());
  }
  out.commit_checkpoint = std::move(commit);
}

void CoordinatorCore::On(CheckpointCommitted input, MonotonicTime, CoordinatorOutputs& out) {
  if (cuts_.empty() || cuts_.front().id != input.cut) return;
  EndCut(input.status, out);
}

void CoordinatorCore::EndCut(const Status& status, CoordinatorOutputs& out) {
  const Cut cut = std::move(cuts_.front());
  cuts_.pop_front();
  cut_failed_ = false;
  const bool held = cut.phase == Cut::Phase::kHolding || cut.phase == Cut::Phase::kMarking;
  if (held && clocks_.holding()) clocks_.Release();
  for (const auto& [id, part] : cut.parts) {
    if (const Node* node = Find(id)) Send(*node, CutEnded{.cut = cut.id}, out);
  }
  placement_changed_ = true;
  if (!status.ok()) {
    out.events.push_back("checkpoint to " + cut.directory + " failed: " + std::string(attune::Message(status)));
    return Answer(cut.command, Annotate(status, "checkpoint to " + cut.directory), {}, out);
  }
  ++checkpoints_;
  checkpoint_clock_ = cut.record.clock;
  const std::string text = "checkpoint " + std::to_string(cut.checkpoint) + " at step " +
                           std::to_string(cut.record.clock) + " (" + cut.record.synchronization + ")";
  out.events.push_back(text + " written to " + cut.directory);
  Answer(cut.command, OkStatus(), text, out);
  ServeLeases(now_, out);
}

}  // namespace attune::ps
