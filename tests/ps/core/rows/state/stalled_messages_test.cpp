#include "ps/core/rows/state/stalled_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attune::ps::stalled_messages_test {
namespace {

constexpr NodeId kAnna{1}, kBert{2};

Message Sent(uint64_t map, uint64_t request) {
  Pull pull;
  pull.map_version = MapVersion(map, 0);
  pull.request = RequestId(request);
  return pull;
}

std::string Released(StalledMessages& stalled, uint64_t map, bool* some_wait = nullptr) {
  std::string text;
  const bool wait = stalled.Release(MapVersion(map, 0), [&](NodeId from, const Message& message) {
    text += std::to_string(from.value()) + ":" + std::to_string(std::get<Pull>(message).request.value()) + " ";
  });
  if (some_wait != nullptr) *some_wait = wait;
  return text;
}

TEST(StalledMessages, AreReleasedInTheOrderOfTheirSenderWhenTheirMapIsThere) {
  StalledMessages stalled(10, 1 << 20);
  stalled.Add(kBert, Sent(3, 1));
  stalled.Add(kAnna, Sent(2, 2));
  stalled.Add(kAnna, Sent(4, 3));
  stalled.Add(kAnna, Sent(2, 4));
  bool some_wait = false;
  EXPECT_EQ(Released(stalled, 1, &some_wait), "");
  EXPECT_TRUE(some_wait);
  EXPECT_EQ(Released(stalled, 3), "1:2 2:1 ") << "the last one is behind one that waits, although its map is there";
  EXPECT_FALSE(stalled.Holds(kBert));
  EXPECT_TRUE(stalled.Holds(kAnna));
  EXPECT_EQ(Released(stalled, 4, &some_wait), "1:3 1:4 ");
  EXPECT_FALSE(some_wait);
  EXPECT_EQ(stalled.senders(), 0U);
}

TEST(StalledMessages, TheRoomOfOneSenderIsNotTakenByAnother) {
  StalledMessages stalled(2, 1 << 20);
  stalled.Add(kAnna, Sent(2, 1));
  EXPECT_TRUE(stalled.HasRoom(kAnna));
  stalled.Add(kAnna, Sent(2, 2));
  EXPECT_FALSE(stalled.HasRoom(kAnna));
  EXPECT_TRUE(stalled.HasRoom(kBert));
  (void)Released(stalled, 2);
  EXPECT_TRUE(stalled.HasRoom(kAnna)) << "what was released gives its room back";
}

TEST(StalledMessages, BytesAreBoundedToo) {
  StalledMessages stalled(1000, 2 * BytesOf(Sent(2, 1)));
  stalled.Add(kAnna, Sent(2, 1));
  EXPECT_TRUE(stalled.HasRoom(kAnna));
  stalled.Add(kAnna, Sent(2, 2));
  EXPECT_FALSE(stalled.HasRoom(kAnna));
}

TEST(StalledMessages, OfANodeThatIsNoMemberAnyMoreNothingIsKept) {
  StalledMessages stalled(10, 1 << 20);
  stalled.Add(kAnna, Sent(2, 1));
  stalled.Add(kBert, Sent(2, 2));
  stalled.Forget(kAnna);
  EXPECT_EQ(Released(stalled, 2), "2:2 ");
}

}  // namespace
}  // namespace attune::ps::stalled_messages_test
