#include "ps/transport/frame.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <set>

#include "base/random.h"
#include "ps/core/protocol/limits.h"
#include "ps/transport/frame_reader.h"
#include "tests/ps/transport/samples.h"

namespace attune::ps::frame_test {
namespace {

uint64_t Seed() {
  const char* text = std::getenv("ATTUNE_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

class Collector : public FrameReader::Sink {
 public:
  explicit Collector(std::vector<Message>& out) : out_(out) {}
  std::span<float> Place(const wire::FrameHeader&) override { return place; }
  Status OnFrame(const wire::FrameHeader& header, const FramePayload& payload) override {
    ASSIGN_OR_RETURN(Message message, DecodeFrame(header, payload));
    out_.push_back(std::move(message));
    return OkStatus();
  }
  std::span<float> place;

 private:
  std::vector<Message>& out_;
};

std::string Bytes(const OutgoingFrame& frame) {
  iovec parts[OutgoingFrame::kPartsMax];
  const int count = frame.Gather(0, parts);
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  return bytes;
}

std::string Encoded(const Message& message) {
  const StatusOr<OutgoingFrame> frame = EncodeFrame(message);
  EXPECT_TRUE(frame.ok()) << frame.status();
  return frame.ok() ? Bytes(*frame) : "";
}

// Feeds bytes in pieces of `piece` bytes at most; returns the status of the first failure.
Status Feed(FrameReader& reader, std::string_view bytes, size_t piece, Collector& out) {
  while (!bytes.empty()) {
    iovec parts[FrameReader::kSpacePartsMax];
    const size_t count = reader.Space(parts);
    size_t filled = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t n = std::min({parts[i].iov_len, bytes.size(), piece - filled});
      std::memcpy(parts[i].iov_base, bytes.data(), n);
      bytes.remove_prefix(n);
      filled += n;
    }
    EXPECT_GT(filled, 0U);
    RETURN_IF_ERROR(reader.Filled(filled, out));
  }
  return OkStatus();
}
Status Feed(FrameReader& reader, std::string_view bytes, size_t piece, std::vector<Message>& out) {
  Collector collector(out);
  return Feed(reader, bytes, piece, collector);
}

TEST(FrameTest, EveryKindOfRowMessageIsAmongThem) {
  std::set<size_t> kinds;
  for (const Message& message : OneOfEach()) kinds.insert(message.index());
  for (size_t kind = 0; kind < std::variant_size_v<MessageVariant>; ++kind) {
    if (!kinds.contains(kind)) {
      EXPECT_GT(kind, *kinds.rbegin()) << "row messages come first";
    }
  }
  EXPECT_TRUE(kinds.contains(Message(SnapshotRowsAck{}).index()));
}

TEST(FrameTest, EveryRowMessageArrivesAsItWasSentHoweverTheStreamIsCut) {
  const std::vector<Message> sent = OneOfEach();
  std::string stream;
  for (const Message& message : sent) stream += Encoded(message);
  for (const size_t piece : {size_t{1}, size_t{3}, sizeof(wire::FrameHeader) - 1, sizeof(wire::FrameHeader),
                             sizeof(wire::FrameHeader) + 1, size_t{4096}, stream.size()}) {
    FrameReader reader;
    std::vector<Message> received;
    ASSERT_TRUE(Feed(reader, stream, piece, received).ok());
    ASSERT_EQ(received.size(), sent.size()) << "piece " << piece;
    for (size_t i = 0; i < sent.size(); ++i)
      EXPECT_TRUE(received[i] == sent[i]) << NameOf(sent[i]) << ", piece " << piece;
  }
}

TEST(FrameTest, PayloadIsGatheredFromTheMessagesOwnMemory) {
  const Slice<float> rows = Ramp(100);
  const StatusOr<OutgoingFrame> frame = EncodeFrame(PullReply{RequestId(1), MapVersion(1), rows});
  iovec parts[OutgoingFrame::kPartsMax];
  ASSERT_EQ(frame->Gather(0, parts), 2);
  EXPECT_EQ(parts[1].iov_base, rows.data());
}

TEST(FrameTest, GatheringGoesOnWhereSendingStopped) {
  const Message message = OneOfEach()[1];
  const std::string whole = Encoded(message);
  const StatusOr<OutgoingFrame> frame = EncodeFrame(message);
  for (size_t sent = 0; sent <= whole.size(); ++sent) {
    iovec parts[OutgoingFrame::kPartsMax];
    const int count = frame->Gather(sent, parts);
    std::string rest;
    for (int i = 0; i < count; ++i) rest.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    ASSERT_EQ(rest, whole.substr(sent)) << "after " << sent;
  }
}

TEST(FrameTest, ControlMessageIsRefused) {
  EXPECT_EQ(EncodeFrame(Heartbeat{}).status().code(), StatusCode::kInvalidArgument);
}

TEST(FrameTest, TruncatedStreamDeliversNothingAndWaits) {
  const std::string whole = Encoded(OneOfEach()[0]);
  FrameReader reader;
  std::vector<Message> received;
  EXPECT_TRUE(Feed(reader, std::string_view(whole).substr(0, whole.size() - 1), 4096, received).ok());
  EXPECT_TRUE(received.empty());
}

struct BadHeaderCase {
  const char* name;
  void (*spoil)(wire::FrameHeader&);
};

TEST(FrameTest, HeadersThatLieAreRefused) {
  const BadHeaderCase cases[] = {
      {"other magic", [](wire::FrameHeader& h) { h.magic = 1; }},
      {"unknown kind", [](wire::FrameHeader& h) { h.kind = static_cast<wire::FrameKind>(99); }},
      {"too many keys", [](wire::FrameHeader& h) { h.key_count = kKeysPerMessageMax + 1; }},
      {"too many floats", [](wire::FrameHeader& h) { h.value_count = kFloatsPerMessageMax + 2; }},
      {"more payload than a message may have",
       [](wire::FrameHeader& h) {
         h.key_count = 2;
         h.value_count = kFloatsPerMessageMax;
         h.version_count = h.half_count = kKeysPerMessageMax;
       }},
      {"huge extra part", [](wire::FrameHeader& h) { h.extra_bytes = 0xFFFFFFFF; }},
      {"no keys", [](wire::FrameHeader& h) { h.key_count = 0; }},
      {"gradients that do not fit the keys", [](wire::FrameHeader& h) { h.value_count = 7; }},
      {"positions that do not fit the keys", [](wire::FrameHeader& h) { h.position_count = 1; }},
      {"announced list that is missing", [](wire::FrameHeader& h) { h.flags |= wire::kFlagPositionList; }},
      {"ack with keys", [](wire::FrameHeader& h) { h.kind = wire::FrameKind::kPushAck; }},
      {"pull with values", [](wire::FrameHeader& h) { h.kind = wire::FrameKind::kPull; }},
  };
  for (const BadHeaderCase& test : cases) {
    wire::FrameHeader header = EncodeFrame(OneOfEach()[0])->header;
    ASSERT_TRUE(CheckHeader(header).ok());
    test.spoil(header);
    EXPECT_EQ(CheckHeader(header).code(), StatusCode::kInvalidArgument) << test.name;
  }
}

// Random bytes, and real frames with random bytes changed: an error or messages, never more, and what is accepted can
// be encoded again.
TEST(FrameTest, RandomBytesNeverCrashTheReader) {
  const uint64_t seed = Seed();
  const int rounds = 3000;
  std::cout << "ATTUNE_TEST_SEED=" << seed << " rounds=" << rounds << "\n";
  Random random(seed);
  const std::vector<Message> messages = OneOfEach();
  int refused = 0, accepted = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string stream;
    if (random.Chance(0.2)) {
      stream.resize(random.Below(400));
      for (char& byte : stream) byte = static_cast<char>(random.Next());
    } else {
      stream = Encoded(messages[random.Below(messages.size())]);
      for (uint64_t i = random.Below(4); i > 0; --i) {
        stream[random.Below(std::min<size_t>(stream.size(), 200))] = static_cast<char>(random.Next());
      }
    }
    FrameReader reader;
    std::vector<Message> received;
    if (!Feed(reader, stream, 1 + random.Below(5000), received).ok()) ++refused;
    accepted += static_cast<int>(received.size());
    for (const Message& message : received) {
      EXPECT_TRUE(EncodeFrame(message).ok()) << NameOf(message);
    }
  }
  EXPECT_GT(refused, rounds / 10);
  EXPECT_GT(accepted, rounds / 10);
}

TEST(FrameTest, RecordsThatLieAreRefused) {
  OutgoingFrame frame = *EncodeFrame(Install{MapVersion(1), 3, SomeRows(2, 4), SomeRecords()});
  const auto decode = [&] {
    std::string bytes = Bytes(frame).substr(sizeof(wire::FrameHeader));
    const auto owner = std::make_shared<std::vector<uint64_t>>(bytes.size() / 8 + 1);
    std::memcpy(owner->data(), bytes.data(), bytes.size());
    return DecodeFrame(frame.header, {.owner = owner, .block = std::as_bytes(std::span(*owner)).first(bytes.size())});
  };
  ASSERT_TRUE(decode().ok());
  const std::string right = frame.extra;
  frame.extra[0] = 127;
  EXPECT_FALSE(decode().ok()) << "more records than there is room for";
  frame.extra = right;
  frame.extra[4 + 16] = 2;
  EXPECT_FALSE(decode().ok()) << "a record of a third key of two";
  frame.extra = right.substr(0, 3);
  frame.header.extra_bytes = 3;
  EXPECT_FALSE(decode().ok()) << "no count";
}

// Such a frame once ended its receiver: by a signal (the list), and by an invariant (the range).
TEST(FrameTest, PositionsThatDoNotAscendOrWrapNeverLeaveTheDecoder) {
  Replicate replicate{.origin = NodeId(3),
                      .sequence = SequenceNumber(7),
                      .table = TableId(2),
                      .positions = {.first = 3, .count = 2, .list = {}},
                      .keys = std::vector<Key>{8, 9},
                      .gradients = Ramp(6),
                      .versions = std::vector<RowVersion>(2, RowVersion(1)),
                      .owner = NodeId(6)};
  const auto decode = [&] {
    const OutgoingFrame frame = *EncodeFrame(replicate);
    const std::string bytes = Bytes(frame).substr(sizeof(wire::FrameHeader));
    const auto owner = std::make_shared<std::vector<uint64_t>>(bytes.size() / 8 + 1);
    std::memcpy(owner->data(), bytes.data(), bytes.size());
    return DecodeFrame(frame.header, {.owner = owner, .block = std::as_bytes(std::span(*owner)).first(bytes.size())});
  };
  ASSERT_TRUE(decode().ok()) << attune::ToString(decode().status());
  replicate.positions = {.first = ~0U, .count = 2, .list = {}};
  EXPECT_FALSE(decode().ok());
  replicate.positions = {.first = 0, .count = 0, .list = {1U << 22, 0}};
  EXPECT_FALSE(decode().ok());
}

TEST(FrameTest, RowsGoToTheirPlaceAndVersionsBesideThem) {
  const PullReply reply{RequestId(71), MapVersion(1), Ramp(6), Positions{0, 0, {4, 9}},
                        std::vector<RowVersion>(2, RowVersion(5))};
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{1000}}) {
    std::vector<float> rows(6);
    std::vector<Message> received;
    Collector collector(received);
    collector.place = rows;
    FrameReader reader;
    ASSERT_TRUE(Feed(reader, Encoded(reply), piece, collector).ok());
    ASSERT_EQ(received.size(), 1U);
    EXPECT_TRUE(received[0] == Message(reply));
    EXPECT_EQ(std::get<PullReply>(received[0]).rows.data(), rows.data());
  }
}

TEST(FrameTest, PlaceIsLeftAloneOnceTakenBackAndTheFrameArrivesWhole) {
  const PullReply reply{RequestId(71), MapVersion(1), Ramp(100)};
  const std::string stream = Encoded(reply) + Encoded(LinkAck{});
  for (size_t at = 1; at < stream.size(); at += 37) {
    std::vector<float> rows(100);
    std::vector<Message> received;
    Collector collector(received);
    collector.place = rows;
    FrameReader reader;
    ASSERT_TRUE(Feed(reader, stream.substr(0, at), 50, collector).ok());
    reader.Unplace(rows);
    std::ranges::fill(rows, 7.0F);  // the owner's again
    const std::vector<float> before = rows;
    collector.place = {};
    ASSERT_TRUE(Feed(reader, stream.substr(at), 50, collector).ok());
    EXPECT_EQ(rows, before) << "at " << at;
    ASSERT_EQ(received.size(), 2U) << "the stream continues";
    EXPECT_TRUE(received[0] == Message(reply) || at >= stream.size() - Encoded(LinkAck{}).size()) << "at " << at;
  }
}

}  // namespace
}  // namespace attune::ps::frame_test
