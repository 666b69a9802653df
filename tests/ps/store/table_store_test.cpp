#include "ps/store/table_store.h"

#include <malloc.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "base/random.h"
#include "ps/store/formulas/initializer.h"
#include "ps/store/formulas/learning_rate.h"
#include "ps/store/formulas/optimizer.h"
#include "ps/store/formulas/table_options.h"
#include "ps/store/formulas/value_type.h"
#include "ps/store/memory_budget.h"
#include "tests/ps/store/scalar_optimizer.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::table_store_test {
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

// The obvious twin: one map entry per row, updated by the scalar formulas; values are rounded as they would be stored.
class MapStore {
 public:
  explicit MapStore(const TableOptions& options)
      : options_(options), initializer_(options.initializer, options.seed, "embedding") {}

  std::vector<float> Pull(Key key) const {
    const auto found = rows_.find(key);
    return found != rows_.end() ? found->second.values : Initial(key).values;
  }
  bool Push(const std::vector<Key>& keys, const std::vector<float>& gradients, uint64_t step) {
    std::set<Key> absent;
    for (const Key key : keys) {
      if (!rows_.contains(key)) absent.insert(key);
    }
    if (options_.rows_max != 0 && rows_.size() + absent.size() > options_.rows_max) return false;
    for (size_t i = 0; i < keys.size(); ++i) {
      ScalarRow& row = rows_.try_emplace(keys[i], Stored(keys[i])).first->second;
      Update(options_.optimizer, row, &gradients[i * options_.dim], RateFactor(options_.schedule, step));
      Round(row.values);
    }
    return true;
  }
  const std::map<Key, ScalarRow>& rows() const { return rows_; }

 private:
  ScalarRow Initial(Key key) const {
    std::vector<float> values(options_.dim);
    initializer_.Fill(key, values);
    return NewScalarRow(options_.optimizer, std::move(values));
  }
  ScalarRow Stored(Key key) const {
    ScalarRow row = Initial(key);
    Round(row.values);
    return row;
  }
  void Round(std::vector<float>& values) const {
    for (float& value : values) {
      if (options_.value_type == ValueType::kFloat16) value = HalfToFloat(FloatToHalf(value));
      if (options_.value_type == ValueType::kBfloat16) value = BfloatToFloat(FloatToBfloat(value));
    }
  }

  TableOptions options_;
  RowInitializer initializer_;
  std::map<Key, ScalarRow> rows_;
};

// Float32 rows may differ in the last bits, because the twin adds in another order; a narrow row by one rounding more.
void ExpectNear(const TableOptions& options, std::span<const float> found, std::span<const float> want) {
  const float scale = options.value_type == ValueType::kFloat32   ? 1e-5F
                      : options.value_type == ValueType::kFloat16 ? 1.0F / 512
                                                                  : 1.0F / 64;
  ASSERT_EQ(found.size(), want.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], want[i], scale * (0.1F + std::fabs(want[i]))) << "position " << i;
  }
}

void ExpectSameRows(const TableStore& store, const MapStore& twin) {
  ASSERT_EQ(store.row_count(), twin.rows().size());
  uint64_t visited = 0;
  store.ForEachRow([&](const RowView& row) {
    SCOPED_TRACE("key " + std::to_string(row.key));
    ++visited;
    const auto found = twin.rows().find(row.key);
    ASSERT_NE(found, twin.rows().end());
    EXPECT_EQ(row.version, RowVersion(found->second.count));
    ExpectNear(store.spec().options, row.values, found->second.values);
    ASSERT_EQ(row.state.size(), found->second.state.size());
    for (size_t i = 0; i < row.state.size(); ++i) {
      ASSERT_NEAR(row.state[i], found->second.state[i], 2e-2F * (1 + std::fabs(row.state[i])));
    }
  });
  EXPECT_EQ(visited, twin.rows().size());
}

TableOptions RandomOptions(Random& random) {
  TableOptions options{.dim = static_cast<uint32_t>(1 + random.Below(random.Chance(0.1) ? 3000 : 80))};
  const std::vector<Optimizer> optimizers = {Sgd{.rate = 0.1F},
                                             Momentum{.rate = 0.1F, .momentum = 0.5F, .nesterov = true},
                                             Adagrad{.rate = 0.1F, .initial_accumulator = 0.01F},
                                             RmsProp{.rate = 0.01F, .epsilon = 0.01F},
                                             RowAdam{.rate = 0.01F, .epsilon = 0.01F},
                                             Ftrl{.alpha = 0.2F, .l2 = 0.5F}};
  options.optimizer = optimizers[random.Below(optimizers.size())];
  if (random.Chance(0.7)) options.initializer = UniformInitializer{-0.5F, 0.5F};
  options.seed = random.Next();
  if (random.Chance(0.3)) options.rows_max = 1 + random.Below(500);
  options.value_type = static_cast<ValueType>(random.Chance(0.5) ? 0 : random.Below(3));
  if (random.Chance(0.3) && !std::holds_alternative<Ftrl>(options.optimizer)) {
    options.schedule = {LearningRateDecay::kLinear, 10, 30, 0.5F};
  }
  return options;
}

TEST(TableStore, BehavesAsAMapOfRowsInRandomRuns) {
  const uint64_t seed = TestSeed("120 stores, 40 batches each");
  for (uint64_t run = 0; run < 120; ++run) {
    Random random(seed + run);
    const TableOptions options = RandomOptions(random);
    SCOPED_TRACE("run " + std::to_string(run) + ", " + Describe(options.optimizer) + ", " +
                 Describe(options.value_type));
    const auto store = *TableStore::Create({"embedding", options}, {.concurrent = run % 3 == 0});
    MapStore twin(options);
    const uint64_t key_range = 1 + random.Below(2000);
    for (uint64_t batch = 0; batch < 40; ++batch) {
      std::set<Key> unique;
      for (uint64_t i = random.Below(100); i > 0; --i) unique.insert(SplitMix64(random.Below(key_range)));
      const std::vector<Key> keys(unique.begin(), unique.end());
      std::vector<float> gradients(keys.size() * options.dim);
      for (float& g : gradients) g = 2 * random.UniformFloat() - 1;
      const Status pushed = store->Push(keys, gradients, {.step = batch}).status();
      ASSERT_EQ(pushed.ok(), twin.Push(keys, gradients, batch)) << pushed;
      std::vector<Key> wanted = keys;
      for (int i = 0; i < 50; ++i)
        wanted.push_back(SplitMix64(random.Below(key_range)));  // repeated and absent ones too
      std::vector<float> rows(wanted.size() * options.dim);
      store->Pull(wanted, rows);
      for (size_t i = 0; i < wanted.size(); ++i) {
        ExpectNear(options, std::span(rows).subspan(i * options.dim, options.dim), twin.Pull(wanted[i]));
        if (HasFatalFailure()) return;
      }
    }
    ExpectSameRows(*store, twin);
    if (HasFailure()) return;
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

TEST(TableStore, ATableMaySkipNonFiniteGradientsAndCountsThem) {
  const auto store =
      Make({.dim = 2, .optimizer = Sgd{.rate = 1}, .non_finite_gradients = NonFiniteGradients::kSkipRow});
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  std::vector<RowVersion> versions(3);
  const auto pushed =
      store->Push(std::vector<Key>{10, 77, 30}, std::vector<float>{1, nan, 1, 2, -infinity, 1}, {.versions = versions});
  ASSERT_TRUE(pushed.ok()) << pushed.status();
  EXPECT_EQ(pushed->rows_skipped, 2U);
  EXPECT_EQ(PullOne(*store, 10), (std::vector<float>{0, 0}));
  EXPECT_EQ(PullOne(*store, 77), (std::vector<float>{-1, -2}));
  EXPECT_EQ(PullOne(*store, 30), (std::vector<float>{0, 0}));
  EXPECT_EQ(versions, std::vector<RowVersion>(3, RowVersion(1))) << "a skipped row has had its push";
  EXPECT_EQ(store->Push(std::vector<Key>{10}, std::vector<float>{1, 1}, {})->rows_skipped, 0U);
}

TEST(TableStore, RefusalsNameTableAndKeyRange) {
  const auto limited = Make({.dim = 1, .rows_max = 1});
  const Status full = limited->Push(std::vector<Key>{7, 5, 9}, std::vector<float>{1, 1, 1});
  EXPECT_THAT(std::string(Message(full)), HasSubstr("'embedding'"));
  EXPECT_THAT(std::string(Message(full)), HasSubstr("3 keys of 5 .. 9"));
  MemoryBudget budget(1 << 20);
  const auto starved = *TableStore::Create({"embedding", {.dim = 65536}}, {.memory_budget = &budget});
  ASSERT_TRUE(starved->CreateRows(std::vector<Key>{1}, RowVersion()).code() == StatusCode::kResourceExhausted)
      << "a slab has more than the budget";
  const Status refused = starved->Push(std::vector<Key>{7}, std::vector<float>(65536));
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(refused)), HasSubstr("key 7 of table 'embedding'"));
  EXPECT_THAT(std::string(Message(refused)), HasSubstr("1 MiB"));
  EXPECT_EQ(starved->row_count(), 0U);
}

TEST(TableStore, ATableGrowsOnWhenItsServerIsGivenMoreMemory) {
  MemoryBudget budget(1 << 20);
  const auto table = *TableStore::Create({"embedding", {.dim = 65536}}, {.memory_budget = &budget});
  EXPECT_EQ(table->CreateRows(std::vector<Key>{1}, RowVersion()).code(), StatusCode::kResourceExhausted);
  budget.SetLimit(64 << 20);
  EXPECT_TRUE(table->CreateRows(std::vector<Key>{1}, RowVersion()).ok());
  budget.SetLimit(1 << 20);
  EXPECT_TRUE(table->Push(std::vector<Key>{1}, std::vector<float>(65536), {}).ok()) << "rows that are there stay";
  std::vector<Key> many(100);
  std::iota(many.begin(), many.end(), Key{2});
  EXPECT_EQ(table->CreateRows(many, RowVersion()).code(), StatusCode::kResourceExhausted);
}

TEST(TableStore, TablesShareTheBudgetAndGiveItBack) {
  MemoryBudget budget(64 << 20);
  {
    const auto a = *TableStore::Create({"a", {.dim = 64}}, {.memory_budget = &budget});
    const auto b = *TableStore::Create({"b", {.dim = 64}}, {.memory_budget = &budget});
    Key key = 0;
    Status status;
    while (status.ok() && key < 1'000'000) status = (key % 2 == 0 ? a : b)->CreateRows(std::vector<Key>{key++}, {});
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_GT(budget.used(), 60U << 20);
    EXPECT_LE(budget.used(), (64U + 2 * 2) << 20) << "an index may take one block more than was asked for";
    EXPECT_GE(a->row_count() + b->row_count() + 1, key);
  }
  EXPECT_EQ(budget.used(), 0U);
}

TEST(TableStore, ADuplicateKeyCountsOnceAgainstTheLimit) {
  const auto store = Make({.dim = 1, .optimizer = Sgd{.rate = 1}, .rows_max = 1});
  EXPECT_TRUE(store->Push(std::vector<Key>{5, 5}, std::vector<float>{1, 2}).ok());
  EXPECT_EQ(PullOne(*store, 5), std::vector<float>{-3});
}

TEST(TableStore, ACopyTakesAPushOnlyWhenEveryRowIsJustOneBehind) {
  const auto store = Make({.dim = 2, .optimizer = Sgd{.rate = 1}});
  const std::vector<Key> keys = {1, 2};
  ASSERT_TRUE(store->Push(keys, std::vector<float>(4)).ok());
  ASSERT_TRUE(store->Push(std::vector<Key>{2}, std::vector<float>(2)).ok());
  const std::vector<float> gradients = {1, 1, 1, 1};
  const std::vector<RowVersion> next = {RowVersion(0, 2), RowVersion(0, 3)};
  const auto push = [&](std::vector<Key> at, std::vector<RowVersion> versions) {
    return store->PushIfPresent(at, std::span(gradients).first(at.size() * 2),
                                {.step = 0, .versions = {}, .expected = versions, .is_checked = true});
  };
  struct Case {
    const char* name;
    std::vector<Key> keys;
    std::vector<RowVersion> versions;
  };
  for (const Case& bad : {Case{"the second was pushed to once more", keys, {RowVersion(0, 2), RowVersion(0, 2)}},
                          Case{"the first misses one", keys, {RowVersion(0, 3), RowVersion(0, 3)}},
                          Case{"another era", keys, {RowVersion(1, 2), RowVersion(0, 3)}},
                          Case{"one is absent", {1, 3}, {RowVersion(0, 2), RowVersion(0, 1)}}}) {
    EXPECT_FALSE(push(bad.keys, bad.versions).has_value()) << bad.name;
    EXPECT_EQ(PullOne(*store, 1), PullOne(*store, 2)) << bad.name;
  }
  EXPECT_EQ(store->row_count(), 2U);
  const std::vector<float> before = PullOne(*store, 1);
  const auto taken = push(keys, next);
  ASSERT_TRUE(taken.has_value() && taken->ok());
  EXPECT_EQ(PullOne(*store, 1)[0], before[0] - 1);
  EXPECT_EQ(PullOne(*store, 2)[1], before[1] - 1);
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

uint64_t AllocatedBytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// What the process really holds in memory.
uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(TableStore, OverheadIsAtMost32BytesPerRow) {
  constexpr uint64_t kRows = 1 << 20, kBatch = 1024;  // whole slabs; memory of the index comes by 2 MiB
  constexpr uint32_t kDim = 16;
  for (const Optimizer& optimizer : {Optimizer(Sgd{}), Optimizer(Adagrad{})}) {
    ::malloc_trim(0);
    [[maybe_unused]] const uint64_t before = ResidentBytes();
    const auto store = Make({.dim = kDim, .optimizer = optimizer});
    const uint64_t payload = kRows * (kDim * sizeof(float) * (1 + StatesPerValue(optimizer)));
    for (uint64_t first = 0; first < kRows; first += kBatch) {
      std::vector<Key> keys(kBatch);
      for (uint64_t i = 0; i < kBatch; ++i) keys[i] = SplitMix64(first + i);
      ASSERT_TRUE(store->CreateRows(keys, {}).ok());
    }
    const double per_row = (static_cast<double>(store->memory_bytes()) - static_cast<double>(payload)) / kRows;
    EXPECT_LE(per_row, 32.0);
    EXPECT_GE(per_row, 24.0) << "a key, a slot and a side record alone have 24";
#if !defined(__SANITIZE_ADDRESS__) && !defined(ATTUNE_THREAD_SANITIZER)
    const auto resident = static_cast<double>(ResidentBytes() - before);
    const auto reported = static_cast<double>(store->memory_bytes());
    EXPECT_LE(resident, reported * 1.04) << "not all memory is reported";
    EXPECT_GE(resident, reported * 0.9) << "more is reported than there is";
#endif
  }
}

TEST(TableStore, ARowAllocatesNothing) {
  const auto store = Make({.dim = 16});
  std::vector<Key> keys(1024);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const std::vector<float> gradients(keys.size() * 16);
  ASSERT_TRUE(store->Push(keys, gradients).ok());
  const uint64_t before = AllocatedBytes();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(store->Push(keys, gradients).ok());
  EXPECT_EQ(AllocatedBytes(), before);
}

}  // namespace
}  // namespace attune::ps::table_store_test
