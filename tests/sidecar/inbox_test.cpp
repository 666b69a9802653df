#include "sidecar/inbox.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace attune::sidecar::inbox_test {
namespace {

bool IsReadable(const Inbox& inbox) {
  pollfd wait{.fd = inbox.descriptor(), .events = POLLIN, .revents = 0};
  return poll(&wait, 1, 0) == 1;
}

class InboxTest : public testing::Test {
 protected:
  std::unique_ptr<Inbox> inbox_ = Inbox::Create().value();
};

TEST_F(InboxTest, WhatIsPutInWakesAndIsTakenInOrder) {
  EXPECT_FALSE(IsReadable(*inbox_));
  inbox_->Put(1, MessageSent{});
  inbox_->Put(2, StreamEnded{});
  EXPECT_TRUE(IsReadable(*inbox_));
  const auto items = inbox_->TakeAll();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].generation, 1U);
  EXPECT_TRUE(std::holds_alternative<StreamEnded>(items[1].input));
  EXPECT_TRUE(inbox_->TakeAll().empty());
}

TEST_F(InboxTest, WakeUpsAreTakenTogether) {
  inbox_->Wake();
  inbox_->Wake();
  inbox_->TakeWakeUps();
  EXPECT_FALSE(IsReadable(*inbox_));
  inbox_->TakeWakeUps();  // does not wait for another one
}

TEST_F(InboxTest, ManyThreadsMayPutIn) {
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 4; ++number) {
    threads.emplace_back([this, number] {
      for (int i = 0; i < 100; ++i) inbox_->Put(number, Tick{});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(inbox_->TakeAll().size(), 400U);
}

}  // namespace
}  // namespace attune::sidecar::inbox_test
