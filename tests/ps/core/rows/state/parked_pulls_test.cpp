#include "ps/core/rows/state/parked_pulls.h"

#include <gtest/gtest.h>

#include <string>

namespace attune::ps::parked_pulls_test {
namespace {

using std::chrono::seconds;
constexpr NodeId kAnna{1}, kBert{2};
constexpr MonotonicTime kStart{};

ParkedPull Waiting(NodeId origin, uint64_t request, MonotonicTime deadline = kNever) {
  ParkedPull parked;
  parked.pull.origin = origin;
  parked.pull.request = RequestId(request);
  parked.deadline = deadline;
  return parked;
}

std::string All(ParkedPulls& pulls) {
  std::string text;
  pulls.TakeIf([&](ParkedPull& parked) {
    text += std::to_string(parked.pull.request.value()) + " ";
    return false;
  });
  return text;
}

TEST(ParkedPulls, AreDroppedAtTheirDeadlineAndNotBefore) {
  ParkedPulls pulls;
  EXPECT_EQ(pulls.next_deadline(), kNever);
  pulls.Add(Waiting(kAnna, 1, kStart + seconds(5)));
  pulls.Add(Waiting(kBert, 2, kStart + seconds(3)));
  pulls.Add(Waiting(kBert, 3));
  EXPECT_EQ(pulls.next_deadline(), kStart + seconds(3));
  pulls.Expire(kStart + seconds(2));
  EXPECT_EQ(pulls.size(), 3U);
  pulls.Expire(kStart + seconds(3));
  EXPECT_EQ(All(pulls), "1 3 ");
  EXPECT_EQ(pulls.next_deadline(), kStart + seconds(5));
  pulls.Expire(kStart + seconds(9));
  EXPECT_EQ(All(pulls), "3 ");
  EXPECT_EQ(pulls.next_deadline(), kNever);
}

TEST(ParkedPulls, AreBoundedForEachWorker) {
  ParkedPulls pulls;
  for (uint64_t i = 0; i < kParkedPullsPerOriginMax; ++i) {
    ASSERT_TRUE(pulls.HasRoom(kAnna)) << i;
    pulls.Add(Waiting(kAnna, i));
  }
  EXPECT_FALSE(pulls.HasRoom(kAnna));
  EXPECT_TRUE(pulls.HasRoom(kBert));
  pulls.Forget(kAnna);
  EXPECT_TRUE(pulls.empty());
  EXPECT_TRUE(pulls.HasRoom(kAnna));
}

TEST(ParkedPulls, OnlyThoseOfTheWorkerThatIsNamedAreTaken) {
  ParkedPulls pulls;
  pulls.Add(Waiting(kAnna, 1));
  pulls.Add(Waiting(kBert, 2));
  pulls.Add(Waiting(kAnna, 3));
  pulls.TakeIf(kAnna, [](ParkedPull& parked) { return parked.pull.request == RequestId(3); });
  EXPECT_EQ(All(pulls), "1 2 ");
  pulls.TakeIf(kAnna, [](ParkedPull&) { return true; });
  EXPECT_EQ(All(pulls), "2 ");
}

TEST(ParkedPulls, WhatIsReplacedKeepsItsPlace) {
  ParkedPulls pulls;
  for (const uint64_t request : {1, 2, 3}) pulls.Add(Waiting(kAnna, request));
  pulls.ReplaceEach([](ParkedPull parked) -> std::optional<ParkedPull> {
    if (parked.pull.request == RequestId(1)) return std::nullopt;
    if (parked.pull.request == RequestId(2)) parked.pull.request = RequestId(20);
    return parked;
  });
  EXPECT_EQ(All(pulls), "20 3 ");
}

}  // namespace
}  // namespace attune::ps::parked_pulls_test
