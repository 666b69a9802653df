#include "ps/core/worker/operations/held_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "base/random.h"
#include "ps/store/formulas/table_options.h"
#include "ps/store/table_store.h"
#include "tests/ps/store/fold_samples.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::held_rows_test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::unique_ptr<TableStore> StoreOf(const TableOptions& options) {
  auto store = TableStore::Create({"rows", options});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// Gradients that are not close to zero, where the optimizers' roots make much of little.
std::vector<float> RandomGradient(Random& random, size_t dim) {
  std::vector<float> gradient(dim);
  for (float& value : gradient) value = (random.Chance(0.5) ? 1.0F : -1.0F) * (0.5F + 0.5F * random.UniformFloat());
  return gradient;
}

// Copies of a table's rows, the table at their home, which gets their folds, and one that gets every push by itself.
class Copies {
 public:
  Copies(const TableOptions& options, size_t rows)
      : held_(options), home_(StoreOf(options)), twin_(StoreOf(options)), dim_(options.dim) {
    std::vector<Key> keys;
    for (Key key = 0; key < rows; ++key) keys.push_back(key);
    EXPECT_TRUE(home_->CreateRows(keys, {}).ok());
    EXPECT_TRUE(twin_->CreateRows(keys, {}).ok());
    for (const Key key : keys) places_.push_back(held_.Add(RowOf(*home_, key).floats, {}));
  }
  void Push(Key key, const std::vector<float>& gradient) {
    const bool had_open = held_.HasOpen(places_[key]);
    EXPECT_EQ(held_.Push(places_[key], gradient, 0), !had_open);
    EXPECT_TRUE(twin_->Push({&key, 1}, gradient).ok());
  }
  void Flush(Key key) {
    if (!held_.HasOpen(places_[key])) return;
    std::vector<float> changes(held_.fold_floats());
    const FoldCounts counts = held_.TakeFold(places_[key], changes);
    EXPECT_FALSE(held_.HasOpen(places_[key]));
    EXPECT_TRUE(home_->Push({&key, 1}, changes, {.folds = {&counts, 1}}).ok());
    EXPECT_THAT(Values(key), ElementsAreArray(PullFrom(*home_, key))) << "the same bits, as no other node writes";
  }
  void Refresh(Key key) {
    const WholeRow row = RowOf(*home_, key);
    held_.Refresh(places_[key], row.floats, row.version);
  }
  // Another one is given up for it, and it comes back in some other place.
  void Replace(Key key) {
    Flush(key);
    held_.Remove(places_[key]);
    const WholeRow row = RowOf(*home_, key);
    places_[key] = held_.Add(row.floats, row.version);
    EXPECT_FALSE(held_.HasOpen(places_[key]));
  }
  void ExpectAsSinglePushes(Key key) const {
    const std::vector<float> expected = PullFrom(*twin_, key);
    const std::span<const float> found = Values(key);
    for (size_t i = 0; i < dim_; ++i) ASSERT_NEAR(found[i], expected[i], 1e-4F * (1 + std::fabs(expected[i])));
    EXPECT_EQ(held_.VersionAt(places_[key]), RowOf(*twin_, key).version);
  }
  const HeldRows& held() const { return held_; }

 private:
  std::span<const float> Values(Key key) const { return held_.ValuesAt(places_[key]); }
  std::vector<float> PullFrom(const TableStore& store, Key key) const {
    std::vector<float> values(dim_);
    store.Pull({&key, 1}, values);
    return values;
  }

  HeldRows held_;
  std::unique_ptr<TableStore> home_, twin_;
  const size_t dim_;
  std::vector<HeldRows::Place> places_;  // by key
};

TEST(HeldRows, HaveTheRowsOfSinglePushes) {
  Random random(TestSeed("150 rows, dim 1..9, 3,000 pushes, folds, refreshes and new places"));
  for (const Optimizer& optimizer : AllOptimizers()) {
    SCOPED_TRACE(Describe(optimizer));
    const TableOptions options{.dim = static_cast<uint32_t>(1 + random.Below(9)),
                               .optimizer = optimizer,
                               .initializer = UniformInitializer{-0.5F, 0.5F}};
    constexpr size_t kRows = 150;
    Copies copies(options, kRows);
    for (int i = 0; i < 3000; ++i) {
      const Key key = random.Chance(0.5) ? random.Below(3) : random.Below(kRows);
      if (random.Chance(0.8)) copies.Push(key, RandomGradient(random, options.dim));
      if (random.Chance(0.2)) copies.Flush(key);
      if (random.Chance(0.1)) copies.Refresh(key);
      if (random.Chance(0.05)) copies.Replace(key);
      copies.ExpectAsSinglePushes(key);
    }
    for (Key key = 0; key < kRows; ++key) copies.ExpectAsSinglePushes(key);
    EXPECT_EQ(copies.held().size(), kRows);
  }
}

TEST(HeldRows, APlaceIsUsedAgainAndOthersAreLeftAlone) {
  HeldRows rows({.dim = 2, .optimizer = Sgd{.rate = 1}});
  std::vector<HeldRows::Place> places;
  for (int i = 0; i < 130; ++i) {
    const auto value = static_cast<float>(i);
    places.push_back(rows.Add(std::vector<float>{value, -value}, RowVersion(static_cast<uint64_t>(i))));
  }
  EXPECT_EQ(rows.size(), 130U);
  rows.Push(places[65], std::vector<float>{1, 1}, 0);
  rows.Remove(places[65]);
  EXPECT_EQ(rows.size(), 129U);
  const HeldRows::Place again = rows.Add(std::vector<float>{7, 8}, RowVersion(9));
  EXPECT_EQ(again, places[65]);
  EXPECT_FALSE(rows.HasOpen(again)) << "those were of the row before";
  EXPECT_THAT(rows.ValuesAt(again), ElementsAre(7, 8));
  EXPECT_THAT(rows.ValuesAt(places[64]), ElementsAre(64, -64));
  EXPECT_THAT(rows.ValuesAt(places[66]), ElementsAre(66, -66));
  EXPECT_EQ(rows.VersionAt(places[129]), RowVersion(129));
}

TEST(HeldRows, TheFirstPushAfterEachFoldIsReported) {
  HeldRows rows({.dim = 1, .optimizer = Sgd{.rate = 1}});
  const HeldRows::Place place = rows.Add(std::vector<float>{10}, {});
  std::vector<float> changes(1);
  for (int fold = 0; fold < 2; ++fold) {
    EXPECT_FALSE(rows.HasOpen(place));
    EXPECT_TRUE(rows.Push(place, std::vector<float>{1}, 0));
    EXPECT_FALSE(rows.Push(place, std::vector<float>{2}, 0));
    EXPECT_EQ(rows.TakeFold(place, changes), (FoldCounts{.pushes = 2, .updates = 2}));
    EXPECT_THAT(changes, ElementsAre(-3));
  }
  EXPECT_THAT(rows.ValuesAt(place), ElementsAre(4));
  EXPECT_EQ(rows.VersionAt(place), RowVersion(4));
}

TEST(HeldRows, OpenPushesStayOnTopOfWhatComesFromTheHome) {
  HeldRows rows({.dim = 1, .optimizer = Sgd{.rate = 1}});
  const HeldRows::Place place = rows.Add(std::vector<float>{10}, RowVersion(5));
  rows.Push(place, std::vector<float>{1}, 0);
  rows.Refresh(place, std::vector<float>{100}, RowVersion(20));
  EXPECT_THAT(rows.ValuesAt(place), ElementsAre(99));
  EXPECT_EQ(rows.VersionAt(place), RowVersion(21));
  std::vector<float> changes(1);
  EXPECT_EQ(rows.TakeFold(place, changes), (FoldCounts{.pushes = 1, .updates = 1}));
  EXPECT_THAT(changes, ElementsAre(-1));
}

TEST(HeldRows, GradientsThatAreNotFiniteAreRefusedOrSkippedAsTheTableSays) {
  const float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinite = std::numeric_limits<float>::infinity();
  const std::vector<float> finite{1, 2}, bad{1, kNan}, large{kInfinite, 1};
  const HeldRows refusing({.dim = 2, .non_finite_gradients = NonFiniteGradients::kRefusePush});
  EXPECT_FALSE(refusing.Refuses(finite));
  EXPECT_TRUE(refusing.Refuses(bad));
  EXPECT_TRUE(refusing.Refuses(large));
  HeldRows skipping({.dim = 2, .optimizer = Sgd{.rate = 1}, .non_finite_gradients = NonFiniteGradients::kSkipRow});
  EXPECT_FALSE(skipping.Refuses(bad));
  const HeldRows::Place place = skipping.Add(std::vector<float>{10, 10}, {});
  skipping.Push(place, bad, 0);
  skipping.Push(place, finite, 0);
  EXPECT_THAT(skipping.ValuesAt(place), ElementsAre(9, 8));
  std::vector<float> changes(2);
  EXPECT_EQ(skipping.TakeFold(place, changes), (FoldCounts{.pushes = 2, .updates = 1}));
}

TEST(HeldRows, ACopyTakesTwiceItsRowAndLittleMore) {
  const HeldRows rows({.dim = 16, .optimizer = RowAdam{}});
  EXPECT_EQ(rows.row_floats(), 33U) << "values, first moments, the second one of the row";
  EXPECT_EQ(rows.fold_floats(), 33U);
  EXPECT_EQ(rows.row_bytes(), 2 * 33 * sizeof(float) + HeldRows::kBytesPerRow);
  const HeldRows ftrl({.dim = 16, .optimizer = Ftrl{}});
  EXPECT_EQ(ftrl.row_floats(), 48U);
  EXPECT_EQ(ftrl.fold_floats(), 32U) << "its values follow from its state";
}

}  // namespace
}  // namespace attune::ps::held_rows_test
