#include "ps/core/progress/smoothed_loss.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace attune::ps::smoothed_loss_test {
namespace {

using std::chrono::seconds;

// A window of one second with this mean.
void CloseWindow(SmoothedLoss& loss, MonotonicTime& now, double mean) {
  loss.Add(mean * 4, 4);
  now += seconds(1);
  loss.CloseWindow(now);
}

TEST(SmoothedLoss, TheFirstWindowIsTakenAsItIsAndLaterOnesMoveItByThreeTenths) {
  MonotonicTime now{};
  SmoothedLoss loss{seconds(1)};
  loss.Begin(now);
  EXPECT_FALSE(loss.value());
  CloseWindow(loss, now, 2.0);
  EXPECT_DOUBLE_EQ(*loss.value(), 2.0);
  CloseWindow(loss, now, 1.0);
  EXPECT_DOUBLE_EQ(*loss.value(), 1.7);
  EXPECT_EQ(loss.windows(), 2U);
}

TEST(SmoothedLoss, AWindowThatIsNotOverOrHasNoSamplesOrNoNumberChangesNothing) {
  MonotonicTime now{};
  SmoothedLoss loss{seconds(1)};
  loss.Begin(now);
  loss.Add(3.0, 1);
  loss.CloseWindow(now + std::chrono::milliseconds(999));
  EXPECT_FALSE(loss.value());
  now += seconds(1);
  loss.CloseWindow(now);
  EXPECT_DOUBLE_EQ(*loss.value(), 3.0);
  now += seconds(1);
  loss.CloseWindow(now);
  CloseWindow(loss, now, std::numeric_limits<double>::quiet_NaN());
  EXPECT_DOUBLE_EQ(*loss.value(), 3.0);
  EXPECT_EQ(loss.windows(), 1U);
  CloseWindow(loss, now, 3.0);
  EXPECT_DOUBLE_EQ(*loss.value(), 3.0) << "the window with no number is forgotten";
}

TEST(SmoothedLoss, ATargetIsNotReachedByTheFirstFewWindows) {
  MonotonicTime now{};
  SmoothedLoss loss{seconds(1)};
  loss.Begin(now);
  for (int i = 0; i < 4; ++i) CloseWindow(loss, now, 0.5);
  EXPECT_FALSE(loss.Reaches(1.0));
  CloseWindow(loss, now, 0.5);
  EXPECT_TRUE(loss.Reaches(1.0));
  EXPECT_FALSE(loss.Reaches(0.4));
}

TEST(SmoothedLoss, ASuccessorContinuesFromTheRecordedFigures) {
  MonotonicTime now{};
  SmoothedLoss loss{seconds(1)};
  loss.Begin(now);
  loss.Restore(2.0, 4);
  CloseWindow(loss, now, 1.0);
  EXPECT_DOUBLE_EQ(*loss.value(), 1.7);
  EXPECT_TRUE(loss.Reaches(1.7));
}

}  // namespace
}  // namespace attune::ps::smoothed_loss_test
