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
  if (cuts_.size() >= kCommandsMax) {
    return Answer(id, Error(StatusCode::kResourceExhausted, "too many checkpoints wait; wait for some"), {}, out);
  }
  cuts_.push_back({.id = std::exchange(next_cut_, next_cut_.Next()),
                   .directory = command.directory,
                   .deadline = deadline,
                   .command = id,
                   .asker = {},
                   .request = {},
                   .record = {},
                   .unmarked = {},
                   .parts = {}});
}

void CoordinatorCore::OnMessage(Node& node, const SaveTables& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const RequestId request = message.header.request;
  Status status = CheckDirectory(message.directory, map_.formed());
  if (status.ok() && cuts_.size() >= kCommandsMax) {
    status = Error(StatusCode::kResourceExhausted, "too many checkpoints wait; save again later");
  }
  if (!status.ok()) {
    return Reply(node.member.node, request, Refused{.request = request, .status = std::move(status)}, out);
  }
  cuts_.push_back({.id = std::exchange(next_cut_, next_cut_.Next()),
                   .directory = message.directory,
                   .deadline = message.header.remaining < kNever - now ? now + message.header.remaining : kNever,
                   .command = {},
                   .asker = node.member.node,
                   .request = request,
                   .record = {},
                   .unmarked = {},
                   .parts = {}});
}

// Every row is at some node or on its way between two; marks see to the latter (ps/core/rows/row_snapshot.cpp). During
// a recovery some are only in copies.
bool CoordinatorCore::CanMark() const { return AllReady() && !IsLoading() && last_server_lost_ == kNever; }

bool CoordinatorCore::HasOpenPart(NodeId node) const {
  if (cuts_.empty()) return false;
  const auto part = cuts_.front().parts.find(node);
  return part != cuts_.front().parts.end() && !part->second;
}

// Who has written its part may leave. Once the shell is asked to commit, the answer is the shell's alone.
bool CoordinatorCore::BreaksCut(NodeId gone, const Status& why) const {
  if (cuts_.empty() || cuts_.front().phase == Cut::Phase::kCommitting) return false;
  return HasOpenPart(gone) || (!why.ok() && cuts_.front().parts.contains(gone));
}

CutRecord CoordinatorCore::RecordNow() const {
  CutRecord record{.synchronization = ToString(clocks_.mode()),
                   .clock = clocks_.holding() ? clocks_.hold_at() : clocks_.floor(),
                   .steps = TotalSteps(),
                   .seconds = first_worker_ == kNever ? 0 : Seconds(now_ - first_worker_),
                   .data_sets = {},
                   .metrics = metrics_.states(),
                   .best = best_.kept()};
  for (const DataSet& data_set : data_sets_) {
    record.data_sets.push_back(data_set.ledger.Record());
    record.data_sets.back().name = data_set.name;
  }
  return record;
}

// One more reason for a checkpoint like any other.
void CoordinatorCore::CutTheBest(MonotonicTime now) {
  constexpr Duration kTimeout = std::chrono::minutes(2);  // as for one that is asked for
  if (finished_ || !map_.formed() || CutsTheBest() || cuts_.size() >= kCommandsMax) return;
  if (!best_.IsDue(metrics_, now, !goal_reached_.empty())) return;
  best_.Begin();
  cuts_.push_back({.id = std::exchange(next_cut_, next_cut_.Next()),
                   .directory = options_.goal.best_checkpoint->directory,
                   .deadline = now + kTimeout,
                   .command = {},
                   .asker = {},
                   .request = {},
                   .record = {},
                   .unmarked = {},
                   .parts = {},
                   .best = true});
}

void CoordinatorCore::GoOnWithCut(MonotonicTime now, CoordinatorOutputs& out) {
  CutTheBest(now);
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
  if (cut.phase == kMarking && cut.holds && clocks_.hold_at() != cut.record.clock) {
    return EndCut(Error(StatusCode::kAborted, "a worker was found to be beyond step " +
                                                  std::to_string(cut.record.clock) + "; take another checkpoint"),
                  out);
  }
  if (now >= cut.deadline && cut.phase != kCommitting) {
    std::string text = "a lost server's rows are still being recovered, or a server has not taken the newest map";
    if (cut.phase == kHolding && !clocks_.Missing().empty()) {
      text = Name(clocks_.Missing().front()) + " has not come to step " + std::to_string(clocks_.hold_at());
    } else if (cut.phase == kWriting) {
      text = "not all nodes have written in time";
    }
    return EndCut(Error(StatusCode::kDeadlineExceeded, text), out);
  }
  const bool copied = cut.phase == kMarking || cut.phase == kWriting || cut.phase == kCommitting;
  if (cut.best && !copied && !best_.WouldBeBest(metrics_)) {
    return EndCut(Error(StatusCode::kAborted, "a later value, before the rows were copied, is no better"), out);
  }
  if (cut.phase == kWaiting && CanMark() && (!cut.exact() || clocks_.CanPrepare())) {
    cut.phase = kBeginning;
    cut.begun_at = now;
    out.begin_checkpoint = CheckpointOrder{.cut = cut.id, .directory = cut.directory};
  }
  if (cut.phase == kHolding && CanMark() &&
      (!cut.holds || clocks_.AllStand() || options_.mutations.mark_before_all_stand)) {
    MarkAll(now, out);
  }
  if (cut.phase == kMarking && (cut.unmarked.empty() || options_.mutations.release_before_all_marks)) {
    WriteAll(now, out);
  }
}

void CoordinatorCore::On(CheckpointBegun input, MonotonicTime, CoordinatorOutputs& out) {
  if (cuts_.empty() || cuts_.front().id != input.cut || cuts_.front().phase != Cut::Phase::kBeginning) return;
  if (!input.status.ok()) return EndCut(input.status, out);
  Cut& cut = cuts_.front();
  cut.checkpoint = input.checkpoint;
  cut.base = input.base;
  cut.phase = Cut::Phase::kHolding;
  cut.holds = cut.exact() && clocks_.mode().bounded();
  if (cut.holds) clocks_.Prepare();
}

void CoordinatorCore::MarkAll(MonotonicTime now, CoordinatorOutputs& out) {
  Cut& cut = cuts_.front();
  cut.phase = Cut::Phase::kMarking;
  cut.marked_at = now;
  if (cut.exact()) cut.record = RecordNow();
  if (cut.best) cut.record.best = best_.Mark(metrics_, cut.directory, cut.checkpoint);
  for (const auto& [id, node] : nodes_) {
    if (!Reports(node)) continue;
    cut.unmarked.insert(id);
    cut.parts[id] = std::nullopt;
  }
  for (const auto& [id, node] : nodes_) SendCutOrder(node, out);
}

// It may own rows from now on, and those who have not copied theirs yet may hand it some: in their copies these are
// missing, so it has to copy, too. Afterwards every row is in a copy already.
void CoordinatorCore::TakeIntoCut(NodeId node) {
  if (!Marking()) return;
  Cut& cut = cuts_.front();
  if (cut.parts.try_emplace(node, std::nullopt).second) cut.unmarked.insert(node);
}

// All have copied: workers continue, nodes write.
void CoordinatorCore::WriteAll(MonotonicTime now, CoordinatorOutputs& out) {
  Cut& cut = cuts_.front();
  cut.phase = Cut::Phase::kWriting;
  cut.unmarked.clear();
  marked_ = cut.id;  // a node that may own rows from now on is informed by the map
  if (std::exchange(cut.holds, false)) clocks_.Release();
  for (const auto& [id, node] : nodes_) SendCutOrder(node, out);
  placement_changed_ = true;
  ServeLeases(now, out);
}

// What this node has been sent about the cut and has not answered.
void CoordinatorCore::SendCutOrder(const Node& node, CoordinatorOutputs& out) {
  if (!HasOpenPart(node.member.node)) return;
  const Cut& cut = cuts_.front();
  if (cut.phase == Cut::Phase::kWriting) return Send(node, WriteSnapshot{.cut = cut.id}, out);
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
  part->second = message;
  placement_changed_ = true;  // a node that leaves may go now
  CommitWhenWritten(out);
}

void CoordinatorCore::CommitWhenWritten(CoordinatorOutputs& out) {
  Cut& cut = cuts_.front();
  const bool all = std::ranges::all_of(cut.parts, [](const auto& entry) { return entry.second.has_value(); });
  if (!all || cut.phase != Cut::Phase::kWriting || cut_failed_) return;
  cut.phase = Cut::Phase::kCommitting;
  CheckpointCommit commit{.cut = cut.id,
                          .directory = cut.directory,
                          .checkpoint = cut.checkpoint,
                          .base = cut.base,
                          .tables = {},
                          .files = {},
                          .record = cut.record};
  if (commit.record.best && commit.record.best->directory == commit.directory) commit.record.best->directory.clear();
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

// Rows that are lost without a copy come from it from now on.
void CoordinatorCore::RememberCheckpoint(const Cut& cut, CoordinatorOutputs& out) {
  ++checkpoints_;
  checkpoint_clock_ = cut.record.clock;
  recoveries_.SetNewest({.directory = cut.directory, .checkpoint = cut.checkpoint, .clock = cut.record.clock},
                        cut.record.steps);
  for (const CutRecord::DataSet& cut_data_set : cut.record.data_sets) {
    const auto of = std::ranges::find(data_sets_, cut_data_set.name, &DataSet::name);
    if (of != data_sets_.end()) of->items_in_newest = ItemsDone(cut_data_set);
  }
  mirror_.NoteChange();
  for (const auto& [id, node] : nodes_) {
    if (node.member.role == Role::kServer) Send(node, NewestCheckpoint{.point = recoveries_.newest()}, out);
  }
}

// Steps come with heartbeats, and what was pushed since the last one is in none; the end of a lease is reported at
// once. While one is open and nothing was saved, rows may have been trained of which nothing was reported.
bool CoordinatorCore::TrainedItemsSinceNewest() const {
  return std::ranges::any_of(data_sets_, [&](const DataSet& data_set) {
    if (data_set.closing || data_set.when_due) return false;
    const bool begun = recoveries_.newest().checkpoint == 0 && !data_set.ledger.leases().empty();
    return begun || data_set.ledger.items_done() > data_set.items_in_newest;
  });
}

void CoordinatorCore::TakeFromNewest() {
  recoveries_.TakeFromNewest(TotalSteps(), TrainedItemsSinceNewest(), !goal_reached_.empty());
  mirror_.NoteChange();
}

void CoordinatorCore::EndCut(const Status& status, CoordinatorOutputs& out) {
  const Cut cut = std::move(cuts_.front());
  cuts_.pop_front();
  cut_failed_ = false;
  if (cut.holds) clocks_.Release();
  for (const auto& [id, part] : cut.parts) {
    if (const Node* node = Find(id)) Send(*node, CutEnded{.cut = cut.id}, out);
  }
  placement_changed_ = true;
  std::string text = "checkpoint to " + cut.directory + " failed: " + std::string(attune::Message(status));
  if (status.ok()) {
    text =
        "checkpoint " + std::to_string(cut.checkpoint) +
        (cut.exact() ? " at step " + std::to_string(cut.record.clock) + " (" + cut.record.synchronization + ")" : "");
  }
  if (cut.best) {
    const Duration took = cut.phase == Cut::Phase::kWaiting ? Duration::zero() : now_ - cut.begun_at;
    best_.End(status.ok() ? cut.record.best : std::nullopt, now_, took);
    text += status.ok() ? ", the best by " + Describe(*cut.record.best) : "; the best one so far stays";
  }
  out.events.push_back(status.ok() ? text + " written to " + cut.directory : text);
  if (cut.exact() && status.ok()) RememberCheckpoint(cut, out);
  if (cut.best) {
    FinishWhenEmpty(out);  // which waits for it
  } else if (cut.command) {
    Answer(*cut.command, Annotate(status, "checkpoint to " + cut.directory), status.ok() ? text : std::string(), out);
  } else if (status.ok()) {
    Reply(cut.asker, cut.request, Done{.request = cut.request}, out);
  } else {
    Reply(cut.asker, cut.request, Refused{.request = cut.request, .status = status}, out);
  }
  ServeLeases(now_, out);
}

}  // namespace attune::ps
