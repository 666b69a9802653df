// One candidate's decisions, step by step: what it asks for next, when it may act, and when not any more.
#include "operator/leadership/election/election.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace attune::leadership::election_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Lease = std::optional<LeaseRecord>;

const Status kConflict = Error(StatusCode::kAborted, "the object has been modified");
const Status kAway = Error(StatusCode::kUnavailable, "no connection");

LeaseRecord HeldBy(const std::string& holder, const std::string& version, int64_t transitions = 3) {
  return {.holder = holder, .duration = seconds(15), .transitions = transitions, .uid = "u", .version = version};
}

LeaseRecord Released(const std::string& version) {
  LeaseRecord record = HeldBy("", version);
  record.released = true;
  return record;
}

// A candidate whose calls take no time, with a clock that the test moves.
class ElectionTest : public testing::Test {
 protected:
  Duration SinceStart() const { return now_ - MonotonicTime{} - seconds(100); }
  void Advance(Duration by) { now_ += by; }

  // The next call, after as much waiting as it takes; nothing when none comes within `at_most`.
  ElectionAct NextCall(Duration at_most = std::chrono::hours(1)) {
    const MonotonicTime end = now_ + at_most;
    while (true) {
      const ElectionAct act = election_->Next(now_);
      const auto* wait = std::get_if<WaitUntil>(&act);
      if (wait == nullptr) return act;
      EXPECT_GT(wait->time, now_) << "it asks to be called again at once";
      if (wait->time > end) return act;
      now_ = wait->time;
    }
  }
  bool ReadsNext() { return std::holds_alternative<ReadLease>(NextCall()); }
  // The candidate reads, and sees this.
  void Sees(const StatusOr<Lease>& lease) {
    ASSERT_TRUE(ReadsNext());
    election_->OnRead(lease, now_);
  }
  WriteLease WritesNext() {
    const ElectionAct act = NextCall();
    const auto* write = std::get_if<WriteLease>(&act);
    EXPECT_NE(write, nullptr);
    return write == nullptr ? WriteLease{} : *write;
  }
  // As the API server answers a write that it carries out.
  LeaseRecord Done(const WriteLease& write, const std::string& version) {
    LeaseRecord record = write.record;
    record.uid = "u";
    record.version = version;
    return record;
  }
  void Writes(const std::string& version) {
    const WriteLease write = WritesNext();
    election_->OnWritten(Done(write, version), now_);
  }
  void Leads() {
    Sees(Released("1"));
    Writes("2");
    ASSERT_TRUE(election_->MayAct(now_));
  }
  // It reads again and again, and sees the same; returns when it writes.
  WriteLease WaitsWhileItSees(const Lease& lease) {
    while (true) {
      const ElectionAct act = NextCall();
      if (const auto* write = std::get_if<WriteLease>(&act)) return *write;
      if (!std::holds_alternative<ReadLease>(act)) return {};
      election_->OnRead(lease, now_);
    }
  }

  MonotonicTime now_ = MonotonicTime{} + seconds(100);
  std::optional<Election> election_{std::in_place, ElectionOptions{.identity = "a"}, 1};
};

TEST_F(ElectionTest, ALeaseThatWasReleasedIsTakenAtOnceUnderTheNextTerm) {
  Sees(Released("7"));
  const WriteLease write = WritesNext();
  EXPECT_EQ(SinceStart(), Duration::zero());
  EXPECT_EQ(write.record.holder, "a");
  EXPECT_FALSE(write.record.released);
  EXPECT_EQ(write.record.transitions, 4);
  EXPECT_TRUE(write.begins_term);
  ASSERT_TRUE(write.precondition);
  EXPECT_EQ(write.precondition->version, "7");
  EXPECT_FALSE(election_->MayAct(now_)) << "before the answer";
  election_->OnWritten(Done(write, "8"), now_);
  EXPECT_TRUE(election_->MayAct(now_));
}

TEST_F(ElectionTest, WhatHasToStayUnchangedForTheLeaseBeforeItIsTaken) {
  LeaseRecord emptied = HeldBy("", "7");  // by hand: its holder may not know
  LeaseRecord longer = HeldBy("b", "7"), silly = HeldBy("b", "7"), shorter = HeldBy("b", "7");
  longer.duration = seconds(40);
  shorter.duration = seconds(1);
  silly.duration = std::chrono::hours(1000);
  const struct {
    const char* what;
    LeaseRecord lease;
    Duration want;
  } cases[] = {{"a Lease of another holder", HeldBy("b", "7"), seconds(15)},
               {"a Lease that other hands have emptied", emptied, seconds(15)},
               {"a holder that asks for longer, as another release may", longer, seconds(40)},
               {"a holder that asks for less", shorter, seconds(15)},
               {"a duration that no release writes", silly, std::chrono::minutes(10)}};
  for (const auto& given : cases) {
    SCOPED_TRACE(given.what);
    election_.emplace(ElectionOptions{.identity = "a"}, 1);
    const MonotonicTime begin = now_;
    const WriteLease write = WaitsWhileItSees(given.lease);
    EXPECT_EQ(now_ - begin, given.want);
    ASSERT_TRUE(write.precondition);
    EXPECT_EQ(write.precondition->version, "7");
    EXPECT_EQ(write.record.transitions, 4);
  }
}

TEST_F(ElectionTest, WhoCreatesTheLeaseHoldsItForItsWholeTimeBeforeItMayAct) {
  const WriteLease created = WaitsWhileItSees(std::nullopt);
  EXPECT_EQ(SinceStart(), seconds(3)) << "its holder could have made it again";
  EXPECT_FALSE(created.precondition);
  EXPECT_EQ(created.record.transitions, 1);
  election_->OnWritten(Done(created, "1"), now_);
  int version = 1;
  while (election_->state() == Election::State::kHolding && SinceStart() < seconds(30)) {
    EXPECT_FALSE(election_->MayAct(now_));
    const ElectionAct act = election_->Next(now_);
    if (const auto* write = std::get_if<WriteLease>(&act)) {
      election_->OnWritten(Done(*write, std::to_string(++version)), now_);
    } else if (election_->state() == Election::State::kHolding) {
      now_ = std::max(now_, std::get<WaitUntil>(act).time);
    }
  }
  EXPECT_EQ(SinceStart(), seconds(18));
  EXPECT_TRUE(election_->MayAct(now_));
  EXPECT_GT(version, 5) << "it renews meanwhile";
}

TEST_F(ElectionTest, OneThatHasCreatedTheLeaseWithoutKnowingWaitsAsWell) {
  const WriteLease created = WaitsWhileItSees(std::nullopt);
  election_->OnWritten(kAway, now_);
  Advance(seconds(60));
  Sees(Done(created, "1"));
  Writes("2");
  EXPECT_EQ(election_->state(), Election::State::kHolding);
}

TEST_F(ElectionTest, OneThatHoldsAndCannotRenewIsACandidateAgain) {
  election_->OnWritten(Done(WaitsWhileItSees(std::nullopt), "1"), now_);
  ASSERT_EQ(election_->state(), Election::State::kHolding);
  Advance(seconds(60));
  EXPECT_TRUE(std::holds_alternative<ReadLease>(election_->Next(now_)));
  EXPECT_EQ(election_->state(), Election::State::kStandby);
}

TEST_F(ElectionTest, OneThatHoldsAndHasNotActedReleasesNothing) {
  election_->OnWritten(Done(WaitsWhileItSees(std::nullopt), "1"), now_);
  election_->Resign(now_);
  EXPECT_EQ(election_->state(), Election::State::kResigned) << "another one would take it at once";
  EXPECT_EQ(std::get<WaitUntil>(election_->Next(now_)).time, kNever);
}

TEST_F(ElectionTest, EveryChangeThatIsSeenBeginsTheTimeAgain) {
  Sees(HeldBy("b", "7"));
  Advance(seconds(14));
  Sees(HeldBy("b", "8"));
  const MonotonicTime changed = now_;
  WaitsWhileItSees(HeldBy("b", "8"));
  EXPECT_EQ(now_ - changed, seconds(15));
}

TEST_F(ElectionTest, ATimeInWhichTheLeaseCannotBeReadCountsAndTheReadBeforeTheWriteDecides) {
  Sees(HeldBy("b", "7"));
  Advance(seconds(20));
  Sees(kAway);
  Sees(HeldBy("b", "9"));  // it was renewed meanwhile
  const MonotonicTime changed = now_;
  const WriteLease write = WaitsWhileItSees(HeldBy("b", "9"));
  EXPECT_EQ(now_ - changed, seconds(15));
  EXPECT_EQ(write.precondition->version, "9");
}

TEST_F(ElectionTest, AHolderRenewsInTimeAndKeepsItsTerm) {
  Leads();
  for (int i = 3; i < 20; ++i) {
    const MonotonicTime before = now_;
    const WriteLease write = WritesNext();
    EXPECT_LE(now_ - before, milliseconds(2400));
    EXPECT_EQ(write.record.transitions, 4);
    EXPECT_FALSE(write.begins_term);
    EXPECT_EQ(write.precondition->version, std::to_string(i - 1));
    election_->OnWritten(Done(write, std::to_string(i)), now_);
    EXPECT_TRUE(election_->MayAct(now_));
  }
}

TEST_F(ElectionTest, TheRightEndsTenSecondsAfterTheLastRenewalWasSentNotAnswered) {
  Leads();
  const WriteLease write = WritesNext();
  const MonotonicTime sent = now_;
  Advance(seconds(3));
  election_->OnWritten(Done(write, "3"), now_);
  now_ = sent + seconds(10) - Duration(1);
  EXPECT_TRUE(election_->MayAct(now_));
  now_ = sent + seconds(10);
  EXPECT_FALSE(election_->MayAct(now_));
  EXPECT_EQ(std::get<WaitUntil>(election_->Next(now_)).time, kNever);
  EXPECT_EQ(election_->state(), Election::State::kLost);
}

TEST_F(ElectionTest, AHolderThatCannotRenewAsksAgainUntilItsRightEndsAndNoCallOutlastsIt) {
  Leads();
  const MonotonicTime end = election_->may_act_until();
  int calls = 0;
  while (true) {
    const ElectionAct act = NextCall();
    if (std::holds_alternative<WaitUntil>(act)) break;
    ++calls;
    if (const auto* write = std::get_if<WriteLease>(&act)) {
      EXPECT_LE(now_ + write->timeout, end);
      election_->OnWritten(kAway, now_);
    } else {
      EXPECT_LE(now_ + std::get<ReadLease>(act).timeout, end);
      election_->OnRead(kAway, now_);
    }
  }
  EXPECT_GT(calls, 10);
  EXPECT_EQ(now_, end);
  EXPECT_EQ(election_->state(), Election::State::kLost);
}

TEST_F(ElectionTest, AProcessThatWasStoppedLearnsOnWakingThatItsRightHasEnded) {
  Leads();
  Advance(seconds(60));
  EXPECT_FALSE(election_->MayAct(now_));
  EXPECT_TRUE(std::holds_alternative<WaitUntil>(election_->Next(now_))) << "it writes no Lease either";
  EXPECT_EQ(election_->state(), Election::State::kLost);
}

TEST_F(ElectionTest, ARenewalThatIsAnsweredAfterTheRightHasEndedGivesNoneBack) {
  Leads();
  const WriteLease write = WritesNext();
  Advance(seconds(60));  // stopped in the middle of the call
  election_->OnWritten(Done(write, "3"), now_);
  EXPECT_FALSE(election_->MayAct(now_));
  EXPECT_EQ(election_->state(), Election::State::kLost);
}

TEST_F(ElectionTest, ARenewalThatHasChangedNothingIsSeenByNoOtherAndGivesNoRight) {
  Leads();
  const MonotonicTime end = election_->may_act_until();
  const WriteLease write = WritesNext();
  election_->OnWritten(Done(write, "2"), now_);  // the version that it was to replace
  EXPECT_EQ(election_->may_act_until(), end);
  Sees(Done(write, "2"));
  Writes("3");
  EXPECT_GT(election_->may_act_until(), end);
}

TEST_F(ElectionTest, ATakeoverThatIsAnsweredTooLateIsReadAgainFirst) {
  Sees(Released("1"));
  const WriteLease write = WritesNext();
  Advance(seconds(11));
  election_->OnWritten(Done(write, "2"), now_);
  EXPECT_FALSE(election_->MayAct(now_));
  EXPECT_EQ(election_->state(), Election::State::kStandby);
  Sees(Done(write, "2"));
  Writes("3");
  EXPECT_TRUE(election_->MayAct(now_));
}

TEST_F(ElectionTest, ARenewalThatWasCarriedOutThoughItSeemedToFailIsFollowedByAnother) {
  Leads();
  const MonotonicTime end = election_->may_act_until();
  const WriteLease lost = WritesNext();
  election_->OnWritten(Error(StatusCode::kDeadlineExceeded, "the outcome is open"), now_);
  Sees(Done(lost, "3"));
  EXPECT_EQ(election_->may_act_until(), end) << "what a read shows gives no right";
  const WriteLease write = WritesNext();
  EXPECT_EQ(write.precondition->version, "3");
  election_->OnWritten(Done(write, "4"), now_);
  EXPECT_GT(election_->may_act_until(), end);
}

TEST_F(ElectionTest, ATakeoverThatWasCarriedOutThoughItSeemedToFailIsConfirmedByAWriteBeforeItActs) {
  Sees(Released("1"));
  const WriteLease lost = WritesNext();
  election_->OnWritten(Error(StatusCode::kDeadlineExceeded, "the outcome is open"), now_);
  Advance(seconds(60));
  Sees(Done(lost, "2"));
  EXPECT_FALSE(election_->MayAct(now_));
  const WriteLease write = WritesNext();
  EXPECT_EQ(write.record.transitions, 4) << "still the same term";
  EXPECT_FALSE(write.begins_term);
  election_->OnWritten(Done(write, "3"), now_);
  EXPECT_TRUE(election_->MayAct(now_));
}

TEST_F(ElectionTest, AHolderThatSeesAnotherHolderIsNoneAnyMore) {
  const struct {
    const char* what;
    LeaseRecord lease;
  } cases[] = {{"another candidate", HeldBy("b", "9", 5)},
               {"a Lease that was emptied by hand", HeldBy("", "9")},
               {"a Lease that seems to have been released", Released("9")}};
  for (const auto& given : cases) {
    SCOPED_TRACE(given.what);
    election_.emplace(ElectionOptions{.identity = "a"}, 1);
    Leads();
    WritesNext();
    election_->OnWritten(kConflict, now_);
    Sees(given.lease);
    EXPECT_FALSE(election_->MayAct(now_));
    EXPECT_EQ(election_->state(), Election::State::kLost);
  }
}

TEST_F(ElectionTest, ALeaseThatIsDeletedByHandIsMadeAgainByItsHolderInTheSameTerm) {
  Leads();
  const MonotonicTime end = election_->may_act_until();
  WritesNext();
  election_->OnWritten(kConflict, now_);
  Sees(std::nullopt);
  EXPECT_TRUE(election_->MayAct(now_));
  EXPECT_EQ(election_->may_act_until(), end);
  const WriteLease write = WritesNext();
  EXPECT_FALSE(write.precondition);
  EXPECT_EQ(write.record.transitions, 4);
  election_->OnWritten(Done(write, "9"), now_);
  EXPECT_GT(election_->may_act_until(), end);
}

TEST_F(ElectionTest, ACandidateThatLosesTheRaceWaitsForTheWinnersLease) {
  Sees(Released("1"));
  WritesNext();
  election_->OnWritten(kConflict, now_);
  const MonotonicTime before = now_;
  Sees(HeldBy("b", "2", 4));
  EXPECT_LT(now_ - before, milliseconds(200)) << "it looks again soon";
  EXPECT_TRUE(ReadsNext());
}

TEST_F(ElectionTest, AReleaseIsSeenWithinFourTenthsOfASecondAndALapseToTheMoment) {
  Sees(HeldBy("b", "7"));
  MonotonicTime last = now_;
  for (int i = 0; i < 40; ++i) {
    Sees(HeldBy("b", "7"));
    EXPECT_LE(now_ - last, milliseconds(400));
    last = now_;
  }
  WaitsWhileItSees(HeldBy("b", "7"));
  EXPECT_EQ(SinceStart(), seconds(15));
}

TEST_F(ElectionTest, TheRightEndsBeforeTheReleaseIsSent) {
  Leads();
  election_->Resign(now_);
  EXPECT_FALSE(election_->MayAct(now_));
  const WriteLease write = WritesNext();
  EXPECT_TRUE(write.record.released);
  EXPECT_EQ(write.record.holder, "");
  EXPECT_EQ(write.record.transitions, 4);
  EXPECT_EQ(write.precondition->version, "2");
  election_->OnWritten(Done(write, "3"), now_);
  EXPECT_EQ(election_->state(), Election::State::kResigned);
  EXPECT_EQ(std::get<WaitUntil>(election_->Next(now_)).time, kNever);
}

TEST_F(ElectionTest, AReleaseWhoseOutcomeIsOpenIsRepeatedUnlessAnotherHolderIsSeen) {
  Leads();
  election_->Resign(now_);
  WritesNext();
  election_->OnWritten(kAway, now_);
  Sees(HeldBy("a", "2"));
  WritesNext();
  election_->OnWritten(kAway, now_);
  EXPECT_FALSE(election_->MayAct(now_));
  Sees(HeldBy("b", "4", 5));
  EXPECT_EQ(election_->state(), Election::State::kResigned);
}

TEST_F(ElectionTest, WhoResignsInTheMiddleOfARenewalReleasesWhatItHasWritten) {
  Leads();
  const WriteLease renewal = WritesNext();
  election_->Resign(now_);
  election_->OnWritten(Done(renewal, "3"), now_);
  EXPECT_FALSE(election_->MayAct(now_));
  const WriteLease write = WritesNext();
  EXPECT_TRUE(write.record.released);
  EXPECT_EQ(write.precondition->version, "3");
}

TEST_F(ElectionTest, AStandbyResignsWithoutACallUnlessItMayHaveTakenTheLease) {
  Sees(HeldBy("b", "7"));
  election_->Resign(now_);
  EXPECT_EQ(election_->state(), Election::State::kResigned);

  election_.emplace(ElectionOptions{.identity = "a"}, 1);
  Sees(Released("1"));
  const WriteLease taken = WritesNext();
  election_->Resign(now_);
  election_->OnWritten(kAway, now_);
  Sees(Done(taken, "2"));
  EXPECT_TRUE(WritesNext().record.released);
}

}  // namespace
}  // namespace attune::leadership::election_test
