#include "operator/leadership/election/election.h"

#include <algorithm>
#include <utility>

namespace attune::leadership {
namespace {

constexpr double kJitter = 0.2;  // share of a pause added at most

}  // namespace

Election::Election(ElectionOptions options, uint64_t seed) : options_(std::move(options)), random_(seed) {}

ElectionAct Election::Next(MonotonicTime now) {
  if (Holds() && !resigning_ && right_.IsOver(now)) Lose();
  if (state_ == State::kHolding && now >= right_.from()) state_ = State::kLeading;
  if (state_ == State::kLost || state_ == State::kResigned) return WaitUntil{kNever};
  if (resigning_) return NextOfResigning(now);
  return Holds() ? NextOfHolder(now) : NextOfStandby(now);
}

ElectionAct Election::NextOfStandby(MonotonicTime now) {
  if (now < next_at_) return WaitUntil{next_at_};
  // A write is made only of what was read just before: `read_first_` is set again by everything but that read.
  if (read_first_) return Read(now);
  read_first_ = true;
  return Write(OwnRecord(), !seen_.IsHeldBy(options_.identity), now);
}

ElectionAct Election::NextOfHolder(MonotonicTime now) {
  if (now < next_at_) {
    const MonotonicTime begins = state_ == State::kHolding ? right_.from() : kNever;
    return WaitUntil{std::min({next_at_, right_.until(), begins})};
  }
  if (read_first_) return Read(now);
  return Write(OwnRecord(), false, now);
}

ElectionAct Election::NextOfResigning(MonotonicTime now) {
  if (now < next_at_) return WaitUntil{next_at_};
  if (read_first_) return Read(now);
  if (!seen_.IsHeldBy(options_.identity)) {
    state_ = State::kResigned;
    return WaitUntil{kNever};
  }
  LeaseRecord record = *seen_.lease();
  record.holder.clear();
  record.released = true;
  return Write(record, false, now);
}

ElectionAct Election::Read(MonotonicTime now) {
  sent_at_ = now;
  return ReadLease{CallTimeout(now)};
}

ElectionAct Election::Write(const LeaseRecord& record, bool begins_term, MonotonicTime now) {
  sent_at_ = now;
  outcome_is_unknown_ = true;
  takes_over_ = seen_.IsHeldByOtherThan(options_.identity);
  if (!seen_.lease() && !Holds()) created_ = true;
  return WriteLease{record, seen_.lease(), begins_term, CallTimeout(now)};
}

// After what was seen, as its next version.
LeaseRecord Election::OwnRecord() const {
  LeaseRecord record;
  record.holder = options_.identity;
  record.duration = options_.lease;
  record.transitions = seen_.transitions();
  const bool continues = Holds() || seen_.IsHeldBy(options_.identity);
  if (!continues) ++record.transitions;
  return record;
}

void Election::OnRead(const StatusOr<std::optional<LeaseRecord>>& read, MonotonicTime now) {
  next_at_ = now + Jittered(options_.look_every);
  if (!read.ok()) return;
  seen_.Set(*read, now);
  const bool ours = *read && (*read)->holder == options_.identity;
  if (resigning_) {
    if (!ours) {
      state_ = State::kResigned;
    } else {
      read_first_ = false;
      next_at_ = now;
    }
    return;
  }
  if (Holds()) {
    // Absent: it was deleted by hand. While this right lasts no other candidate acts, so it is made again.
    if (*read && !ours) return Lose();
    read_first_ = false;
    next_at_ = now;
    return;
  }
  const MonotonicTime may_be_taken_at =
      seen_.MayBeTakenAt(options_.identity, {.lease = options_.lease, .absent_for = options_.absent_for()});
  if (now >= may_be_taken_at) {
    read_first_ = false;
    next_at_ = now;
  } else {
    next_at_ = std::min(next_at_, may_be_taken_at);
  }
}

void Election::OnWritten(const StatusOr<LeaseRecord>& written, MonotonicTime now) {
  // One that has changed nothing, because a wall clock stood still, is seen by no other candidate: it renews nothing.
  if (!written.ok() || seen_.IsSameWrite(*written)) {
    // What failed may have been carried out all the same. A race that was lost is looked at sooner.
    const bool lost_race = written.status().code() == StatusCode::kAborted;
    read_first_ = true;
    next_at_ = now + Jittered(lost_race ? options_.look_every / 5 : options_.look_every);
    return;
  }
  outcome_is_unknown_ = false;
  seen_.Set(*written, now);
  if (resigning_) {
    // Else it was a renewal that was in flight when the end came.
    if (written->holder != options_.identity) state_ = State::kResigned;
    read_first_ = false;
    next_at_ = now;
    return;
  }
  if (takes_over_) created_ = false;
  const MonotonicTime right_ends = sent_at_ + options_.right();
  if (Holds() && right_.IsOver(now)) return Lose();
  read_first_ = true;
  next_at_ = now;
  if (now >= right_ends) return;  // too late to be of use; it is read again
  if (!Holds()) {
    state_ = created_ ? State::kHolding : State::kLeading;
    right_.WaitUntil(now + options_.lease);
  }
  right_.Renew(sent_at_, right_ends);
  read_first_ = false;
  next_at_ = sent_at_ + Jittered(options_.renew_every());
}

void Election::Resign(MonotonicTime now) {
  if (resigning_ || state_ == State::kLost || state_ == State::kResigned) return;
  resigning_ = true;
  right_.End(now);
  next_at_ = now;
  if (state_ == State::kLeading) return;
  // A Lease that it has taken over without knowing is given back; one that it may have created is left to run out.
  if (state_ == State::kStandby && outcome_is_unknown_ && !created_) {
    read_first_ = true;
  } else {
    state_ = State::kResigned;
  }
}

// No call of a holder outlasts its right.
Duration Election::CallTimeout(MonotonicTime now) const {
  const Duration timeout = options_.call_timeout();
  if (!Holds() || resigning_) return timeout;
  return std::min(timeout, right_.until() - now);
}

Duration Election::Jittered(Duration pause) {
  return std::chrono::duration_cast<Duration>(pause * (1 + kJitter * random_.Uniform()));
}

// Who never acted is a candidate again.
void Election::Lose() {
  state_ = state_ == State::kLeading ? State::kLost : State::kStandby;
  right_.Void();
  read_first_ = true;
}

}  // namespace attune::leadership
