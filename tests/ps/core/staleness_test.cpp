// Measured staleness: what a row had got between a worker's pull and its push.
#include <gtest/gtest.h>

#include <numeric>

#include "ps/core/rows/row_node.h"
#include "ps/core/seen_versions.h"
#include "tests/ps/core/map_store.h"

namespace attune::ps {
namespace {

constexpr TableId kTable(1);
constexpr NodeId kServer(1), kWorker(2);

TEST(SeenVersions, ARowIsMeasuredOncePerPull) {
  SeenVersions seen;
  const std::vector<Key> keys = {7, 8};
  EXPECT_EQ(seen.Take(kTable, keys).second, RowVersion());
  seen.Note(kTable, keys, std::vector<RowVersion>{RowVersion(), RowVersion(5)});
  EXPECT_EQ(seen.Take(TableId(2), keys).second, RowVersion()) << "of another table";
  EXPECT_EQ(seen.Take(kTable, keys), std::pair(1U, RowVersion(5))) << "key 7 has no version: nobody has pushed to it";
  EXPECT_EQ(seen.Take(kTable, keys).second, RowVersion()) << "it was taken";
}

TEST(SeenVersions, LargeBatchesOfPullAndPushChooseTheSameKeys) {
  SeenVersions seen;
  std::vector<Key> pulled(1000);
  std::iota(pulled.begin(), pulled.end(), 0);
  seen.Note(kTable, pulled, std::vector<RowVersion>(1000, RowVersion(9)));
  const std::vector<Key> pushed(pulled.rbegin(), pulled.rend());
  const auto [place, version] = seen.Take(kTable, pushed);
  EXPECT_EQ(version, RowVersion(9));
  EXPECT_LT(place, pushed.size());
}

// A server of which the test sees what it answers.
class StalenessTest : public testing::Test {
 protected:
  StalenessTest() : rows_({.create_store = MapStore::Make}) {
    rows_.SetSelf(kServer);
    RowOutputs out;
    ShardMap map;
    map.version = MapVersion(1, 0);
    map.shards = EvenShards(4, std::vector{kServer}, false, map.version);
    map.members = {{.node = kServer, .role = Role::kServer}, {.node = kWorker}};
    rows_.AdoptMap(map, {}, out);
    EXPECT_TRUE(rows_.InstallTable(kTable, {"rows", {.dim = 1}}, out).ok());
  }
  uint64_t StalenessOfPush(std::vector<Key> keys, RowVersion seen, uint32_t seen_index) {
    const auto count = static_cast<uint32_t>(keys.size());
    RowOutputs out;
    rows_.Receive(kWorker,
                  Push{.origin = kWorker,
                       .sequence = sequence_ = sequence_.Next(),
                       .table = kTable,
                       .map_version = rows_.map().version,
                       .positions = {.first = 0, .count = count, .list = {}},
                       .keys = std::move(keys),
                       .gradients = std::vector<float>(count, 1.0F),
                       .seen = seen,
                       .seen_index = seen_index},
                  {}, out);
    EXPECT_EQ(out.send.size(), 1U);
    return std::get<PushAck>(out.send.at(0).message).staleness;
  }

  RowNode rows_;
  SequenceNumber sequence_;
};

TEST_F(StalenessTest, IsTheNumberOfVersionsSinceThePull) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(StalenessOfPush({1, 2}, {}, 0), kNotMeasured) << "nothing was seen";
  EXPECT_EQ(StalenessOfPush({1}, RowVersion(3), 0), 0U) << "of version 3, which it still had";
  EXPECT_EQ(StalenessOfPush({2, 1}, RowVersion(3), 1), 1U);
  EXPECT_EQ(StalenessOfPush({2, 1}, RowVersion(1), 0), 3U) << "key 2 had version 4";
  EXPECT_EQ(StalenessOfPush({1}, RowVersion(99), 0), kNotMeasured) << "a version that never was";
  EXPECT_EQ(StalenessOfPush({1}, RowVersion(uint16_t{1}, 2), 0), kNotMeasured) << "of another era";
  EXPECT_EQ(StalenessOfPush({1}, RowVersion(3), 7), kNotMeasured) << "a place outside of the message";
}

}  // namespace
}  // namespace attune::ps
