#include "ps/transport/shared/shared_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <thread>

#include "base/random.h"

namespace attune::ps::shared_ring_test {
namespace {

uint64_t Seed() {
  const char* text = std::getenv("ATTUNE_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

class Collector : public RingReader::Sink {
 public:
  std::span<float> Place(const wire::FrameHeader&) override { return {}; }
  Status OnFrame(const wire::FrameHeader& header, const FramePayload& payload) override {
    ASSIGN_OR_RETURN(Message message, DecodeFrame(header, payload));
    received.push_back(std::move(message));
    return OkStatus();
  }
  std::vector<Message> received;
};

// Both ends in one process.
struct Ring {
  std::shared_ptr<RingArea> area = std::make_shared<RingArea>();
  int reader_rung = 0, writer_rung = 0;
  RingWriter writer{area, [this] { ++reader_rung; }};
  RingReader reader{area, [this] { ++writer_rung; }};
  Collector sink;
  uint64_t number = 0;

  bool Write(const Message& message) {
    OutgoingFrame frame = *EncodeFrame(message);
    frame.header.link_number = number + 1;
    if (!writer.Write(frame)) return false;
    ++number;
    return true;
  }
};

PullReply Reply(uint64_t request, size_t values) {
  std::vector<float> rows(values);
  std::iota(rows.begin(), rows.end(), static_cast<float>(request));
  return {.request = RequestId(request), .map_version = MapVersion(1), .rows = std::move(rows)};
}

TEST(SharedRingTest, FramesArriveInOrderInPlace) {
  Ring ring;
  ASSERT_TRUE(ring.Write(Reply(1, 10'000)));
  ASSERT_TRUE(ring.Write(Moved{MapVersion(3), RequestId(2), {}}));
  ASSERT_EQ(*ring.reader.Poll(ring.sink, 10), 2U);
  ASSERT_EQ(ring.sink.received.size(), 2U);
  EXPECT_TRUE(ring.sink.received[0] == Message(Reply(1, 10'000)));
  const float* const rows = std::get<PullReply>(ring.sink.received[0]).rows.data();
  const auto* const memory = reinterpret_cast<const std::byte*>(rows);
  EXPECT_TRUE(memory >= ring.area->payload && memory < ring.area->payload + sizeof ring.area->payload) << "not copied";
  EXPECT_EQ(ring.writer.Handled(), 2U);
}

TEST(SharedRingTest, RowsFilledInReservedMemoryAreNotCopied) {
  Ring ring;
  const std::shared_ptr<void> memory = ring.writer.Reserve(256 * sizeof(float));
  ASSERT_NE(memory, nullptr);
  PullReply reply{.request = RequestId(1)};
  reply.rows = Slice<float>::FilledIn(memory, 256, [](std::span<float> rows) { std::ranges::fill(rows, 2.5F); });
  ASSERT_TRUE(ring.Write(reply));
  ASSERT_TRUE(ring.reader.Poll(ring.sink, 10).ok());
  EXPECT_EQ(std::get<PullReply>(ring.sink.received[0]).rows[255], 2.5F);
}

TEST(SharedRingTest, MemoryComesBackInAnyOrder) {
  Ring ring;
  const size_t values = 64 * 1024;  // 256 KiB: sixteen fill the ring
  int written = 0;
  while (ring.Write(Reply(static_cast<uint64_t>(written + 1), values))) ++written;
  EXPECT_EQ(written, 16);
  ring.writer.AskForRoom();
  ASSERT_TRUE(ring.reader.Poll(ring.sink, 100).ok());
  EXPECT_GT(ring.writer_rung, 0);
  for (size_t i = 1; i < ring.sink.received.size(); i += 2) ring.sink.received[i] = LinkAck{};
  int again = 0;
  while (ring.Write(Reply(100, values))) ++again;
  EXPECT_GE(again, 8);
  // The first is still as it was.
  EXPECT_TRUE(ring.sink.received[0] == Message(Reply(1, values)));
}

TEST(SharedRingTest, MessagesThatAreKeptDoNotStopTheOthers) {
  Ring ring;
  for (uint64_t i = 1; i <= 2000; ++i) {  // all kept: 2000 x 64 KiB
    ASSERT_TRUE(ring.Write(Reply(i, 16 * 1024))) << i;
    ASSERT_EQ(*ring.reader.Poll(ring.sink, 10), 1U) << i;
  }
  for (uint64_t i = 1; i <= 2000; i += 501) EXPECT_TRUE(ring.sink.received[i - 1] == Message(Reply(i, 16 * 1024)));
}

TEST(SharedRingTest, LargePayloadsGoInPieces) {
  Ring ring;
  const size_t values = 3 << 20;  // 12 MiB
  OutgoingFrame frame = *EncodeFrame(Reply(7, values));
  frame.header.link_number = 1;
  int tries = 0;
  while (!ring.writer.Write(frame)) {
    ASSERT_LT(++tries, 100);
    ASSERT_TRUE(ring.reader.Poll(ring.sink, 100).ok());
    ring.writer.AskForRoom();
  }
  ASSERT_TRUE(ring.reader.Poll(ring.sink, 100).ok());
  ASSERT_EQ(ring.sink.received.size(), 1U);
  EXPECT_TRUE(ring.sink.received[0] == Message(Reply(7, values)));
}

TEST(SharedRingTest, SleepingReaderIsRungOnceAndAwakeOneNever) {
  Ring ring;
  ASSERT_TRUE(ring.Write(LinkAck{}));
  EXPECT_EQ(ring.reader_rung, 0);
  EXPECT_FALSE(ring.reader.PrepareSleep()) << "something is there already";
  ASSERT_TRUE(ring.reader.Poll(ring.sink, 10).ok());
  EXPECT_TRUE(ring.reader.PrepareSleep());
  ASSERT_TRUE(ring.Write(LinkAck{}));
  ASSERT_TRUE(ring.Write(LinkAck{}));
  EXPECT_EQ(ring.reader_rung, 1);
}

TEST(SharedRingTest, TwoThreadsPassFramesWithoutLoss) {
  auto area = std::make_shared<RingArea>();
  std::atomic<bool> failed = false;
  constexpr uint64_t kFrames = 20'000;
  std::thread writing([&] {
    RingWriter writer(area, [] {});
    for (uint64_t i = 1; i <= kFrames; ++i) {
      OutgoingFrame frame = *EncodeFrame(Reply(i, i % 5 == 0 ? 4096 : 16));
      frame.header.link_number = i;
      while (!writer.Write(frame)) std::this_thread::yield();
    }
  });
  RingReader reader(area, [] {});
  Collector sink;
  uint64_t next = 1;
  while (next <= kFrames && !failed) {
    const auto polled = reader.Poll(sink, 16);
    if (!polled.ok()) failed = true;
    for (const Message& message : sink.received) {
      const auto& reply = std::get<PullReply>(message);
      if (reply.request.value() != next || reply.rows[15] != static_cast<float>(next + 15)) failed = true;
      ++next;
    }
    sink.received.clear();
    if (polled.ok() && *polled == 0) std::this_thread::yield();
  }
  writing.join();
  EXPECT_FALSE(failed);
}

struct LieCase {
  const char* name;
  void (*spoil)(RingArea&);
};

TEST(SharedRingTest, WritersThatLieEndTheLinkAndNothingElse) {
  const LieCase cases[] = {
      {"payload outside the memory", [](RingArea& area) { area.slots[0].first_unit = 1'000'000; }},
      {"payload beyond the end", [](RingArea& area) { area.slots[0].first_unit = kRingUnits - 1; }},
      {"no frame", [](RingArea& area) { area.slots[0].header.magic = 0; }},
      {"more values than there are",
       [](RingArea& area) {
         area.slots[0].header.value_count = 1 << 22;
         area.slots[0].bytes = 1 << 24;
       }},
      {"piece larger than the whole", [](RingArea& area) { area.slots[0].bytes = 0xFFFFFFFF; }},
      {"empty piece", [](RingArea& area) { area.slots[0].bytes = 0; }},
  };
  for (const LieCase& test : cases) {
    Ring ring;
    ASSERT_TRUE(ring.Write(Reply(1, 4096)));
    test.spoil(*ring.area);
    EXPECT_EQ(ring.reader.Poll(ring.sink, 10).status().code(), StatusCode::kInvalidArgument) << test.name;
    EXPECT_TRUE(ring.sink.received.empty()) << test.name;
  }
}

// Whatever stands in the memory: an error or messages, and no access outside.
TEST(SharedRingTest, RandomMemoryHarmsNobody) {
  const uint64_t seed = Seed();
  std::cout << "ATTUNE_TEST_SEED=" << seed << " rounds=500\n";
  Random random(seed);
  Ring origin;
  ASSERT_TRUE(origin.Write(Reply(1, 4096)));
  for (int round = 0; round < 500; ++round) {
    auto area = std::make_shared<RingArea>();
    for (size_t i = 0; i < 8; ++i) {
      std::memcpy(&area->slots[i].header, &origin.area->slots[0].header, sizeof(wire::FrameHeader));
      area->slots[i].bytes = static_cast<uint32_t>(random.Chance(0.7) ? 4096 * sizeof(float) : random.Next());
      area->slots[i].first_unit = static_cast<uint32_t>(random.Chance(0.7) ? random.Below(kRingUnits) : random.Next());
      auto* const header = reinterpret_cast<char*>(&area->slots[i].header);
      for (uint64_t n = random.Below(3); n > 0; --n) {
        header[random.Below(sizeof(wire::FrameHeader))] = static_cast<char>(random.Next());
      }
      area->slots[i].full = static_cast<uint32_t>(random.Below(3));
    }
    RingReader reader(area, [] {});
    Collector sink;
    while (true) {
      const auto frames = reader.Poll(sink, 3);
      if (!frames.ok() || *frames == 0) break;
    }
  }
}

}  // namespace
}  // namespace attune::ps::shared_ring_test
