// The fixed messages in front of a connection, as strangers may send them.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/random.h"
#include "ps/transport/handshake.h"
#include "tests/fuzz/fuzz_driver.h"

namespace {

const attune::ps::HandshakeIdentity kListener{
    .job_uid = "uid", .token = "secret", .self = attune::ps::NodeId(2), .incarnation = 7};

}  // namespace

std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) {
  Random random(seed);
  ps::HandshakeIdentity dialer = kListener;
  dialer.self = ps::NodeId(static_cast<uint32_t>(1 + random.Below(5)));
  const wire::Handshake handshake = ps::MakeHandshake(dialer, ps::NodeId(2), 1 + random.Below(3), {});
  const wire::HandshakeReply reply = ps::MakeReply(Error(StatusCode::kUnavailable, "later"));
  std::vector<uint8_t> bytes(sizeof handshake + sizeof reply);
  std::memcpy(bytes.data(), &handshake, sizeof handshake);
  std::memcpy(bytes.data() + sizeof handshake, &reply, sizeof reply);
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  wire::Handshake handshake{};
  if (size > 0) std::memcpy(&handshake, data, std::min(size, sizeof handshake));
  if (const Status status = ps::CheckHandshake(handshake, kListener); status.ok()) {
    ATTUNE_CHECK(handshake.node != 0 && handshake.connection != 0) << "a nameless peer is welcome";
    const ps::PresentLink present{.connected = true, .connection = 1};
    (void)ps::ChooseConnection(handshake, kListener.self, present);
  } else if (std::string_view(handshake.job_uid, sizeof handshake.job_uid).find("secret") == std::string_view::npos) {
    // (A stranger's job id is repeated to it, whatever it says.)
    ATTUNE_CHECK(Message(status).find("secret") == std::string_view::npos) << "a secret is told";
  }
  wire::HandshakeReply reply{};
  if (size > sizeof handshake) {
    std::memcpy(&reply, data + sizeof handshake, std::min(size - sizeof handshake, sizeof reply));
  }
  (void)ps::ReadReply(reply);
  return 0;
}
