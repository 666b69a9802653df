#include "ps/core/worker/metric_queue.h"

#include <gtest/gtest.h>

namespace attune::ps::metric_queue_test {
namespace {

TEST(MetricQueue, OneOfANameIsInFlightAndTheNewestWaitsBehindIt) {
  MetricQueue<int> queue;
  EXPECT_EQ(queue.Add("loss", 1), 1);
  EXPECT_EQ(queue.Add("loss", 2), std::nullopt);
  EXPECT_EQ(queue.Add("loss", 3), std::nullopt);
  EXPECT_EQ(queue.Add("recall", 9), 9) << "another name";
  EXPECT_EQ(queue.Answered("loss"), 3);
  EXPECT_EQ(queue.Answered("loss"), std::nullopt);
  EXPECT_EQ(queue.Add("loss", 4), 4) << "nothing of it is in flight";
}

TEST(MetricQueue, AnAnswerToNothingIsIgnored) {
  MetricQueue<int> queue;
  EXPECT_EQ(queue.Answered("loss"), std::nullopt);
  queue.Add("loss", 1);
  queue.Clear();
  EXPECT_EQ(queue.Answered("loss"), std::nullopt);
  EXPECT_EQ(queue.Add("loss", 2), 2);
}

}  // namespace
}  // namespace attune::ps::metric_queue_test
