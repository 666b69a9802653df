#include "operator/tuner/models/random/random_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace attune::tuner::random_model_test {
namespace {

SearchSpace Space(std::vector<KnobRange> knobs) { return SearchSpace::Create({.knobs = std::move(knobs)}).value(); }

TEST(RandomModelTest, ASeedStandsForAJob) {
  const SearchSpace space = Space({{"servers", 1, 4}, {"workers", 1, 8}, {"threads", 1, 4}});
  Random first(7), second(7), third(8);
  const RandomModel a(space, SyncMode::Async(), first), b(space, SyncMode::Async(), second),
      c(space, SyncMode::Async(), third);
  bool differs = false;
  for (int id = 0; id < space.size(); ++id) {
    EXPECT_EQ(a.LogSeconds(id), b.LogSeconds(id));
    differs |= a.LogSeconds(id) != c.LogSeconds(id);
  }
  EXPECT_TRUE(differs);
}

TEST(RandomModelTest, ProcessesDoNotDoMoreThanTheirTime) {
  const SearchSpace space =
      Space({{"servers", 1, 4}, {"workers", 1, 8}, {"worker_millicores", 500, 4000}, {"server_millicores", 500, 2000}});
  Random random(7);
  for (int draw = 0; draw < 20; ++draw) {
    const RandomModel model(space, SyncMode::Bsp(), random);
    for (int id = 0; id < space.size(); ++id) {
      const TimeShares shares = model.Shares(id);
      ASSERT_TRUE(std::isfinite(model.LogSeconds(id)));
      ASSERT_GT(shares.compute, 0);
      ASSERT_LE(shares.compute, shares.compute_and_messages);
      ASSERT_LE(shares.compute_and_messages, 1);
      ASSERT_LE(shares.busy, 1);
    }
  }
}

TEST(RandomModelTest, KnobsThatASpaceLacksCountOnce) {
  const SearchSpace space = Space({{"workers", 1, 8}});
  Random random(7);
  const RandomModel model(space, SyncMode::Async(), random);
  EXPECT_TRUE(std::isfinite(model.LogSeconds(space.size() - 1)));
}

}  // namespace
}  // namespace attune::tuner::random_model_test
