#include "ps/core/rows/state/open_handovers.h"

#include <gtest/gtest.h>

namespace attune::ps::open_handovers_test {
namespace {

constexpr NodeId kAnna{1}, kBert{2};

OpenHandover To(NodeId node) {
  return {.to = node, .table = TableId(1), .keys = {}, .move_numbers = {}, .sent_under = {}};
}

TEST(OpenHandovers, OnlyTheReceiverAcknowledgesAndOnlyOnce) {
  OpenHandovers handovers;
  const uint64_t number = handovers.Add(To(kAnna));
  EXPECT_FALSE(handovers.Take(number, kBert));
  EXPECT_FALSE(handovers.Take(number + 1, kAnna));
  EXPECT_TRUE(handovers.Take(number, kAnna));
  EXPECT_FALSE(handovers.Take(number, kAnna));
}

TEST(OpenHandovers, AMarkIsReachedWhenAllThatWereSentBeforeItAreAcknowledged) {
  OpenHandovers handovers;
  const uint64_t first = handovers.Add(To(kAnna)), second = handovers.Add(To(kBert));
  const uint64_t mark = handovers.next();
  handovers.Add(To(kBert));
  handovers.Take(second, kBert);
  EXPECT_FALSE(handovers.AcknowledgedBelow(mark));
  handovers.Take(first, kAnna);
  EXPECT_TRUE(handovers.AcknowledgedBelow(mark));
}

TEST(OpenHandovers, NumbersAreNotUsedAgain) {
  OpenHandovers handovers;
  const uint64_t number = handovers.Add(To(kAnna));
  handovers.EraseIf([](const OpenHandover& handover) { return handover.to == kAnna; });
  EXPECT_TRUE(handovers.empty());
  EXPECT_GT(handovers.Add(To(kAnna)), number);
}

TEST(WithheldAcks, AnAcknowledgementIsReleasedByTheLastAnswer) {
  WithheldAcks acks;
  const uint64_t number = acks.Reserve();
  EXPECT_FALSE(acks.Answered(number)) << "nothing is withheld yet";
  acks.Add(number, {.to = kAnna, .ack = {.map_version = {}, .handover = 7, .arrived_at = {}}}, 2);
  EXPECT_FALSE(acks.Answered(number));
  const auto ack = acks.Answered(number);
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->to, kAnna);
  EXPECT_EQ(ack->ack.handover, 7U);
  EXPECT_FALSE(acks.Answered(number));
}

TEST(WithheldAcks, NothingIsWithheldForANodeThatIsGone) {
  WithheldAcks acks;
  const uint64_t number = acks.Reserve();
  acks.Add(number, {.to = kAnna, .ack = {.map_version = {}, .handover = 7, .arrived_at = {}}}, 1);
  acks.EraseIf([](NodeId to) { return to == kAnna; });
  EXPECT_EQ(acks.size(), 0U);
  EXPECT_FALSE(acks.Answered(number));
}

}  // namespace
}  // namespace attune::ps::open_handovers_test
