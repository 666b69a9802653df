// The checkpoints of a job that are asked for, one after the other (docs/protocol.md#checkpoints): workers stand before
// a step, nodes with rows copy them, workers continue, nodes write, and what all have written is committed. It knows
// who has copied, who has written and what has failed. Whether rows can be copied now, what the job's record says and
// whom messages reach is the coordinator's part. Externally synchronized.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/mutations.h"
#include "ps/core/progress/clock_board.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

struct CheckpointRequest {
  std::string directory;
  MonotonicTime deadline{};
  // Who asks: an operator, or a worker program, whose save is not cut between steps.
  std::optional<CommandId> command{};
  NodeId asker{};
  RequestId request{};
  bool best = false;  // the coordinator itself: a metric is better than ever before
  bool exact() const { return best || command.has_value(); }
};

// The one in progress, as a value.
struct CheckpointCut {
  enum class Phase : uint8_t { kWaiting, kBeginning, kHolding, kMarking, kWriting, kCommitting };
  CutId id;
  CheckpointRequest asked;
  Phase phase = Phase::kWaiting;
  bool holds = false;  // the clocks are held for it
  uint64_t checkpoint = 0, base = 0;
  MonotonicTime begun_at{}, marked_at = kNever;
  CutRecord record{};
  std::set<NodeId> unmarked{};
  std::map<NodeId, std::optional<SnapshotDone>> parts{};
};

// For people: "checkpoint 7 at step 412 (bsp)", or why there is none.
std::string Describe(const CheckpointCut& cut, const Status& status);

class CheckpointCuts {
 public:
  using NameOf = std::function<std::string(NodeId)>;

  // Numbers of different terms never meet. Nodes have `mark_timeout` to copy their rows; training stands meanwhile.
  CheckpointCuts(uint32_t term, Duration mark_timeout, const Mutations& mutations = {})
      : mark_timeout_(mark_timeout), mutations_(mutations), next_((uint64_t{term} << 32) + 1) {}

  // --- requests

  // No more are taken until some have ended.
  bool IsFull() const;
  void Add(CheckpointRequest request);
  bool HasBest() const;
  // The job is over: the commands that none of them will be done for.
  std::vector<CommandId> AbandonAll();

  // --- the first one, which is in progress; what changes it requires it

  bool empty() const { return cuts_.empty(); }
  bool IsFirst(CutId cut) const { return !cuts_.empty() && cuts_.front().id == cut; }
  // Requires !empty().
  const CheckpointCut& first() const { return cuts_.front(); }
  // Why it cannot continue; OK when it can. `is_better`: a checkpoint of now would be the best one. Requires !empty().
  Status CheckFirst(MonotonicTime now, const ClockBoard& clocks, bool is_better, const NameOf& name);
  bool CanBegin(const ClockBoard& clocks) const;
  CheckpointOrder Begin(MonotonicTime now);
  bool IsBeginning(CutId cut) const;
  // It has its number: workers are to stand, if it is cut between steps.
  void Hold(uint64_t checkpoint, uint64_t base, ClockBoard& clocks);
  bool CanMark(const ClockBoard& clocks) const;
  // These nodes are to copy their rows.
  void Mark(const std::set<NodeId>& nodes, CutRecord record, MonotonicTime now);
  // A node that may own rows from now on. Those who have not copied theirs yet may hand it some, which are missing in
  // their copies then, so it has to copy, too. Once all have copied every row is in a copy already.
  void TakeIn(NodeId node);
  void OnMarked(CutId cut, NodeId node);
  bool AllMarked() const;
  // All have copied: workers continue, nodes write.
  void Write(ClockBoard& clocks);
  enum class Written : uint8_t { kEnded, kKnown, kFailed, kTaken };
  // kEnded: the cut is not in progress; kKnown: nothing new, or no part of it.
  Written OnWritten(NodeId node, const SnapshotDone& done);
  // When all have written: what the shell is to commit, but for the tables. From then on the answer is the shell's.
  std::optional<CheckpointCommit> Commit();
  // It has ended, well or not, and the next one is the first.
  CheckpointCut End(bool complete, ClockBoard& clocks);

  // --- nodes

  // What the node has been sent about the first one and has not answered.
  std::optional<Message> OrderFor(NodeId node) const;
  bool HasOpenPart(NodeId node) const;
  // It is no member any more. Who has written its part may leave; one that is lost takes the part along.
  void NoteGone(NodeId node, const Status& why);

  // --- state

  // Rows are being copied: none may move meanwhile.
  bool Marking() const;
  // Begun, and not copied by all: the synchronization mode must not change meanwhile.
  bool PreparesCopies() const;
  // The newest whose marks are complete.
  CutId marked() const { return marked_; }
  // Exact ones that are complete, and where the last of them was cut.
  uint64_t completed() const { return completed_; }
  uint64_t last_clock() const { return last_clock_; }
  // Time in which this process stood still is no node's delay.
  void SkipPause(Duration pause);

 private:
  Duration mark_timeout_;
  Mutations mutations_;
  std::deque<CheckpointCut> cuts_;
  CutId next_;
  CutId marked_;
  bool node_gone_ = false;  // that was to write
  uint64_t completed_ = 0, last_clock_ = 0;
};

}  // namespace attune::ps
