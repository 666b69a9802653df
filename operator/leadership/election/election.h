// Who of several replicas may act: one candidate's side of an election by a Lease, as a state machine without clock,
// thread or network. A shell asks Next() what to do, does it, and reports what came of it.
//
// What it rests on:
//   1. Every write names the version of the Lease that it replaces, so of two candidates one fails.
//   2. A holder may act until `right` after the moment BEFORE its last successful write was sent. Others take over no
//      sooner than `lease` after the moment at which they FIRST SAW that write, which was later; `lease` is longer than
//      `right` by so much as clocks may differ in speed. Each measures by its own monotonic clock: times in the Lease
//      are not compared.
//   3. A write counts only by its own answer, in time: a renewal that is answered after the right has ended, or whose
//      answer is lost, or that has changed nothing, gives no right, whatever a later read shows.
//   4. Only the holder's own release is taken over at once. One that other hands have emptied is waited for like any
//      other, for its holder may not have noticed.
//   5. Absence proves nothing, for there is no version that would show what was there between two reads. Who creates
//      the Lease holds it for `lease` before it may act: the right of a holder whose Lease was deleted is over by then.
//   6. The right ends before the release is sent. Only who was allowed to act releases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/random.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/leadership/election/acting_right.h"
#include "operator/leadership/election/lease_record.h"
#include "operator/leadership/election/seen_lease.h"

namespace attune::leadership {

struct ElectionOptions {
  std::string identity;  // of this process alone: not of the one before it in the same pod
  Duration lease = std::chrono::seconds(15);
  // How often a candidate reads the Lease: a release is seen that fast.
  Duration look_every = std::chrono::milliseconds(300);

  Duration right() const { return lease * 2 / 3; }
  Duration renew_every() const { return lease * 2 / 15; }
  // A Lease that was deleted is left to its holder, which makes it again with its next renewal.
  Duration absent_for() const { return renew_every() * 3 / 2; }
  Duration call_timeout() const { return lease / 5; }
};

// What to do next. One call at a time: its outcome is reported before Next() is asked again.
struct WaitUntil {
  MonotonicTime time{};  // kNever: nothing is left to do
};
struct ReadLease {
  Duration timeout{};
};
struct WriteLease {
  LeaseRecord record;
  std::optional<LeaseRecord> precondition;  // nothing: the Lease is created
  bool begins_term = false;
  Duration timeout{};
};
using ElectionAct = std::variant<WaitUntil, ReadLease, WriteLease>;

class Election {
 public:
  enum class State {
    kStandby,
    kHolding,  // has the Lease that it created, and waits until it may act
    kLeading,
    kLost,      // led, and may not any more; final
    kResigned,  // takes no part any more; final
  };

  // `seed`: of the jitter.
  Election(ElectionOptions options, uint64_t seed);

  ElectionAct Next(MonotonicTime now);
  // Nothing: there is no such Lease. Errors: not known.
  void OnRead(const StatusOr<std::optional<LeaseRecord>>& read, MonotonicTime now);
  void OnWritten(const StatusOr<LeaseRecord>& written, MonotonicTime now);

  // The right ends now; what Next() asks for from here on gives the Lease back.
  void Resign(MonotonicTime now);

  bool MayAct(MonotonicTime now) const { return state_ == State::kLeading && !right_.IsOver(now); }
  // In the past when it may not act.
  MonotonicTime may_act_until() const { return right_.until(); }
  State state() const { return state_; }
  const std::string& identity() const { return options_.identity; }
  // The Lease as it was last seen or written; nothing: none, or not read yet.
  const std::optional<LeaseRecord>& seen() const { return seen_.lease(); }
  MonotonicTime renewed_at() const { return right_.renewed_at(); }  // before the last successful write was sent
  int64_t term() const { return seen_.transitions(); }              // as the Lease counted when there last was one

 private:
  ElectionAct NextOfStandby(MonotonicTime now);
  ElectionAct NextOfHolder(MonotonicTime now);
  ElectionAct NextOfResigning(MonotonicTime now);
  ElectionAct Read(MonotonicTime now);
  ElectionAct Write(const LeaseRecord& record, bool begins_term, MonotonicTime now);
  LeaseRecord OwnRecord() const;
  Duration CallTimeout(MonotonicTime now) const;
  Duration Jittered(Duration pause);
  bool Holds() const { return state_ == State::kHolding || state_ == State::kLeading; }
  void Lose();

  const ElectionOptions options_;
  Random random_;
  State state_ = State::kStandby;
  bool resigning_ = false;

  SeenLease seen_;
  bool read_first_ = true;           // what is in the Lease is not known for certain
  bool outcome_is_unknown_ = false;  // of a write that was sent
  // This process may have created the Lease, or tried to, and has not taken one over since.
  bool created_ = false;
  bool takes_over_ = false;  // the write in progress replaces the Lease of another holder

  MonotonicTime next_at_{};
  MonotonicTime sent_at_{};  // the call in progress
  ActingRight right_;
};

}  // namespace attune::leadership
