// Pushes of folds to a table: what FoldFormula makes of a row, with the row's memory and version around it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "ps/store/fold.h"
#include "ps/store/formulas/table_options.h"
#include "ps/store/formulas/value_type.h"
#include "ps/store/table_store.h"
#include "tests/ps/store/fold_samples.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::fold_push_test {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<TableStore> Make(const TableOptions& options, bool concurrent = false) {
  auto store = TableStore::Create({"embedding", options}, {.concurrent = concurrent});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// Of a row: values, then state, as it travels.
float Stored(ValueType type, float value) {
  if (type == ValueType::kFloat16) return HalfToFloat(FloatToHalf(value));
  if (type == ValueType::kBfloat16) return BfloatToFloat(FloatToBfloat(value));
  return value;
}

// What the formula makes of the row, as it is stored.
std::vector<float> Applied(const TableOptions& options, std::vector<float> row, const FoldView& fold) {
  const FoldFormula formula(options);
  float* const state = row.data() + options.dim;
  formula.Apply(fold, {row.data(), state, state + options.dim * StatesPerValue(options.optimizer)});
  for (size_t i = 0; i < options.dim; ++i) row[i] = Stored(options.value_type, row[i]);
  return row;
}

// States stay above zero, as sums of squares do.
std::vector<float> RandomChanges(Random& random, size_t n) {
  std::vector<float> changes(n);
  for (float& change : changes) change = random.UniformFloat();
  return changes;
}

struct Case {
  ValueType type;
  bool concurrent;
};
class FoldPushTest : public testing::TestWithParam<Case> {};

TEST_P(FoldPushTest, ChangesRowsAsTheFormulaSays) {
  Random random(TestSeed("dim 1..40, 30 pushes of 1..8 folds, all optimizers"));
  for (const Optimizer& optimizer : AllOptimizers()) {
    SCOPED_TRACE(Describe(optimizer));
    const TableOptions options{.dim = static_cast<uint32_t>(1 + random.Below(40)),
                               .optimizer = optimizer,
                               .initializer = UniformInitializer{-0.5F, 0.5F},
                               .value_type = GetParam().type};
    const auto store = Make(options, GetParam().concurrent);
    const size_t floats = store->fold_floats();
    EXPECT_EQ(floats, FoldFormula(options).fold_floats());
    for (int push = 0; push < 30; ++push) {
      const std::vector<Key> keys = [&] {
        std::vector<Key> some;
        for (Key key = 0; key < 8; ++key) {
          if (random.Chance(0.5)) some.push_back(key);
        }
        return some;
      }();
      std::vector<FoldCounts> counts;
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto pushes = static_cast<uint32_t>(1 + random.Below(300));
        counts.push_back({.pushes = pushes, .updates = static_cast<uint32_t>(random.Below(pushes + 1))});
      }
      const std::vector<float> changes = RandomChanges(random, keys.size() * floats);
      ASSERT_TRUE(store->CreateRows(keys, {}).ok());
      std::vector<WholeRow> expected;
      for (size_t i = 0; i < keys.size(); ++i) {
        const WholeRow before = RowOf(*store, keys[i]);
        const FoldView fold{.counts = counts[i], .changes = std::span(changes).subspan(i * floats, floats)};
        expected.push_back({before.version.After(counts[i].pushes), Applied(options, before.floats, fold)});
      }
      std::vector<RowVersion> versions(keys.size());
      const auto pushed = store->Push(keys, changes, {.versions = versions, .folds = counts});
      ASSERT_TRUE(pushed.ok()) << pushed.status();
      EXPECT_EQ(pushed->rows_skipped, 0U);
      for (size_t i = 0; i < keys.size(); ++i) {
        const WholeRow found = RowOf(*store, keys[i]);
        EXPECT_EQ(found.floats, expected[i].floats) << "key " << keys[i] << ", dim " << options.dim;
        EXPECT_EQ(found.version, expected[i].version);
        EXPECT_EQ(versions[i], expected[i].version);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, FoldPushTest,
                         testing::Values(Case{ValueType::kFloat32, false}, Case{ValueType::kFloat32, true},
                                         Case{ValueType::kFloat16, false}, Case{ValueType::kBfloat16, false}),
                         [](const auto& test) {
                           const ValueType type = test.param.type;
                           const std::string name = type == ValueType::kFloat32   ? "Float32"
                                                    : type == ValueType::kFloat16 ? "Float16"
                                                                                  : "Bfloat16";
                           return name + (test.param.concurrent ? "ForManyThreads" : "");
                         });

TEST(FoldPush, BeginsARowThatIsAbsent) {
  const TableOptions options{.dim = 2, .optimizer = Momentum{.rate = 1, .momentum = 0.5F}};
  const auto store = Make(options);
  const FoldCounts counts{.pushes = 3, .updates = 2};
  ASSERT_TRUE(store->Push(std::vector<Key>{7}, std::vector<float>{1, 2, 3, 4}, {.folds = {&counts, 1}}).ok());
  EXPECT_EQ(RowOf(*store, 7).version, RowVersion(0, 3));
  EXPECT_THAT(RowOf(*store, 7).floats, ElementsAre(1, 2, 3, 4));
}

TEST(FoldPush, WithoutUpdatesRaisesTheVersionAlone) {
  const auto store = Make({.dim = 1, .optimizer = Momentum{.rate = 1, .momentum = 0.5F}});
  ASSERT_TRUE(store->Push(std::vector<Key>{7}, std::vector<float>{2}).ok());
  const WholeRow before = RowOf(*store, 7);
  const FoldCounts counts{.pushes = 4, .updates = 0};
  ASSERT_TRUE(store->Push(std::vector<Key>{7}, std::vector<float>{0, 0}, {.folds = {&counts, 1}}).ok());
  EXPECT_EQ(RowOf(*store, 7).floats, before.floats);
  EXPECT_EQ(RowOf(*store, 7).version, RowVersion(0, 5));
}

TEST(FoldPush, ACopyTakesFoldsOnlyWhenEveryRowIsJustOneFoldBehind) {
  const auto store = Make({.dim = 1, .optimizer = Sgd{.rate = 1}});
  const std::vector<Key> keys = {1, 2};
  ASSERT_TRUE(store->CreateRows(std::vector<Key>{1}, RowVersion(0, 4)).ok());
  ASSERT_TRUE(store->CreateRows(std::vector<Key>{2}, RowVersion(0, 7)).ok());
  const std::vector<FoldCounts> counts = {{.pushes = 3, .updates = 3}, {.pushes = 1, .updates = 1}};
  const std::vector<float> changes = {10, 20};
  const auto push = [&](std::vector<RowVersion> expected) {
    return store->PushIfPresent(keys, changes, {.expected = expected, .folds = counts, .is_checked = true});
  };
  const struct {
    const char* what;
    RowVersion first, second;
  } bad[] = {{"the first misses one", {0, 8}, {0, 8}},
             {"the first has one of them", {0, 6}, {0, 8}},
             {"as if each were one push", {0, 5}, {0, 8}},
             {"the second is of another era", {0, 7}, {1, 8}}};
  for (const auto& versions : bad) {
    EXPECT_FALSE(push({versions.first, versions.second}).has_value()) << versions.what;
    EXPECT_THAT(RowOf(*store, 1).floats, ElementsAre(0)) << versions.what;
    EXPECT_EQ(RowOf(*store, 2).version, RowVersion(0, 7)) << versions.what;
  }
  const auto taken = push({RowVersion(0, 7), RowVersion(0, 8)});
  ASSERT_TRUE(taken.has_value() && taken->ok());
  EXPECT_THAT(RowOf(*store, 1).floats, ElementsAre(10));
  EXPECT_THAT(RowOf(*store, 2).floats, ElementsAre(20));
  EXPECT_EQ(RowOf(*store, 1).version, RowVersion(0, 7));
  EXPECT_EQ(RowOf(*store, 2).version, RowVersion(0, 8));
  EXPECT_FALSE(push({RowVersion(0, 7), RowVersion(0, 8)}).has_value()) << "it has them";
}

TEST(FoldPush, OfAWrongSizeIsRefused) {
  const auto store = Make({.dim = 2, .optimizer = Adagrad{}});
  const FoldCounts counts{.pushes = 1, .updates = 1};
  const Key keys[] = {1};
  for (const size_t floats : {0U, 2U, 3U, 5U}) {
    const std::vector<float> changes(floats, 1.0F);
    EXPECT_EQ(store->Push(keys, changes, {.folds = {&counts, 1}}).status().code(), StatusCode::kInvalidArgument)
        << floats << " floats of a fold that has 4";
  }
  EXPECT_EQ(store->row_count(), 0U);
  ASSERT_TRUE(store->CreateRows(keys, {}).ok());
  for (const bool is_checked : {false, true}) {
    const auto pushed =
        store->PushIfPresent(keys, std::vector<float>{1, 1}, {.folds = {&counts, 1}, .is_checked = is_checked});
    ASSERT_TRUE(pushed.has_value());
    EXPECT_EQ(pushed->status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(RowOf(*store, 1).floats, ElementsAre(0, 0, 0, 0));
}

// Its maker has looked at the gradients; what they add up to is what its own copy has.
TEST(FoldPush, IsAppliedAlsoWhereAGradientLikeItWouldBeRefusedOrSkipped) {
  for (const NonFiniteGradients choice : {NonFiniteGradients::kRefusePush, NonFiniteGradients::kSkipRow}) {
    const auto store = Make({.dim = 1, .optimizer = Sgd{.rate = 1}, .non_finite_gradients = choice});
    const std::vector<float> infinite = {std::numeric_limits<float>::infinity()};
    const FoldCounts counts{.pushes = 2, .updates = 2};
    const Key keys[] = {7};
    const auto single = store->Push(keys, infinite, PushOptions{});
    EXPECT_TRUE(!single.ok() || single->rows_skipped == 1);
    const RowVersion before = RowOf(*store, 7).version;
    const auto pushed = store->Push(keys, infinite, {.folds = {&counts, 1}});
    ASSERT_TRUE(pushed.ok()) << pushed.status();
    EXPECT_EQ(pushed->rows_skipped, 0U);
    EXPECT_TRUE(std::isinf(RowOf(*store, 7).floats[0]));
    EXPECT_EQ(RowOf(*store, 7).version, before.After(2));
  }
}

TEST(FoldPush, ABatchAboveTheRowLimitIsRefusedWhole) {
  const auto store = Make({.dim = 1, .optimizer = Sgd{.rate = 1}, .rows_max = 1});
  const std::vector<FoldCounts> counts(2, FoldCounts{.pushes = 1, .updates = 1});
  EXPECT_EQ(store->Push(std::vector<Key>{1, 2}, std::vector<float>{1, 1}, {.folds = counts}).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(store->row_count(), 0U);
}

}  // namespace
}  // namespace attune::ps::fold_push_test
