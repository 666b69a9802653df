// A worker's pushes, from the call until every key is settled: acknowledged or refused. They are numbered without gaps,
// at most so many numbers are in flight, and each is sent again until it is settled, whether or not its call has ended
// meanwhile (docs/protocol.md#one-push). What must not come before a push asks here: pulls of the same keys, and what
// counts once all pushes up to a number are settled.
//
// Pure. Externally synchronized. References to pushes hold until the next call that is not const.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/keys/key_index.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"
#include "ps/core/worker/operations/grouped_gradients.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

// What one push call says.
struct NewPush {
  CallId call;
  MonotonicTime deadline;
  TableId table;
  uint64_t step = 0;  // in which it was issued
  GroupedGradients gradients;
  std::vector<FoldCounts> folds;  // empty, or by position: `gradients` are the changes of folds (ps/store/fold.h)
};

class PushWindow {
 public:
  struct Options {
    uint32_t in_flight_max = 0;  // numbers from the oldest open push on
    Duration resend_after{};     // doubles per attempt up to resend_after_max
    Duration resend_after_max{};
    Mistake acked_below_skips_open{};
    Mistake no_resend{};
  };
  class Push {
   public:
    SequenceNumber sequence() const { return sequence_; }
    TableId table() const { return said_.table; }
    uint64_t step() const { return said_.step; }
    const GroupedGradients& gradients() const { return said_.gradients; }
    const std::vector<FoldCounts>& folds() const { return said_.folds; }
    bool IsOpen(uint32_t position) const { return ((settled_[position / 64] >> (position % 64)) & 1) == 0; }
    MonotonicTime send_again() const { return send_again_; }

   private:
    friend class PushWindow;
    NewPush said_;
    SequenceNumber sequence_;
    bool call_open_ = true;
    bool sent_ = false;              // false while it waits for room
    bool reserved_ = false;          // its keys are not known yet
    std::vector<uint64_t> settled_;  // bit per position
    uint32_t open_ = 0;              // positions
    Status refused_;
    MonotonicTime send_again_ = kNever;
    Duration backoff_{};
  };

  explicit PushWindow(const Options& options) : options_(options) {}

  // --- calls

  // Its gradients must not be empty.
  void Add(NewPush push);
  // A push whose keys and gradients follow, which no call waits for: it is open until they have come and are settled.
  SequenceNumber Reserve(TableId table);
  // They have come: it is to be sent whole now, and counts as sent.
  const Push& Fill(SequenceNumber reserved, GroupedGradients gradients, std::vector<FoldCounts> folds,
                   MonotonicTime now);
  // Pushes wait for room behind one whose keys are not known yet.
  bool IsHeldUp() const;
  // Moves the deadlines of open calls.
  void Postpone(Duration pause);
  // Ends the calls whose time is over; the pushes stay. Returns the next deadline.
  MonotonicTime EndOverdue(MonotonicTime now, std::vector<Completion>& completions);
  // The session is lost: forgets all pushes; their calls end with `status`.
  void EndAll(const Status& status, std::vector<Completion>& completions);

  // --- messages

  // The next push that there is room for, which is to be sent whole now; null: none.
  const Push* TakeNextToSend(MonotonicTime now);
  // `send(const Push&)` is called for each that has not been answered in time. Returns when the next one is due.
  template <typename Send>
  MonotonicTime SendAgain(MonotonicTime now, Send&& send) {
    MonotonicTime next = kNever;
    for (Push& push : pushes_) {
      if (!push.sent_ || push.open_ == 0) continue;
      if (now >= push.send_again_) {
        send(push);
        push.backoff_ = std::min(push.backoff_ * 2, options_.resend_after_max);
        push.send_again_ = now + push.backoff_;
      }
      next = std::min(next, push.send_again_);
    }
    return next;
  }
  // Those that have been sent and have open keys, oldest first.
  template <typename Visit>
  void ForEachInFlight(Visit&& visit) const {
    for (const Push& push : pushes_) {
      if (push.sent_ && push.open_ > 0) visit(push);
    }
  }
  // Null: there is no such push, or it is settled.
  const Push* Find(SequenceNumber sequence) const;
  // These positions are acknowledged, or refused with `status`; what is settled already stays as it is. A call ends
  // with its last key. True: SettledBelow() has risen, and there may be room for others.
  bool Settle(SequenceNumber sequence, const Positions& positions, const Status& status,
              std::vector<Completion>& completions);

  // --- what waits for pushes

  SequenceNumber last_issued() const { return SequenceNumber(next_.value() - 1); }
  // All pushes up to and including this one are settled.
  SequenceNumber SettledBelow() const {
    return pushes_.empty() ? last_issued() : SequenceNumber(pushes_.front().sequence_.value() - 1);
  }
  // As reported to other nodes, which forget the records of these pushes.
  SequenceNumber AckedBelow() const { return options_.acked_below_skips_open ? last_issued() : SettledBelow(); }
  bool AnyOpenOf(TableId table, std::span<const Key> keys);
  // Appends the open pushes of each key.
  void FindOpenOf(TableId table, std::span<const Key> keys, std::vector<After>& after);

  size_t size() const { return pushes_.size(); }  // not settled, the ones waiting for room included
  bool empty() const { return pushes_.empty(); }

 private:
  size_t PlaceOf(SequenceNumber sequence) const;  // in pushes_; their number: it is none of them
  bool HasRoom() const;                           // for the next one to be sent; there are some
  void MarkSent(Push& push, MonotonicTime now);
  void Index();
  void IndexPush(const Push& push);

  Options options_;
  SequenceNumber next_{1};
  SequenceNumber next_to_send_{1};     // from here on they wait for room
  std::deque<Push> pushes_;            // ascending, without gaps
  UnacknowledgedKeys unacknowledged_;  // open keys of the pushes below next_to_index_
  SequenceNumber next_to_index_{1};
};

}  // namespace attune::ps
