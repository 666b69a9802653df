#include "ps/core/intent/path_price.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "base/random.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::path_price_test {
namespace {

using std::chrono::microseconds;

// A path that takes so long by itself, and so long for each byte.
struct Path {
  double seconds = 0;
  double seconds_per_byte = 0;
  Duration Of(size_t bytes, double held_up = 0) const {
    const double took = seconds + seconds_per_byte * static_cast<double>(bytes) + held_up;
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(took));
  }
};

constexpr size_t kFew = 100, kMany = 200'000;
constexpr int kSome = 100;  // rounds: several periods

TEST(PathPriceTest, IsThatOfMemoryWhileNothingIsKnown) {
  PathPrice price;
  EXPECT_EQ(price.seconds_per_byte(), PathPrice::kLeast);
  for (int i = 0; i < kSome; ++i) price.Took(kFew, microseconds(900));
  EXPECT_EQ(price.seconds_per_byte(), PathPrice::kLeast) << "rounds that carry little say nothing about bytes";
}

TEST(PathPriceTest, IsWhatABytesTakesWithoutTheWay) {
  const struct {
    const char* what;
    Path path;
  } cases[] = {{"10 Gbit/s", {50e-6, 1.25e-9}},
               {"1 Gbit/s", {100e-6, 8e-9}},
               {"300 Mbit/s", {200e-6, 27e-9}},
               {"100 Mbit/s, and far away", {20e-3, 80e-9}}};
  for (const auto& [what, path] : cases) {
    SCOPED_TRACE(what);
    PathPrice price;
    for (int i = 0; i < kSome; ++i) price.Took(i % 2 == 0 ? kFew : kMany, path.Of(i % 2 == 0 ? kFew : kMany));
    EXPECT_NEAR(price.seconds_per_byte() / path.seconds_per_byte, 1, 0.02);
  }
}

TEST(PathPriceTest, IsNoLessThanThatOfMemoryAndBounded) {
  PathPrice quick, slow;
  for (int i = 0; i < kSome; ++i) {
    quick.Took(kMany, Path{0, 1e-11}.Of(kMany));
    slow.Took(kMany, Path{0, 1e-3}.Of(kMany));
    quick.Took(kMany, -microseconds(5));  // what the rows were thought to cost was more than all of it
  }
  EXPECT_EQ(quick.seconds_per_byte(), PathPrice::kLeast);
  EXPECT_EQ(slow.seconds_per_byte(), PathPrice::kMost);
}

TEST(PathPriceTest, WhatHoldsUpSomeRoundsDoesNotCount) {
  Random random(TestSeed("400 rounds, half of them held up"));
  const Path path{150e-6, 27e-9};
  PathPrice price;
  for (int i = 0; i < 400; ++i) {
    const size_t bytes = random.Chance(0.3) ? random.Below(4000) : 40'000 + random.Below(400'000);
    price.Took(bytes, path.Of(bytes, random.Chance(0.5) ? 0.05 * static_cast<double>(random.Below(1000)) / 1000 : 0));
  }
  EXPECT_NEAR(price.seconds_per_byte() / path.seconds_per_byte, 1, 0.2);
}

TEST(PathPriceTest, APeriodWhoseEveryLittleRoundIsHeldUpDoesNotCount) {
  const Path path{150e-6, 27e-9};
  PathPrice price;
  for (int i = 0; i < 2 * kSome; ++i) {
    const bool is_held_up = i >= kSome && i < kSome + 20;  // a period has 16 with much
    price.Took(kMany, path.Of(kMany));
    price.Took(kFew, path.Of(kFew, is_held_up ? 4e-3 : 0));
    EXPECT_TRUE(i < 16 || std::abs(price.seconds_per_byte() / path.seconds_per_byte - 1) < 0.02) << "round " << i;
  }
}

TEST(PathPriceTest, FollowsAPathThatChanges) {
  PathPrice price;
  const auto rounds = [&](Path path, int count) {
    for (int i = 0; i < count; ++i) {
      price.Took(kFew, path.Of(kFew));
      price.Took(kMany, path.Of(kMany));
    }
  };
  rounds({100e-6, 8e-9}, kSome);
  rounds({10e-3, 80e-9}, 16 * 8);
  EXPECT_NEAR(price.seconds_per_byte(), 80e-9, 4e-9);
  rounds({100e-6, 8e-9}, 16 * 8);
  EXPECT_NEAR(price.seconds_per_byte(), 8e-9, 1e-9);
}

}  // namespace
}  // namespace attune::ps::path_price_test
