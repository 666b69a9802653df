// Places in the gate: how many there are, who waits for one, and when the last has left.
#include "operator/kube/client/call_gate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace attune::kube::call_gate_test {
namespace {

using std::chrono::hours;
using std::chrono::steady_clock;

const steady_clock::time_point kPassed{};

steady_clock::time_point FarOff() { return steady_clock::now() + hours(1); }

TEST(CallGateTest, LetsInAsManyAsThereArePlaces) {
  CallGate gate(2);
  EXPECT_TRUE(gate.Enter(kPassed)) << "a free place needs no wait";
  EXPECT_TRUE(gate.Enter(kPassed));
  EXPECT_FALSE(gate.Enter(kPassed));
  gate.Leave();
  EXPECT_TRUE(gate.Enter(kPassed));
  EXPECT_FALSE(gate.Enter(kPassed)) << "one left, one may enter";
}

TEST(CallGateTest, WhoWaitsGetsThePlaceThatBecomesFree) {
  CallGate gate(1);
  ASSERT_TRUE(gate.Enter(kPassed));
  bool entered = false;
  std::thread waiter([&] { entered = gate.Enter(FarOff()); });
  gate.Leave();
  waiter.join();
  EXPECT_TRUE(entered);
  EXPECT_FALSE(gate.Enter(kPassed)) << "the waiter has the place";
}

TEST(CallGateTest, IsEmptyWhenTheLastHasLeft) {
  CallGate gate(2);
  EXPECT_TRUE(gate.WaitEmpty(Duration::zero()));
  ASSERT_TRUE(gate.Enter(kPassed));
  ASSERT_TRUE(gate.Enter(kPassed));
  EXPECT_FALSE(gate.WaitEmpty(Duration::zero()));
  gate.Leave();
  EXPECT_FALSE(gate.WaitEmpty(Duration::zero())) << "one is still inside";
  std::thread last([&] { gate.Leave(); });
  EXPECT_TRUE(gate.WaitEmpty(hours(1)));
  last.join();
}

}  // namespace
}  // namespace attune::kube::call_gate_test
