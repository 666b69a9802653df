#include "ps/runtime/server/memory_limit.h"

#include <gtest/gtest.h>

namespace attune::ps::memory_limit_test {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(MemoryLimit, TablesLeaveRoomForTheRest) {
  EXPECT_EQ(MemoryForTables(8192 * kMiB), 7168 * kMiB);
  EXPECT_EQ(MemoryForTables(256 * kMiB), 192 * kMiB);
  EXPECT_EQ(MemoryForTables(100 * kMiB), 50 * kMiB);
  EXPECT_GT(AvailableMemory(), 0U);
}

TEST(MemoryLimit, WhatIsFixedOnTheCommandLineIsNotFollowed) {
  EXPECT_EQ(TableMemory(5 * kMiB), 5 * kMiB);
  EXPECT_EQ(TableMemory(0), MemoryForTables(AvailableMemory()));
}

}  // namespace
}  // namespace attune::ps::memory_limit_test
