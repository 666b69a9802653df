#include "ps/runtime/worker/data_leases.h"

#include <gtest/gtest.h>

namespace attune::ps::data_leases_test {
namespace {

TEST(DataLeasesTest, ABodyThatEndsWhileNothingIsAskedOfTheWorkerIsDoneWhole) {
  EXPECT_EQ(DoneAtEndOfBody({.begin = 100, .end = 200, .advanced = 100}), 200U);
  EXPECT_EQ(DoneAtEndOfBody({.begin = 100, .end = 200, .advanced = 130}), 200U);
}

TEST(DataLeasesTest, WhileTheWorkerDrainsALeaseIsDoneUpToItsLastAdvance) {
  for (const bool noticed : {false, true}) {
    for (const uint64_t advanced : {101U, 130U, 199U, 200U}) {
      EXPECT_EQ(
          DoneAtEndOfBody({.begin = 100, .end = 200, .advanced = advanced, .draining = true, .drain_noticed = noticed}),
          advanced);
    }
  }
}

TEST(DataLeasesTest, AProgramThatNeverAdvancesLosesNothingWhenItIsAskedToLeave) {
  EXPECT_EQ(DoneAtEndOfBody({.begin = 100, .end = 200, .advanced = 100, .draining = true, .drain_noticed = true}), 100U)
      << "it may have ended its loop early";
  EXPECT_EQ(DoneAtEndOfBody({.begin = 100, .end = 200, .advanced = 100, .draining = true, .drain_noticed = false}),
            200U)
      << "it had no reason to";
}

}  // namespace
}  // namespace attune::ps::data_leases_test
