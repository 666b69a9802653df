#include "ps/core/coordinator/state/record_mirror.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace attune::ps::record_mirror_test {
namespace {

using std::chrono::seconds;
constexpr NodeId kAnna{1}, kBert{2}, kWorker{9};
constexpr Duration kAgain = seconds(1);
constexpr uint64_t kTerm3 = uint64_t{3} << 32;

RecordMirror::Answer AnswerOf(uint64_t request) {
  return {.node = kWorker, .connection = {}, .request = RequestId(request), .message = Message()};
}

// Requests whose answers may go out.
std::vector<uint64_t> Released(RecordMirror& mirror, bool all = false) {
  std::vector<uint64_t> requests;
  mirror.Release(all, [&](RecordMirror::Answer answer) { requests.push_back(answer.request.value()); });
  return requests;
}

using Requests = std::vector<uint64_t>;

TEST(RecordMirror, AnAnswerWaitsForTheFirstCopyThatIsSentAfterIt) {
  RecordMirror mirror(3);
  MonotonicTime now{};
  EXPECT_TRUE(mirror.BeginCopy(mirror.SetHost(kAnna), now, kAgain));
  EXPECT_EQ(mirror.number(), kTerm3 + 1);
  mirror.Hold(AnswerOf(1));
  EXPECT_FALSE(mirror.BeginCopy(mirror.SetHost(kAnna), now, kAgain)) << "one is in progress";
  EXPECT_TRUE(mirror.Acknowledge(kAnna, kTerm3 + 1));
  EXPECT_EQ(Released(mirror), Requests()) << "that copy does not know of the answer";
  EXPECT_TRUE(mirror.BeginCopy(mirror.SetHost(kAnna), now, kAgain));
  EXPECT_FALSE(mirror.Acknowledge(kBert, kTerm3 + 2)) << "it has no copy";
  EXPECT_FALSE(mirror.Acknowledge(kAnna, kTerm3 + 3)) << "that was not sent";
  EXPECT_EQ(Released(mirror), Requests());
  EXPECT_TRUE(mirror.Acknowledge(kAnna, kTerm3 + 2));
  EXPECT_EQ(Released(mirror), Requests{1});
}

TEST(RecordMirror, WhatNothingWaitsForGoesWithTheNextCopyOrSoon) {
  RecordMirror mirror(3);
  MonotonicTime now{};
  const auto copy = [&] { return mirror.BeginCopy(mirror.SetHost(kAnna), now, kAgain); };
  ASSERT_TRUE(copy());
  ASSERT_TRUE(mirror.Acknowledge(kAnna, kTerm3 + 1));
  mirror.HoldUnhurried(AnswerOf(1), now);
  EXPECT_FALSE(copy());
  mirror.Hold(AnswerOf(2));
  EXPECT_TRUE(copy());
  ASSERT_TRUE(mirror.Acknowledge(kAnna, kTerm3 + 2));
  EXPECT_EQ(Released(mirror), (Requests{1, 2})) << "one copy for both";
  mirror.HoldUnhurried(AnswerOf(3), now);
  now += RecordMirror::kUnhurried / 2;
  mirror.HoldUnhurried(AnswerOf(4), now);
  EXPECT_FALSE(copy());
  now += RecordMirror::kUnhurried / 2;
  EXPECT_TRUE(copy()) << "the first one has waited long enough";
  ASSERT_TRUE(mirror.Acknowledge(kAnna, kTerm3 + 3));
  EXPECT_EQ(Released(mirror), (Requests{3, 4}));
  now += kAgain;
  EXPECT_FALSE(copy()) << "there is nothing new";
}

TEST(RecordMirror, WithoutAnotherServerNothingWaits) {
  RecordMirror mirror(3);
  mirror.Hold(AnswerOf(1));
  mirror.Hold(AnswerOf(2));
  EXPECT_EQ(Released(mirror, true), (Requests{1, 2}));
}

TEST(RecordMirror, ACopyThatMayBeLostIsSentAgainUnderItsNumber) {
  RecordMirror mirror(3);
  MonotonicTime now{};
  mirror.BeginCopy(mirror.SetHost(kAnna), now, kAgain);
  EXPECT_FALSE(mirror.BeginCopy(false, now + kAgain - Duration(1), kAgain));
  EXPECT_TRUE(mirror.BeginCopy(false, now + kAgain, kAgain));
  EXPECT_EQ(mirror.number(), kTerm3 + 1);
  mirror.RepeatTo(kBert, now + kAgain);
  EXPECT_FALSE(mirror.BeginCopy(false, now + kAgain, kAgain));
  mirror.RepeatTo(kAnna, now + kAgain);
  EXPECT_TRUE(mirror.BeginCopy(false, now + kAgain, kAgain)) << "it has a new connection";
}

TEST(RecordMirror, NothingIsSentWhileNothingHasChanged) {
  RecordMirror mirror(3);
  MonotonicTime now{};
  mirror.BeginCopy(mirror.SetHost(kAnna), now, kAgain);
  mirror.Acknowledge(kAnna, kTerm3 + 1);
  EXPECT_FALSE(mirror.BeginCopy(false, now + seconds(60), kAgain));
  mirror.NoteChange();
  EXPECT_TRUE(mirror.BeginCopy(false, now + seconds(60), kAgain));
}

TEST(RecordMirror, AnswersWaitUntilTheServerThatHadTheCopyBeforeHasDroppedIt) {
  RecordMirror mirror(3);
  MonotonicTime now{};
  mirror.BeginCopy(mirror.SetHost(kAnna), now, kAgain);
  mirror.Acknowledge(kAnna, kTerm3 + 1);
  mirror.Hold(AnswerOf(1));
  EXPECT_TRUE(mirror.BeginCopy(mirror.SetHost(kBert), now, kAgain));
  EXPECT_FALSE(mirror.ToAnnounce(kTerm3 + 1)) << "the first copy there has not arrived";
  mirror.Acknowledge(kBert, kTerm3 + 2);
  EXPECT_EQ(Released(mirror), Requests()) << "a successor could find the copy at the first server";
  ASSERT_EQ(mirror.ToAnnounce(kTerm3 + 1), kTerm3 + 2);
  mirror.Announced(MapVersion(3, 8));
  const auto dropped_at = [&](MapVersion map) {
    mirror.ForgetOlderIf([&](NodeId server) { return server == kAnna && mirror.MustHaveDropped(map, kTerm3 + 2); });
    return Released(mirror);
  };
  EXPECT_FALSE(mirror.ToAnnounce(kTerm3 + 2)) << "the map says so";
  EXPECT_EQ(dropped_at(MapVersion(3, 7)), Requests());
  EXPECT_EQ(dropped_at(MapVersion(3, 8)), Requests{1});
}

TEST(RecordMirror, ACopyOfAnEarlierCoordinatorCountsAsOlderUnlessItsServerGetsTheNewOnes) {
  RecordMirror mirror(3);
  MonotonicTime now{};
  mirror.NoteOlderCopy(kAnna);
  mirror.BeginCopy(mirror.SetHost(kAnna), now, kAgain);
  mirror.Hold(AnswerOf(1));
  mirror.Acknowledge(kAnna, kTerm3 + 1);
  mirror.BeginCopy(false, now, kAgain);
  mirror.Acknowledge(kAnna, kTerm3 + 2);
  EXPECT_EQ(Released(mirror), Requests());
  mirror.ForgetOlderIf([](NodeId) { return false; });
  EXPECT_EQ(Released(mirror), Requests{1});
}

}  // namespace
}  // namespace attune::ps::record_mirror_test
