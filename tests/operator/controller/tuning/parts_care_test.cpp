#include "operator/controller/tuning/parts_care.h"

#include <gtest/gtest.h>

namespace attune::controller::parts_care_test {
namespace {

TEST(PartsCareTest, AHealthyJobIsNoNews) {
  PartsCare parts;
  TuningInput input;
  TuningOutput output;
  input.training = input.settled = true;
  for (int i = 0; i < 10; ++i) {
    input.time += 10;
    input.steps += 100;
    EXPECT_FALSE(parts.Look(input, output));
    EXPECT_FALSE(parts.Act(input, /*may_act=*/true, output));
  }
  EXPECT_EQ(parts.findings(), "[]");
  EXPECT_TRUE(output.events.empty());
}

TEST(PartsCareTest, ALoadedOneKeepsWhatWasFoundUntilItHasLookedItself) {
  PartsCare parts;
  const std::string acts = parts.acts();
  parts.Load("[{}]", acts);
  EXPECT_EQ(parts.findings(), "[{}]");
  EXPECT_EQ(parts.acts(), acts);
  TuningInput input;
  TuningOutput output;
  EXPECT_TRUE(parts.Look(input, output)) << "nothing is wrong any more";
  EXPECT_EQ(parts.findings(), "[]");
}

}  // namespace
}  // namespace attune::controller::parts_care_test
