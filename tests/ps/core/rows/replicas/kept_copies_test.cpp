// Copies at workers and the rows of their home, over many pushes, rounds and moves: they stay the same.
#include <gmock/gmock.h>

#include "base/random.h"
#include "ps/core/rows/row_node.h"
#include "tests/ps/core/rows/replicas/announcing_workers.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::kept_copies_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class KeptCopiesTest : public AnnouncingWorkersTest {};

// What workers have after each answer is what the home has.
TEST_F(KeptCopiesTest, AfterEachAnswerItsWorkersCopiesAreAsTheHomesRows) {
  Random random(TestSeed("3 workers, 8 rows, 20,000 pushes and rounds"));
  const NodeId workers[] = {kWorker, kOther, kPeer};
  std::map<NodeId, std::map<Key, float>> copies;
  size_t given = 0;
  for (int i = 0; i < 20'000; ++i) {
    const NodeId worker = workers[random.Below(3)];
    std::map<Key, float>& own = copies[worker];
    const Key key = random.Below(8);
    if (random.Chance(0.5)) {
      if (!own.contains(key)) {
        Push(worker, key);
      } else {
        own[key] -= 1;
        PushFold(worker, key);
      }
      continue;
    }
    if (random.Chance(0.05)) {
      const Key moves[] = {key};
      replicas_.Left(kTable, moves);
    }
    std::vector<std::pair<Key, AnnouncedUse>> said;
    if (random.Chance(0.6)) {
      if (random.Chance(0.1)) own.erase(key);
      said.push_back({key, {.reads = static_cast<uint8_t>(random.Below(3) * 20), .milliseconds = 1000}});
      said[0].second.has_copy = own.contains(key) ? 1 : 0;
    }
    Round round = RoundOf(worker, said);
    if (random.Chance(0.02)) {
      own.clear();
      round = RoundOf(worker, {});
      round.first = true;
    }
    const WholeAnswer answer = Send(worker, round);
    for (const Key left : answer.left) own.erase(left);
    for (const auto& [row, value] : answer.rows) own[row] = value;
    given += answer.rows.size();
    for (const auto& [row, value] : own) ASSERT_EQ(value, NodeParts::ValueOf(parts_.rows(), row)) << "row " << row;
  }
  EXPECT_GT(given, 1000U);
}

// --- through the node

// A server that is home of all rows, with two workers.
class NodeWithCopiesTest : public testing::Test {
 protected:
  NodeWithCopiesTest() {
    rows_.SetSelf(kHome);
    ShardMap map;
    map.version = MapVersion(1, 1);
    map.shards = EvenShards(4, std::vector{kHome}, false, map.version);
    map.members = {{.node = kHome, .role = Role::kServer}, {.node = kHolder}, {.node = kMover, .takes_rows = true}};
    rows_.AdoptMap(map, {}, out_);
    EXPECT_TRUE(rows_.InstallTable(kTable, {"rows", {.dim = 1, .optimizer = Sgd{.rate = 1}}}).ok());
  }
  // What comes of it, of this kind.
  template <typename Kind>
  std::vector<Kind> Receive(NodeId from, Message message) {
    out_.Clear();
    SetMapVersion(message, rows_.map().version);
    rows_.Receive(from, std::move(message), {}, out_);
    std::vector<Kind> sent;
    for (Outgoing& outgoing : out_.send) {
      if (auto* body = std::get_if<Kind>(&outgoing.message)) sent.push_back(std::move(*body));
    }
    return sent;
  }
  // All pieces of the answer as one.
  RoundReply Announce(bool has_copy) {
    AnnouncedUse use{.reads = 200, .milliseconds = 1000};
    use.has_copy = has_copy ? 1 : 0;
    RoundReply answer;
    for (RoundReply& piece : Receive<RoundReply>(kHolder, Round{.number = ++rounds_,
                                                          .last = true,
                                                          .rounds_per_second = 100,
                                                          .table = kTable,
                                                          .keys = std::vector<Key>{7},
                                                          .uses = std::vector<AnnouncedUse>{use}})) {
      EXPECT_FALSE(answer.last);
      answer.last = piece.last;
      if (!piece.keys.empty()) {
        answer.keys = piece.keys;
        answer.versions = piece.versions;
        answer.rows = piece.rows;
      }
      if (!piece.left.empty()) answer.left = piece.left;
    }
    EXPECT_TRUE(answer.last);
    return answer;
  }

  static constexpr NodeId kHome{1}, kHolder{2}, kMover{3};
  static constexpr TableId kTable{1};
  RowNode rows_{{.create_store = MapStore::Make}};
  RowOutputs out_;
  uint64_t rounds_ = 0;
};

TEST_F(NodeWithCopiesTest, PushesOfOthersReachTheHolderAndFoldsOfItsOwnDoNot) {
  EXPECT_THAT(Announce(false).rows.view(), ElementsAre(0));
  const auto push = [](NodeId origin, uint64_t sequence, std::vector<FoldCounts> folds) {
    return ps::Push{.origin = origin,
                    .sequence = SequenceNumber(sequence),
                    .table = kTable,
                    .positions = {.first = 0, .count = 1, .list = {}},
                    .keys = std::vector<Key>{7},
                    .gradients = std::vector<float>{-2},
                    .folds = std::move(folds)};
  };
  EXPECT_EQ(Receive<PushAck>(kHolder, push(kHolder, 1, {{.pushes = 3, .updates = 3}})).size(), 1U);
  EXPECT_THAT(Announce(true).rows.view(), IsEmpty());
  Receive<PushAck>(kMover, push(kMover, 1, {}));
  const RoundReply answer = Announce(true);
  EXPECT_THAT(answer.rows.view(), ElementsAre(0)) << "-2 by the fold, 2 by the gradient";
  EXPECT_THAT(answer.versions.view(), ElementsAre(RowVersion(0, 4)));
}

TEST_F(NodeWithCopiesTest, ARowThatAnotherWorkerMovesToItselfIsTakenBackFromItsHolders) {
  Announce(false);
  EXPECT_EQ(Receive<Handover>(kMover, Localize{.table = kTable, .to = kMover, .keys = std::vector<Key>{7}}).size(), 1U);
  EXPECT_THAT(Announce(true).left, ElementsAre(7));
  EXPECT_THAT(Announce(false).rows.view(), IsEmpty()) << "the row is not here";
}

TEST_F(NodeWithCopiesTest, ARoundWaitsForTheMapThatItIsOf) {
  Round early{.number = 1, .last = true};
  early.map_version = rows_.map().version.Next();
  rows_.Receive(kHolder, early, {}, out_);
  EXPECT_TRUE(out_.send.empty());
  EXPECT_TRUE(out_.need_map);
  ShardMap map = rows_.map();
  map.version = map.version.Next();
  rows_.AdoptMap(map, {}, out_);
  ASSERT_EQ(out_.send.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<RoundReply>(out_.send[0].message));
}

}  // namespace
}  // namespace attune::ps::kept_copies_test
