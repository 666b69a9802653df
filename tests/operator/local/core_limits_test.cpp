#include "operator/local/containers/core_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::local::core_limits_test {
namespace {

TEST(CoreLimitsTest, TheMostExactNameCounts) {
  const auto limits = CoreLimits::Parse("0.25,server=0.1,worker-0=0.05");
  ASSERT_TRUE(limits.ok()) << Message(limits.status());
  EXPECT_EQ(limits->Of("worker", "1"), 0.25);
  EXPECT_EQ(limits->Of("worker", "0"), 0.05);
  EXPECT_EQ(limits->Of("worker", "01"), 0.25) << "another pod than 0";
  EXPECT_EQ(limits->Of("server", "0"), 0.1);
  EXPECT_EQ(limits->Description(), "0.25 cores per pod, 0.1 cores per server, 0.05 cores for worker-0");
}

TEST(CoreLimitsTest, WithoutAGeneralNumberOthersHaveNoLimit) {
  const auto limits = CoreLimits::Parse("server=1");
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits->Of("server", "3"), 1);
  EXPECT_EQ(limits->Of("worker", "0"), std::nullopt);
  EXPECT_EQ(limits->Description(), "1 core per server");
  EXPECT_TRUE(CoreLimits().empty());
  EXPECT_EQ(CoreLimits().Of("server", "0"), std::nullopt);
}

TEST(CoreLimitsTest, MistakesSayWhatMayBeWritten) {
  for (const char* text : {"", "x", "0", "-1", "nan", "inf", "0.001", "2000", "0.5,", "cpu=1", "worker-=1",
                           "worker-x=1", "0.5,0.25", "server=0.1,server=0.2", "server"}) {
    const auto limits = CoreLimits::Parse(text);
    ASSERT_FALSE(limits.ok()) << text;
    EXPECT_EQ(limits.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(Message(limits.status())), ::testing::HasSubstr("0.25,server=0.1,worker-0=0.05")) << text;
  }
}

}  // namespace
}  // namespace attune::local::core_limits_test
