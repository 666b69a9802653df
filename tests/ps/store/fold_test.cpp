#include "ps/store/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "base/random.h"
#include "ps/store/formulas/table_options.h"
#include "tests/ps/store/fold_samples.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::fold_test {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

std::vector<float> RandomFloats(Random& random, size_t n, float scale) {
  std::vector<float> values(n);
  for (float& value : values) value = scale * (2 * random.UniformFloat() - 1);
  return values;
}

// The row at its home, to which pushes and folds come.
class Home {
 public:
  Home(const TableOptions& options, std::vector<float> values)
      : formula_(options), kernel_(SelectKernel(options.optimizer)), dim_(options.dim), row_(std::move(values)) {
    row_.resize(formula_.row_floats());
    InitializeState(options.optimizer, Parts(), dim_);
  }
  void Push(const std::vector<float>& gradient) {
    version_ = version_.Next();
    kernel_.update(kernel_.settings, Parts(), gradient.data(), dim_, version_.counter());
  }
  void Apply(const FoldView& fold) {
    formula_.Apply(fold, Parts());
    version_ = version_.After(fold.counts.pushes);
  }
  const FoldFormula& formula() const { return formula_; }
  const std::vector<float>& row() const { return row_; }
  RowVersion version() const { return version_; }

 private:
  RowParts Parts() { return {row_.data(), row_.data() + dim_, &row_.back()}; }

  FoldFormula formula_;
  RowKernel kernel_;
  size_t dim_;
  std::vector<float> row_;
  RowVersion version_;
};

// A holder of it, its memory, and what is on its way between the two: in order both ways, one fold at most.
class Holder {
 public:
  Holder(const Holder&) = delete;  // its spans point into it
  explicit Holder(const Home& home)
      : formula_(home.formula()), row_(home.row()), base_(row_.size()), changes_(formula_.fold_floats()) {
    held_ = {.version = home.version(), .open = {}, .row = row_, .base = base_};
  }

  bool Push(const std::vector<float>& gradient, uint64_t step = 0) { return formula_.Push(held_, gradient, step); }
  bool MayFlush() const { return !in_flight_ && held_.open.pushes > 0; }
  void Flush() {
    in_flight_ = formula_.Take(held_, changes_);
    ++taken_;
  }
  // The fold comes to its home, whose acknowledgement follows what the home has sent before.
  void Arrive(Home& home) {
    if (!in_flight_ || arrived_ == taken_) return;
    home.Apply({.counts = *in_flight_, .changes = changes_});
    arrived_ = taken_;
    from_home_.push_back({});
  }
  void Send(const Home& home) { from_home_.push_back({home.row(), home.version(), arrived_}); }
  bool Receive() {
    if (from_home_.empty()) return false;
    const Message message = std::move(from_home_.front());
    from_home_.pop_front();
    if (message.row.empty()) {
      in_flight_.reset();
      return true;
    }
    const FoldView fold{.counts = in_flight_.value_or(FoldCounts{}), .changes = changes_};
    const bool is_missing = in_flight_ && message.contains < taken_;
    formula_.Refresh(held_, message.row, message.version, is_missing ? &fold : nullptr);
    return true;
  }
  // Everything comes to its end: all pushes at home, and its row here.
  void Settle(Home& home) {
    do {
      Arrive(home);
      while (Receive()) {
      }
      if (MayFlush()) Flush();
    } while (in_flight_);
  }
  const HeldRow& held() const { return held_; }
  const std::vector<float>& row() const { return row_; }

 private:
  struct Message {  // an acknowledgement of the fold, or the row
    std::vector<float> row;
    RowVersion version;
    int contains = 0;  // folds of this holder
  };
  const FoldFormula& formula_;
  std::vector<float> row_, base_, changes_;
  HeldRow held_;
  std::optional<FoldCounts> in_flight_;
  int taken_ = 0, arrived_ = 0;  // folds
  std::deque<Message> from_home_;
};

TableOptions Table(const Optimizer& optimizer, size_t dim) {
  return {.dim = static_cast<uint32_t>(dim), .optimizer = optimizer};
}

TEST(Fold, OfOneHolderAloneGivesTheRowOfSinglePushes) {
  Random random(TestSeed("dim 1..40, 60 pushes, flushes and refreshes between"));
  for (const Optimizer& optimizer : AllOptimizers()) {
    SCOPED_TRACE(Describe(optimizer));
    for (size_t dim = 1; dim <= 40; ++dim) {
      const std::vector<float> initial = RandomFloats(random, dim, 1);
      Home home(Table(optimizer, dim), initial), twin(Table(optimizer, dim), initial);
      Holder holder(home);
      for (int push = 0; push < 60; ++push) {
        const std::vector<float> gradient = RandomFloats(random, dim, 3);
        holder.Push(gradient);
        twin.Push(gradient);
        EXPECT_EQ(holder.held().version, twin.version());
        if (random.Chance(0.3) && holder.MayFlush()) holder.Flush();
        if (random.Chance(0.3)) holder.Arrive(home);
        if (random.Chance(0.2)) holder.Send(home);
        if (random.Chance(0.4)) holder.Receive();
      }
      holder.Settle(home);
      EXPECT_EQ(home.version(), twin.version());
      for (size_t i = 0; i < home.row().size(); ++i) {
        ASSERT_NEAR(home.row()[i], twin.row()[i], 5e-5F * (1 + std::fabs(twin.row()[i]))) << i << " of dim " << dim;
      }
      EXPECT_EQ(holder.row(), home.row()) << "not the same bits, dim " << dim;
    }
  }
}

// With a rate of 1 and whole gradients all sums are exact.
TEST(Fold, OfSeveralHoldersLosesNoPushAndCountsNoneTwice) {
  Random random(TestSeed("3 holders, 2,000 events"));
  Home home(Table(Sgd{.rate = 1}, 2), {0, 0});
  std::deque<Holder> holders;
  for (int i = 0; i < 3; ++i) holders.emplace_back(home);
  std::vector<float> own(3), seen(3);
  float sum = 0;
  for (int event = 0; event < 2000; ++event) {
    const size_t who = random.Below(3);
    Holder& holder = holders[who];
    const auto gradient = static_cast<float>(1 + random.Below(5));
    if (random.Chance(0.4)) {
      holder.Push({gradient, 2 * gradient});
      own[who] += gradient;
      sum += gradient;
    } else if (random.Chance(0.1)) {
      home.Push({gradient, 2 * gradient});
      sum += gradient;
    }
    if (random.Chance(0.3) && holder.MayFlush()) holder.Flush();
    if (random.Chance(0.3)) holder.Arrive(home);
    if (random.Chance(0.3)) holder.Send(home);
    if (random.Chance(0.3)) holder.Receive();
    const float read = -holder.row()[0];
    EXPECT_GE(read, own[who]) << "an own push is missing";
    EXPECT_GE(read, seen[who]) << "a push that was seen is gone";
    EXPECT_LE(read, sum) << "a push is counted twice";
    seen[who] = read;
  }
  for (Holder& holder : holders) holder.Settle(home);
  EXPECT_EQ(home.row(), (std::vector<float>{-sum, -2 * sum}));
  for (Holder& holder : holders) {
    holder.Send(home);
    holder.Settle(home);
    EXPECT_EQ(holder.row(), home.row());
    EXPECT_EQ(holder.held().version, home.version());
  }
}

// Whichever nodes write: after all folds and a refresh, holders and home have the same bits.
TEST(Fold, LeavesAllCopiesEqualAtRest) {
  Random random(TestSeed("2 holders and pushes at home, 200 events, dim 1..20"));
  for (const Optimizer& optimizer : AllOptimizers()) {
    SCOPED_TRACE(Describe(optimizer));
    for (size_t dim = 1; dim <= 20; ++dim) {
      Home home(Table(optimizer, dim), RandomFloats(random, dim, 1));
      std::deque<Holder> holders;
      for (int i = 0; i < 2; ++i) holders.emplace_back(home);
      uint64_t pushes = 0;
      for (int event = 0; event < 200; ++event) {
        Holder& holder = holders[random.Below(2)];
        const std::vector<float> gradient = RandomFloats(random, dim, 1);
        if (random.Chance(0.2)) home.Push(gradient), ++pushes;
        if (random.Chance(0.5)) holder.Push(gradient), ++pushes;
        if (random.Chance(0.3) && holder.MayFlush()) holder.Flush();
        if (random.Chance(0.3)) holder.Arrive(home);
        if (random.Chance(0.3)) holder.Send(home);
        if (random.Chance(0.3)) holder.Receive();
      }
      for (Holder& holder : holders) holder.Settle(home);
      EXPECT_EQ(home.version().counter(), pushes);
      EXPECT_TRUE(SelectKernel(optimizer).all_finite(home.row().data(), home.row().size()));
      for (Holder& holder : holders) {
        holder.Send(home);
        holder.Settle(home);
        EXPECT_EQ(holder.row(), home.row());
        EXPECT_EQ(holder.held().version, home.version());
      }
    }
  }
}

// What others wrote meanwhile stays in the states, decayed by the pushes of the fold, as theirs is by single ones.
TEST(Fold, AddsToStatesThatOthersHaveChanged) {
  Home home(Table(Momentum{.rate = 0.5F, .momentum = 0.5F}, 1), {1});
  Holder holder(home);
  home.Push({8});    // velocity 8
  holder.Push({1});  // 1
  holder.Push({1});  // 1.5
  holder.Flush();
  holder.Arrive(home);
  EXPECT_EQ(home.row()[1], 8 / 4.F + 1.5F);
  EXPECT_EQ(home.row()[0], 1 - 0.5F * 8 - 0.5F * (1 + 1.5F));
  EXPECT_EQ(home.version(), RowVersion(0, 3));

  Home squares(Table(Adagrad{.rate = 1, .initial_accumulator = 1}, 1), {0});
  Holder other(squares);
  squares.Push({2});
  other.Push({3});
  other.Flush();
  other.Arrive(squares);
  EXPECT_EQ(squares.row()[1], 1 + 4 + 9);
}

TEST(Fold, OfFtrlCarriesNoValuesAndTheyFollowFromItsState) {
  Home home(Table(Ftrl{.alpha = 0.5F, .l1 = 0.25F}, 3), {0, 1, -1});
  EXPECT_EQ(home.formula().fold_floats(), 6U);
  EXPECT_EQ(home.formula().row_floats(), 9U);
  Holder holder(home);
  holder.Push({0.2F, 3, 0});
  holder.Flush();
  holder.Arrive(home);
  EXPECT_EQ(home.row()[0], 0) << "below l1";
  EXPECT_NE(home.row()[1], 1);
  EXPECT_THAT(home.row(), Pointwise(FloatNear(1e-6F), holder.row()));
}

TEST(Fold, CountsAPushThatIsSkippedAndChangesNothingByIt) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Home home(Table(RowAdam{.rate = 0.1F}, 2), {1, 2}), twin(Table(RowAdam{.rate = 0.1F}, 2), {1, 2});
  Holder holder(home);
  EXPECT_FALSE(holder.Push({kNan, 1}));
  EXPECT_EQ(holder.held().version.counter(), 1U);
  EXPECT_TRUE(holder.Push({1, 1}));
  EXPECT_EQ(holder.held().open, (FoldCounts{.pushes = 2, .updates = 1}));
  holder.Flush();
  holder.Arrive(home);
  EXPECT_EQ(home.version().counter(), 2U);
  EXPECT_FLOAT_EQ(home.row()[2], 0.1F) << "the first moment decayed once";

  Holder idle(twin);
  idle.Push({kNan, kNan});
  idle.Flush();
  idle.Arrive(twin);
  EXPECT_EQ(twin.row(), (std::vector<float>{1, 2, 0, 0, 0}));
  EXPECT_EQ(twin.version().counter(), 1U);
}

TEST(Fold, HolderFollowsTheScheduleOfTheRate) {
  TableOptions table = Table(Sgd{.rate = 1}, 1);
  table.schedule = {.decay = LearningRateDecay::kLinear, .decay_steps = 10};
  Home home(table, {0});
  Holder holder(home);
  holder.Push({1}, 5);
  EXPECT_FLOAT_EQ(holder.row()[0], -0.5F);
}

}  // namespace
}  // namespace attune::ps::fold_test
