#include "ps/core/worker/rows/own_rows.h"

#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::own_rows_test {
namespace {

using std::chrono::seconds;

constexpr TableId kTable{1};

class OwnRowsTest : public testing::Test {
 protected:
  OwnRowsTest() {
    rows_.SetSelf(kWorker);
    Connect(rows_);
    cluster_.SetConnected(kCoordinator);
  }

  static WorkerOptions Options() {
    WorkerOptions options;
    options.create_store = [](const TableSpec& spec) { return TableStore::Create(spec); };
    options.row_bytes_max = 1 << 20;
    return options;
  }
  void Connect(OwnRows& rows) {
    for (const NodeId server : cluster_.servers()) rows.Connected(server, now_, out_);
  }
  void Adopt(ShardMap map) {
    out_.Clear();
    const auto change = cluster_.Adopt(std::move(map));
    rows_.AdoptMembers(change.gone, out_);
    rows_.AdoptMap(now_, out_);
  }
  // The map lets this worker own rows.
  static ShardMap Permission(uint32_t version) {
    ShardMap map = SmallMap(version);
    map.members[2].takes_rows = true;
    return map;
  }
  bool Localize(uint64_t call, std::vector<Key> keys) {
    out_.Clear();
    return rows_.Localize({.call = CallId(call), .deadline = now_ + seconds(10), .table = kTable, .keys = {}},
                          {"rows", {.dim = 1}}, std::move(keys), now_, out_);
  }
  size_t RowsAskedFor() const {
    size_t rows = 0;
    for (const Outgoing& outgoing : out_.send) {
      if (const auto* localize = std::get_if<ps::Localize>(&outgoing.message)) rows += localize->keys.size();
    }
    return rows;
  }

  const WorkerOptions options_ = Options();
  ClusterView cluster_ = SmallCluster();
  LivenessLease lease_;
  OwnRows rows_{options_, cluster_, lease_};
  WorkerOutputs out_;
  MonotonicTime now_{seconds(100)};
};

TEST_F(OwnRowsTest, PermissionIsAskedForOnceAndRowsAfterIt) {
  Adopt(SmallMap(2));
  EXPECT_TRUE(Localize(1, {KeyAt(kFirstServer)}));
  EXPECT_FALSE(Localize(2, {KeyAt(kSecondServer)})) << "it has been asked for";
  EXPECT_TRUE(rows_.wants_permission());
  EXPECT_EQ(RowsAskedFor(), 0U);
  Adopt(Permission(3));
  EXPECT_FALSE(rows_.wants_permission());
  EXPECT_EQ(RowsAskedFor(), 2U);
  EXPECT_FALSE(Localize(3, {KeyAt(kFirstServer, 1)}));
  EXPECT_EQ(RowsAskedFor(), 1U);
}

TEST_F(OwnRowsTest, RowsOfOneCallLeaveLessMemoryForTheNext) {
  WorkerOptions options = Options();
  options.row_bytes_max = 3 * (sizeof(float) + 32);
  OwnRows rows(options, cluster_, lease_);
  rows.SetSelf(kWorker);
  Connect(rows);
  const auto change = cluster_.Adopt(Permission(2));
  rows.AdoptMembers(change.gone, out_);
  rows.AdoptMap(now_, out_);
  const auto localize = [&](std::vector<Key> keys) {
    out_.Clear();
    rows.Localize({.call = CallId(1), .deadline = now_ + seconds(10), .table = kTable, .keys = {}},
                  {"rows", {.dim = 1}}, std::move(keys), now_, out_);
    return RowsAskedFor();
  };
  EXPECT_EQ(localize({KeyAt(kFirstServer), KeyAt(kFirstServer, 1)}), 2U);
  EXPECT_EQ(localize({KeyAt(kSecondServer), KeyAt(kSecondServer, 1)}), 1U);
  EXPECT_EQ(localize({KeyAt(kSecondServer, 2)}), 0U);
  ASSERT_EQ(out_.completions.size(), 1U);
  EXPECT_EQ(out_.completions[0].status.code(), StatusCode::kResourceExhausted);
}

TEST_F(OwnRowsTest, OfTwoWorkersThatExchangeRowsTheLaterOneDials) {
  const auto dialed = [&] {
    std::vector<NodeId> nodes;
    for (const Member& member : out_.connect) nodes.push_back(member.node);
    return nodes;
  };
  ShardMap map = SmallMap(2);
  map.members[3].address = "127.0.0.1:4";
  map.members.push_back({.node = NodeId(5), .role = Role::kWorker});
  cluster_.SetSelf(NodeId(5));
  Adopt(map);
  EXPECT_EQ(dialed(), (std::vector<NodeId>{kFirstServer, kSecondServer, kOtherWorker}));
  map.version = MapVersion(1, 3);
  Adopt(map);
  EXPECT_TRUE(dialed().empty()) << "the links are there";
  map.version = MapVersion(1, 4);
  map.members.erase(map.members.begin() + 3);
  Adopt(map);
  EXPECT_EQ(out_.disconnect, std::vector<NodeId>{kOtherWorker});
}

TEST_F(OwnRowsTest, AMemberThatShouldBeConnectedAndIsNotIsNamed) {
  Adopt(SmallMap(2));
  EXPECT_TRUE(rows_.Unreached().empty());
  cluster_.SetDisconnected(kSecondServer);
  cluster_.SetDisconnected(kOtherWorker);
  EXPECT_EQ(rows_.Unreached(), std::vector<NodeId>{kSecondServer}) << "nothing is exchanged with the other worker";
}

TEST_F(OwnRowsTest, OnlyAWorkerThatMayOwnRowsReportsThem) {
  Adopt(SmallMap(2));
  rows_.Report(out_);
  EXPECT_TRUE(out_.send.empty());
  Adopt(Permission(3));
  out_.Clear();
  rows_.Report(out_);
  rows_.Report(out_);
  ASSERT_EQ(out_.send.size(), 2U);
  const auto number = [&](size_t i) { return std::get<RowsReport>(out_.send[i].message).number; };
  EXPECT_EQ(number(1), number(0) + 1);
}

TEST_F(OwnRowsTest, AnswersToItselfAreTakenOneByOne) {
  rows_.AnswerSelf(PushAck{.sequence = SequenceNumber(1)});
  rows_.AnswerSelf(PushAck{.sequence = SequenceNumber(2)});
  for (uint64_t sequence = 1; sequence <= 2; ++sequence) {
    const auto answer = rows_.NextAnswer();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(std::get<PushAck>(answer->second).sequence, SequenceNumber(sequence));
  }
  EXPECT_FALSE(rows_.NextAnswer().has_value());
}

}  // namespace
}  // namespace attune::ps::own_rows_test
