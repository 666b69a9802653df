// Copies of rows that this worker has been given by their homes, because its program has announced them more than once
// (docs/protocol.md#copies-at-workers). It reads and pushes to them at once. Rounds with each home carry what was
// pushed, as folds, and what is announced; answers bring copies, and what others have changed in them.
//
// A push to a copy is done for the program when the copy has it, and for all others when its fold is acknowledged: it
// takes part in PushWindow from the first push on (PushWindow::Reserve).
//
// Externally synchronized. What it is constructed with must outlive it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/intent/announced_rows.h"
#include "ps/core/intent/copy_room.h"
#include "ps/core/intent/copy_yield.h"
#include "ps/core/intent/round_pace.h"
#include "ps/core/intent/row_accesses.h"
#include "ps/core/intent/step_point.h"
#include "ps/core/keys/key_map.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/worker/operations/held_rows.h"
#include "ps/core/worker/rows/own_rows.h"
#include "ps/core/worker/rows/row_routes.h"
#include "ps/core/worker/rows/worker_pulls.h"
#include "ps/core/worker/rows/worker_pushes.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

class WorkerReplicas {
 public:
  WorkerReplicas(const WorkerOptions& options, const ClusterView& cluster, OwnRows& own, const RowRoutes& routes,
                 const AnnouncedRows& announced, WorkerPushes& pushes, WorkerPulls& pulls);

  // --- announcements

  void Take(const AnnouncedRows::News& news, const StepPoint& at);
  // The floor may have risen, for which a pull may be waiting: the next round confirms copies at the new one.
  void Renew(const StepPoint& at) { at_ = at; }
  // A step has begun: what its reads and writes need of homes is asked for.
  void StepBegan(const StepPoint& at, MonotonicTime now, WorkerOutputs& out);

  // --- copies

  bool empty() const { return rows_.empty(); }
  bool HasCopy(TableKey row) const {
    const Row* const known = rows_.Find(row);
    return known != nullptr && known->has_copy();
  }
  // Whether the copy may be read in this step: it is no older than the table allows, and the pace permits it. kAsked:
  // a copy may be on its way, and what is read elsewhere meanwhile could be newer than it.
  enum class Found : uint8_t { kNone, kAsked, kNotYet, kHere };
  Found Read(TableKey row, const StepPoint& at, MonotonicTime now, std::span<const float>& values,
             CopyReads copies = CopyReads::kAnnounced);
  // Of a row for which Read has said kAsked: since when.
  MonotonicTime AskedAt(TableKey row) const { return homes_.at(HomeOf(row.key)).sent_at; }
  // For a row that is asked for, or not yet to be read: its values go to this place of the call once it is, from the
  // copy or from elsewhere.
  void Wait(TableKey row, CallId call, uint32_t place, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  // In a loop over rows with copies, at the i-th: asks for the memory of those that come soon (KeyMap::PrefetchEntry).
  void PrefetchAhead(TableId table, std::span<const Key> keys, size_t i) const;
  // How many of these rows have copies.
  enum class Share : uint8_t { kNone, kSome, kAll };
  Share ShareWithCopies(TableId table, std::span<const Key> keys) const;
  // A push to rows that all have copies, each once; no gradient is one that the table refuses. The gradient of keys[i]
  // is the one at places[i]; without places, the one at i.
  void Push(TableId table, std::span<const Key> keys, std::span<const float> gradients, uint64_t step,
            std::span<const uint32_t> places = {});
  bool Refuses(TableId table, std::span<const float> gradients) const;
  // The program pushes to this row in another way, or has read it elsewhere.
  void UsedElsewhere(TableKey row) {
    if (Row* const known = rows_.Find(row); known != nullptr) known->UsedElsewhere(rounds_);
  }
  // The program pushes to this row. Returns whether there is a copy to push to; otherwise the row is used elsewhere.
  bool NotePush(TableKey row) {
    Row* const known = rows_.Find(row);
    if (known == nullptr || known->has_copy()) return known != nullptr;
    known->UsedElsewhere(rounds_);
    return false;
  }

  // --- rounds

  struct Changes {
    std::vector<TableKey> added;  // these rows have a copy now and had none
    std::vector<TableKey> left;   // these have none any more
  };
  Changes On(NodeId from, RoundReply&& reply, MonotonicTime now, WorkerOutputs& out);
  void OnTimer(MonotonicTime now, WorkerOutputs& out);
  MonotonicTime WakeAt() const;
  // Copies are given up, and what was pushed to them goes to the homes of today. Because homes have changed, or a
  // recovery has begun, so that homes forget them too; or because announcements are ignored, which homes hear of.
  enum class Because : uint8_t { kHomesChanged, kIgnored };
  void GiveUp(Because why, MonotonicTime now, WorkerOutputs& out);

  // What was pushed to copies is to be acknowledged soon: a caller waits for it.
  void Hurry(MonotonicTime now, WorkerOutputs& out);

  bool has_copies() const { return !room_.empty(); }
  // What was done since the last call.
  CopyCounts TakeCounts();

 private:
  struct Row {
    static constexpr HeldRows::Place kNone = ~HeldRows::Place{0};
    HeldRows::Place place = kNone;
    bool is_announced = false;     // or will be with the next round
    bool is_queued = false;        // for the next round
    bool is_asked_for = false;     // in the round that is in flight: a copy may come
    bool was_used = false;         // elsewhere, since the last round: a copy that comes may lack that
    uint64_t announced_until = 0;  // step
    uint64_t fresh_from = 0;       // what was read elsewhere may be newer than a copy before this round
    bool has_copy() const { return place != kNone; }
    void UsedElsewhere(uint64_t rounds) {
      was_used = true;
      fresh_from = rounds + 1;
    }
  };
  struct Open {  // what was pushed to copies since the last round
    TableId table;
    SequenceNumber reserved;
    std::vector<Key> keys;
  };
  struct Waiter {
    CallId call;
    uint32_t place = 0;
    TableKey row;
    uint64_t floor_needed = 0;
    MonotonicTime since{};
    Duration age_max{};
  };
  struct Home {
    uint64_t round = 0;  // the last one that was sent; 0: none under the homes of today
    bool is_in_flight = false;
    bool is_wanted = false;  // copies are to be confirmed
    MonotonicTime sent_at{};
    uint64_t floor = 0;                         // as known when it was sent
    std::optional<MonotonicTime> confirmed_at;  // copies are at least as new
    uint64_t confirmed_floor = 0, confirmed_round = 0;
    RoundPace pace;
    std::vector<TableKey> queue;          // to announce
    std::optional<uint64_t> waits_since;  // step in which the first of them was queued that has no copy
    std::vector<TableKey> asked;          // Row::is_asked_for
    std::vector<Open> open;
    std::vector<Waiter> waiters;
    std::vector<TableKey> left;  // the home has taken these copies back
    bool HasNews() const { return is_wanted || !queue.empty() || !open.empty(); }
  };

  static constexpr size_t kSlotsLookedAt = 64;  // for copies that are of no use, per row that has come within reach

  NodeId HomeOf(Key key) const { return cluster_.map().HomeOf(key); }
  HeldRows& CopiesOf(TableId table);
  // How old a copy may be that is read in this step: rows that are not announced are read as they are.
  Duration AgeMaxOf(TableKey row, const Row& known, const StepPoint& at, CopyReads copies) const;
  // For a read that has begun at `since`.
  bool MayRead(const Home& home, const Row& row, Duration age_max, uint64_t floor_needed, MonotonicTime since) const;
  bool IsUrgent(const Home& home) const;
  Open& OpenFor(Home& home, TableId table);
  void Queue(TableKey row, Row& known);
  void TryRound(NodeId to, Home& home, MonotonicTime not_before, MonotonicTime now, WorkerOutputs& out);
  void SendRound(NodeId to, Home& home, MonotonicTime now, WorkerOutputs& out);
  void SendFolds(NodeId to, Home& home, MonotonicTime now, WorkerOutputs& out);
  void SendAnnouncements(NodeId to, Home& home, bool is_first, MonotonicTime now, WorkerOutputs& out);
  void TakeUses(Home& home, Round& round);
  AnnouncedUse UseOf(TableKey row, const Row& known) const;
  void TakeRows(NodeId from, Home& home, const RoundReply& reply, std::vector<TableKey>& added, WorkerOutputs& out);
  bool MakeRoomFor(const HeldRows& wanted);
  std::vector<TableKey> EndRound(NodeId from, Home& home, MonotonicTime now, WorkerOutputs& out);
  void Drop(TableKey row);
  void ServeWaiters(Home& home, MonotonicTime now, WorkerOutputs& out);

  const WorkerOptions& options_;
  const ClusterView& cluster_;
  OwnRows& own_;
  const RowRoutes& routes_;
  const AnnouncedRows& announced_;
  WorkerPushes& pushes_;
  WorkerPulls& pulls_;
  StepPoint at_;  // as last seen
  CopyYield yield_;
  KeyMap<Row> rows_;
  std::map<TableId, HeldRows> tables_;
  std::map<NodeId, Home> homes_;
  uint64_t rounds_ = 0;  // with all homes: an answer that is late fits no other round
  CopyRoom room_;
  CopyCounts counts_;  // but for the copies themselves
};

}  // namespace attune::ps
