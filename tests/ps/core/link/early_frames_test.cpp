#include "ps/core/link/early_frames.h"

#include <gtest/gtest.h>

#include "ps/core/link/message_bytes.h"

namespace attune::ps::early_frames_test {
namespace {

Message Numbered(uint64_t number) { return JoinMarker{.map_version = {}, .join_id = MapVersion(1, number)}; }
std::vector<uint64_t> NumbersOf(const std::vector<Message>& messages) {
  std::vector<uint64_t> numbers;
  for (const Message& message : messages) numbers.push_back(std::get<JoinMarker>(message).join_id.counter());
  return numbers;
}

TEST(EarlyFrames, WhatFollowsWithoutAGapIsTaken) {
  EarlyFrames early({.frames_max = 10, .bytes_max = 1 << 20});
  for (const uint64_t sequence : {3, 4, 6}) early.Keep(sequence, Numbered(sequence));
  std::vector<Message> taken;
  EXPECT_EQ(early.TakeAfter(1, taken), 1U) << "2 has not come";
  EXPECT_TRUE(taken.empty());
  EXPECT_EQ(early.TakeAfter(2, taken), 4U);
  EXPECT_EQ(NumbersOf(taken), (std::vector<uint64_t>{3, 4}));
  EXPECT_EQ(early.TakeAfter(5, taken), 6U);
  EXPECT_EQ(early.bytes(), 0U);
}

TEST(EarlyFrames, WhatWasDeliveredMeanwhileIsForgotten) {
  EarlyFrames early({.frames_max = 10, .bytes_max = 1 << 20});
  early.Keep(3, Numbered(3));
  std::vector<Message> taken;
  EXPECT_EQ(early.TakeAfter(7, taken), 7U);
  EXPECT_TRUE(taken.empty());
  EXPECT_EQ(early.bytes(), 0U);
}

TEST(EarlyFrames, OneThatIsHereAlreadyChangesNothing) {
  EarlyFrames early({.frames_max = 10, .bytes_max = 1 << 20});
  early.Keep(2, Numbered(2));
  const size_t bytes = early.bytes();
  early.Keep(2, Numbered(99));
  EXPECT_EQ(early.bytes(), bytes);
  std::vector<Message> taken;
  early.TakeAfter(1, taken);
  EXPECT_EQ(NumbersOf(taken), std::vector<uint64_t>{2});
}

TEST(EarlyFrames, WhatFindsNoRoomIsLeftOut) {
  EarlyFrames few({.frames_max = 1, .bytes_max = 1 << 20}),
      small({.frames_max = 10, .bytes_max = BytesOf(Numbered(2))});
  for (EarlyFrames* early : {&few, &small}) {
    early->Keep(2, Numbered(2));
    early->Keep(3, Numbered(3));
    std::vector<Message> taken;
    EXPECT_EQ(early->TakeAfter(1, taken), 2U);
  }
}

}  // namespace
}  // namespace attune::ps::early_frames_test
