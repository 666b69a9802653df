#include "base/sync_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::sync_mode_test {
namespace {

TEST(SyncMode, IsReadAndWritten) {
  for (const char* text : {"async", "bsp", "ssp:4", "ssp:1000000"}) EXPECT_EQ(ToString(*ParseSyncMode(text)), text);
  EXPECT_EQ(*ParseSyncMode("BSP"), SyncMode::Bsp());
  EXPECT_EQ(Describe(SyncMode::Async()), "Async");
  EXPECT_EQ(Describe(SyncMode::Ssp(0)), "BSP");
  EXPECT_EQ(Describe(SyncMode::Ssp(4)), "SSP(4)");
}

TEST(SyncMode, WhatIsNoneIsRefused) {
  for (const char* text : {"", "ssp", "ssp:", "ssp:0", "ssp:-1", "ssp:1x", "ssp:1000001", "ssp:99999999999", "sma"}) {
    EXPECT_EQ(ParseSyncMode(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(SyncMode, AStalenessOutOfRangeIsAnsweredWithTheRange) {
  EXPECT_THAT(std::string(Message(ParseSyncMode("ssp:99999999").status())),
              testing::HasSubstr("a whole number from 1 to 1000000, as ssp:4"));
}

TEST(SyncMode, AStepBeginsWhenTheOthersAreNearEnough) {
  EXPECT_EQ(SyncMode::Async().FloorNeeded(9), 0U);
  EXPECT_EQ(SyncMode::Bsp().FloorNeeded(9), 9U);
  EXPECT_EQ(SyncMode::Ssp(4).FloorNeeded(9), 5U);
  EXPECT_EQ(SyncMode::Ssp(4).FloorNeeded(3), 0U);
}

}  // namespace
}  // namespace attune::sync_mode_test
