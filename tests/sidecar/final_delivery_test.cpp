#include "sidecar/relay/final_delivery.h"

#include <gtest/gtest.h>

namespace attune::sidecar::final_delivery_test {
namespace {

TEST(FinalDelivery, WithoutAReportThereIsNothingToSend) {
  FinalDelivery final;
  EXPECT_FALSE(final.pending());
  EXPECT_FALSE(final.TakeUnsent());
}

TEST(FinalDelivery, ItIsSentOnceOnEachStreamUntilOneWasReadToTheEnd) {
  FinalDelivery final;
  final.Set({});
  EXPECT_TRUE(final.TakeUnsent());
  EXPECT_FALSE(final.TakeUnsent()) << "on the same stream";
  final.OnStreamGone();
  EXPECT_TRUE(final.pending());
  EXPECT_TRUE(final.TakeUnsent());
  final.OnReadToTheEnd();
  final.OnStreamGone();
  EXPECT_FALSE(final.pending());
  EXPECT_FALSE(final.TakeUnsent());
}

TEST(FinalDelivery, AStreamThatEndedWellWithoutItDeliversNothing) {
  FinalDelivery final;
  final.Set({});
  final.OnReadToTheEnd();
  EXPECT_TRUE(final.pending());
}

TEST(FinalDelivery, AProcessThatEndsOnceMoreHasAnotherReport) {
  FinalDelivery final;
  final.Set({});
  ASSERT_TRUE(final.TakeUnsent());
  final.OnReadToTheEnd();
  final.Set({});
  EXPECT_TRUE(final.pending());
  EXPECT_TRUE(final.TakeUnsent());
}

}  // namespace
}  // namespace attune::sidecar::final_delivery_test
