#include "ps/runtime/process/end_latch.h"

#include <gtest/gtest.h>

#include <thread>

namespace attune::ps::end_latch_test {
namespace {

TEST(EndLatch, TheFirstReasonCounts) {
  EndLatch latch;
  latch.End(Error(StatusCode::kCancelled, "stopped"));
  latch.End(OkStatus());
  EXPECT_EQ(latch.Wait().code(), StatusCode::kCancelled);
  EXPECT_EQ(latch.Wait().code(), StatusCode::kCancelled) << "and is there for all who ask";
}

TEST(EndLatch, WaitingEndsWhenThereIsOne) {
  EndLatch latch;
  std::thread other([&] { latch.End(OkStatus()); });
  EXPECT_TRUE(latch.Wait().ok());
  other.join();
}

}  // namespace
}  // namespace attune::ps::end_latch_test
