#include "ps/core/link/link.h"

#include <gtest/gtest.h>

#include <queue>

#include "base/random.h"
#include "tests/base/seeds.h"

namespace attune::ps::link_test {
namespace {

using std::chrono::milliseconds;

constexpr LinkOptions kOptions{.window = 4,
                               .ahead_max = 3,
                               .acknowledge_every = 3,
                               .acknowledge_after = milliseconds(5),
                               .resend_after = milliseconds(50)};

Message Numbered(uint64_t number) { return InstallAck{.map_version = {}, .install = number}; }
uint64_t NumberOf(const Message& message) { return std::get<InstallAck>(message).install; }

struct Ends {
  Link a{kOptions}, b{kOptions};
  MonotonicTime now{};
};

TEST(Link, WaitsForAConnectionThenSendsInOrder) {
  Ends ends;
  std::vector<LinkFrame> frames, replies;
  ends.a.Send(Numbered(1), ends.now, frames);
  ends.a.Send(Numbered(2), ends.now, frames);
  EXPECT_TRUE(frames.empty());
  ends.a.Connected(ends.now, frames);
  ends.b.Connected(ends.now, replies);
  ASSERT_EQ(frames.size(), 2U);
  std::vector<Message> delivered;
  ends.b.Receive(frames[1], ends.now, delivered, replies);
  EXPECT_TRUE(delivered.empty()) << "its predecessor has not come";
  ends.b.Receive(frames[0], ends.now, delivered, replies);
  ASSERT_EQ(delivered.size(), 2U);
  EXPECT_EQ(NumberOf(delivered[0]), 1U);
  EXPECT_EQ(NumberOf(delivered[1]), 2U);
}

TEST(Link, AnIdleLinkAsksForNoTime) {
  Ends ends;
  std::vector<LinkFrame> frames, replies;
  std::vector<Message> delivered;
  ends.a.Connected(ends.now, frames);
  ends.b.Connected(ends.now, replies);
  ends.a.Send(Numbered(1), ends.now, frames);
  ends.b.Receive(frames[0], ends.now, delivered, replies);
  EXPECT_TRUE(replies.empty()) << "an acknowledgement waits for company";
  ends.now = ends.b.WakeAt();
  ends.b.OnTimer(ends.now, replies);
  ASSERT_EQ(replies.size(), 1U);
  ends.a.Receive(replies[0], ends.now, delivered, frames);
  EXPECT_EQ(ends.a.queued(), 0U);
  EXPECT_EQ(ends.a.WakeAt(), kNever);
  EXPECT_EQ(ends.b.WakeAt(), kNever);
}

TEST(Link, KeepsItsWindowAndSaysWhenTooMuchWaits) {
  LinkOptions options = kOptions;
  options.queue_max = 10;
  Link link(options);
  std::vector<LinkFrame> frames;
  link.Connected(MonotonicTime{}, frames);
  for (uint64_t i = 1; i <= 11; ++i) link.Send(Numbered(i), MonotonicTime{}, frames);
  EXPECT_EQ(frames.size(), 4U);
  EXPECT_TRUE(link.overfull());
}

// A worker that hears nothing issues its pushes and pulls again and again; each copy at the owner asks the backup.
TEST(Link, QueuesNothingTwiceThatIsIssuedAgainWhileItWaits) {
  const auto push = [](uint64_t sequence, Key key) {
    return Push{
        .origin = NodeId(7), .sequence = SequenceNumber(sequence), .table = TableId(1), .keys = std::vector<Key>{key}};
  };
  const auto probe = [](uint64_t sequence, Key key) {
    return Replicate{.origin = NodeId(7),
                     .sequence = SequenceNumber(sequence),
                     .table = TableId(1),
                     .keys = std::vector<Key>{key},
                     .probe = true};
  };
  const auto pull = [](uint64_t request) {
    return Pull{.origin = NodeId(7), .request = RequestId(request), .table = TableId(1), .keys = std::vector<Key>{3}};
  };
  Link link(kOptions);
  std::vector<LinkFrame> frames;
  for (int again = 0; again < 5; ++again) {
    for (const Key key : {3, 4}) {
      link.Send(push(1, key), MonotonicTime{}, frames);
      link.Send(probe(2, key), MonotonicTime{}, frames);
    }
    link.Send(pull(1), MonotonicTime{}, frames);
  }
  EXPECT_EQ(link.queued(), 5U) << "one each of two pushes' keys, two probes' keys, and a pull";
  Push whole = push(1, 3);
  whole.keys = std::vector<Key>{3, 4};
  link.Send(whole, MonotonicTime{}, frames);
  EXPECT_EQ(link.queued(), 6U) << "in one piece: nothing that waits has both keys";
  for (int again = 0; again < 2; ++again) {
    Push by_home = push(1, 3);
    by_home.by_home = true;  // which the receiver takes in another way
    link.Send(by_home, MonotonicTime{}, frames);
    Replicate first = probe(2, 3);
    first.probe = false;  // is said once, and carries the gradients
    link.Send(first, MonotonicTime{}, frames);
  }
  EXPECT_EQ(link.queued(), 9U);
  Push under_newer_map = push(1, 3);
  under_newer_map.map_version = MapVersion(1, 2);
  for (int again = 0; again < 2; ++again) link.Send(under_newer_map, MonotonicTime{}, frames);
  EXPECT_EQ(link.queued(), 10U) << "what was issued under an older map may not be answered any more";
  for (int again = 0; again < 2; ++again) {
    for (const NodeId to : {NodeId(7), NodeId(8)}) {
      link.Send(Localize{.table = TableId(1), .to = to, .keys = std::vector<Key>{3}}, MonotonicTime{}, frames);
    }
  }
  EXPECT_EQ(link.queued(), 12U) << "a row is wanted by two nodes, once each";
  link.Connected(MonotonicTime{}, frames);
  ASSERT_EQ(frames.size(), kOptions.window);
  link.Send(std::get<Push>(frames[0].message), MonotonicTime{}, frames);
  EXPECT_EQ(link.queued(), 13U) << "what was sent before may have been answered by now, and the answer lost";
}

// Frames are lost, repeated, overtaken; connections break. What arrives is what was sent.
// A push may be acknowledged and then lost with its row: a pull that still names it would wait for ever.
TEST(Link, APullThatIsIssuedAgainTakesThePlaceOfTheOneThatWaits) {
  const auto pull = [](std::vector<After> after) {
    return Pull{.origin = NodeId(7),
                .request = RequestId(1),
                .table = TableId(1),
                .keys = std::vector<Key>{3},
                .after = std::move(after)};
  };
  Link link(kOptions);
  std::vector<LinkFrame> frames;
  link.Send(pull({{SequenceNumber(1), 0, 0}, {SequenceNumber(2), 0, 0}}), MonotonicTime{}, frames);
  link.Send(Numbered(1), MonotonicTime{}, frames);
  const size_t bytes = link.queued_bytes();
  link.Send(pull({{SequenceNumber(2), 0, 0}}), MonotonicTime{}, frames);
  EXPECT_EQ(link.queued(), 2U);
  EXPECT_EQ(link.queued_bytes(), bytes);
  link.Connected(MonotonicTime{}, frames);
  ASSERT_EQ(frames.size(), 2U);
  const auto* sent = std::get_if<Pull>(&frames[0].message);
  ASSERT_NE(sent, nullptr) << "in its place";
  ASSERT_EQ(sent->after.size(), 1U);
  EXPECT_EQ(sent->after[0].sequence, SequenceNumber(2));
  link.Send(pull({}), MonotonicTime{}, frames);
  EXPECT_EQ(link.queued(), 3U) << "what was sent stays what it was";
}

TEST(Link, DeliversEverythingOnceOverABadNetwork) {
  ForSeeds(300, [](uint64_t seed) {
    Random random(seed);
    const double loss = random.Uniform() * 0.4, repeat = random.Uniform() * 0.4, breaks = random.Uniform() * 0.1;
    Link ends[2] = {Link(kOptions), Link(kOptions)};
    std::vector<std::pair<int, LinkFrame>> network;  // to whom
    MonotonicTime now{};
    uint64_t sent[2] = {0, 0}, got[2] = {0, 0};
    bool connected = false;
    const auto put = [&](int from, std::vector<LinkFrame> frames) {
      for (LinkFrame& frame : frames) {
        const bool calm = now > MonotonicTime{} + std::chrono::seconds(5);
        if (!calm && random.Chance(loss)) continue;
        network.push_back({1 - from, frame});
        if (!calm && random.Chance(repeat)) network.push_back({1 - from, frame});
      }
    };
    const uint64_t goal = 40;
    for (int step = 0; step < 20000 && (got[0] < goal || got[1] < goal); ++step) {
      now += milliseconds(1);
      for (int end = 0; end < 2; ++end) {
        std::vector<LinkFrame> frames;
        if (!connected) ends[end].Connected(now, frames);
        if (sent[end] < goal && random.Chance(0.2)) ends[end].Send(Numbered(++sent[end]), now, frames);
        if (now >= ends[end].WakeAt()) ends[end].OnTimer(now, frames);
        put(end, std::move(frames));
      }
      connected = true;
      if (!network.empty() && random.Chance(0.7)) {
        const size_t pick = random.Below(network.size());
        const auto [to, frame] = network[pick];
        network.erase(network.begin() + static_cast<ptrdiff_t>(pick));
        std::vector<Message> delivered;
        std::vector<LinkFrame> frames;
        ends[to].Receive(frame, now, delivered, frames);
        put(to, std::move(frames));
        for (const Message& message : delivered) ASSERT_EQ(NumberOf(message), ++got[to]) << "seed " << seed;
      }
      if (random.Chance(breaks)) {
        ends[0].Disconnected();
        ends[1].Disconnected();
        connected = false;
        if (random.Chance(0.7)) network.clear();  // else frames of the old connection come late
      }
    }
    ASSERT_EQ(got[0], goal) << "seed " << seed;
    ASSERT_EQ(got[1], goal) << "seed " << seed;
  });
}

// --- a slow peer

Message Copies(size_t values) {
  return Replicate{.origin = {},
                   .sequence = {},
                   .table = {},
                   .map_version = {},
                   .acked_below = {},
                   .positions = {},
                   .keys = std::vector<Key>{1},
                   .gradients = std::vector<float>(values)};
}

TEST(Link, BytesUnderWayAreBoundedAndTheRestWaits) {
  constexpr size_t kValues = 1000, kFrames = 64;
  const LinkOptions options{.window = 1024, .window_bytes = 10 * (kValues * sizeof(float) + 512)};
  Link slow(options);
  Link peer(options);
  MonotonicTime now{};
  std::vector<LinkFrame> under_way, ignored;
  slow.Connected(now, under_way);
  peer.Connected(now, ignored);
  for (size_t i = 0; i < kFrames; ++i) slow.Send(Copies(kValues), now, under_way);
  EXPECT_GE(under_way.size(), 10U);
  EXPECT_LE(slow.bytes_under_way(), options.window_bytes);
  EXPECT_EQ(slow.queued(), kFrames);
  EXPECT_GE(slow.queued_bytes(), kFrames * kValues * sizeof(float));
  // The peer takes one frame at a time and says so: then one more leaves.
  size_t arrived = 0;
  std::vector<Message> delivered;
  while (arrived < kFrames) {
    ASSERT_LT(arrived, under_way.size()) << "nothing is in flight and " << kFrames - arrived << " frames wait";
    std::vector<LinkFrame> none;
    peer.Receive(under_way[arrived++], now, delivered, none);
    slow.Receive({.link = {.sequence = 0, .delivered = peer.delivered()}, .message = LinkAck{}}, now, delivered,
                 under_way);
    ASSERT_LE(slow.bytes_under_way(), options.window_bytes);
  }
  EXPECT_EQ(delivered.size(), kFrames);
  EXPECT_EQ(slow.queued(), 0U);
  EXPECT_EQ(slow.queued_bytes(), 0U);
  EXPECT_EQ(slow.bytes_under_way(), 0U);
}

TEST(Link, AFrameLargerThanTheWindowGoesAlone) {
  Link link(LinkOptions{.window_bytes = 1000});
  std::vector<LinkFrame> out;
  link.Connected({}, out);
  link.Send(Copies(10'000), {}, out);
  link.Send(Copies(1), {}, out);
  ASSERT_EQ(out.size(), 1U);
  std::vector<Message> delivered;
  link.Receive({.link = {.sequence = 0, .delivered = 1}, .message = LinkAck{}}, {}, delivered, out);
  EXPECT_EQ(out.size(), 2U);
}

TEST(Link, ASilentPeerIsSentTheSameLessAndLessOften) {
  const LinkOptions options{.resend_after = milliseconds(50), .resend_after_max = milliseconds(200)};
  Link link(options);
  MonotonicTime now{};
  std::vector<LinkFrame> out;
  link.Connected(now, out);
  link.Send(Numbered(1), now, out);
  for (const int wait : {50, 100, 200, 200}) {
    ASSERT_EQ(link.WakeAt(), now + milliseconds(wait));
    now = link.WakeAt();
    out.clear();
    link.OnTimer(now, out);
    ASSERT_EQ(out.size(), 1U);
  }
  std::vector<Message> delivered;
  link.Receive({.link = {.sequence = 0, .delivered = 1}, .message = LinkAck{}}, now, delivered, out);
  link.Send(Numbered(2), now, out);
  EXPECT_EQ(link.WakeAt(), now + milliseconds(50)) << "after news it waits as at first";
}

}  // namespace
}  // namespace attune::ps::link_test
