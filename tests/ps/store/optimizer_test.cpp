#include "ps/store/formulas/optimizer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "ps/store/formulas/table_options.h"
#include "tests/ps/store/fold_samples.h"
#include "tests/ps/store/scalar_optimizer.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::optimizer_test {
namespace {

std::vector<float> RandomFloats(Random& random, size_t n, float scale) {
  std::vector<float> values(n);
  for (float& value : values) value = scale * (2 * random.UniformFloat() - 1);
  return values;
}

// A row under a kernel, its state in one piece as it travels.
class KernelRow {
 public:
  KernelRow(const Optimizer& optimizer, const RowKernel& kernel, std::vector<float> initial)
      : values(std::move(initial)), state(StateFloats(optimizer, values.size())), kernel_(kernel) {
    InitializeState(optimizer, Parts(), values.size());
  }
  void Push(const std::vector<float>& gradient) {
    kernel_.update(kernel_.settings, Parts(), gradient.data(), values.size(), ++count_);
  }
  RowParts Parts() { return {values.data(), state.data(), state.empty() ? nullptr : &state.back()}; }

  std::vector<float> values, state;

 private:
  const RowKernel& kernel_;
  uint64_t count_ = 0;
};

KernelRow Pushed(const Optimizer& optimizer, std::vector<float> initial, const std::vector<float>& gradient,
                 int times) {
  static std::vector<std::unique_ptr<RowKernel>> kernels;
  kernels.push_back(std::make_unique<RowKernel>(SelectKernel(optimizer)));
  KernelRow row(optimizer, *kernels.back(), std::move(initial));
  for (int i = 0; i < times; ++i) row.Push(gradient);
  return row;
}

TEST(Optimizer, SgdMovesAgainstTheGradient) {
  EXPECT_FLOAT_EQ(Pushed(Sgd{.rate = 0.1F}, {1.0F, -2.0F}, {0.5F, -1.0F}, 1).values[0], 0.95F);
  EXPECT_FLOAT_EQ(Pushed(Sgd{.rate = 0.1F}, {1.0F, -2.0F}, {0.5F, -1.0F}, 1).values[1], -1.9F);
}

TEST(Optimizer, AdagradDividesByTheRootOfSummedSquares) {
  const KernelRow row = Pushed(Adagrad{.rate = 0.5F, .initial_accumulator = 16, .epsilon = 1}, {1}, {3}, 1);
  EXPECT_FLOAT_EQ(row.state[0], 25);
  EXPECT_FLOAT_EQ(row.values[0], 1 - 0.5F * 3 / (5 + 1));
}

// Under a constant gradient g the velocity is a geometric sum: v_t = g (1 - m^t) / (1 - m).
TEST(Optimizer, MomentumApproachesTheGeometricSum) {
  const double m = 0.75, rate = 0.1;
  double sum = 0, nesterov_sum = 0;
  for (int t = 1; t <= 40; ++t) {
    const double v = 2 * (1 - std::pow(m, t)) / (1 - m);
    sum += v;
    nesterov_sum += 2 + m * v;
  }
  const auto one = Pushed(Momentum{.rate = 0.1F, .momentum = 0.75F}, {1}, {2}, 40);
  EXPECT_NEAR(one.values[0], 1 - rate * sum, 1e-4);
  EXPECT_NEAR(one.state[0], 2 * (1 - std::pow(m, 40)) / (1 - m), 1e-5);
  const auto two = Pushed(Momentum{.rate = 0.1F, .momentum = 0.75F, .nesterov = true}, {1}, {2}, 40);
  EXPECT_NEAR(two.values[0], 1 - rate * nesterov_sum, 1e-4);
}

// Under a constant gradient g the average is s_t = g^2 (1 - d^t).
TEST(Optimizer, RmsPropAveragesSquares) {
  double w = 0;
  for (int t = 1; t <= 30; ++t) w -= 0.01 * 3 / (3 * std::sqrt(1 - std::pow(0.9, t)) + 1e-8);
  const auto row = Pushed(RmsProp{.rate = 0.01F, .decay = 0.9F}, {0}, {3}, 30);
  EXPECT_NEAR(row.state[0], 9 * (1 - std::pow(0.9, 30)), 1e-5);
  EXPECT_NEAR(row.values[0], w, 1e-5);
}

// With bias correction a constant gradient moves each value by rate * g / rms(g) per push, from the first one on.
TEST(Optimizer, RowAdamTakesEvenStepsUnderAConstantGradient) {
  const std::vector<float> gradient = {4, -2, 1, 0.5F};
  const double rms = std::sqrt((16 + 4 + 1 + 0.25) / 4);
  for (const int times : {1, 2, 10, 300, 1000}) {
    const auto row = Pushed(RowAdam{.rate = 0.001F}, {0, 0, 0, 0}, gradient, times);
    for (size_t i = 0; i < gradient.size(); ++i) {
      EXPECT_NEAR(row.values[i], -0.001 * times * gradient[i] / rms, 2e-5 * times * 0.1 + 1e-7) << times << " pushes";
    }
  }
}

// McMahan 2011: without regularization it is gradient descent with the rate alpha / (beta + sqrt(n)) per value,
// wherever it starts.
TEST(Optimizer, FtrlWithoutRegularizationIsGradientDescent) {
  Random random(TestSeed("50 pushes"));
  const Optimizer ftrl = Ftrl{.alpha = 0.5F, .beta = 2};
  const RowKernel kernel = SelectKernel(ftrl);
  KernelRow row(ftrl, kernel, {0, 0.5F, -0.25F});
  std::vector<double> w = {0, 0.5, -0.25}, n = {0, 0, 0};
  for (int push = 0; push < 50; ++push) {
    const std::vector<float> gradient = RandomFloats(random, 3, 1);
    row.Push(gradient);
    for (size_t i = 0; i < 3; ++i) {
      n[i] += gradient[i] * gradient[i];
      w[i] -= 0.5 / (2 + std::sqrt(n[i])) * gradient[i];
      ASSERT_NEAR(row.values[i], w[i], 2e-5) << "push " << push;
    }
  }
}

TEST(Optimizer, FtrlKeepsWeakValuesAtZero) {
  const auto weak = Pushed(Ftrl{.alpha = 0.1F, .l1 = 1}, {0}, {0.09F}, 10);
  EXPECT_EQ(weak.values[0], 0) << "the sum of gradients, 0.9, is below l1";
  const auto strong = Pushed(Ftrl{.alpha = 0.1F, .l1 = 1}, {0}, {0.5F}, 10);
  EXPECT_LT(strong.values[0], 0);
}

TEST(Optimizer, FtrlStartsWhereItsFormulaGivesTheInitialValue) {
  const Optimizer ftrl = Ftrl{.alpha = 0.1F, .l1 = 0.5F, .l2 = 3};
  const auto row = Pushed(ftrl, {0.75F, -0.5F, 0}, {0, 0, 0}, 1);
  EXPECT_FLOAT_EQ(row.values[0], 0.75F);
  EXPECT_FLOAT_EQ(row.values[1], -0.5F);
  EXPECT_EQ(row.values[2], 0);
}

TEST(Optimizer, EveryOneAgreesWithItsScalarTwin) {
  Random random(TestSeed("lengths 1..200, 5 pushes each"));
  for (const Optimizer& optimizer : AllOptimizers()) {
    SCOPED_TRACE(Describe(optimizer));
    const RowKernel kernel = SelectKernel(optimizer);
    for (size_t n = 1; n <= 200; ++n) {
      const std::vector<float> initial = RandomFloats(random, n, 1);
      KernelRow row(optimizer, kernel, initial);
      ScalarRow twin = NewScalarRow(optimizer, initial);
      for (int push = 0; push < 5; ++push) {
        const std::vector<float> gradient = RandomFloats(random, n, 3);
        row.Push(gradient);
        Update(optimizer, twin, gradient.data());
      }
      // The twin adds in another order and may round elsewhere.
      for (size_t i = 0; i < n; ++i) ASSERT_NEAR(row.values[i], twin.values[i], 2e-5F) << i << " of " << n;
      for (size_t i = 0; i < row.state.size(); ++i) {
        ASSERT_NEAR(row.state[i], twin.state[i], 2e-5F * (1 + std::fabs(twin.state[i]))) << i << " of " << n;
      }
    }
  }
}

TEST(Optimizer, EveryInstructionSetGivesTheSameBits) {
  Random random(TestSeed("lengths 1..200"));
  for (const Optimizer& optimizer : AllOptimizers()) {
    SCOPED_TRACE(Describe(optimizer));
    const RowKernel fast = SelectKernel(optimizer), slow = PortableKernel(optimizer);
    for (size_t n = 1; n <= 200; ++n) {
      const std::vector<float> initial = RandomFloats(random, n, 1);
      KernelRow row(optimizer, fast, initial), twin(optimizer, slow, initial);
      for (int push = 0; push < 3; ++push) {
        const std::vector<float> gradient = RandomFloats(random, n, 3);
        row.Push(gradient);
        twin.Push(gradient);
      }
      ASSERT_EQ(row.values, twin.values) << "n " << n;
      ASSERT_EQ(row.state, twin.state) << "n " << n;
    }
  }
}

TEST(Optimizer, PowersFollowTheirDefinition) {
  const Powers powers(0.999);
  for (const uint64_t t : {0, 1, 2, 255, 256, 257, 1000, 65535, 65536, 70000}) {
    EXPECT_NEAR(powers.Of(t), std::pow(0.999, static_cast<double>(t)), 1e-13) << t;
  }
  EXPECT_EQ(Powers(0).Of(0), 1);
  EXPECT_EQ(Powers(0).Of(3), 0);
}

TEST(Optimizer, FindsOneNonFiniteValueAtEveryPlace) {
  const RowKernel kernel = SelectKernel(Sgd{});
  const float bad_values[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()};
  std::vector<float> values(100, std::numeric_limits<float>::max());
  values[7] = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(kernel.all_finite(values.data(), values.size()));
  for (const float bad : bad_values) {
    for (size_t i = 0; i < values.size(); ++i) {
      std::vector<float> damaged = values;
      damaged[i] = bad;
      EXPECT_FALSE(kernel.all_finite(damaged.data(), damaged.size())) << bad << " at " << i;
    }
  }
}

}  // namespace
}  // namespace attune::ps::optimizer_test
