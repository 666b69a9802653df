#include "base/random.h"
#include "base/os/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attune::random_test {
namespace {

TEST(RandomTest, SameSeedGivesTheSameSequence) {
  Random a(42), b(42);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.Next(), b.Next());
}

TEST(RandomTest, BelowStaysInRangeAndReachesEveryValue) {
  Random random(1);
  std::vector<int> seen(7);
  for (int i = 0; i < 7000; ++i) ++seen.at(random.Below(7));
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(RandomTest, NormalHasMeanZeroAndVarianceOne) {
  Random random(3);
  double sum = 0, squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.Normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.03);
}

TEST(RandomSeedTest, GivesAnotherNumberEachTimeAndUsesAllBits) {
  uint64_t ones = 0, zeros = 0;
  uint64_t previous = RandomSeed();
  for (int i = 0; i < 64; ++i) {  // a bit that never changes, or a repeated number: less than once in 2^57 runs
    const uint64_t seed = RandomSeed();
    EXPECT_NE(seed, previous);
    ones |= seed;
    zeros |= ~seed;
    previous = seed;
  }
  EXPECT_EQ(ones, ~uint64_t{0});
  EXPECT_EQ(zeros, ~uint64_t{0});
}

}  // namespace
}  // namespace attune::random_test
