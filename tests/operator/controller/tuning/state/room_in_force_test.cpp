// How much of its namespace a job's search counts on, while what is left changes.
#include "operator/controller/tuning/state/room_in_force.h"

#include <gtest/gtest.h>

namespace attune::controller::room_in_force_test {
namespace {

NamespaceRoom Left(int64_t millicores) {
  NamespaceRoom room;
  room.millicores = millicores;
  return room;
}

TEST(RoomInForce, TheFirstLookCounts) {
  RoomInForce room;
  EXPECT_EQ(room.Key(), "");
  room.Look(Left(4000), 1);
  EXPECT_EQ(room.room().millicores, 4000);
}

TEST(RoomInForce, WhatChangesALittleLeavesTheSearchAsItIs) {
  RoomInForce room;
  room.Look(Left(4000), 1);
  const std::string key = room.Key();
  for (const int64_t millicores : {3000, 4500, 1000, 5000}) room.Look(Left(millicores), 10'000);
  EXPECT_EQ(room.Key(), key);
}

TEST(RoomInForce, ItNarrowsOnceAChangeHasMetTheEdge) {
  RoomInForce room;
  room.Look(Left(4000), 1);
  room.Look(Left(1000), 2);
  EXPECT_EQ(room.room().millicores, 4000);
  room.Met();
  room.Look(Left(1000), 3);
  EXPECT_EQ(room.room().millicores, 1000);
}

TEST(RoomInForce, ItWidensWhenThereIsClearlyMoreButNotAtEveryLook) {
  RoomInForce room;
  room.Look(Left(4000), 1);
  room.Look(Left(8000), 1 + RoomInForce::kWidenEverySeconds / 2);
  EXPECT_EQ(room.room().millicores, 4000);
  room.Look(Left(8000), 1 + RoomInForce::kWidenEverySeconds);
  EXPECT_EQ(room.room().millicores, 8000);
}

TEST(RoomInForce, ABoundThatAPolicyMakesOrGivesUpIsInForceAtOnce) {
  RoomInForce room;
  room.Look({}, 1);
  room.Look(Left(4000), 2);
  EXPECT_EQ(room.room().millicores, 4000);
  room.Look({}, 3);
  EXPECT_EQ(room.Key(), "");
}

}  // namespace
}  // namespace attune::controller::room_in_force_test
