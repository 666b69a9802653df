#include "ps/core/intent/copy_room.h"

#include <gtest/gtest.h>

namespace attune::ps::copy_room_test {
namespace {

TEST(CopyRoom, HasRoomUpToItsLimit) {
  CopyRoom room(100);
  EXPECT_TRUE(room.empty());
  EXPECT_TRUE(room.HasFor(100));
  room.Take(60);
  EXPECT_TRUE(room.HasFor(40));
  EXPECT_FALSE(room.HasFor(41));
  room.Free(20);
  EXPECT_TRUE(room.HasFor(60));
  EXPECT_FALSE(room.empty());
  room.FreeAll();
  EXPECT_TRUE(room.HasFor(100));
}

}  // namespace
}  // namespace attune::ps::copy_room_test
