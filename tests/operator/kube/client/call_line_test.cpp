#include "operator/kube/client/call_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <set>
#include <vector>

#include "base/os/random_seed.h"
#include "base/random.h"

namespace attune::kube::call_line_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

MonotonicTime At(Duration since_begin) { return MonotonicTime{} + since_begin; }

// Sends as many calls as may be sent from `begin` until `end`, looking every millisecond; returns when each was sent,
// in milliseconds since `begin`.
std::vector<int64_t> Sent(CallLine& line, std::vector<CallLine::Ticket> tickets, Duration begin, Duration end) {
  std::vector<int64_t> sent;
  for (Duration now = begin; now <= end && !tickets.empty(); now += milliseconds(1)) {
    while (!tickets.empty() && line.Take(tickets.front(), At(now))) {
      tickets.erase(tickets.begin());
      sent.push_back((now - begin) / milliseconds(1));
    }
  }
  return sent;
}

std::vector<CallLine::Ticket> Joined(CallLine& line, int calls) {
  std::vector<CallLine::Ticket> tickets;
  for (int i = 0; i < calls; ++i) tickets.push_back(line.Join());
  return tickets;
}

TEST(CallLine, ABurstAtOnceAndThenTheRate) {
  CallLine line({.per_second = 50, .burst = 3}, At({}));
  EXPECT_THAT(Sent(line, Joined(line, 6), seconds(0), seconds(1)), ::testing::ElementsAre(0, 0, 0, 20, 40, 60));
  EXPECT_THAT(Sent(line, Joined(line, 5), seconds(60), seconds(61)), ::testing::ElementsAre(0, 0, 0, 20, 40))
      << "a pause fills the bucket, not more than that";
}

TEST(CallLine, WithoutALimitNothingWaits) {
  CallLine line({}, At({}));
  EXPECT_EQ(Sent(line, Joined(line, 1000), seconds(0), seconds(0)).size(), 1000U);
}

TEST(CallLine, FirstComeFirstServedAndWhoLeavesMakesRoom) {
  CallLine line({.per_second = 10, .burst = 1}, At({}));
  const CallLine::Ticket a = line.Join(), b = line.Join(), c = line.Join(), d = line.Join();
  EXPECT_FALSE(line.Take(b, At({}))) << "there is a token, and it is for the first";
  EXPECT_TRUE(line.Take(a, At({})));
  EXPECT_EQ(line.TurnOf(b, At({})), At(milliseconds(100)));
  EXPECT_EQ(line.TurnOf(d, At({})), At(milliseconds(300)));
  line.Leave(b);
  EXPECT_EQ(line.TurnOf(d, At({})), At(milliseconds(200)));
  EXPECT_FALSE(line.Take(c, At(milliseconds(99))));
  EXPECT_TRUE(line.Take(c, At(milliseconds(100))));
  EXPECT_EQ(line.waiting(), 1U);
}

TEST(CallLine, ACallThatWasSentAwayComesBackToItsPlace) {
  CallLine line({.per_second = 10, .burst = 1}, At({}));
  const CallLine::Ticket first = line.Join();
  ASSERT_TRUE(line.Take(first, At({})));
  const CallLine::Ticket second = line.Join();
  line.CloseUntil(At(seconds(2)), At({}));
  line.Rejoin(first);
  EXPECT_FALSE(line.Take(second, At(seconds(2))));
  EXPECT_TRUE(line.Take(first, At(seconds(2))));
}

// What a server that is busy sees of a client with many calls waiting. Before, each of them was sent at once and again
// by its own caller's clock.
TEST(CallLine, StormsOf429) {
  struct {
    const char* why;
    CallLimit limit;
    int calls;
    std::vector<Duration> closed_for;  // the answers to the first calls, at once
    std::vector<int64_t> want;         // when calls are sent afterwards, in ms
  } cases[] = {
      {"nothing before the time is over, then one by one",
       {.per_second = 50, .burst = 100},
       3,
       {seconds(3)},
       {3000, 3020, 3040}},
      {"the longest of several answers counts",
       {.per_second = 50, .burst = 100},
       2,
       {seconds(3), seconds(1)},
       {3000, 3020}},
      {"a later one extends it", {.per_second = 50, .burst = 100}, 2, {seconds(1), seconds(2)}, {2000, 2020}},
      {"without a limit of its own, too, but then all at once", {}, 3, {seconds(1)}, {1000, 1000, 1000}},
      {"no answer, no pause", {.per_second = 50, .burst = 100}, 3, {}, {0, 0, 0}},
      {"a time that is over already", {.per_second = 50, .burst = 100}, 2, {seconds(0)}, {0, 0}},
  };
  for (const auto& c : cases) {
    CallLine line(c.limit, At({}));
    for (const Duration closed : c.closed_for) line.CloseUntil(At(closed), At({}));
    EXPECT_EQ(Sent(line, Joined(line, c.calls), seconds(0), seconds(10)), c.want) << c.why;
  }
}

// However calls come, leave and are sent away: never more than the burst and the rate, nothing while it is closed, in
// the order of places, and a call that may not be sent has its turn later.
TEST(CallLine, PropertiesOverRandomHistories) {
  const char* given = std::getenv("ATTUNE_SEED");
  const uint64_t first_seed = given != nullptr ? std::strtoull(given, nullptr, 10) : RandomSeed() >> 1;
  std::cout << "first seed " << first_seed << "; replay with ATTUNE_SEED=<seed>" << std::endl;
  for (uint64_t seed = first_seed; seed < first_seed + 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const CallLimit limit{.per_second = 1 + random.Uniform() * 100, .burst = 1 + static_cast<int>(random.Below(20))};
    CallLine line(limit, At({}));
    std::set<CallLine::Ticket> waiting;
    std::vector<MonotonicTime> sent;
    MonotonicTime closed{};
    for (Duration now{}; now < seconds(10); now += milliseconds(5)) {
      if (random.Uniform() < 0.5) waiting.insert(line.Join());
      if (random.Uniform() < 0.05 && !waiting.empty()) {
        const auto leaving = std::next(waiting.begin(), static_cast<long>(random.Below(waiting.size())));
        line.Leave(*leaving);
        waiting.erase(leaving);
      }
      if (random.Uniform() < 0.002) {
        const MonotonicTime until = At(now + milliseconds(random.Below(3000)));
        line.CloseUntil(until, At(now));
        closed = std::max(closed, until);
      }
      while (!waiting.empty()) {
        const CallLine::Ticket first = *waiting.begin();
        ASSERT_TRUE(waiting.size() == 1 || !line.Take(*waiting.rbegin(), At(now)));
        const MonotonicTime turn = line.TurnOf(first, At(now));
        const bool taken = line.Take(first, At(now));
        ASSERT_EQ(taken, turn <= At(now));
        if (!taken) break;
        ASSERT_GE(At(now), closed);
        sent.push_back(At(now));
        waiting.erase(first);
      }
    }
    for (size_t first = 0; first < sent.size(); ++first) {
      for (size_t last = first; last < sent.size(); ++last) {
        const double most = limit.burst + limit.per_second * Seconds(sent[last] - sent[first]) + 1e-3;
        if (static_cast<double>(last - first + 1) > most) {
          FAIL() << "calls " << first << " to " << last << " went out within " << Seconds(sent[last] - sent[first])
                 << " s";
        }
      }
    }
  }
}

}  // namespace
}  // namespace attune::kube::call_line_test
