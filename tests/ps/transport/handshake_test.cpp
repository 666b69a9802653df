#include "ps/transport/handshake.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

namespace attune::ps {
namespace {

constexpr uint64_t kConnection = 99;

HandshakeIdentity IdentityOf(NodeId self, std::string token = "") {
  return {.job_uid = "uid-1", .token = std::move(token), .self = self, .incarnation = 1000 + self.value()};
}
const HandshakeIdentity kExpectation = IdentityOf(NodeId(2));

TEST(HandshakeTest, RightPeerIsWelcome) {
  EXPECT_TRUE(CheckHandshake(MakeHandshake(IdentityOf(NodeId(5)), NodeId(2), kConnection, {}), kExpectation).ok());
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
    wire::Handshake handshake = MakeHandshake(IdentityOf(NodeId(5)), NodeId(2), kConnection, {});
    test.spoil(handshake);
    const Status status = CheckHandshake(handshake, kExpectation);
    EXPECT_EQ(status.code(), test.code) << test.name;
    EXPECT_NE(attune::Message(status).find(test.text), std::string_view::npos) << test.name << ": " << status;
    const Status read = ReadReply(MakeReply(status));
    EXPECT_EQ(read.code(), status.code()) << test.name << ": the dialer learns the same";
  }
}

TEST(HandshakeTest, SecretsMustAgree) {
  const auto check = [](const std::string& shown, const std::string& wanted) {
    return CheckHandshake(MakeHandshake(IdentityOf(NodeId(5), shown), NodeId(2), kConnection, {}),
                          IdentityOf(NodeId(2), wanted));
  };
  EXPECT_TRUE(check("secret", "secret").ok());
  for (const auto& [shown, wanted] : {std::pair("", "secret"), std::pair("secret", ""), std::pair("Secret", "secret"),
                                      std::pair("secret ", "secret")}) {
    const Status status = check(shown, wanted);
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << shown << "/" << wanted;
    EXPECT_EQ(attune::Message(status).find("ecret"), std::string_view::npos) << "secrets are not told";
  }
}

TEST(HandshakeTest, BothEndsChooseTheSameConnection) {
  struct Case {
    const char* name;
    uint32_t listener, dialer;
    PresentLink present;
    uint64_t replaces;
    bool accepted;
  };
  const Case cases[] = {
      {"first meeting", 2, 5, {}, 0, true},
      {"both dial, the lower listens", 2, 5, {.dialing = true}, 0, false},
      {"both dial, the higher listens", 5, 2, {.dialing = true}, 0, true},
      {"linked by the own dial just before", 2, 5, {.connected = true, .connection = 7}, 0, false},
      {"linked, and the lower dials as well", 5, 2, {.connected = true, .connection = 7}, 0, true},
      {"the dialer has seen the link end", 2, 5, {.connected = true, .connection = 7}, 7, true},
      {"the dialer has seen an older link end", 2, 5, {.connected = true, .connection = 8}, 7, false},
  };
  for (const Case& test : cases) {
    wire::Handshake handshake = MakeHandshake(IdentityOf(NodeId(test.dialer)), NodeId(test.listener), kConnection,
                                              {.connection = test.replaces});
    const Status status = ChooseConnection(handshake, NodeId(test.listener), test.present);
    EXPECT_EQ(status.code(), test.accepted ? StatusCode::kOk : StatusCode::kAborted) << test.name;
  }
}

}  // namespace
}  // namespace attune::ps
