// Copies of rows at a worker as its program sees them: what it reads and pushes, and what waits.
#include "ps/core/worker/rows/worker_replicas.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/ps/core/worker/rows/home_by_hand.h"

namespace attune::ps::worker_replicas_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class WorkerReplicasTest : public HomeByHandTest {};

// --- reads and pushes at once

TEST_F(WorkerReplicasTest, ACopyThatComesIsReadAndPushedToAtOnce) {
  EXPECT_EQ(ReadHere(first_), std::nullopt);
  EXPECT_FALSE(PushHere({first_}, {1}));
  GiveCopies({{.key = first_, .value = 10, .version = 3}});
  EXPECT_EQ(ReadHere(first_), 10);
  EXPECT_TRUE(PushHere({first_}, {1}));
  EXPECT_TRUE(PushHere({first_}, {2}));
  EXPECT_EQ(ReadHere(first_), 7);
  EXPECT_THAT(Pushes(), IsEmpty());
  EXPECT_THAT(Pulls(), IsEmpty());
  EXPECT_EQ(rows_.TakeCounts().accesses.replicated, 2U);
}

TEST_F(WorkerReplicasTest, CopiesWhatTheyCostAndTheOldestReadAreCounted) {
  GiveCopies({{.key = first_, .value = 10}, {.key = KeyAt(kFirstServer, 1), .value = 20}});
  CopyCounts counts = rows_.TakeCounts().copies;
  EXPECT_EQ(counts.copies, 2U);
  EXPECT_EQ(counts.refreshed_bytes, 2 * sizeof(float));
  EXPECT_EQ(counts.flushed_bytes, 0U);
  EXPECT_EQ(counts.oldest_read, Duration::zero()) << "none was read";
  now_ += milliseconds(20);
  EXPECT_EQ(ReadHere(first_), 10);
  EXPECT_TRUE(PushHere({first_}, {1}));
  Flush();
  EXPECT_EQ(Pushes().size(), 1U);
  counts = rows_.TakeCounts().copies;
  EXPECT_EQ(counts.copies, 2U);
  EXPECT_EQ(counts.refreshed_bytes, 0U) << "counted once";
  EXPECT_EQ(counts.flushed_bytes, sizeof(float));
  EXPECT_GE(counts.oldest_read, milliseconds(20));
}

TEST_F(WorkerReplicasTest, APullThatIsNotDoneAtOnceTakesWhatHasCopiesAndAsksForTheRest) {
  GiveCopies({{.key = first_, .value = 10}});
  Pull({second_, first_});
  const auto asked = Pulls();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_THAT(asked[0].second.keys.view(), ElementsAre(second_));
  Answer(asked[0], 4);
  EXPECT_EQ(Ended(), 1U);
  EXPECT_THAT(pulled_, ElementsAre(4, 10));
}

TEST_F(WorkerReplicasTest, APushToSomeRowsWithCopiesAndSomeWithoutIsSplit) {
  GiveCopies({{.key = first_, .value = 10}});
  EXPECT_FALSE(PushHere({first_, second_}, {1, 5}));
  EXPECT_EQ(ReadHere(first_), 10) << "nothing has happened";
  Push({first_, second_, first_}, {1, 5, 2});
  EXPECT_EQ(ReadHere(first_), 7) << "gradients of equal keys are summed";
  const auto sent = Pushes();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first, kSecondServer);
  EXPECT_THAT(sent[0].second.keys.view(), ElementsAre(second_));
  EXPECT_THAT(sent[0].second.gradients.view(), ElementsAre(5));
  EXPECT_THAT(sent[0].second.folds, IsEmpty());
  EXPECT_EQ(Ended(), 0U);
  Acknowledge(sent[0]);
  EXPECT_EQ(Ended(), 1U);
  EXPECT_EQ(Settled(), SequenceNumber(0)) << "the push to the copy is open, and came first";
}

TEST_F(WorkerReplicasTest, ACallWhoseRowsAllHaveCopiesEndsAtOnce) {
  GiveCopies({{.key = first_, .value = 10}, {.key = KeyAt(kFirstServer, 1), .value = 20}});
  Push({KeyAt(kFirstServer, 1), first_, first_}, {1, 2, 3});
  EXPECT_EQ(Ended(), 1U);
  EXPECT_THAT(Pushes(), IsEmpty());
  EXPECT_EQ(ReadHere(first_), 5);
  EXPECT_EQ(ReadHere(KeyAt(kFirstServer, 1)), 19);
}

TEST_F(WorkerReplicasTest, AGradientThatTheTableRefusesIsRefusedWhereTheRowIs) {
  GiveCopies({{.key = first_, .value = 10}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(PushHere({first_}, {nan}));
  EXPECT_EQ(ReadHere(first_), 10);
  Push({first_}, {nan});
  const auto sent = Pushes();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].first, kFirstServer);
  EXPECT_THAT(sent[0].second.folds, IsEmpty());
}

// --- what is settled

TEST_F(WorkerReplicasTest, PushesToACopyAreOpenUntilTheirFoldIsAcknowledged) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  PushHere({first_}, {2});
  Push({second_}, {5});
  Acknowledge(Pushes().at(0));
  EXPECT_EQ(Settled(), SequenceNumber(0));
  EXPECT_EQ(rows_.pushes().window().AckedBelow(), SequenceNumber(0));
  Flush();
  const auto folds = Pushes();
  ASSERT_EQ(folds.size(), 1U);
  EXPECT_EQ(folds[0].first, kFirstServer);
  EXPECT_EQ(folds[0].second.sequence, SequenceNumber(1));
  EXPECT_THAT(folds[0].second.keys.view(), ElementsAre(first_));
  EXPECT_THAT(folds[0].second.folds, ElementsAre(FoldCounts{.pushes = 2, .updates = 2}));
  EXPECT_THAT(folds[0].second.gradients.view(), ElementsAre(-3)) << "what they have changed the value by";
  EXPECT_EQ(Settled(), SequenceNumber(0));
  Acknowledge(folds[0]);
  EXPECT_EQ(Settled(), SequenceNumber(2));
  EXPECT_TRUE(rows_.pushes().window().empty());
}

TEST_F(WorkerReplicasTest, WhatIsPushedAfterAFoldIsOpenUnderANumberOfItsOwn) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  Flush();
  const auto earlier = Pushes();
  PushHere({first_}, {2});
  Acknowledge(earlier.at(0));
  EXPECT_EQ(Settled(), SequenceNumber(1));
  Flush();
  EXPECT_THAT(Pushes(), IsEmpty()) << "one round is in flight at a time";
  Answer(TheRound());
  const auto later = Pushes();
  ASSERT_EQ(later.size(), 1U) << "its caller waits, so it goes out with the answer";
  EXPECT_EQ(later[0].second.sequence, SequenceNumber(2));
  EXPECT_THAT(later[0].second.gradients.view(), ElementsAre(-2));
}

TEST_F(WorkerReplicasTest, AFoldThatIsNotAcknowledgedIsSentAgain) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  Flush();
  const auto sent = Pushes();
  now_ += options_.reissue_after;
  rows_.SendAgain(now_, out_);
  const auto again = Pushes();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].second.sequence, sent.at(0).second.sequence);
  EXPECT_EQ(again[0].second.folds, sent[0].second.folds);
  EXPECT_EQ(again[0].second.gradients, sent[0].second.gradients);
}

TEST_F(WorkerReplicasTest, AHomeThatRefusesAFoldEndsTheSession) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  Flush();
  const auto sent = Pushes();
  rows_.OnMessage(kFirstServer,
                  PushRefused{.sequence = sent.at(0).second.sequence,
                              .map_version = cluster_.map().version,
                              .positions = sent[0].second.positions,
                              .status = Error(StatusCode::kResourceExhausted, "full")},
                  now_, out_);
  EXPECT_EQ(rows_.own().TakeLost().code(), StatusCode::kResourceExhausted) << "for the program it is done";
}

// --- what a copy may lack

TEST_F(WorkerReplicasTest, APullWhileARowIsAskedForWaitsForTheAnswer) {
  const struct {
    const char* what;
    bool is_given;
  } cases[] = {{"the home gives a copy", true}, {"the row is left where it is", false}};
  Key key = first_;
  for (const auto& given : cases) {
    SCOPED_TRACE(given.what);
    Intend({key});
    BeginStep();
    const SentRound round = TheRound();
    Pulls();
    EXPECT_EQ(ReadHere(key), std::nullopt);
    Pull({key});
    EXPECT_THAT(Pulls(), IsEmpty());
    EXPECT_EQ(Ended(), 0U);
    Answer(round, given.is_given ? std::vector<Row>{{.key = key, .value = 7}} : std::vector<Row>{});
    const auto asked = Pulls();
    ASSERT_EQ(asked.size(), given.is_given ? 0U : 1U);
    if (!given.is_given) Answer(asked[0], 7);
    EXPECT_EQ(Ended(), 1U);
    EXPECT_THAT(pulled_, ElementsAre(7));
    for (const SentRound& confirming : Rounds()) Answer(confirming);
    key = KeyAt(kFirstServer, 1);
    now_ += milliseconds(100);
  }
}

TEST_F(WorkerReplicasTest, ACopyIsNotTakenWhenTheWorkerHasPushedToTheRowSinceItAsked) {
  Intend({first_});
  BeginStep();
  const SentRound round = TheRound();
  EXPECT_THAT(round.after, IsEmpty());
  Push({first_}, {1});
  const auto pushed = Pushes();
  Answer(round, {{.key = first_, .value = 10}});
  EXPECT_FALSE(HasCopy(first_)) << "it may lack the push";
  now_ += milliseconds(100);
  Tick();
  const SentRound again = TheRound();
  ASSERT_TRUE(again.uses.contains(first_));
  EXPECT_EQ(again.uses.at(first_).has_copy, 0);
  EXPECT_THAT(again.after, ElementsAre(Pair(first_, pushed.at(0).second.sequence.value())));
  Answer(again, {{.key = first_, .value = 9}});
  EXPECT_EQ(ReadHere(first_), 9);
}

TEST_F(WorkerReplicasTest, ACopyIsNotTakenWhenTheRowWasReadElsewhereSinceItWasAskedFor) {
  Pull({first_});
  const auto pulled = Pulls();
  Intend({first_});
  BeginStep();
  const SentRound round = TheRound();
  Answer(pulled.at(0), 8);
  Answer(round, {{.key = first_, .value = 10}});
  EXPECT_FALSE(HasCopy(first_)) << "what the program has seen may be newer";
}

TEST_F(WorkerReplicasTest, ACopyIsReadAgainOnceItIsNewerThanWhatWasReadElsewhere) {
  Pull({first_});
  const auto pulled = Pulls();
  GiveCopies({{.key = first_, .value = 10}});
  Answer(pulled.at(0), 8);
  Ended();
  EXPECT_EQ(ReadHere(first_), std::nullopt);
  Pull({first_});
  EXPECT_THAT(Pulls(), IsEmpty());
  EXPECT_EQ(Ended(), 0U);
  Answer(TheRound(), {{.key = first_, .value = 7}});
  EXPECT_EQ(Ended(), 1U);
  EXPECT_THAT(pulled_, ElementsAre(7));
  EXPECT_EQ(ReadHere(first_), 7);
}

TEST_F(WorkerReplicasTest, ACopyThatIsTooOldWaitsForARoundAndIsThenRead) {
  GiveCopies({{.key = first_, .value = 10}});
  now_ += kAge;
  EXPECT_EQ(ReadHere(first_), 10);
  now_ += milliseconds(1);
  EXPECT_EQ(ReadHere(first_), std::nullopt);
  Pull({first_});
  EXPECT_THAT(Pulls(), IsEmpty());
  EXPECT_EQ(Ended(), 0U);
  Answer(TheRound());
  EXPECT_EQ(Ended(), 1U) << "the home had nothing to say, so it is as it was";
  EXPECT_THAT(pulled_, ElementsAre(10));
  EXPECT_EQ(ReadHere(first_), 10);
  EXPECT_EQ(rows_.TakeCounts().accesses.waited, 1U);
  EXPECT_THAT(Rounds(), IsEmpty()) << "that round was enough";
}

TEST_F(WorkerReplicasTest, APullIsServedByTheRoundThatIsInFlightWhereThatIsNewEnough) {
  GiveCopies({{.key = first_, .value = 10}});
  now_ += kAge + milliseconds(1);
  BeginStep();
  const SentRound round = TheRound();
  now_ += milliseconds(5);
  Pull({first_});
  Answer(round);
  EXPECT_EQ(Ended(), 1U) << "it was sent 5 ms before the pull, which may read what is a second old";
  EXPECT_THAT(Rounds(), IsEmpty());
}

// A program that sums its rows at its end has not announced them: it must find what other workers have pushed.
TEST_F(WorkerReplicasTest, ARowThatIsNotAnnouncedIsReadAsItIsWhenTheReadBegins) {
  GiveCopies({{.key = first_, .value = 10}});
  now_ += milliseconds(1);
  EXPECT_EQ(ReadHere(first_), 10) << "announced";
  at_.clock += 10;
  EXPECT_EQ(ReadHere(first_), std::nullopt) << "however new the copy is";
  Pull({first_});
  EXPECT_EQ(Ended(), 0U);
  Answer(TheRound(), {{.key = first_, .value = 7, .version = 2}});
  EXPECT_EQ(Ended(), 1U);
  EXPECT_THAT(pulled_, ElementsAre(7));
}

TEST_F(WorkerReplicasTest, AnyCopyThatIsNotTooOldIsReadWhenTheProgramAsksForAny) {
  GiveCopies({{.key = first_, .value = 10}});
  at_.clock += 10;
  EXPECT_EQ(ReadHere(first_, CopyReads::kAny), 10);
  now_ += kAge + milliseconds(1);
  EXPECT_EQ(ReadHere(first_, CopyReads::kAny), std::nullopt);
  EXPECT_EQ(ReadHere(second_, CopyReads::kAny), std::nullopt) << "it has none";
}

TEST_F(WorkerReplicasTest, ACopyIsAsOldAsTheRoundThatConfirmedIt) {
  GiveCopies({{.key = first_, .value = 10}});
  now_ += milliseconds(700);
  BeginStep();
  const SentRound round = TheRound();
  now_ += milliseconds(200);
  Answer(round);
  now_ += milliseconds(800);
  EXPECT_EQ(ReadHere(first_), 10) << "one second after the round was sent";
  now_ += milliseconds(1);
  EXPECT_EQ(ReadHere(first_), std::nullopt);
}

TEST_F(WorkerReplicasTest, UnderABoundedPaceACopyIsReadOnceItHasWhatAllWorkersHaveDone) {
  at_ = {.clock = 0, .step = 10, .mode = SyncMode::Ssp(1), .floor = 10};
  GiveCopies({{.key = first_, .value = 10}});
  EXPECT_EQ(ReadHere(first_), 10);
  at_.step = 12;
  at_.floor = 11;
  EXPECT_EQ(ReadHere(first_), std::nullopt) << "it may lack pushes of step 10";
  BeginStep();
  Answer(TheRound(), {{.key = first_, .value = 6}});
  EXPECT_EQ(ReadHere(first_), 6);
}

TEST_F(WorkerReplicasTest, WhatOthersHaveChangedComesBelowTheOwnPushesThatAreOpen) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  Flush();
  const SentRound round = TheRound();
  PushHere({first_}, {2});
  Answer(round, {{.key = first_, .value = 109}});
  EXPECT_EQ(ReadHere(first_), 107) << "109 has the first push, and 100 of another worker's";
  Flush();
  const auto folds = Pushes();
  EXPECT_THAT(folds.back().second.gradients.view(), ElementsAre(-2));
}

}  // namespace
}  // namespace attune::ps::worker_replicas_test
