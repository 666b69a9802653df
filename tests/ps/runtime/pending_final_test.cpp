#include "ps/runtime/process/pending_final.h"

#include <gtest/gtest.h>

#include <string>

#include "base/status.h"

namespace attune::ps::pending_final_test {
namespace {

struct FakeSocket {
  bool is_connected = true, is_full = false, breaks = false;
  int sent = 0;
  std::string last;

  bool connected() const { return is_connected; }
  bool has_unsent() const { return is_full; }
  Status Send(const std::string& text) {
    if (breaks) is_connected = false;
    if (!is_connected) return Error(StatusCode::kUnavailable, "broken");
    ++sent;
    last = text;
    return OkStatus();
  }
};

TEST(PendingFinalTest, ItIsDeliveredOnceTheKernelHasAllOfIt) {
  FakeSocket socket{.is_full = true};
  PendingFinal final;
  EXPECT_FALSE(final.Waits());
  final.Put("report");
  EXPECT_TRUE(final.Waits());
  EXPECT_FALSE(final.Send(socket));
  EXPECT_FALSE(final.Waits()) << "it is on its way";
  EXPECT_FALSE(final.Send(socket));
  EXPECT_EQ(socket.sent, 1) << "once";
  socket.is_full = false;
  EXPECT_TRUE(final.Send(socket));
  EXPECT_TRUE(final.delivered());
  EXPECT_FALSE(final.Send(socket)) << "there is none any more";
}

TEST(PendingFinalTest, ALostConnectionMeansAnotherTry) {
  FakeSocket socket{.is_full = true};
  PendingFinal final;
  final.Put("report");
  EXPECT_FALSE(final.Send(socket));
  final.OnConnectionLost();
  EXPECT_TRUE(final.Waits());
  FakeSocket next;
  EXPECT_TRUE(final.Send(next));
  EXPECT_EQ(next.last, "report");
}

TEST(PendingFinalTest, OneThatBreaksWhileSendingHasNothing) {
  FakeSocket socket{.breaks = true};
  PendingFinal final;
  final.Put("report");
  EXPECT_FALSE(final.Send(socket));
  EXPECT_TRUE(final.Waits());
  EXPECT_FALSE(final.delivered());
}

TEST(PendingFinalTest, WhatNobodyWaitsForIsNotSent) {
  FakeSocket socket;
  PendingFinal final;
  final.Put("report");
  final.GiveUp();
  EXPECT_FALSE(final.Waits());
  EXPECT_FALSE(final.Send(socket));
  EXPECT_EQ(socket.sent, 0);
}

TEST(PendingFinalTest, OneThatFollowsOneThatWasGivenUpOnItsWayIsSent) {
  FakeSocket socket{.is_full = true};
  PendingFinal final;
  final.Put("first");
  EXPECT_FALSE(final.Send(socket));
  final.GiveUp();
  final.Put("second");
  EXPECT_TRUE(final.Waits());
  socket.is_full = false;
  EXPECT_TRUE(final.Send(socket));
  EXPECT_EQ(socket.last, "second");
}

}  // namespace
}  // namespace attune::ps::pending_final_test
