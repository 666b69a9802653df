#include "ps/transport/loop/task_queue.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace attune::ps::task_queue_test {
namespace {

TEST(TaskQueueTest, TasksAreTakenInTheOrderOfPosting) {
  TaskQueue queue;
  std::vector<int> ran;
  EXPECT_TRUE(queue.empty());
  for (int i = 0; i < 3; ++i) queue.Post([&ran, i] { ran.push_back(i); });
  EXPECT_FALSE(queue.empty());
  auto tasks = queue.TakeAll();
  EXPECT_TRUE(queue.empty());
  queue.Post([] {});
  EXPECT_FALSE(queue.empty()) << "one that came while the others run waits for the next time";
  for (const TaskQueue::Task& task : tasks) task();
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(queue.TakeAll().size(), 1U);
}

TEST(TaskQueueTest, NoneIsLostWhileManyPost) {
  constexpr int kThreads = 4, kTasks = 1000;
  TaskQueue queue;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int task = 0; task < kTasks; ++task) queue.Post([] {});
    });
  }
  size_t taken = 0;
  while (taken < size_t{kThreads} * kTasks) taken += queue.TakeAll().size();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace attune::ps::task_queue_test
