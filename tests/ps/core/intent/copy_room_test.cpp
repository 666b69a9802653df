#include "ps/core/intent/copy_room.h"

#include <gtest/gtest.h>

#include <optional>

namespace attune::ps::copy_room_test {
namespace {

constexpr TableId kTable{1};

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
}

TEST(CopyRoom, NamesTheCopyThatHasBeenOfNoUseForLongest) {
  CopyRoom room(100);
  EXPECT_EQ(room.TakeUnused(), std::nullopt);
  for (const Key key : {3, 1, 2}) room.AddUnused({kTable, key});
  EXPECT_EQ(room.TakeUnused(), (TableKey{kTable, 3}));
  room.AddUnused({kTable, 3});
  EXPECT_EQ(room.TakeUnused(), (TableKey{kTable, 1}));
  EXPECT_EQ(room.TakeUnused(), (TableKey{kTable, 2}));
  EXPECT_EQ(room.TakeUnused(), (TableKey{kTable, 3}));
  EXPECT_EQ(room.TakeUnused(), std::nullopt);
}

TEST(CopyRoom, ForgetsAllWithAllCopies) {
  CopyRoom room(100);
  room.Take(60);
  room.AddUnused({kTable, 1});
  room.Clear();
  EXPECT_TRUE(room.empty());
  EXPECT_EQ(room.TakeUnused(), std::nullopt);
}

}  // namespace
}  // namespace attune::ps::copy_room_test
