// What ends copies of rows at a worker: memory that is used up, and new maps.
#include <gmock/gmock.h>

#include <map>
#include <utility>

#include "ps/core/worker/operations/held_rows.h"
#include "ps/core/worker/rows/worker_replicas.h"
#include "tests/ps/core/worker/rows/home_by_hand.h"

namespace attune::ps::worker_copies_end_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

// --- memory

class MemoryForOneCopyTest : public HomeByHandTest {
 protected:
  MemoryForOneCopyTest()
      : HomeByHandTest([] {
          WorkerOptions options = Options();
          options.row_bytes_max = HeldRows({.dim = 1, .optimizer = Sgd{.rate = 1}}).row_bytes();
          return options;
        }()) {}

  // The home gives a copy of each of them.
  void AskForBoth() {
    Intend({first_, other_});
    BeginStep();
    Answer(TheRound(), {{.key = first_, .value = 10}, {.key = other_, .value = 20}});
  }
  const Key other_ = KeyAt(kFirstServer, 1);
};

TEST_F(MemoryForOneCopyTest, AWorkerSaysThatItHasNoCopyForWhichThereIsNoRoom) {
  AskForBoth();
  EXPECT_TRUE(HasCopy(first_));
  EXPECT_FALSE(HasCopy(other_));
  now_ += milliseconds(100);
  Tick();
  const SentRound round = TheRound();
  ASSERT_THAT(round.uses, ElementsAre(Pair(other_, ::testing::_)));
  EXPECT_EQ(round.uses.at(other_).has_copy, 0);
}

// A home that hears of the steps once more gives the same copy once more.
TEST_F(MemoryForOneCopyTest, AWorkerWithoutRoomDoesNotAskForTheSameCopyAgainAndAgain) {
  AskForBoth();
  size_t given = 0;
  for (int i = 0; i < 20; ++i) {
    now_ += milliseconds(100);
    Tick();
    for (const SentRound& round : Rounds()) {
      std::vector<Row> rows;
      for (const auto& [key, use] : round.uses) {
        if (use.has_copy == 0 && use.reads > 0) rows.push_back({.key = key, .value = 20});
      }
      given += rows.size();
      Answer(round, rows);
    }
  }
  EXPECT_LE(given, 1U);
}

TEST_F(MemoryForOneCopyTest, ACopyThatIsOfNoUseMakesRoomForOneThatIsAndItsHomeHearsOfIt) {
  GiveCopies({{.key = first_, .value = 10}});
  Intend({other_}, 40);
  BeginStep();
  EXPECT_THAT(Rounds(), IsEmpty()) << "both are of use";
  PushHere({first_}, {1});
  for (int step = 0; step < 6; ++step) {  // the steps of the first row end, its home hears so
    now_ += milliseconds(100);
    NextStep();
    for (const SentRound& round : Rounds()) Answer(round);
  }
  ASSERT_TRUE(HasCopy(first_)) << "no other row needs the room";
  Intend({other_}, 40);
  now_ += milliseconds(100);
  NextStep();
  EXPECT_FALSE(HasCopy(first_));
  const SentRound round = TheRound();
  EXPECT_EQ(round.uses.at(first_), AnnouncedUse{}) << "no steps, and no copy";
  EXPECT_GT(round.uses.at(other_).reads, 0);
  Answer(round, {{.key = other_, .value = 20}});
  EXPECT_EQ(ReadHere(other_), 20);
}

TEST_F(MemoryForOneCopyTest, ACopyWhosePushesAreNotFoldedYetStays) {
  GiveCopies({{.key = first_, .value = 10}});
  for (int step = 0; step < 6; ++step) {
    now_ += milliseconds(100);
    NextStep();
    for (const SentRound& round : Rounds()) Answer(round);
  }
  ASSERT_TRUE(PushHere({first_}, {1}));
  Intend({other_}, 40);
  BeginStep();
  EXPECT_TRUE(HasCopy(first_));
  EXPECT_THAT(Rounds(), ::testing::Each(::testing::Field(&SentRound::uses, IsEmpty())));
}

// --- announcements that are ignored

using IgnoredTest = HomeByHandTest;

TEST_F(IgnoredTest, WhatWasPushedToCopiesGoesHomeAndTheHomeForgetsThem) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  for (int i = 0; i < 2; ++i) rows_.fetches().SetIgnored(true, now_, out_);
  EXPECT_FALSE(HasCopy(first_));
  const auto folds = Pushes();
  ASSERT_THAT(folds, SizeIs(1)) << "once";
  EXPECT_EQ(folds[0].first, kFirstServer);
  EXPECT_THAT(folds[0].second.folds, SizeIs(1));
  Tick();
  const SentRound round = TheRound();
  EXPECT_TRUE(round.first);
  EXPECT_THAT(round.uses, IsEmpty());
  Answer(round, {});
  now_ += std::chrono::seconds(1);
  Tick();
  EXPECT_THAT(Rounds(), IsEmpty()) << "nothing is announced";
}

// --- maps

class NewMapTest : public HomeByHandTest {
 protected:
  // What the core does with a map.
  void Adopt(ShardMap map) {
    const ClusterView::Change change = cluster_.Adopt(std::move(map));
    rows_.AdoptMembers(change.gone, out_);
    rows_.own().AdoptMap(now_, out_);
    if (change.homes_changed || change.server_gone || change.recovered) {
      rows_.replicas().GiveUp(WorkerReplicas::Because::kHomesChanged, now_, out_);
    }
    if (change.server_gone || change.recovered) rows_.Reissue(now_, out_);
  }
};

TEST_F(NewMapTest, UnderAMapWithOtherHomesAllCopiesAreGivenUpAndFoldsGoToTheHomesOfToday) {
  GiveCopies({{.key = first_, .value = 10}});
  GiveCopies({{.key = second_, .value = 20}});
  PushHere({first_}, {1});
  PushHere({second_}, {2});
  ShardMap map = SmallMap(2);
  std::swap(map.shards[0].home, map.shards[1].home);
  for (Shard& shard : map.shards) shard.routing_since = map.version;
  Adopt(map);
  EXPECT_FALSE(HasCopy(first_));
  EXPECT_FALSE(HasCopy(second_));
  EXPECT_TRUE(rows_.replicas().empty());
  const auto folds = Pushes();
  ASSERT_THAT(folds, SizeIs(2));
  for (const auto& [to, fold] : folds) {
    EXPECT_EQ(fold.map_version, map.version);
    ASSERT_THAT(fold.folds, SizeIs(1));
    EXPECT_EQ(cluster_.map().HomeOf(fold.keys[0]), to);
  }
  EXPECT_THAT(Rounds(), IsEmpty()) << "the homes of today know nothing of copies";
}

TEST_F(NewMapTest, FoldsForAServerThatIsGoneGoToTheHomesOfToday) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  Flush();
  const auto in_flight = Pushes();
  PushHere({first_}, {2});
  ShardMap map = SmallMap(2);
  map.members.erase(map.members.begin());
  map.shards[0].home = kSecondServer;
  map.recovered_at = map.version;
  Adopt(map);
  std::map<uint64_t, float> changes;  // by the number of the push
  for (const auto& [to, fold] : Pushes()) {
    EXPECT_EQ(to, kSecondServer);
    ASSERT_THAT(fold.folds, SizeIs(1));
    changes[fold.sequence.value()] = fold.gradients[0];
  }
  EXPECT_THAT(changes, ElementsAre(Pair(in_flight.at(0).second.sequence.value(), -1), Pair(2, -2)));
  EXPECT_FALSE(HasCopy(first_));
}

TEST_F(NewMapTest, AReadThatWaitsUnderTheOldMapIsAskedForUnderTheNewOne) {
  Intend({first_});
  BeginStep();
  const SentRound round = TheRound();
  Pulls();
  Pull({first_});
  ShardMap map = SmallMap(2);
  std::swap(map.shards[0].home, map.shards[1].home);
  Adopt(map);
  const auto asked = Pulls();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].first, kSecondServer);
  Answer(asked[0], 5);
  EXPECT_THAT(pulled_, ElementsAre(5));
  Answer(round, {{.key = first_, .value = 10}});
  EXPECT_FALSE(HasCopy(first_)) << "the answer of a home of yesterday";
}

TEST_F(NewMapTest, UnderAMapWithTheSameHomesCopiesStay) {
  GiveCopies({{.key = first_, .value = 10}});
  PushHere({first_}, {1});
  ShardMap map = SmallMap(2);
  map.members.pop_back();
  Adopt(map);
  EXPECT_EQ(ReadHere(first_), 9);
  Flush();
  const SentRound round = TheRound();
  EXPECT_FALSE(round.first);
}

}  // namespace
}  // namespace attune::ps::worker_copies_end_test
