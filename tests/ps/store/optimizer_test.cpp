#include "ps/store/optimizer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps {
namespace {

std::vector<float> RandomFloats(Random& random, size_t n, float scale) {
  std::vector<float> values(n);
  for (float& value : values) value = scale * (2 * random.UniformFloat() - 1);
  return values;
}

TEST(Optimizer, SgdMovesAgainstTheGradient) {
  std::vector<float> values = {1.0F, -2.0F};
  const std::vector<float> gradient = {0.5F, -1.0F};
  const RowKernel kernel = SelectKernel(Sgd{.rate = 0.1F});
  kernel.update(kernel.settings, values.data(), nullptr, gradient.data(), 2);
  EXPECT_FLOAT_EQ(values[0], 0.95F);
  EXPECT_FLOAT_EQ(values[1], -1.9F);
}

TEST(Optimizer, AdagradDividesByTheRootOfSummedSquares) {
  std::vector<float> values = {1.0F};
  std::vector<float> state = {16.0F};
  const float gradient = 3.0F;
  const RowKernel kernel = SelectKernel(Adagrad{.rate = 0.5F, .epsilon = 1.0F});
  kernel.update(kernel.settings, values.data(), state.data(), &gradient, 1);
  EXPECT_FLOAT_EQ(state[0], 25.0F);
  EXPECT_FLOAT_EQ(values[0], 1.0F - 0.5F * 3.0F / (5.0F + 1.0F));
}

TEST(Optimizer, EveryInstructionSetGivesTheSameBits) {
  Random random(TestSeed("lengths 0..200"));
  for (const Optimizer& optimizer : {Optimizer(Sgd{.rate = 0.03F}), Optimizer(Adagrad{.rate = 0.07F})}) {
    const RowKernel fast = SelectKernel(optimizer);
    const RowKernel slow = PortableKernel(optimizer);
    for (size_t n = 0; n <= 200; ++n) {
      std::vector<float> values = RandomFloats(random, n, 1.0F), values_twin = values;
      std::vector<float> state(n, 0.25F), state_twin = state;
      const std::vector<float> gradient = RandomFloats(random, n, 3.0F);
      fast.update(fast.settings, values.data(), state.data(), gradient.data(), n);
      slow.update(slow.settings, values_twin.data(), state_twin.data(), gradient.data(), n);
      ASSERT_EQ(values, values_twin) << "n " << n;
      ASSERT_EQ(state, state_twin) << "n " << n;
    }
  }
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
}  // namespace attune::ps
