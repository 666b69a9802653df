// When nodes are dialed, and what comes of it.
#include "ps/transport/tcp/connect/tcp_dialer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/ps/transport/connect/recorded_links.h"
#include "tests/ps/transport/manual_loop.h"

namespace attune::ps::tcp_dialer_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr NodeId kPeer(5);
constexpr char kNowhere[] = "no address at all";  // an attempt fails at once

struct Dialing {
  // Until then, by steps of a millisecond: when attempts failed.
  std::vector<MonotonicTime> Failures(Duration duration) {
    std::vector<MonotonicTime> failures;
    for (const MonotonicTime until = loop.time().Now() + duration; loop.time().Now() < until;) {
      const size_t before = links.dial_errors.size();
      loop.AdvanceTo(loop.time().Now() + milliseconds(1));
      if (links.dial_errors.size() > before) failures.push_back(loop.time().Now());
    }
    return failures;
  }
  Duration NextFailure() {
    const MonotonicTime now = loop.time().Now();
    const std::vector<MonotonicTime> failures = Failures(seconds(3));
    return failures.empty() ? Duration::max() : failures.front() - now;
  }

  RecordedLinks links;
  ManualLoop loop;
  LocalNode node{.loop = loop, .self = 1, .secret = JobSecret::Create("uid", "").value(), .tls = nullptr};
  TcpDialer dialer{node, links, 7};
};

TEST(TcpDialerTest, BackoffDoublesWithJitterUpToABound) {
  Dialing test;
  test.dialer.Connect(kPeer, kNowhere);
  ASSERT_EQ(test.links.expected, std::vector{kPeer});
  ASSERT_EQ(test.links.dial_errors.size(), 1U);
  EXPECT_NE(attune::Message(test.links.dial_errors[0]).find("node 5 at no address at all"), std::string_view::npos);
  MonotonicTime last = test.loop.time().Now();
  Duration most = TcpDialer::kBackoffFirst;
  for (const MonotonicTime failure : test.Failures(seconds(20))) {
    EXPECT_GE(failure - last, most / 2);
    EXPECT_LE(failure - last, most + milliseconds(1));
    most = std::min(most * 2, TcpDialer::kBackoffMax);
    last = failure;
  }
  EXPECT_EQ(most, TcpDialer::kBackoffMax);
}

TEST(TcpDialerTest, ANodeWithALinkIsDialedOnceThatHasEnded) {
  Dialing test;
  test.links.present[kPeer].connected = true;
  test.dialer.Connect(kPeer, kNowhere);
  EXPECT_TRUE(test.dialer.Dials(kPeer));
  EXPECT_FALSE(test.dialer.IsDialing(kPeer));
  EXPECT_TRUE(test.links.dial_errors.empty());
  test.links.present[kPeer].connected = false;
  test.dialer.RedialAfterBreak(kPeer);
  EXPECT_LE(test.NextFailure(), TcpDialer::kBackoffFirst + milliseconds(1));
}

TEST(TcpDialerTest, ABriefLinkIsNotTakenUpAgainAtOnce) {
  for (const bool brief : {false, true}) {
    Dialing test;
    test.dialer.Connect(kPeer, kNowhere);
    test.Failures(seconds(20));  // the backoff is the longest now
    test.dialer.Yield(kPeer);
    test.loop.AdvanceTo(test.loop.time().Now() + (brief ? milliseconds(500) : TcpDialer::kLastingLink));
    test.dialer.RedialAfterBreak(kPeer);
    const Duration wait = test.NextFailure();
    EXPECT_LE(wait, (brief ? TcpDialer::kBriefLinkBackoffMax : TcpDialer::kBackoffFirst) + milliseconds(1));
    if (brief) {
      EXPECT_GE(wait, TcpDialer::kBriefLinkBackoffMax / 2);
    }
  }
}

TEST(TcpDialerTest, TheSameAddressAgainChangesNothing) {
  Dialing test;
  test.dialer.Connect(kPeer, kNowhere);
  test.dialer.Connect(kPeer, kNowhere);
  EXPECT_EQ(test.links.dial_errors.size(), 1U);
  test.dialer.Connect(kPeer, "nowhere else");
  EXPECT_EQ(test.links.dial_errors.size(), 2U);
}

TEST(TcpDialerTest, AConnectionThatThePeerDialedEndsAttempts) {
  Dialing test;
  test.dialer.Yield(kPeer);  // one that is not dialed from here
  EXPECT_FALSE(test.dialer.Dials(kPeer));
  test.dialer.Connect(kPeer, kNowhere);
  test.dialer.Yield(kPeer);
  EXPECT_TRUE(test.dialer.Dials(kPeer));
  EXPECT_TRUE(test.Failures(seconds(5)).empty());
}

TEST(TcpDialerTest, NothingFollowsADisconnectOrTheEnd) {
  for (const bool stop : {false, true}) {
    Dialing test;
    test.dialer.Connect(kPeer, kNowhere);
    if (stop) {
      test.dialer.Stop();
      test.dialer.Connect(NodeId(6), kNowhere);
    } else {
      test.dialer.Disconnect(kPeer);
    }
    EXPECT_FALSE(test.dialer.Dials(kPeer));
    EXPECT_FALSE(test.dialer.Dials(NodeId(6)));
    EXPECT_TRUE(test.Failures(seconds(5)).empty());
    EXPECT_EQ(test.loop.timers_set(), 0U);
  }
}

}  // namespace
}  // namespace attune::ps::tcp_dialer_test
