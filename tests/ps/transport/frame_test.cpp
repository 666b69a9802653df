#include "ps/transport/frame.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>

#include "base/random.h"
#include "ps/core/limits.h"

namespace attune::ps {
namespace {

uint64_t Seed() {
  const char* text = std::getenv("ATTUNE_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

std::string Bytes(const OutgoingFrame& frame) {
  iovec parts[4];
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
Status Feed(FrameReader& reader, std::string_view bytes, size_t piece, std::vector<Message>& out) {
  while (!bytes.empty()) {
    iovec parts[2];
    const int count = reader.Space(parts);
    size_t filled = 0;
    for (int i = 0; i < count; ++i) {
      const size_t n = std::min({parts[i].iov_len, bytes.size(), piece - filled});
      std::memcpy(parts[i].iov_base, bytes.data(), n);
      bytes.remove_prefix(n);
      filled += n;
    }
    EXPECT_GT(filled, 0U);
    RETURN_IF_ERROR(reader.Filled(filled, [&](Message message) { out.push_back(std::move(message)); }));
  }
  return OkStatus();
}

std::vector<float> Ramp(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.5F);
  return values;
}

std::vector<Message> OneOfEach() {
  return {
      Push{NodeId(3), SequenceNumber(7), TableId(2), MapVersion(1, 4), SequenceNumber(5), Positions{10, 2, {}},
           std::vector<Key>{8, 9}, Ramp(6)},
      Push{NodeId(3), SequenceNumber(8), TableId(2), MapVersion(1, 4), SequenceNumber(5), Positions{0, 0, {1, 5, 9}},
           std::vector<Key>{8, 9, ~Key{0}}, Ramp(3)},
      Push{NodeId(3), SequenceNumber(9), TableId(2), MapVersion(1, 4), SequenceNumber(5), Positions{0, 3000, {}},
           std::vector<Key>(3000, 5), Ramp(12000)},
      PushAck{SequenceNumber(7), MapVersion(1, 4), Positions{10, 2, {}}},
      PushAck{SequenceNumber(7), MapVersion(1, 4), Positions{0, 0, {0, 7}}},
      PushRefused{SequenceNumber(7), MapVersion(1, 4), Positions{0, 0, {0, 7}},
                  Error(StatusCode::kResourceExhausted, "full")},
      PushRefused{SequenceNumber(7), MapVersion(1, 4), Positions{4, 2, {}}, Error(StatusCode::kInvalidArgument, "")},
      Pull{NodeId(3),
           RequestId(70),
           TableId(2),
           MapVersion(1, 4),
           SequenceNumber(5),
           std::chrono::milliseconds(250),
           std::vector<Key>{1, 1, 2},
           {After{SequenceNumber(6), 4, 1}, After{SequenceNumber(7), 0, 2}}},
      PullReply{RequestId(70), MapVersion(1, 4), Ramp(5000)},
      PullRefused{RequestId(70), MapVersion(1, 4), Error(StatusCode::kNotFound, "no such table; open it first")},
      Moved{MapVersion(1, 5), RequestId(9), SequenceNumber()},
      Moved{MapVersion(1, 5), RequestId(), SequenceNumber(9)},
  };
}

TEST(FrameTest, EveryRowMessageArrivesAsItWasSentHoweverTheStreamIsCut) {
  const std::vector<Message> sent = OneOfEach();
  std::string stream;
  for (const Message& message : sent) stream += Encoded(message);
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{63}, size_t{64}, size_t{65}, size_t{4096}, stream.size()}) {
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
  iovec parts[4];
  ASSERT_EQ(frame->Gather(0, parts), 2);
  EXPECT_EQ(parts[1].iov_base, rows.data());
}

TEST(FrameTest, GatheringGoesOnWhereSendingStopped) {
  const Message message = OneOfEach()[1];
  const std::string whole = Encoded(message);
  const StatusOr<OutgoingFrame> frame = EncodeFrame(message);
  for (size_t sent = 0; sent <= whole.size(); ++sent) {
    iovec parts[4];
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
        stream[random.Below(std::min<size_t>(stream.size(), 120))] = static_cast<char>(random.Next());
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

// --- handshake

const HandshakeExpectation kExpectation{.job_uid = "uid-1", .self = NodeId(2)};

TEST(HandshakeTest, RightPeerIsWelcome) {
  EXPECT_TRUE(CheckHandshake(MakeHandshake("uid-1", NodeId(5), NodeId(2)), kExpectation).ok());
  EXPECT_TRUE(ReadReply(MakeReply(OkStatus())).ok());
}

struct HandshakeCase {
  const char* name;
  void (*spoil)(wire::Handshake&);
  StatusCode code;
  const char* text;  // what the message must name
};

TEST(HandshakeTest, WrongPeersAreRefusedWithTheReason) {
  const HandshakeCase cases[] = {
      {"other protocol", [](wire::Handshake& h) { h.protocol_version = 77; }, StatusCode::kFailedPrecondition, "77"},
      {"other job", [](wire::Handshake& h) { h.job_uid[0] = 'X'; }, StatusCode::kFailedPrecondition, "Xid-1"},
      {"length beyond the field", [](wire::Handshake& h) { h.job_uid_bytes = 255; }, StatusCode::kFailedPrecondition,
       "job id"},
      {"other byte order", [](wire::Handshake& h) { h.magic = __builtin_bswap32(h.magic); },
       StatusCode::kFailedPrecondition, "byte order"},
      {"other type", [](wire::Handshake& h) { h.data_type = static_cast<wire::DataType>(9); },
       StatusCode::kFailedPrecondition, "32-bit"},
      {"an HTTP client", [](wire::Handshake& h) { std::memcpy(&h, "GET / HTTP/1.1\r\n", 16); },
       StatusCode::kInvalidArgument, "row protocol"},
      {"meant for another node", [](wire::Handshake& h) { h.expected_node = 9; }, StatusCode::kUnavailable, "node 9"},
      {"nameless", [](wire::Handshake& h) { h.node = 0; }, StatusCode::kInvalidArgument, "which node"},
  };
  for (const HandshakeCase& test : cases) {
    wire::Handshake handshake = MakeHandshake("uid-1", NodeId(5), NodeId(2));
    test.spoil(handshake);
    const Status status = CheckHandshake(handshake, kExpectation);
    EXPECT_EQ(status.code(), test.code) << test.name;
    EXPECT_NE(attune::Message(status).find(test.text), std::string_view::npos) << test.name << ": " << status;
    const Status read = ReadReply(MakeReply(status));
    EXPECT_EQ(read.code(), status.code()) << test.name << ": the dialer learns the same";
  }
}

}  // namespace
}  // namespace attune::ps
