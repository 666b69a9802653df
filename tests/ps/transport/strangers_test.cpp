// What dialers that do not know the job's secret get out of a node: nothing. And what they take from those that do:
// nothing either.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/ps/transport/node.h"

namespace attune::ps::strangers_test {
namespace {

constexpr NodeId kServer(4711), kWorker(4712);
constexpr char kJob[] = "0b9a4c0e-5f3e-4a39-a6c0-8e4f55d8f5d1";
constexpr char kToken[] = "a token that cannot be guessed";
const HandshakeIdentity kMember{.self = kWorker, .incarnation = 77};

TcpOptions Options(NodeId self, const std::string& token = kToken, const std::string& job = kJob) {
  return {.job_uid = job, .self = self, .bind_address = self == kServer ? "127.0.0.1" : "", .token = token};
}

template <typename T>
std::string BytesOf(const T& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

// Everything a node says until it closes.
std::string AnswerTo(const std::string& address, const std::string& words) {
  BareSocket socket(address);
  socket.Write(words.data(), words.size());
  return socket.Read(SIZE_MAX);
}

TEST(StrangersTest, AllThatIsWrongBeforeTheChallengeGetsOneAnswer) {
  TestNode server(Options(kServer));
  wire::Hello other_version = MakeHello(FreshNonce());
  other_version.protocol_version = 99;
  wire::Hello other_order = MakeHello(FreshNonce());
  other_order.magic = __builtin_bswap32(other_order.magic);
  for (const std::string& words : {BytesOf(other_version), BytesOf(other_order), std::string("GET / HTTP/1.1\r\n\r\n"),
                                   std::string("\x16\x03\x01\x00", 4)}) {
    EXPECT_EQ(AnswerTo(server.transport().address(), words), BytesOf(RefuseStranger()));
  }
}

TEST(StrangersTest, WhoeverCannotProveItselfGetsOneAnswer) {
  TestNode server(Options(kServer));
  struct Case {
    const char* name;
    const char* token;
    const char* job;
    NodeId expected;
  };
  const Case cases[] = {
      {"the job's uid was guessed", "", kJob, kServer},
      {"the token was guessed", "a token that can be guessed", kJob, kServer},
      {"a worker of another job", "the token of another job", "another", kServer},
      {"the same token in another job", kToken, "another", kServer},
      {"asks for another node", "a token that can be guessed", kJob, NodeId(1)},
  };
  for (const Case& test : cases) {
    BareDialer stranger(server.transport().address(), kMember, test.expected, test.token, test.job);
    EXPECT_EQ(stranger.ShakeHands().code(), StatusCode::kUnauthenticated) << test.name;
    EXPECT_EQ(BytesOf(stranger.reply), BytesOf(RefuseUnproved())) << test.name;
    EXPECT_EQ(stranger.Read(1), "") << test.name << ": and the connection ends";
    EXPECT_EQ(BytesOf(stranger.challenge).find(kJob), std::string::npos) << test.name;
  }
  EXPECT_EQ(server.connects_, 0);
  EXPECT_TRUE(server.transport().links(SIZE_MAX).empty()) << "nothing is kept of them";
}

TEST(StrangersTest, RecordedHandshakeIsOfNoUse) {
  TestNode server(Options(kServer));
  BareDialer member(server.transport().address(), kMember, kServer, kToken, kJob);
  ASSERT_TRUE(member.ShakeHands().ok());
  ASSERT_TRUE(server.AwaitConnected(kWorker));
  const wire::HandshakeEnd end{.magic = wire::kHandshakeMagic, .shared_memory = 0};
  const std::string answer =
      AnswerTo(server.transport().address(), BytesOf(member.hello) + BytesOf(member.handshake) + BytesOf(end));
  EXPECT_EQ(answer.substr(sizeof(wire::Challenge)), BytesOf(RefuseUnproved()));
  EXPECT_EQ(server.connects_, 1);
  EXPECT_EQ(server.disconnects_, 0) << "the member's connection stays";
}

TEST(StrangersTest, ListenerThatDoesNotKnowTheSecretIsToldNothing) {
  TestNode impostor(Options(kServer, "a token that can be guessed"));
  TestNode worker(Options(kWorker));
  worker.transport().Connect(kServer, impostor.transport().address());
  EXPECT_EQ(worker.AwaitRefusal(kServer).code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(impostor.connects_, 0);
}

TEST(StrangersTest, MemberHearsInWordsWhatIsWrong) {
  TestNode server(Options(kServer));
  BareDialer member(server.transport().address(), kMember, NodeId(1), kToken, kJob);
  const Status status = member.ShakeHands();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(attune::Message(status).find("node 1 is not here"), std::string_view::npos) << status;
}

TEST(StrangersTest, TokenThatCanBeGuessedStopsTheNode) {
  TestNode node(Options(kServer, "secret"));
  EXPECT_EQ(node.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(attune::Message(node.status()).find("openssl rand"), std::string_view::npos) << node.status();
}

// --- ports that other machines can reach

TEST(StrangersTest, NodeThatCannotTellStrangersApartListensOnLoopbackOnly) {
  for (const char* open : {"0.0.0.0", "::", "10.1.2.3"}) {
    TcpOptions options = Options(kServer, "");
    options.bind_address = open;
    TestNode node(options);
    EXPECT_EQ(node.status().code(), StatusCode::kFailedPrecondition) << open;
    EXPECT_NE(attune::Message(node.status()).find("ATTUNE_JOB_TOKEN_FILE"), std::string_view::npos) << node.status();
  }
  TcpOptions member = Options(kServer);
  member.bind_address = "0.0.0.0";
  EXPECT_TRUE(TestNode(member).status().ok());
  EXPECT_TRUE(TestNode(Options(kServer, "")).status().ok()) << "loopback needs no token";
}

// --- rows encrypted by nothing but the token

TEST(StrangersTest, TokenAloneEncryptsRows) {
  TcpOptions server_options = Options(kServer), worker_options = Options(kWorker);
  server_options.encrypted = worker_options.encrypted = true;
  server_options.shared_memory = worker_options.shared_memory = false;
  TestNode server(server_options), worker(worker_options);
  ASSERT_TRUE(server.status().ok()) << server.status();
  worker.transport().Connect(kServer, server.transport().address());
  ASSERT_TRUE(worker.AwaitConnected(kServer));
  ASSERT_TRUE(worker.transport().Send(kServer, SomePush(1, 200, 64)).ok());
  ASSERT_TRUE(server.Await([&] { return server.received_.size() == 1; }));
  EXPECT_EQ(server.transport().links(1)[0].path, LinkCounters::kTls);

  TcpOptions stranger_options = Options(NodeId(5), "a token that can be guessed");
  stranger_options.encrypted = true;
  TestNode stranger(stranger_options);
  stranger.transport().Connect(kServer, server.transport().address());
  EXPECT_EQ(stranger.AwaitRefusal(kServer).code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(server.connects_, 1);
}

TEST(StrangersTest, EncryptionWithoutATokenIsRefusedAtTheStart) {
  TcpOptions options = Options(kServer, "");
  options.encrypted = true;
  TestNode node(options);
  EXPECT_EQ(node.status().code(), StatusCode::kFailedPrecondition);
}

// Slow ones say part of a Hello, a Hello alone, or nothing, and stay.
TEST(StrangersTest, MembersConnectWhileSlowClientsHoldEveryPlace) {
  TestNode server(Options(kServer));
  std::vector<std::unique_ptr<BareDialer>> slow;
  for (size_t i = 0; i < 3 * TcpTransport::kStrangersPerSourceMax; ++i) {
    slow.push_back(std::make_unique<BareDialer>(server.transport().address(), kMember, kServer));
    slow.back()->Write(&slow.back()->hello, i % 3 == 0 ? sizeof(wire::Hello) : i % 3 == 1 ? 5 : 0);
    if (i % 64 != 0) continue;
    const NodeId id(100 + static_cast<uint32_t>(i));
    TestNode worker(Options(id));
    worker.transport().Connect(kServer, server.transport().address());
    ASSERT_TRUE(worker.AwaitConnected(kServer)) << "after " << i << " slow clients";
    ASSERT_TRUE(server.AwaitConnected(id));
  }
  EXPECT_EQ(slow.front()->Read(SIZE_MAX).size(), sizeof(wire::Challenge)) << "the oldest made room";
}

}  // namespace
}  // namespace attune::ps::strangers_test
