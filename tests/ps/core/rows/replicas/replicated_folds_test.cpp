// A home and the backup of its rows, which gets every push and fold from it: both have the same rows, for all
// optimizers.
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "ps/core/rows/row_node.h"
#include "ps/store/formulas/table_options.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::replicated_folds_test {
namespace {

constexpr TableId kTable(1);
constexpr NodeId kHome(1), kBackup(2), kWorker(3);
constexpr Key kKeys = 6;

struct WholeRow {
  RowVersion version;
  std::vector<float> floats;  // values, then state
  bool operator==(const WholeRow&) const = default;
};
std::map<Key, WholeRow> RowsOf(const TableStore& store) {
  std::map<Key, WholeRow> rows;
  store.ForEachRow([&](const RowView& view) {
    WholeRow& row = rows[view.key];
    row.version = view.version;
    row.floats.assign(view.values.begin(), view.values.end());
    row.floats.insert(row.floats.end(), view.state.begin(), view.state.end());
  });
  return rows;
}

class ReplicatedFoldsTest : public testing::Test {
 protected:
  // Two servers, each with a new table.
  void Begin(const Optimizer& optimizer) {
    ShardMap map;
    map.version = MapVersion(1, 1);
    map.shards.assign(4, {.home = kHome, .backup = kBackup, .routing_since = map.version});
    map.members = {{.node = kHome, .role = Role::kServer}, {.node = kBackup, .role = Role::kServer}, {.node = kWorker}};
    dim_ = 1 + random_.Below(5);
    const TableSpec spec{"rows", {.dim = static_cast<uint32_t>(dim_), .optimizer = optimizer}};
    for (const NodeId node : {kHome, kBackup}) {
      RowNode& rows =
          nodes_
              .try_emplace(node,
                           RowOptions{.create_store = [](const TableSpec& table) { return TableStore::Create(table); }})
              .first->second;
      rows.SetSelf(node);
      RowOutputs out;
      rows.AdoptMap(map, {}, out);
      ASSERT_TRUE(rows.InstallTable(kTable, spec).ok());
    }
  }
  // Handles it and all that comes of it; counts acknowledgements to the worker.
  void Deliver(NodeId from, NodeId to, Message message) {
    if (to == kWorker) {
      acknowledged_ += std::holds_alternative<PushAck>(message) ? std::get<PushAck>(message).positions.size() : 0;
      return;
    }
    RowNode& rows = nodes_.at(to);
    SetMapVersion(message, rows.map().version);
    RowOutputs out;
    rows.Receive(from, std::move(message), {}, out);
    EXPECT_TRUE(out.rejected.empty());
    EXPECT_FALSE(out.lost.has_value());
    for (Outgoing& outgoing : out.send) Deliver(to, outgoing.to, std::move(outgoing.message));
  }
  ps::Push RandomPush() {
    const bool is_fold = random_.Chance(0.6);
    const size_t width = is_fold ? nodes_.at(kHome).tables()[0]->fold_floats() : dim_;
    ps::Push push{.origin = kWorker, .sequence = SequenceNumber(++pushes_), .table = kTable};
    std::vector<Key> keys;
    std::vector<float> floats;
    for (Key key = 0; key < kKeys; ++key) {
      if (!random_.Chance(0.4)) continue;
      keys.push_back(key);
      for (size_t i = 0; i < width; ++i) floats.push_back(random_.UniformFloat());
      if (!is_fold) continue;
      const auto count = static_cast<uint32_t>(1 + random_.Below(9));
      push.folds.push_back({.pushes = count, .updates = static_cast<uint32_t>(random_.Below(count + 1))});
    }
    push.positions = {.first = 0, .count = static_cast<uint32_t>(keys.size()), .list = {}};
    push.keys = std::move(keys);
    push.gradients = std::move(floats);
    return push;
  }
  // Only its first `count` keys.
  static ps::Push FirstOf(const ps::Push& push, size_t count) {
    ps::Push part = push;
    part.positions.count = static_cast<uint32_t>(count);
    part.keys = push.keys.Part(0, count);
    part.gradients = push.gradients.Part(0, push.gradients.size() / push.keys.size() * count);
    if (!push.folds.empty()) part.folds.resize(count);
    return part;
  }

  Random random_{TestSeed("200 pushes and folds of 6 rows, dim 1..5, all optimizers")};
  std::map<NodeId, RowNode> nodes_;
  size_t dim_ = 0;
  uint64_t pushes_ = 0;
  size_t acknowledged_ = 0;
};

TEST_F(ReplicatedFoldsTest, HomeAndBackupHaveTheSameRows) {
  const std::vector<Optimizer> optimizers = {Sgd{}, Momentum{}, Adagrad{}, RmsProp{}, RowAdam{}, Ftrl{}};
  for (const Optimizer& optimizer : optimizers) {
    SCOPED_TRACE(Describe(optimizer));
    nodes_.clear();
    pushes_ = 0;
    Begin(optimizer);
    std::map<Key, uint64_t> versions;
    for (int i = 0; i < 200; ++i) {
      const ps::Push push = RandomPush();
      if (push.keys.empty()) continue;
      acknowledged_ = 0;
      if (random_.Chance(0.3)) Deliver(kWorker, kHome, FirstOf(push, 1 + random_.Below(push.keys.size())));
      Deliver(kWorker, kHome, push);
      EXPECT_GE(acknowledged_, push.keys.size());
      if (random_.Chance(0.1)) Deliver(kWorker, kHome, push);
      for (size_t key = 0; key < push.keys.size(); ++key) {
        versions[push.keys[key]] += push.folds.empty() ? 1 : push.folds[key].pushes;
      }
      const std::map<Key, WholeRow> rows = RowsOf(*nodes_.at(kHome).tables()[0]);
      ASSERT_EQ(rows, RowsOf(*nodes_.at(kBackup).copies()[0]));
      for (const auto& [key, row] : rows) ASSERT_EQ(row.version.counter(), versions[key]) << "key " << key;
    }
    EXPECT_EQ(RowsOf(*nodes_.at(kHome).tables()[0]).size(), kKeys);
  }
}

}  // namespace
}  // namespace attune::ps::replicated_folds_test
