// A snapshot must be the store as it was at the mark, whatever happens to the store meanwhile. The twin is a copy.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "ps/store/table_store.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::snapshot_test {
namespace {

struct OwnedRow {
  RowVersion version;
  uint16_t move_number = 0;
  std::vector<float> values, state;
  bool operator==(const OwnedRow&) const = default;
};
using Rows = std::map<Key, OwnedRow>;

OwnedRow Own(const RowView& row) {
  return {row.version, row.move_number, {row.values.begin(), row.values.end()}, {row.state.begin(), row.state.end()}};
}

Rows RowsOf(const TableStore& store) {
  Rows rows;
  store.ForEachRow([&](const RowView& row) { rows[row.key] = Own(row); });
  return rows;
}

// One store under random changes; remembers which keys were touched.
class ChangingStore {
 public:
  ChangingStore(uint64_t seed, const TableOptions& options, bool concurrent)
      : random_(seed), store_(*TableStore::Create({"embedding", options}, {.concurrent = concurrent})) {}

  void Change() {
    std::set<Key> unique;
    for (uint64_t n = 1 + random_.Below(40); n > 0; --n) unique.insert(random_.Below(kKeys));
    const std::vector<Key> keys(unique.begin(), unique.end());
    const size_t dim = store_->spec().options.dim;
    switch (random_.Below(10)) {
      case 0: {
        store_->Erase(keys);
        for (const Key key : keys) changed_.erase(key);
        return;
      }
      case 1:
        for (const Key key : keys) {
          if (store_->Contains(key)) changed_.insert(key);
        }
        store_->RaiseEra(keys, ++era_);
        return;
      case 2:
        for (const Key key : keys) {
          if (!store_->Contains(key)) changed_.insert(key);
        }
        EXPECT_TRUE(store_->CreateRows(keys, RowVersion(era_, 1)).ok());
        return;
      case 3: {
        Rows rows = RowsOf(*store_);
        for (auto& [key, row] : rows) {
          if (!random_.Chance(0.05)) continue;
          EXPECT_TRUE(store_->Insert({key, row.version.Next(), 3, row.values, row.state}).ok());
          changed_.insert(key);
        }
        return;
      }
      default: {
        std::vector<float> gradients(keys.size() * dim);
        for (float& g : gradients) g = random_.UniformFloat() - 0.5F;
        EXPECT_TRUE(store_->Push(keys, gradients).ok());
        changed_.insert(keys.begin(), keys.end());
      }
    }
  }

  Random& random() { return random_; }
  TableStore& store() { return *store_; }
  std::set<Key>& changed() { return changed_; }

 private:
  static constexpr uint64_t kKeys = 3000;
  Random random_;
  std::unique_ptr<TableStore> store_;
  std::set<Key> changed_;
  uint16_t era_ = 0;
};

const TableOptions kOptions[] = {
    {.dim = 5, .optimizer = Adagrad{}, .initializer = UniformInitializer{}},
    {.dim = 16, .optimizer = RowAdam{}, .initializer = UniformInitializer{}, .value_type = ValueType::kBfloat16},
    {.dim = 3, .optimizer = Sgd{}, .value_type = ValueType::kFloat16}};

// Takes a snapshot while the store changes; checks rows and what is said to have changed.
void SnapshotUnderChanges(ChangingStore& changing, const Rows& want, const std::set<Key>& want_changed) {
  Rows found;
  std::set<Key> found_changed;
  for (bool more = true; more;) {
    more = changing.store().NextRows(1 + changing.random().Below(400), [&](const RowView& row, bool changed) {
      EXPECT_TRUE(found.try_emplace(row.key, Own(row)).second) << "key " << row.key << " came twice";
      if (changed) found_changed.insert(row.key);
    });
    for (uint64_t n = changing.random().Below(6); n > 0; --n) changing.Change();
  }
  EXPECT_FALSE(changing.store().NextRows(10, [](const RowView& row, bool) { ADD_FAILURE() << "key " << row.key; }));
  EXPECT_EQ(found, want);
  EXPECT_EQ(found_changed, want_changed);
}

TEST(Snapshot, IsTheStoreAtTheMark) {
  const uint64_t seed = TestSeed("20 stores, 8 snapshots each");
  for (uint64_t run = 0; run < 20; ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    ChangingStore changing(seed + run, kOptions[run % std::size(kOptions)], run % 2 == 1);
    bool full = true;  // nothing was kept before
    for (int snapshot = 0; snapshot < 8; ++snapshot) {
      for (uint64_t n = changing.random().Below(100); n > 0; --n) changing.Change();
      const Rows want = RowsOf(changing.store());
      std::set<Key> want_changed = changing.changed();
      if (full) {
        for (const auto& [key, row] : want) want_changed.insert(key);
      }
      ASSERT_EQ(changing.store().rows_changed(), want_changed.size());
      ASSERT_TRUE(changing.store().BeginSnapshot().ok());
      changing.changed().clear();
      const bool abandoned = changing.random().Chance(0.3);
      if (abandoned) {
        for (uint64_t n = changing.random().Below(5); n > 0; --n) {
          changing.store().NextRows(300, [](const RowView&, bool) {});
          for (uint64_t m = changing.random().Below(6); m > 0; --m) changing.Change();
        }
      } else {
        SnapshotUnderChanges(changing, want, want_changed);
      }
      full = abandoned || changing.random().Chance(0.2);  // visited, but could not be written
      changing.store().EndSnapshot(!full);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Snapshot, OneAtATime) {
  const auto store = *TableStore::Create({"embedding", {.dim = 1}});
  ASSERT_TRUE(store->BeginSnapshot().ok());
  EXPECT_EQ(store->BeginSnapshot().code(), StatusCode::kFailedPrecondition);
  store->EndSnapshot(false);
  EXPECT_TRUE(store->BeginSnapshot().ok());
}

TEST(Snapshot, OfAnEmptyStoreIsEmpty) {
  const auto store = *TableStore::Create({"embedding", {.dim = 1}});
  ASSERT_TRUE(store->BeginSnapshot().ok());
  ASSERT_TRUE(store->Push(std::vector<Key>{1}, std::vector<float>{1}).ok());
  EXPECT_FALSE(store->NextRows(10, [](const RowView&, bool) { ADD_FAILURE(); }));
  store->EndSnapshot(true);
  EXPECT_EQ(store->rows_changed(), 1U);
}

TEST(Snapshot, RowsThatArriveUnmarkedAreAdded) {
  const auto store = *TableStore::Create({"embedding", {.dim = 2, .optimizer = RowAdam{}}});
  ASSERT_TRUE(store->Push(std::vector<Key>{1}, std::vector<float>{1, 1}).ok());
  ASSERT_TRUE(store->BeginSnapshot().ok());
  const std::vector<float> values = {1, 2}, state = {3, 4, 5};
  const RowView arrived{9, RowVersion(2, 7), 4, values, state};
  ASSERT_TRUE(store->Insert(arrived).ok());
  store->AddToSnapshot({&arrived, 1});
  ASSERT_TRUE(store->Push(std::vector<Key>{9}, std::vector<float>{1, 1}).ok()) << "later changes are not in it";
  Rows found;
  while (store->NextRows(1, [&](const RowView& row, bool) { found[row.key] = Own(row); })) {
  }
  EXPECT_EQ(found.size(), 2U);
  EXPECT_EQ(found.at(9), Own(arrived));
}

TEST(Snapshot, BeginningAndWritingCostNothingPerRow) {
  const auto store = *TableStore::Create({"embedding", {.dim = 64}});
  std::vector<Key> keys(10'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  ASSERT_TRUE(store->CreateRows(keys, {}).ok());
  const uint64_t before = store->memory_bytes();
  ASSERT_TRUE(store->BeginSnapshot().ok());
  EXPECT_EQ(store->memory_bytes(), before);
  ASSERT_TRUE(store->Push(std::vector<Key>{1}, std::vector<float>(64)).ok());
  EXPECT_LT(store->memory_bytes(), before + 1024) << "one row is copied aside";
  store->EndSnapshot(false);
  EXPECT_EQ(store->memory_bytes(), before);
}

}  // namespace
}  // namespace attune::ps::snapshot_test
