#include "ps/store/table_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "ps/store/initializer.h"
#include "ps/store/optimizer.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps {
namespace {

using testing::HasSubstr;

std::unique_ptr<TableStore> Make(const TableOptions& options) {
  auto store = TableStore::Create({"embedding", options});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

std::vector<float> PullOne(const TableStore& store, Key key) {
  std::vector<float> row(store.spec().options.dim);
  store.Pull({&key, 1}, row);
  return row;
}

// The obvious twin: one map entry per row, one scalar loop per push.
class MapStore {
 public:
  explicit MapStore(const TableOptions& options)
      : options_(options), initializer_(options.initializer, options.seed, "embedding") {}

  struct Row {
    std::vector<float> values, state;
    uint64_t counter = 0;
  };

  std::vector<float> Pull(Key key) const {
    const auto found = rows_.find(key);
    return found != rows_.end() ? found->second.values : Initial(key).values;
  }
  bool Push(const std::vector<Key>& keys, const std::vector<float>& gradients) {
    std::set<Key> absent;
    for (const Key key : keys) {
      if (!rows_.contains(key)) absent.insert(key);
    }
    if (options_.rows_max != 0 && rows_.size() + absent.size() > options_.rows_max) return false;
    for (size_t i = 0; i < keys.size(); ++i) {
      Row& row = rows_.try_emplace(keys[i], Initial(keys[i])).first->second;
      for (size_t d = 0; d < options_.dim; ++d) Update(row, d, gradients[i * options_.dim + d]);
      ++row.counter;
    }
    return true;
  }
  const std::map<Key, Row>& rows() const { return rows_; }

 private:
  Row Initial(Key key) const {
    Row row{.values = std::vector<float>(options_.dim), .state = {}};
    initializer_.Fill(key, row.values);
    if (const auto* adagrad = std::get_if<Adagrad>(&options_.optimizer)) {
      row.state.assign(options_.dim, adagrad->initial_accumulator);
    }
    return row;
  }
  void Update(Row& row, size_t d, float g) const {
    if (const auto* adagrad = std::get_if<Adagrad>(&options_.optimizer)) {
      const float square = g * g;
      row.state[d] += square;
      const float step = adagrad->rate * g / (std::sqrt(row.state[d]) + adagrad->epsilon);
      row.values[d] -= step;
    } else {
      const float step = std::get<Sgd>(options_.optimizer).rate * g;
      row.values[d] -= step;
    }
  }

  TableOptions options_;
  RowInitializer initializer_;
  std::map<Key, Row> rows_;
};

void ExpectSameRows(const TableStore& store, const MapStore& twin) {
  ASSERT_EQ(store.row_count(), twin.rows().size());
  uint64_t visited = 0;
  store.ForEachRow([&](const RowView& row) {
    ++visited;
    const auto found = twin.rows().find(row.key);
    ASSERT_NE(found, twin.rows().end()) << "key " << row.key;
    EXPECT_EQ(row.version, RowVersion(found->second.counter));
    EXPECT_TRUE(std::ranges::equal(row.values, found->second.values)) << "key " << row.key;
    EXPECT_TRUE(std::ranges::equal(row.state, found->second.state)) << "key " << row.key;
  });
  EXPECT_EQ(visited, twin.rows().size());
}

TableOptions RandomOptions(Random& random) {
  TableOptions options{.dim = static_cast<uint32_t>(1 + random.Below(random.Chance(0.1) ? 3000 : 80))};
  if (random.Chance(0.5)) options.optimizer = Adagrad{.rate = 0.1F, .initial_accumulator = 0.01F};
  if (random.Chance(0.7)) options.initializer = UniformInitializer{-0.5F, 0.5F};
  options.seed = random.Next();
  if (random.Chance(0.3)) options.rows_max = 1 + random.Below(500);
  return options;
}

TEST(TableStore, BehavesAsAMapOfRowsInRandomRuns) {
  const uint64_t seed = TestSeed("60 stores, 40 batches each");
  for (uint64_t run = 0; run < 60; ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    Random random(seed + run);
    const TableOptions options = RandomOptions(random);
    const auto store = Make(options);
    MapStore twin(options);
    const uint64_t key_range = 1 + random.Below(2000);
    for (int batch = 0; batch < 40; ++batch) {
      std::set<Key> unique;
      for (uint64_t i = random.Below(100); i > 0; --i) unique.insert(SplitMix64(random.Below(key_range)));
      const std::vector<Key> keys(unique.begin(), unique.end());
      std::vector<float> gradients(keys.size() * options.dim);
      for (float& g : gradients) g = 2 * random.UniformFloat() - 1;
      const Status pushed = store->Push(keys, gradients);
      ASSERT_EQ(pushed.ok(), twin.Push(keys, gradients)) << pushed;
      std::vector<Key> wanted = keys;
      for (int i = 0; i < 50; ++i)
        wanted.push_back(SplitMix64(random.Below(key_range)));  // repeated and absent ones too
      std::vector<float> rows(wanted.size() * options.dim);
      store->Pull(wanted, rows);
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_TRUE(std::ranges::equal(std::span(rows).subspan(i * options.dim, options.dim), twin.Pull(wanted[i])));
      }
    }
    ExpectSameRows(*store, twin);
  }
}

TEST(TableStore, PullOfAbsentRowsCreatesNothing) {
  const auto store = Make({.dim = 4, .initializer = ConstantInitializer{0.5F}});
  EXPECT_EQ(PullOne(*store, 9), std::vector<float>(4, 0.5F));
  EXPECT_EQ(store->row_count(), 0U);
}

TEST(TableStore, EmptyBatchesAreFine) {
  const auto store = Make({.dim = 4});
  store->Pull({}, {});
  EXPECT_TRUE(store->Push({}, {}).ok());
  EXPECT_EQ(store->row_count(), 0U);
}

TEST(TableStore, ExtremeKeysAreKeysAsAnyOther) {
  const auto store = Make({.dim = 1, .optimizer = Sgd{.rate = 1}});
  const std::vector<Key> keys = {0, 1, ~Key{0}, Key{1} << 63};
  ASSERT_TRUE(store->Push(keys, std::vector<float>{1, 2, 3, 4}).ok());
  EXPECT_EQ(PullOne(*store, ~Key{0}), std::vector<float>{-3});
  EXPECT_EQ(store->row_count(), 4U);
}

TEST(TableStore, ABatchAboveTheRowLimitIsRefusedWhole) {
  const auto store = Make({.dim = 1, .optimizer = Sgd{.rate = 1}, .rows_max = 3});
  ASSERT_TRUE(store->Push(std::vector<Key>{1, 2}, std::vector<float>{1, 1}).ok());
  const Status refused = store->Push(std::vector<Key>{1, 3, 4}, std::vector<float>{1, 1, 1});
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(refused)), HasSubstr("'embedding'"));
  EXPECT_THAT(std::string(Message(refused)), HasSubstr("rows_max"));
  EXPECT_EQ(PullOne(*store, 1), std::vector<float>{-1}) << "nothing of the refused batch is applied";
  EXPECT_EQ(store->row_count(), 2U);
  EXPECT_TRUE(store->Push(std::vector<Key>{1, 3}, std::vector<float>{1, 1}).ok()) << "up to the limit is fine";
  EXPECT_EQ(store->Insert({.key = 4, .values = std::vector<float>{1}}).code(), StatusCode::kResourceExhausted);
}

TEST(TableStore, ANonFiniteGradientRefusesThePushAndNamesItsKey) {
  const auto store = Make({.dim = 2, .optimizer = Sgd{.rate = 1}});
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Status refused = store->Push(std::vector<Key>{10, 77, 30}, std::vector<float>{1, 1, 1, bad, 1, 1});
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Message(refused)), HasSubstr("key 77"));
    EXPECT_EQ(store->row_count(), 0U);
  }
}

TEST(TableStore, WrongSizesAreRefused) {
  const auto store = Make({.dim = 2, .optimizer = Adagrad{}});
  EXPECT_EQ(store->Push(std::vector<Key>{1}, std::vector<float>{1}).code(), StatusCode::kInvalidArgument);
  const std::vector<float> one = {1}, two = {1, 2};
  EXPECT_EQ(store->Insert({.key = 1, .values = one, .state = two}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store->Insert({.key = 1, .values = two, .state = one}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store->row_count(), 0U);
}

TEST(TableStore, AKeySentTwiceIsOneRowUpdatedTwice) {
  const auto store = Make({.dim = 1, .optimizer = Sgd{.rate = 1}});
  ASSERT_TRUE(store->Push(std::vector<Key>{5, 5}, std::vector<float>{1, 2}).ok());
  EXPECT_EQ(store->row_count(), 1U);
  EXPECT_EQ(PullOne(*store, 5), std::vector<float>{-3});
}

TEST(TableStore, InsertedRowsKeepStateAndCounter) {
  const auto store = Make({.dim = 2, .optimizer = Adagrad{}});
  const std::vector<float> values = {1, 2}, state = {3, 4}, values_later = {5, 6};
  ASSERT_TRUE(store->Insert({.key = 8, .version = RowVersion(9), .values = values, .state = state}).ok());
  ASSERT_TRUE(store->Insert({.key = 8, .version = RowVersion(10), .values = values_later, .state = state}).ok());
  EXPECT_EQ(store->row_count(), 1U);
  store->ForEachRow([&](const RowView& row) {
    EXPECT_EQ(row.version, RowVersion(10));
    EXPECT_TRUE(std::ranges::equal(row.values, values_later));
    EXPECT_TRUE(std::ranges::equal(row.state, state));
  });
}

TEST(TableStore, RowsStartOnCacheLines) {
  for (const uint32_t dim : {16U, 17U, 64U, 100U}) {
    const auto store = Make({.dim = dim});
    std::vector<Key> keys(100);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
    ASSERT_TRUE(store->Push(keys, std::vector<float>(keys.size() * dim)).ok());
    store->ForEachRow([&](const RowView& row) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(row.values.data()) % 64, 0U) << "dim " << dim;
    });
  }
}

TEST(TableStore, OverheadIsAtMost32BytesPerRow) {
  constexpr uint64_t kRows = 256 << 10, kBatch = 1024;  // whole slabs
  constexpr uint32_t kDim = 16;
  const auto store = Make({.dim = kDim});
  for (uint64_t first = 0; first < kRows; first += kBatch) {
    std::vector<Key> keys(kBatch);
    for (uint64_t i = 0; i < kBatch; ++i) keys[i] = SplitMix64(first + i);
    ASSERT_TRUE(store->Push(keys, std::vector<float>(kBatch * kDim)).ok());
  }
  const double per_row = static_cast<double>(store->memory_bytes()) / kRows - kDim * sizeof(float);
  EXPECT_LE(per_row, 32.0);
  EXPECT_GE(per_row, 20.0) << "a key and a counter alone have 16";
}

}  // namespace
}  // namespace attune::ps
