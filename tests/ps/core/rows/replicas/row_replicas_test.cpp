#include "ps/core/rows/replicas/row_replicas.h"

#include <gmock/gmock.h>

#include "tests/ps/core/rows/replicas/announcing_workers.h"

namespace attune::ps::row_replicas_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using Decision = DuplicateFilter::Decision;

class RowReplicasTest : public AnnouncingWorkersTest {
 protected:
  using AnnouncingWorkersTest::AnnouncingWorkersTest;
};

// --- who gets a copy

TEST_F(RowReplicasTest, ARowThatIsAnnouncedOftenIsSentWithTheAnswerAndOthersAreLeft) {
  const struct {
    const char* what;
    AnnouncedUse use;
    bool is_sent;
  } cases[] = {
      {"many reads and writes", kOften, true},
      {"many reads", {.reads = 20, .milliseconds = 1000}, true},
      {"many writes at one time", {.writes = 200, .milliseconds = 10}, true},
      {"one read", {.reads = 1, .milliseconds = 1000}, false},
      {"as many writes as there are rounds", {.writes = 20, .milliseconds = 5000}, false},
      {"nothing", {}, false},
  };
  Key key = 0;
  for (const auto& announced : cases) {
    SCOPED_TRACE(announced.what);
    Push(kOther, ++key);
    const WholeAnswer answer = Say(kWorker, {{key, announced.use}});
    EXPECT_TRUE(answer.is_ended);
    EXPECT_THAT(answer.left, IsEmpty());
    if (!announced.is_sent) {
      EXPECT_THAT(answer.rows, IsEmpty());
      continue;
    }
    EXPECT_THAT(answer.rows, ElementsAre(Pair(key, -1)));
    EXPECT_EQ(answer.versions.at(key), RowVersion(0, 1));
  }
}

// A copy spares its worker waits, and costs the bytes of whatever others change.
TEST_F(RowReplicasTest, WhereBytesAreDearARowThatOthersChangeOftenIsLeft) {
  const TableId wide(2);
  ASSERT_TRUE(parts_.tables.Install(wide, {.name = "wide", .options = {.dim = 64}}, {}, false).ok());
  constexpr AnnouncedUse kChanges{.writes = 200, .milliseconds = 1000};
  constexpr AnnouncedUse kSometimes{.reads = 20, .writes = 20, .milliseconds = 1000};
  const struct {
    const char* what;
    uint64_t picoseconds_per_byte;
    bool is_sent;
  } cases[] = {{"not measured", 0, true}, {"10 Gbit/s", 1'250, true}, {"100 Mbit/s", 80'000, false}};
  Key key = 0;
  for (const auto& path : cases) {
    SCOPED_TRACE(path.what);
    ++key;
    size_t sent = 0;
    for (const auto& [worker, use] : {std::pair(kOther, kChanges), std::pair(kWorker, kSometimes)}) {
      Round round = RoundOf(worker, {{key, use}});
      round.table = wide;
      round.picoseconds_per_byte = path.picoseconds_per_byte;
      replicas_.On(worker, round, now_, parts_.out);
      sent = 0;
      for (const auto& [to, reply] : parts_.Sent<RoundReply>()) sent += reply.keys.size();
    }
    EXPECT_EQ(sent, path.is_sent ? 1U : 0U);
  }
}

// By the price of the other's link it would be taken back.
TEST_F(RowReplicasTest, AWorkerBehindASlowLinkDoesNotDecideWhatOthersHave) {
  const TableId wide(2);
  ASSERT_TRUE(parts_.tables.Install(wide, {.name = "wide", .options = {.dim = 64}}, {}, false).ok());
  constexpr uint64_t kSlowLink = 80'000;  // 100 Mbit/s
  std::map<NodeId, size_t> sent;
  for (int turn = 0; turn < 6; ++turn) {
    const bool is_slow = turn % 2 == 1;
    const NodeId from = is_slow ? kOther : kWorker;
    AnnouncedUse use{.reads = 20, .writes = 20, .milliseconds = 1000};
    if (is_slow) use = {.writes = 200, .milliseconds = 1000};
    use.has_copy = sent[from] > 0 ? 1 : 0;
    Round round = RoundOf(from, {{7, use}});
    round.table = wide;
    round.picoseconds_per_byte = is_slow ? kSlowLink : 0;
    replicas_.On(from, round, now_, parts_.out);
    for (const auto& [to, reply] : parts_.Sent<RoundReply>()) {
      sent[to] += reply.keys.size();
      EXPECT_THAT(reply.left, IsEmpty()) << "turn " << turn;
    }
  }
  EXPECT_THAT(sent, ElementsAre(Pair(kWorker, 1), Pair(kOther, 1)));
}

TEST_F(RowReplicasTest, ARowIsSentOnceHoweverOftenItIsAnnounced) {
  EXPECT_EQ(Say(kWorker, {{7, kOften}}).rows.size(), 1U);
  EXPECT_THAT(Say(kWorker, {{7, kOftenWithCopy}}).rows, IsEmpty());
  EXPECT_THAT(Say(kWorker, {}).rows, IsEmpty());
}

TEST_F(RowReplicasTest, ARowIsNotSentBeforeItContainsThePushesThatItsWorkerNames) {
  const struct {
    const char* what;
    Decision decision;
    uint64_t acked_below;
    bool is_sent;
  } cases[] = {{"still open", Decision::kOpen, 0, false},
               {"applied", Decision::kApplied, 0, true},
               {"refused, so it will never contain it", Decision::kRefused, 0, true},
               {"settled, of which no record is left", Decision::kOpen, 99, true}};
  uint64_t number = 0;
  Key key = 0;
  for (const auto& push : cases) {
    SCOPED_TRACE(push.what);
    const Key keys[] = {++key};
    const SequenceNumber sequence(++number);
    Round round = RoundOf(kWorker, {{50 + key, kOften}, {key, kOften}});
    round.after = {{.sequence = sequence, .position = 2, .key_index = 1}};
    EXPECT_FALSE(Send(kWorker, round).rows.contains(key));
    if (push.decision != Decision::kOpen) {
      const Positions positions{.first = 2, .count = 1, .list = {}};
      parts_.records.filter().Record(kWorker, sequence, kTable, positions, keys, push.decision);
    }
    parts_.records.filter().MergeAckedBelow(kWorker, SequenceNumber(push.acked_below));
    EXPECT_THAT(Say(kWorker, {}).rows, IsEmpty()) << "only an announcement brings it";
    round = RoundOf(kWorker, {{50 + key, kOftenWithCopy}, {key, kOften}});
    round.after = {{.sequence = sequence, .position = 2, .key_index = 1}};
    EXPECT_EQ(Send(kWorker, round).rows.contains(key), push.is_sent);
  }
}

TEST_F(RowReplicasTest, AWorkerThatSaysItHasNoCopyGetsItAgain) {
  Say(kWorker, {{7, kOften}});
  Push(kOther, 7);
  EXPECT_THAT(Say(kWorker, {{7, kOften}}).rows, ElementsAre(Pair(7, -1)));
  EXPECT_THAT(Say(kWorker, {}).rows, IsEmpty()) << "the change was in it";
}

TEST_F(RowReplicasTest, ARowThatIsAbsentBeginsWhenItIsGiven) {
  EXPECT_THAT(Say(kWorker, {{7, kOften}}).versions, ElementsAre(Pair(7, RowVersion())));
  EXPECT_TRUE(parts_.rows().Contains(7));
  AdoptChanged([](ShardMap& map) { map.recoveries = 3; });
  EXPECT_THAT(Say(kWorker, {{8, kOften}}).versions, ElementsAre(Pair(8, RowVersion(3, 0)))) << "in this era";
}

TEST_F(RowReplicasTest, ARowForWhichThereIsNoRoomIsNotGiven) {
  const TableId full(2);
  ASSERT_TRUE(parts_.tables.Install(full, {.name = "full", .options = {.dim = 1, .rows_max = 1}}, {}, false).ok());
  Round round = RoundOf(kWorker, {{1, kOften}});
  round.table = full;
  EXPECT_EQ(Send(kWorker, round).rows.size(), 1U);
  round = RoundOf(kWorker, {{2, kOften}});
  round.table = full;
  EXPECT_THAT(Send(kWorker, round).rows, IsEmpty());
  EXPECT_FALSE(parts_.out.lost.has_value());
}

TEST_F(RowReplicasTest, ARowThatAnotherNodeHasIsNotGiven) {
  parts_.shards.SetEntry({kTable, 7}, {.owner = kOther, .move_number = 1});
  EXPECT_THAT(Say(kWorker, {{7, kOften}}).rows, IsEmpty());
  EXPECT_FALSE(parts_.rows().Contains(7));
  parts_.shards.EraseEntry({kTable, 7});
  EXPECT_EQ(Say(kWorker, {{7, kOften}}).rows.size(), 1U) << "it is back";
}

TEST_F(RowReplicasTest, ATableThatIsNotOpenHereIsLeftAlone) {
  Round round = RoundOf(kWorker, {{7, kOften}});
  round.table = TableId(9);
  const WholeAnswer answer = Send(kWorker, round);
  EXPECT_TRUE(answer.is_ended);
  EXPECT_THAT(answer.rows, IsEmpty());
  EXPECT_EQ(replicas_.interests(), 0U);
}

// --- changes

TEST_F(RowReplicasTest, WhatAnotherWorkerHasPushedComesWithTheNextAnswerAndOnlyOnce) {
  Say(kWorker, {{7, kOften}});
  Say(kOther, {{8, kOften}});
  Push(kOther, 7);
  Push(kOther, 7);
  Push(kOther, 9);
  EXPECT_THAT(Say(kWorker, {}).rows, ElementsAre(Pair(7, -2)));
  EXPECT_THAT(Say(kWorker, {}).rows, IsEmpty());
  EXPECT_THAT(Say(kOther, {}).rows, IsEmpty()) << "it has no copy of what has changed";
}

TEST_F(RowReplicasTest, AFoldIsSentToAllHoldersButItsOrigin) {
  Say(kWorker, {{7, kOften}});
  Say(kOther, {{7, kOften}});
  Say(kWorker, {});
  PushFold(kWorker, 7);
  EXPECT_THAT(Say(kWorker, {}).rows, IsEmpty()) << "its copy has it";
  EXPECT_THAT(Say(kOther, {}).rows, ElementsAre(Pair(7, -1)));
  Push(kWorker, 7);
  EXPECT_THAT(Say(kWorker, {}).rows, ElementsAre(Pair(7, -2))) << "a push that went past its copy";
}

TEST_F(RowReplicasTest, ACopyForOneMoreWorkerBringsNothingToThoseThatHaveTheRow) {
  Say(kWorker, {{7, kOften}});
  EXPECT_EQ(Say(kOther, {{7, kOften}}).rows.size(), 1U);
  EXPECT_THAT(Say(kWorker, {}).rows, IsEmpty()) << "no worker has pushed to it";
}

TEST_F(RowReplicasTest, TheAnswerGoesOutWithTheLastPieceOfARound) {
  Round piece = RoundOf(kWorker, {{7, kOften}});
  piece.last = false;
  EXPECT_EQ(Send(kWorker, piece).pieces, 0U);
  Round last = RoundOf(kWorker, {{8, kOften}});
  EXPECT_THAT(Send(kWorker, last).rows, ElementsAre(Pair(7, 0), Pair(8, 0)));
}

class SmallMessagesTest : public RowReplicasTest {
 protected:
  SmallMessagesTest() : RowReplicasTest({.rows_per_message_max = 2}) {}
};

TEST_F(SmallMessagesTest, ManyRowsGoInPieces) {
  const WholeAnswer answer = Say(kWorker, {{1, kOften}, {2, kOften}, {3, kOften}, {4, kOften}, {5, kOften}});
  EXPECT_EQ(answer.rows.size(), 5U);
  EXPECT_EQ(answer.rows_max, 2U);
  EXPECT_TRUE(answer.is_ended);
}

// --- ends

TEST_F(RowReplicasTest, HoldersOfARowThatMovesAwayHearOfIt) {
  Say(kWorker, {{7, kOften}, {8, kOften}});
  Say(kOther, {{7, {.reads = 1, .milliseconds = 1000}}});
  const Key moves[] = {7};
  Push(kOther, 7);
  replicas_.Left(kTable, moves);
  const WholeAnswer answer = Say(kWorker, {});
  EXPECT_THAT(answer.left, ElementsAre(7));
  EXPECT_THAT(answer.rows, IsEmpty());
  EXPECT_THAT(Say(kOther, {}).left, IsEmpty()) << "it had no copy";
  Push(kOther, 7);
  Push(kOther, 8);
  EXPECT_THAT(Say(kWorker, {}).rows, ElementsAre(Pair(8, -1)));
}

TEST_F(RowReplicasTest, ACopyThatIsDecidedAgainBeforeTheAnswerIsNotTakenBack) {
  Say(kWorker, {{7, kOften}});
  const Key moves[] = {7};
  replicas_.Left(kTable, moves);
  Round round = RoundOf(kWorker, {{7, kOften}});
  const WholeAnswer answer = Send(kWorker, round);
  EXPECT_THAT(answer.left, IsEmpty());
  EXPECT_EQ(answer.rows.size(), 1U);
}

TEST_F(RowReplicasTest, ARowThatIsAnnouncedNoMoreIsRefreshedOnceAndThenTakenBack) {
  Say(kWorker, {{7, kOften}});
  EXPECT_THAT(Say(kWorker, {{7, kNoMore}}).left, IsEmpty());
  Push(kOther, 7);
  WholeAnswer answer = Say(kWorker, {});
  EXPECT_THAT(answer.rows, ElementsAre(Pair(7, -1)));
  EXPECT_THAT(answer.left, IsEmpty());
  Push(kOther, 7);
  answer = Say(kWorker, {});
  EXPECT_THAT(answer.rows, IsEmpty());
  EXPECT_THAT(answer.left, ElementsAre(7));
  EXPECT_EQ(replicas_.interests(), 0U);
}

TEST_F(RowReplicasTest, ARowWithoutACopyThatIsAnnouncedNoMoreIsForgotten) {
  Say(kWorker, {{7, {.reads = 1, .milliseconds = 1000}}});
  EXPECT_EQ(replicas_.interests(), 1U);
  Say(kWorker, {{7, {}}});
  EXPECT_EQ(replicas_.interests(), 0U);
}

TEST_F(RowReplicasTest, AWorkerThatBeginsAgainHasSaidNothingAndHasNoCopies) {
  Say(kWorker, {{7, kOften}});
  Say(kOther, {{7, kOften}});
  Round round = RoundOf(kWorker, {{8, kOften}});
  round.first = true;
  EXPECT_THAT(Send(kWorker, round).rows, ElementsAre(Pair(8, 0)));
  EXPECT_EQ(replicas_.interests(), 2U);
  Push(kPeer, 7);
  EXPECT_THAT(Say(kWorker, {}).rows, IsEmpty());
  EXPECT_THAT(Say(kOther, {}).rows, ElementsAre(Pair(7, -1)));
}

// --- maps

TEST_F(RowReplicasTest, AMapThatMovesAHomeVoidsAllThatWorkersHaveSaid) {
  const uint32_t moved = (ShardMap::ShardIndex(7, 4) + 1) % 4;
  Say(kWorker, {{7, kOften}});
  const Round late = RoundOf(kWorker, {{7, kOften}});
  AdoptChanged([&](ShardMap& map) { map.shards[moved] = {.home = kPeer, .routing_since = map.version}; });
  EXPECT_EQ(replicas_.interests(), 0U);
  Push(kOther, 7);
  EXPECT_FALSE(Send(kWorker, late).is_ended) << "it may speak of other homes";
  EXPECT_EQ(replicas_.interests(), 0U);
  EXPECT_THAT(Say(kWorker, {{7, kOften}}).rows, ElementsAre(Pair(7, -1)));
}

TEST_F(RowReplicasTest, ARecoveryVoidsAllThatWorkersHaveSaidAndNothingIsGivenBeforeTheRowsAreFound) {
  Say(kWorker, {{7, kOften}});
  const Round late = RoundOf(kWorker, {{7, kOften}});
  AdoptChanged([&](ShardMap& map) {
    map.recovered_at = map.version;
    map.recoveries = 1;
  });
  EXPECT_EQ(replicas_.interests(), 0U);
  EXPECT_FALSE(Send(kWorker, late).is_ended);
  const WholeAnswer answer = Say(kWorker, {{7, kOften}});
  EXPECT_TRUE(answer.is_ended);
  EXPECT_THAT(answer.rows, IsEmpty());
}

TEST_F(RowReplicasTest, AMapWithTheSameHomesForgetsOnlyMembersThatAreGone) {
  Say(kWorker, {{7, kOften}});
  Say(kOther, {{7, kOften}});
  const Round late = RoundOf(kOther, {});
  Push(kPeer, 7);
  AdoptChanged([](ShardMap& map) { std::erase_if(map.members, [](const Member& m) { return m.node == kWorker; }); });
  EXPECT_EQ(replicas_.interests(), 1U);
  EXPECT_THAT(Send(kOther, late).rows, ElementsAre(Pair(7, -1))) << "of the map before, which has the same homes";
}

}  // namespace
}  // namespace attune::ps::row_replicas_test
