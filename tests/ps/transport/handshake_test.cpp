#include "ps/transport/security/handshake.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

namespace attune::ps::handshake_test {
namespace {

constexpr uint64_t kConnection = 99;
constexpr NodeId kDialer(5), kListener(2);
const HandshakeIdentity kListenerIdentity{.self = kListener, .incarnation = 1002};
constexpr char kToken[] = "0123456789abcdef0123456789abcdef";

JobSecret SecretOf(const std::string& token, const std::string& job_uid = "uid-1") {
  return JobSecret::Create(job_uid, token).value();
}
KeyBytes NonceOf(unsigned char byte) {
  KeyBytes nonce;
  nonce.fill(byte);
  return nonce;
}

// What both sides say, each with its own secret, up to the dialer's proof.
struct Talk {
  JobSecret dialer, listener;
  wire::Hello hello;
  wire::Challenge challenge;
  wire::Handshake handshake;

  explicit Talk(const JobSecret& both) : Talk(both, both) {}
  Talk(const JobSecret& at_dialer, const JobSecret& at_listener) : dialer(at_dialer), listener(at_listener) {
    hello = MakeHello(NonceOf(1));
    challenge = MakeChallenge(listener, hello, NonceOf(2));
    const HandshakeIdentity identity{.self = kDialer, .incarnation = 1005};
    const LinkMemory never_met;
    handshake = MakeHandshake(identity, kListener, kConnection, never_met);
    ProveHandshake(dialer, hello, challenge, handshake);
  }
  Status DialerSays() const { return CheckChallenge(dialer, hello, challenge); }
  Status ListenerSays() const { return CheckProof(listener, hello, challenge, handshake); }
};

TEST(HandshakeTest, NodesOfOneJobBelieveEachOther) {
  for (const char* const token : {kToken, ""}) {
    const Talk talk(SecretOf(token));
    EXPECT_TRUE(CheckHello(talk.hello).ok());
    EXPECT_TRUE(talk.DialerSays().ok()) << talk.DialerSays();
    EXPECT_TRUE(talk.ListenerSays().ok()) << talk.ListenerSays();
    EXPECT_TRUE(CheckHandshake(talk.handshake, kListenerIdentity).ok());
    wire::HandshakeReply reply = MakeReply(OkStatus());
    ProveReply(talk.listener, talk.challenge, talk.handshake, reply);
    EXPECT_TRUE(ReadReply(talk.dialer, talk.challenge, talk.handshake, reply).ok());
  }
}

TEST(HandshakeTest, OtherSecretsAreNotBelievedOnEitherSide) {
  const JobSecret ours = SecretOf(kToken);
  const std::pair<const char*, JobSecret> strangers[] = {
      {"guessed token", SecretOf("0123456789abcdef0123456789abcdeF")},
      {"longer token", SecretOf(std::string(kToken) + "0")},
      {"no token", SecretOf("")},
      {"the same token in another job", SecretOf(kToken, "uid-2")},
  };
  for (const auto& [name, stranger] : strangers) {
    EXPECT_EQ(Talk(stranger, ours).ListenerSays().code(), StatusCode::kUnauthenticated) << name;
    EXPECT_EQ(Talk(stranger, ours).DialerSays().code(), StatusCode::kUnauthenticated) << name;
    EXPECT_EQ(Talk(ours, stranger).DialerSays().code(), StatusCode::kUnauthenticated) << name;
  }
}

TEST(HandshakeTest, WhatWasSaidOnceIsOfNoUseAgain) {
  const JobSecret secret = SecretOf(kToken);
  const Talk first(secret);
  // The same words to a listener that has drawn another nonce.
  const wire::Challenge next = MakeChallenge(secret, first.hello, NonceOf(3));
  EXPECT_EQ(CheckProof(secret, first.hello, next, first.handshake).code(), StatusCode::kUnauthenticated);
  // An old challenge to a dialer that has drawn another nonce.
  EXPECT_EQ(CheckChallenge(secret, MakeHello(NonceOf(4)), first.challenge).code(), StatusCode::kUnauthenticated);
  // What the listener proved, thrown back at it.
  wire::Handshake reflected = first.handshake;
  std::memcpy(reflected.proof, first.challenge.proof, sizeof reflected.proof);
  EXPECT_EQ(CheckProof(secret, first.hello, first.challenge, reflected).code(), StatusCode::kUnauthenticated);
}

TEST(HandshakeTest, NothingThatWasProvedCanBeChanged) {
  const JobSecret secret = SecretOf(kToken);
  for (size_t byte = 0; byte < sizeof(wire::Handshake); ++byte) {
    Talk talk(secret);
    reinterpret_cast<unsigned char*>(&talk.handshake)[byte] ^= 1;
    EXPECT_EQ(talk.ListenerSays().code(), StatusCode::kUnauthenticated) << "byte " << byte;
  }
  const Talk talk(secret);
  wire::HandshakeReply reply = MakeReply(OkStatus());
  ProveReply(secret, talk.challenge, talk.handshake, reply);
  for (size_t byte = 0; byte < sizeof reply; ++byte) {
    wire::HandshakeReply changed = reply;
    reinterpret_cast<unsigned char*>(&changed)[byte] ^= 1;
    EXPECT_EQ(ReadReply(secret, talk.challenge, talk.handshake, changed).code(), StatusCode::kUnauthenticated)
        << "byte " << byte;
  }
}

TEST(HandshakeTest, TokensThatCanBeGuessedAreRefused) {
  for (const std::string& token : {std::string("secret"), std::string(15, 'x'), std::string(4097, 'x')}) {
    const auto secret = JobSecret::Create("uid-1", token);
    EXPECT_EQ(secret.status().code(), StatusCode::kInvalidArgument) << token.size();
    EXPECT_EQ(attune::Message(secret.status()).find(token), std::string_view::npos) << "secrets are not logged";
  }
}

TEST(HandshakeTest, KeysOfOneTokenAreNotEachOther) {
  const JobSecret secret = SecretOf(kToken);
  EXPECT_NE(secret.authority_seed(), secret.Prove({}));
  EXPECT_NE(secret.authority_seed(), SecretOf(kToken, "uid-2").authority_seed());
  EXPECT_EQ(secret.authority_seed(), SecretOf(kToken).authority_seed()) << "every process derives the same";
}

struct HelloCase {
  const char* name;
  void (*spoil)(wire::Hello&);
  StatusCode code;
  const char* text;  // what the log must name
};

TEST(HandshakeTest, WrongFirstWordsAreLoggedWithTheReason) {
  const HelloCase cases[] = {
      {"other protocol", [](wire::Hello& h) { h.protocol_version = 77; }, StatusCode::kFailedPrecondition, "77"},
      {"other byte order", [](wire::Hello& h) { h.magic = __builtin_bswap32(h.magic); },
       StatusCode::kFailedPrecondition, "byte order"},
      {"an HTTP client", [](wire::Hello& h) { std::memcpy(&h, "GET / HTTP/1.1\r\n", 16); },
       StatusCode::kInvalidArgument, "row protocol"},
  };
  for (const HelloCase& test : cases) {
    wire::Hello hello = MakeHello(NonceOf(1));
    test.spoil(hello);
    const Status status = CheckHello(hello);
    EXPECT_EQ(status.code(), test.code) << test.name;
    EXPECT_NE(attune::Message(status).find(test.text), std::string_view::npos) << test.name << ": " << status;
  }
}

struct HandshakeCase {
  const char* name;
  void (*spoil)(wire::Handshake&);
  StatusCode code;
  const char* text;  // what the message must name
};

TEST(HandshakeTest, NodesOfTheJobHearWhatIsWrong) {
  const HandshakeCase cases[] = {
      {"other type", [](wire::Handshake& h) { h.data_type = static_cast<wire::DataType>(9); },
       StatusCode::kFailedPrecondition, "32-bit"},
      {"meant for another node", [](wire::Handshake& h) { h.expected_node = 9; }, StatusCode::kUnavailable, "node 9"},
      {"nameless", [](wire::Handshake& h) { h.node = 0; }, StatusCode::kInvalidArgument, "which node"},
      {"the listener itself", [](wire::Handshake& h) { h.node = 2; }, StatusCode::kInvalidArgument, "itself"},
  };
  for (const HandshakeCase& test : cases) {
    Talk talk(SecretOf(kToken));
    test.spoil(talk.handshake);
    const Status status = CheckHandshake(talk.handshake, kListenerIdentity);
    EXPECT_EQ(status.code(), test.code) << test.name;
    EXPECT_NE(attune::Message(status).find(test.text), std::string_view::npos) << test.name << ": " << status;
    wire::HandshakeReply reply = MakeReply(status);
    ProveReply(talk.listener, talk.challenge, talk.handshake, reply);
    EXPECT_EQ(ReadReply(talk.dialer, talk.challenge, talk.handshake, reply), status)
        << test.name << ": the dialer learns the same";
  }
}

TEST(HandshakeTest, RefusalsOfStrangersAreConstants) {
  const wire::Challenge unheard = RefuseStranger(), unheard_again = RefuseStranger();
  EXPECT_EQ(std::memcmp(&unheard, &unheard_again, sizeof unheard), 0);
  const wire::HandshakeReply unproved = RefuseUnproved(), unproved_again = RefuseUnproved();
  EXPECT_EQ(std::memcmp(&unproved, &unproved_again, sizeof unproved), 0);
  EXPECT_EQ(std::string_view(unproved.text, unproved.text_bytes), "refused");
  EXPECT_EQ(unproved.incarnation, 0U);
  const Talk talk(SecretOf(kToken));
  EXPECT_EQ(CheckChallenge(talk.dialer, talk.hello, unheard).code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(ReadReply(talk.dialer, talk.challenge, talk.handshake, unproved).code(), StatusCode::kUnauthenticated);
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
    const wire::Handshake handshake = MakeHandshake({.self = NodeId(test.dialer), .incarnation = 1},
                                                    NodeId(test.listener), kConnection, {.connection = test.replaces});
    const Status status = ChooseConnection(handshake, NodeId(test.listener), test.present);
    EXPECT_EQ(status.code(), test.accepted ? StatusCode::kOk : StatusCode::kAborted) << test.name;
  }
}

}  // namespace
}  // namespace attune::ps::handshake_test
