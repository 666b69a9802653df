#include "ps/transport/tcp/link_state.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <string>

#include "base/random.h"
#include "ps/transport/frame_reader.h"

namespace attune::ps::link_state_test {
namespace {

uint64_t Seed() {
  const char* text = std::getenv("ATTUNE_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

OutgoingFrame FrameOf(uint64_t sequence, size_t keys = 1) {
  Push push{.origin = NodeId(1), .sequence = SequenceNumber(sequence), .table = TableId(1)};
  push.positions.count = static_cast<uint32_t>(keys);
  push.keys = std::vector<Key>(keys, sequence);
  push.gradients = std::vector<float>(keys, static_cast<float>(sequence));
  return *EncodeFrame(push);
}

TEST(LinkSenderTest, KeepsUntilConfirmedAndResendsTheRest) {
  LinkSender sender;
  for (uint64_t i = 1; i <= 5; ++i) sender.Add(FrameOf(i));
  while (sender.NextWhole(0) != nullptr) sender.WrittenWhole();
  ASSERT_TRUE(sender.Delivered(2).ok());
  EXPECT_EQ(sender.kept_frames(), 3U);
  ASSERT_TRUE(sender.Resume(3).ok()) << "the connection broke; one more had arrived";
  EXPECT_EQ(sender.resent_frames(), 2U);
  ASSERT_NE(sender.NextWhole(9), nullptr);
  EXPECT_EQ(sender.NextWhole(9)->header.link_number, 4U);
  EXPECT_EQ(sender.NextWhole(9)->header.delivered, 9U);
}

TEST(LinkSenderTest, ConfirmingWhatWasNotSentIsRefused) {
  LinkSender sender;
  sender.Add(FrameOf(1));
  EXPECT_EQ(sender.Delivered(1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(sender.Resume(7).code(), StatusCode::kInvalidArgument);
  sender.WrittenWhole();
  EXPECT_TRUE(sender.Delivered(1).ok());
  EXPECT_EQ(sender.Resume(0).code(), StatusCode::kInvalidArgument) << "the peer forgot what it confirmed";
}

TEST(LinkSenderTest, AnotherIncarnationGetsNothingOfTheOld) {
  LinkSender sender;
  sender.Add(FrameOf(1));
  sender.Reset();
  EXPECT_EQ(sender.NextWhole(0), nullptr);
  EXPECT_EQ(sender.kept_bytes(), 0U);
  sender.Add(FrameOf(2));
  EXPECT_EQ(sender.NextWhole(0)->header.link_number, 1U);
}

TEST(LinkReceiverTest, DropsCopiesAndNoticesGaps) {
  LinkReceiver receiver;
  EXPECT_TRUE(*receiver.Accept(1));
  EXPECT_FALSE(*receiver.Accept(1));
  EXPECT_EQ(receiver.Accept(3).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(*receiver.Accept(2));
  EXPECT_EQ(receiver.delivered(), 2U);
}

class Collector : public FrameReader::Sink {
 public:
  std::span<float> Place(const wire::FrameHeader&) override { return {}; }
  Status OnFrame(const wire::FrameHeader& header, const FramePayload& payload) override {
    RETURN_IF_ERROR(peer_sender->Delivered(header.delivered));
    if (header.kind == wire::FrameKind::kDelivered) return OkStatus();
    ASSIGN_OR_RETURN(const bool wanted, receiver.Accept(header.link_number));
    if (!wanted) return OkStatus();
    ASSIGN_OR_RETURN(const Message message, DecodeFrame(header, payload));
    received.push_back(std::get<Push>(message).sequence.value());
    return OkStatus();
  }
  LinkReceiver receiver;
  LinkSender* peer_sender = nullptr;
  std::vector<uint64_t> received;
};

// Two ends over a stream that is cut anywhere, again and again: each side gets the other's frames once and in order.
TEST(LinkStateTest, EveryFrameArrivesOnceInOrderOverBreakingConnections) {
  const uint64_t first_seed = Seed();
  std::cout << "ATTUNE_TEST_SEED=" << first_seed << " seeds=200 frames=60\n";
  for (uint64_t seed = first_seed; seed < first_seed + 200; ++seed) {
    Random random(seed);
    LinkSender senders[2];
    Collector ends[2];
    ends[0].peer_sender = &senders[0];
    ends[1].peer_sender = &senders[1];
    uint64_t made[2] = {0, 0};
    constexpr uint64_t kFrames = 60;
    for (int connection = 0; connection < 1000; ++connection) {
      const bool last = made[0] == kFrames && made[1] == kFrames;
      std::string in_flight[2];
      FrameReader readers[2];
      for (int step = 0; last || step < static_cast<int>(random.Below(40)); ++step) {
        const size_t from = random.Below(2), to = 1 - from;
        if (made[from] < kFrames && random.Chance(0.5)) senders[from].Add(FrameOf(++made[from], 1 + random.Below(40)));
        if (random.Chance(0.2)) senders[from].AddDelivered();
        iovec parts[21];
        const int count = senders[from].Gather(parts, 1 + random.Below(4000), ends[from].receiver.delivered());
        std::string bytes;
        for (int i = 0; i < count; ++i) bytes.append(static_cast<char*>(parts[i].iov_base), parts[i].iov_len);
        bytes.resize(bytes.empty() ? 0 : 1 + random.Below(bytes.size()));
        senders[from].Written(bytes.size());
        in_flight[to] += bytes;
        for (size_t take = last ? in_flight[to].size() : random.Below(in_flight[to].size() + 1); take > 0;) {
          iovec space[FrameReader::kSpacePartsMax];
          (void)readers[to].Space(space);
          const size_t n = std::min(take, space[0].iov_len);
          std::memcpy(space[0].iov_base, in_flight[to].data(), n);
          in_flight[to].erase(0, n);
          take -= n;
          ASSERT_TRUE(readers[to].Filled(n, ends[to]).ok()) << "seed " << seed;
        }
        if (last && !senders[0].has_unwritten() && !senders[1].has_unwritten() && in_flight[0].empty() &&
            in_flight[1].empty()) {
          break;
        }
      }
      if (last) break;
      // Cut: what was in flight is gone.
      ASSERT_TRUE(senders[0].Resume(ends[1].receiver.delivered()).ok());
      ASSERT_TRUE(senders[1].Resume(ends[0].receiver.delivered()).ok());
    }
    for (const size_t end : {size_t{0}, size_t{1}}) {
      ASSERT_EQ(ends[end].received.size(), kFrames) << "seed " << seed;
      for (uint64_t i = 0; i < kFrames; ++i) ASSERT_EQ(ends[end].received[i], i + 1) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace attune::ps::link_state_test
