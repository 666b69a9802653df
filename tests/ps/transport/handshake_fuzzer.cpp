// The fixed messages in front of a connection, as strangers may send them: no sender that does not know the secret is
// believed, whatever the bytes, and no sender that does is harmed.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/random.h"
#include "ps/transport/security/handshake.h"
#include "tests/fuzz/fuzz_driver.h"

namespace {

using namespace attune;

const ps::HandshakeIdentity kListener{.self = ps::NodeId(2), .incarnation = 7};

ps::JobSecret Secret() { return ps::JobSecret::Create("uid", "a secret of some length").value(); }

template <typename T>
size_t Take(const uint8_t* data, size_t size, size_t at, T& message) {
  if (at < size) std::memcpy(&message, data + at, std::min(size - at, sizeof message));
  return at + sizeof message;
}

}  // namespace

std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) {
  Random random(seed);
  const ps::JobSecret secret = Secret();
  ps::KeyBytes nonce{};
  nonce.fill(static_cast<unsigned char>(seed));
  const wire::Hello hello = ps::MakeHello(nonce);
  const wire::Challenge challenge = ps::MakeChallenge(secret, hello, nonce);
  wire::Handshake handshake =
      ps::MakeHandshake({.self = ps::NodeId(static_cast<uint32_t>(1 + random.Below(5))), .incarnation = 8},
                        ps::NodeId(2), 1 + random.Below(3), {});
  ps::ProveHandshake(secret, hello, challenge, handshake);
  wire::HandshakeReply reply = ps::MakeReply(Error(StatusCode::kUnavailable, "later"));
  ps::ProveReply(secret, challenge, handshake, reply);
  std::vector<uint8_t> bytes(sizeof hello + sizeof challenge + sizeof handshake + sizeof reply);
  uint8_t* to = bytes.data();
  const auto append = [&](const auto& message) {
    std::memcpy(to, &message, sizeof message);
    to += sizeof message;
  };
  append(hello);
  append(challenge);
  append(handshake);
  append(reply);
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wire::Hello hello{};
  wire::Challenge challenge{};
  wire::Handshake handshake{};
  wire::HandshakeReply reply{};
  size_t at = Take(data, size, 0, hello);
  at = Take(data, size, at, challenge);
  at = Take(data, size, at, handshake);
  Take(data, size, at, reply);

  (void)ps::CheckHello(hello);
  const ps::JobSecret secret = Secret();
  // A nonce that no input can foresee: nothing that the fuzzer says can be right.
  const ps::KeyBytes fresh = ps::FreshNonce();
  const wire::Challenge ours = ps::MakeChallenge(secret, hello, fresh);
  ATTUNE_CHECK(!ps::CheckProof(secret, hello, ours, handshake).ok()) << "a stranger is believed";
  ATTUNE_CHECK(!ps::CheckChallenge(secret, ps::MakeHello(fresh), challenge).ok()) << "a stranger is believed";
  ATTUNE_CHECK(!ps::ReadReply(secret, ours, handshake, reply).ok()) << "a stranger is believed";
  // As if it were a node of the job.
  if (ps::CheckHandshake(handshake, kListener).ok()) {
    ATTUNE_CHECK(handshake.node != 0 && handshake.connection != 0) << "a nameless peer is welcome";
    const ps::PresentLink present{.connected = true, .connection = 1};
    (void)ps::ChooseConnection(handshake, kListener.self, present);
  }
  ps::ProveReply(secret, ours, handshake, reply);
  (void)ps::ReadReply(secret, ours, handshake, reply);
  return 0;
}
