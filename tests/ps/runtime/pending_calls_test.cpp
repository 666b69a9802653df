#include "ps/runtime/worker/pending_calls.h"

#include <gtest/gtest.h>

namespace attune::ps::pending_calls_test {
namespace {

PendingCalls::Pending NewState() { return std::make_shared<Future::State>(); }

TEST(PendingCalls, ACallIsTakenOnceByItsNumber) {
  PendingCalls calls;
  const auto state = NewState();
  const CallId call = calls.Add(state);
  EXPECT_EQ(calls.Take(call), state);
  EXPECT_EQ(calls.Take(call), nullptr) << "no caller waits for it";
}

TEST(PendingCalls, AtTheEndAllAreTakenAndNumbersAreNotUsedAgain) {
  PendingCalls calls;
  const CallId first = calls.Add(NewState());
  calls.Add(NewState());
  EXPECT_EQ(calls.TakeAll().size(), 2U);
  EXPECT_TRUE(calls.TakeAll().empty());
  EXPECT_GT(calls.Add(NewState()), first);
}

}  // namespace
}  // namespace attune::ps::pending_calls_test
