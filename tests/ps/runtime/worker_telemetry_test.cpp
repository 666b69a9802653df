#include "ps/runtime/worker/worker_telemetry.h"

#include <gtest/gtest.h>

namespace attune::ps::worker_telemetry_test {
namespace {

TEST(WaitMeter, ThreadsAreObeyedFromTheStepThatAsksForThem) {
  const ManualTime time;
  WaitMeter meter(time);
  EXPECT_EQ(meter.Take({}).worker().threads_max(), 0U);
  EXPECT_EQ(meter.WantThreads(2).code(), StatusCode::kFailedPrecondition) << "not offered";
  EXPECT_EQ(meter.TakeThreads(), 1U);
  EXPECT_EQ(meter.Take({}).worker().threads(), 0U) << "a program that chooses them itself is not counted";

  meter.OfferThreads(2, 4);
  EXPECT_EQ(meter.TakeThreads(), 2U);
  ASSERT_TRUE(meter.WantThreads(3).ok());
  EXPECT_EQ(meter.Take({}).worker().threads(), 2U) << "still the step before";
  EXPECT_EQ(meter.TakeThreads(), 3U);
  EXPECT_EQ(meter.Take({}).worker().threads(), 3U);
  EXPECT_EQ(meter.Take({}).worker().threads_max(), 4U);
  for (const uint32_t wrong : {0U, 5U}) {
    EXPECT_EQ(meter.WantThreads(wrong).code(), StatusCode::kInvalidArgument) << wrong;
  }
  EXPECT_EQ(meter.TakeThreads(), 3U);
}

TEST(WaitMeter, TimesOfPullsAndPushesAreReported) {
  const ManualTime time;
  WaitMeter meter(time);
  meter.AddTime(true, std::chrono::milliseconds(3));
  meter.AddTime(true, std::chrono::milliseconds(3));
  meter.AddTime(false, std::chrono::milliseconds(7));
  const v1::WorkerWindow worker = meter.Take({}).worker();
  EXPECT_EQ(worker.pull_seconds().count(), 2U);
  EXPECT_DOUBLE_EQ(worker.pull_seconds().max(), 0.003);
  EXPECT_DOUBLE_EQ(worker.push_seconds().max(), 0.007);
}

TEST(WaitMeter, AnOfferOfNothingIsOne) {
  const ManualTime time;
  WaitMeter meter(time);
  meter.OfferThreads(0, 0);
  EXPECT_EQ(meter.TakeThreads(), 1U);
  EXPECT_EQ(meter.Take({}).worker().threads_max(), 1U);
}

}  // namespace
}  // namespace attune::ps::worker_telemetry_test
