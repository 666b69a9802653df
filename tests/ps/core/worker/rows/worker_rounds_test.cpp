// Rounds of a worker about copies of rows, as homes see them: what they carry, when they go out, and what becomes of
// copies by their answers.
#include <gmock/gmock.h>

#include <algorithm>

#include "ps/core/worker/rows/worker_replicas.h"
#include "tests/ps/core/worker/rows/home_by_hand.h"

namespace attune::ps::worker_rounds_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class WorkerRoundsTest : public HomeByHandTest {
 protected:
  using HomeByHandTest::HomeByHandTest;
};

// --- announcements

TEST_F(WorkerRoundsTest, TheFirstRoundWithAHomeSaysThatNothingWasSaidBefore) {
  Intend({first_, second_});
  BeginStep();
  const std::vector<SentRound> rounds = Rounds();
  ASSERT_THAT(rounds, SizeIs(2));
  for (const SentRound& round : rounds) {
    const Key key = round.to == kFirstServer ? first_ : second_;
    EXPECT_EQ(cluster_.map().HomeOf(key), round.to);
    EXPECT_TRUE(round.first);
    ASSERT_THAT(round.uses, ElementsAre(Pair(key, ::testing::_)));
    EXPECT_EQ(round.uses.at(key).reads, 4);
    EXPECT_EQ(round.uses.at(key).writes, 4);
    EXPECT_EQ(round.uses.at(key).has_copy, 0);
    EXPECT_GT(round.uses.at(key).milliseconds, 0);
    Answer(round, {{.key = key, .value = 1}});
  }
  EXPECT_NE(rounds[0].number, rounds[1].number) << "an answer that is late fits no other round";
  PushHere({first_}, {1});
  Flush();
  const SentRound next = TheRound();
  EXPECT_FALSE(next.first);
  EXPECT_GT(next.number, std::max(rounds[0].number, rounds[1].number));
  EXPECT_THAT(next.uses, IsEmpty()) << "what was said holds on";
}

TEST_F(WorkerRoundsTest, ARowThatOneStepTouchesIsNotAnnouncedToItsHome) {
  Intend({first_}, 1);
  BeginStep();
  EXPECT_THAT(Rounds(), IsEmpty());
  EXPECT_TRUE(rows_.replicas().empty());
}

// What is fetched again behind a push is there in time for uses that are far apart. A copy of a row that is only read
// saves its fetches, however far apart they are.
TEST_F(WorkerRoundsTest, OfRowsThatAreUsedFarApartThoseThatAreOnlyReadAreAnnounced) {
  for (int step = 0; step < 20; ++step) {
    now_ += milliseconds(100);
    NextStep();
  }
  const Key read = KeyAt(kFirstServer, 1);
  for (const uint64_t after : {1, 4}) {
    for (const auto& [key, access] : {std::pair(first_, Access::kReadWrite), std::pair(read, Access::kRead)}) {
      rows_.On(IntendCall{.table = kTable,
                          .keys = {key},
                          .begin = at_.clock + after,
                          .end = at_.clock + after + 1,
                          .access = access,
                          .age_max = kAge},
               at_, now_, out_);
    }
  }
  BeginStep();
  const SentRound round = TheRound();
  EXPECT_TRUE(round.uses.contains(read));
  EXPECT_FALSE(round.uses.contains(first_));
}

TEST_F(WorkerRoundsTest, ARowIsAnnouncedAgainOnceHalfOfTheTimeIsOver) {
  GiveCopies({{.key = first_, .value = 10}});  // announced until step 5
  NextStep();
  Intend({first_});  // until 6
  now_ += milliseconds(100);
  Tick();
  EXPECT_THAT(Rounds(), IsEmpty());
  NextStep();
  NextStep();
  Intend({first_});  // until 8, and it is step 3
  now_ += milliseconds(100);
  Tick();
  const SentRound round = TheRound();
  ASSERT_TRUE(round.uses.contains(first_));
  EXPECT_EQ(round.uses.at(first_).has_copy, 1);
  EXPECT_THAT(round.after, IsEmpty());
}

TEST_F(WorkerRoundsTest, ARowThatIsAnnouncedNoMoreKeepsItsCopyUntilTheHomeTakesItBack) {
  GiveCopies({{.key = first_, .value = 10}});
  for (int step = 0; step < 5; ++step) {
    now_ += milliseconds(100);
    NextStep();
  }
  const SentRound round = TheRound();
  ASSERT_TRUE(round.uses.contains(first_));
  EXPECT_EQ(round.uses.at(first_), (AnnouncedUse{.has_copy = 1})) << "no steps";
  Answer(round);
  EXPECT_EQ(ReadHere(first_), 10);
  PushHere({first_}, {1});
  Flush();
  Answer(TheRound(), {}, {first_});
  EXPECT_FALSE(HasCopy(first_));
  EXPECT_TRUE(rows_.replicas().empty());
}

TEST_F(WorkerRoundsTest, OpenPushesOfARowThatIsAskedForAreNamed) {
  Push({first_, KeyAt(kFirstServer, 1)}, {1, 1});
  const auto pushed = Pushes();
  Intend({first_});
  BeginStep();
  EXPECT_THAT(TheRound().after, ElementsAre(Pair(first_, pushed.at(0).second.sequence.value())));
}

// 27 ns are those of 300 Mbit/s; 0.4 us are what a row costs processors. An announcement has 12 bytes.
TEST_F(WorkerRoundsTest, ARoundSaysWhatAByteOfThoseBeforeTook) {
  Key key = 0;
  for (int i = 0; i < 16; ++i) {
    std::vector<Key> keys;
    while (keys.size() < 3000) {
      if (cluster_.map().HomeOf(++key) == kFirstServer) keys.push_back(key);
    }
    Intend(std::move(keys));
    now_ += milliseconds(200);
    NextStep();
    const SentRound round = TheRound();
    EXPECT_EQ(round.picoseconds_per_byte, 1'000U) << "that of memory, as long as it is not known";
    now_ += round.uses.size() * std::chrono::nanoseconds(400 + 12 * 27);
    Answer(round);
  }
  Intend({first_});
  now_ += milliseconds(200);
  NextStep();
  const uint64_t measured = TheRound().picoseconds_per_byte;
  EXPECT_GE(measured, 26'900U);
  EXPECT_LE(measured, 27'100U);
}

// --- when rounds go out

TEST_F(WorkerRoundsTest, RoundsGoOutAtTheirPaceUnlessACallerWaits) {
  GiveCopies({{.key = first_, .value = 10}});
  EXPECT_EQ(rows_.replicas().WakeAt(), kNever) << "there is nothing to say";
  PushHere({first_}, {1});
  const MonotonicTime wake = rows_.replicas().WakeAt();
  EXPECT_GT(wake, now_);
  now_ = wake - Duration(1);
  Tick();
  EXPECT_THAT(Rounds(), IsEmpty());
  now_ = wake;
  Tick();
  const SentRound paced = TheRound();
  EXPECT_EQ(rows_.replicas().WakeAt(), kNever) << "its answer is waited for";
  PushHere({first_}, {1});
  Answer(paced);
  EXPECT_THAT(Rounds(), IsEmpty());
  Flush();
  EXPECT_THAT(Rounds(), SizeIs(1)) << "a caller waits";
}

TEST_F(WorkerRoundsTest, AStepThatBeginsSendsARoundBeforeTheTimerDoes) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  NextStep();
  EXPECT_THAT(Rounds(), IsEmpty()) << "the one before has just been sent";
  now_ += (rows_.replicas().WakeAt() - now_) / 2;
  Tick();
  EXPECT_THAT(Rounds(), IsEmpty());
  NextStep();
  EXPECT_THAT(Rounds(), SizeIs(1));
}

TEST_F(WorkerRoundsTest, AnnouncementsDoNotWaitForThePaceWhileTheStepsThatNeedThemComeCloser) {
  GiveCopies({{.key = first_, .value = 10}});
  Intend({KeyAt(kFirstServer, 1)}, 40);
  size_t rounds = 0;
  for (int step = 0; step < 9; ++step) {
    now_ += milliseconds(1);
    NextStep();
    rounds += Rounds().size();
  }
  EXPECT_EQ(rounds, 1U) << "after less than the 10 ms of the pace";
}

TEST_F(WorkerRoundsTest, WhatIsSaidOfRowsThatHaveCopiesWaitsForThePace) {
  GiveCopies({{.key = first_, .value = 10}});
  Intend({first_}, 40);
  for (int step = 0; step < 9; ++step) {
    now_ += milliseconds(1);
    NextStep();
    EXPECT_THAT(Rounds(), IsEmpty()) << "step " << step;
  }
  now_ += milliseconds(10);
  NextStep();
  EXPECT_TRUE(TheRound().uses.contains(first_));
}

TEST_F(WorkerRoundsTest, UnderABoundedPaceEachStepEndsWithARound) {
  at_.mode = SyncMode::Ssp(4);
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  EXPECT_EQ(rows_.replicas().WakeAt(), MonotonicTime());
  NextStep();
  EXPECT_THAT(Pushes(), SizeIs(1));
}

TEST_F(WorkerRoundsTest, WithoutAConnectionToTheHomeNothingIsSentUntilItIsThere) {
  GiveCopies({{.key = first_, .value = 10}});
  cluster_.SetDisconnected(kFirstServer);
  PushHere({first_}, {1});
  now_ += milliseconds(100);
  Tick();
  EXPECT_THAT(Rounds(), IsEmpty());
  EXPECT_EQ(rows_.replicas().WakeAt(), kNever);
  cluster_.SetConnected(kFirstServer);
  Tick();
  EXPECT_THAT(Rounds(), SizeIs(1));
}

class NarrowWindowTest : public WorkerRoundsTest {
 protected:
  NarrowWindowTest()
      : WorkerRoundsTest([] {
          WorkerOptions options = Options();
          options.pushes_in_flight_max = 2;
          return options;
        }()) {}
};

TEST_F(NarrowWindowTest, ARoundGoesOutAtOnceWhenPushesWaitBehindThoseToCopies) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  Push({second_}, {1});
  EXPECT_THAT(Pushes(), SizeIs(1));
  EXPECT_GT(rows_.replicas().WakeAt(), now_);
  Push({second_}, {1});
  EXPECT_THAT(Pushes(), IsEmpty()) << "there is no room";
  EXPECT_EQ(rows_.replicas().WakeAt(), MonotonicTime());
  Tick();
  const auto fold = Pushes();
  ASSERT_THAT(fold, SizeIs(1));
  Acknowledge(fold[0]);
  rows_.pushes().SendWaiting(now_, out_);
  EXPECT_THAT(Pushes(), SizeIs(1));
}

// --- order

TEST_F(WorkerRoundsTest, FoldsGoBeforeTheRoundWhoseAnswerContainsThem) {
  GiveCopies({{.key = first_, .value = 10}, {.key = KeyAt(kFirstServer, 1), .value = 20}});
  PushHere({first_, KeyAt(kFirstServer, 1)}, {1, 2});
  PushHere({first_}, {3});
  out_.Clear();
  Flush();
  ASSERT_THAT(out_.send, SizeIs(2));
  const auto* const folds = std::get_if<ps::Push>(&out_.send[0].message);
  ASSERT_NE(folds, nullptr);
  EXPECT_THAT(folds->keys.view(), ElementsAre(first_, KeyAt(kFirstServer, 1)));
  EXPECT_THAT(folds->folds, ElementsAre(FoldCounts{.pushes = 2, .updates = 2}, FoldCounts{.pushes = 1, .updates = 1}));
  EXPECT_THAT(folds->gradients.view(), ElementsAre(-4, -2));
  EXPECT_TRUE(std::holds_alternative<Round>(out_.send[1].message));
  EXPECT_LT(out_.send[0].link.sequence, out_.send[1].link.sequence) << "in the order of the link";
}

// --- answers

TEST_F(WorkerRoundsTest, CopiesThatAreTakenBackAreFoldedFirstAndTheirRowsReadElsewhereThen) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  Flush();
  const SentRound round = TheRound();
  PushHere({first_}, {2});
  Pushes();
  Answer(round, {}, {first_});
  const auto fold = Pushes();
  ASSERT_THAT(fold, SizeIs(1));
  EXPECT_THAT(fold[0].second.gradients.view(), ElementsAre(-2));
  EXPECT_FALSE(HasCopy(first_));
  EXPECT_FALSE(PushHere({first_}, {1}));
  EXPECT_EQ(ReadHere(first_), std::nullopt);
  Pull({first_});
  const auto asked = Pulls();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_THAT(asked[0].second.after, SizeIs(2)) << "the row must have both folds";
  Acknowledge(fold[0]);
  EXPECT_EQ(Settled(), SequenceNumber(0)) << "the first fold is open";
}

TEST_F(WorkerRoundsTest, ARowWhoseCopyIsTakenBackIsFetchedForTheStepsThatAreLeft) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  Flush();
  Answer(TheRound(), {}, {first_});
  NextStep();
  const auto fetches = Pulls();
  ASSERT_THAT(fetches, SizeIs(1));
  EXPECT_THAT(fetches[0].second.keys.view(), ElementsAre(first_));
  Answer(fetches[0], 9);
  EXPECT_EQ(ReadHere(first_), 9);
}

TEST_F(WorkerRoundsTest, AReadThatWaitsForACopyThatIsTakenBackIsAskedForAtTheHome) {
  GiveCopies({{.key = first_, .value = 10}});
  now_ += kAge + milliseconds(1);
  Pull({first_});
  EXPECT_THAT(Pulls(), IsEmpty());
  Answer(TheRound(), {}, {first_});
  const auto asked = Pulls();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].first, kFirstServer);
  Answer(asked[0], 12);
  EXPECT_EQ(Ended(), 1U);
  EXPECT_THAT(pulled_, ElementsAre(12));
}

TEST_F(WorkerRoundsTest, AnAnswerThatFitsNoRoundInFlightIsIgnored) {
  Intend({first_});
  BeginStep();
  const SentRound round = TheRound();
  SentRound other = round;
  other.number = round.number + 1;
  Answer(other, {{.key = first_, .value = 1}});
  EXPECT_FALSE(HasCopy(first_));
  other = round;
  other.to = kSecondServer;
  Answer(other, {{.key = first_, .value = 2}});
  EXPECT_FALSE(HasCopy(first_));
  Answer(round, {{.key = first_, .value = 3}});
  EXPECT_EQ(ReadHere(first_), 3);
  Answer(round, {{.key = first_, .value = 4}}, {first_});
  EXPECT_EQ(ReadHere(first_), 3) << "it has been answered";
}

TEST_F(WorkerRoundsTest, AHomeHasNoSayInCopiesOfAnother) {
  Intend({first_, second_});
  BeginStep();
  for (const SentRound& round : Rounds()) {
    Answer(round, {{.key = round.to == kFirstServer ? first_ : second_, .value = 10}});
  }
  PushHere({first_}, {1});
  PushHere({second_}, {1});
  Flush();
  for (const SentRound& round : Rounds()) {
    if (round.to == kSecondServer) Answer(round, {{.key = first_, .value = 99}}, {first_});
  }
  EXPECT_EQ(ReadHere(first_), 9);
  EXPECT_EQ(ReadHere(second_), 9);
}

TEST_F(WorkerRoundsTest, RowsOfALengthThatTheTableDoesNotHaveAreRejected) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  Flush();
  const SentRound round = TheRound();
  rows_.OnMessage(kFirstServer,
                  RoundReply{.map_version = cluster_.map().version,
                             .number = round.number,
                             .table = kTable,
                             .keys = std::vector<Key>{first_},
                             .versions = std::vector<RowVersion>{RowVersion(1)},
                             .rows = std::vector<float>{1, 2}},
                  now_, out_);
  ASSERT_THAT(out_.rejected, SizeIs(1));
  EXPECT_EQ(out_.rejected[0].from, kFirstServer);
  Answer(round);
  EXPECT_EQ(ReadHere(first_), 9);
}

TEST_F(WorkerRoundsTest, ARowOfATableThatIsNotOpenIsLeftAlone) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  Flush();
  const SentRound round = TheRound();
  rows_.OnMessage(kFirstServer,
                  RoundReply{.map_version = cluster_.map().version,
                             .number = round.number,
                             .table = TableId(9),
                             .keys = std::vector<Key>{first_},
                             .versions = std::vector<RowVersion>{RowVersion(1)},
                             .rows = std::vector<float>{1}},
                  now_, out_);
  Answer(round);
  EXPECT_FALSE(rows_.replicas().HasCopy({TableId(9), first_}));
}

}  // namespace
}  // namespace attune::ps::worker_rounds_test
