#include "ps/transport/security/handshake.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/sha256.h"
#include "proto/contract.h"

namespace attune::ps {
namespace {

using Piece = std::span<const std::byte>;

// Every message has one size, so pieces one after the other cannot be cut in two ways.
template <typename T>
Piece Whole(const T& message) {
  return std::as_bytes(std::span(&message, 1));
}
template <typename T>
Piece WithoutProof(const T& message) {
  return Whole(message).first(offsetof(T, proof));
}
Piece Label(const char (&text)[9]) { return std::as_bytes(std::span(text).first<8>()); }

KeyBytes ProofOfChallenge(const JobSecret& secret, const wire::Hello& hello, const wire::Challenge& challenge) {
  return secret.Prove({Label("listener"), Whole(hello), WithoutProof(challenge)});
}
KeyBytes ProofOfHandshake(const JobSecret& secret, const wire::Hello& hello, const wire::Challenge& challenge,
                          const wire::Handshake& handshake) {
  return secret.Prove({Label("dialer: "), Whole(hello), Whole(challenge), WithoutProof(handshake)});
}
// The handshake's own proof stands for the Hello.
KeyBytes ProofOfReply(const JobSecret& secret, const wire::Challenge& challenge, const wire::Handshake& handshake,
                      const wire::HandshakeReply& reply) {
  return secret.Prove({Label("verdict:"), Whole(challenge), Whole(handshake), WithoutProof(reply)});
}

}  // namespace

wire::Hello MakeHello(const KeyBytes& nonce) {
  wire::Hello hello{};
  hello.magic = wire::kHandshakeMagic;
  hello.endian_mark = wire::kEndianMark;
  hello.protocol_version = contract::kProtocolVersion;
  std::ranges::copy(nonce, hello.nonce);
  return hello;
}

Status CheckHello(const wire::Hello& hello) {
  if (hello.magic == __builtin_bswap32(wire::kHandshakeMagic) ||
      (hello.magic == wire::kHandshakeMagic && hello.endian_mark != wire::kEndianMark)) {
    return Error(StatusCode::kFailedPrecondition,
                 "the peer has the other byte order; run the job on machines of one kind");
  }
  if (hello.magic != wire::kHandshakeMagic) {
    return Error(StatusCode::kInvalidArgument,
                 "the peer does not speak Attune's row protocol; check the address it dials");
  }
  if (hello.protocol_version != contract::kProtocolVersion) {
    return Error(StatusCode::kFailedPrecondition,
                 "protocol version " + std::to_string(hello.protocol_version) + " dials a node of version " +
                     std::to_string(contract::kProtocolVersion) + "; use the same release for all pods of a job");
  }
  return OkStatus();
}

wire::Challenge MakeChallenge(const JobSecret& secret, const wire::Hello& hello, const KeyBytes& nonce) {
  wire::Challenge challenge{};
  challenge.magic = wire::kHandshakeMagic;
  std::ranges::copy(nonce, challenge.nonce);
  std::ranges::copy(ProofOfChallenge(secret, hello, challenge), challenge.proof);
  return challenge;
}

wire::Challenge RefuseStranger() {
  wire::Challenge challenge{};
  challenge.magic = wire::kHandshakeMagic;
  challenge.refused = 1;
  return challenge;
}

Status CheckChallenge(const JobSecret& secret, const wire::Hello& hello, const wire::Challenge& challenge) {
  if (challenge.magic != wire::kHandshakeMagic) {
    return Error(StatusCode::kInvalidArgument,
                 "what answers there does not speak Attune's row protocol; check the address");
  }
  if (challenge.refused != 0) {
    return Error(StatusCode::kUnauthenticated,
                 "refused before anything was said: the peer is of another release, or its rows are encrypted and this "
                 "node's are not; its log says which");
  }
  if (!SameInConstantTime(challenge.proof, ProofOfChallenge(secret, hello, challenge))) {
    return Error(StatusCode::kUnauthenticated,
                 "what answers there does not know this job's secret: it is of another job, or was given another "
                 "token; give all pods of the job the same one");
  }
  return OkStatus();
}

wire::Handshake MakeHandshake(const HandshakeIdentity& identity, NodeId peer, uint64_t connection,
                              const LinkMemory& memory) {
  wire::Handshake handshake{};
  handshake.magic = wire::kHandshakeMagic;
  handshake.node = identity.self.value();
  handshake.expected_node = peer.value();
  handshake.data_type = wire::DataType::kFloat32;
  handshake.incarnation = identity.incarnation;
  handshake.connection = connection;
  handshake.replaces = memory.connection;
  handshake.met = memory.peer_incarnation;
  handshake.delivered = memory.delivered;
  return handshake;
}

void ProveHandshake(const JobSecret& secret, const wire::Hello& hello, const wire::Challenge& challenge,
                    wire::Handshake& handshake) {
  std::ranges::copy(ProofOfHandshake(secret, hello, challenge, handshake), handshake.proof);
}

Status CheckProof(const JobSecret& secret, const wire::Hello& hello, const wire::Challenge& challenge,
                  const wire::Handshake& handshake) {
  if (SameInConstantTime(handshake.proof, ProofOfHandshake(secret, hello, challenge, handshake))) return OkStatus();
  return Error(StatusCode::kUnauthenticated,
               "the peer does not know this job's secret: it is of another job, or was given another token");
}

Status CheckHandshake(const wire::Handshake& handshake, const HandshakeIdentity& identity) {
  if (handshake.data_type != wire::DataType::kFloat32) {
    return Error(StatusCode::kFailedPrecondition, "the peer sends values of another type than 32-bit floats");
  }
  if (handshake.node == 0 || handshake.incarnation == 0 || handshake.connection == 0) {
    return Error(StatusCode::kInvalidArgument, "the peer did not say which node it is");
  }
  if (identity.self == NodeId()) {
    return Error(StatusCode::kUnavailable, "the node is still joining its job; try again");
  }
  if (handshake.expected_node != identity.self.value()) {
    return Error(StatusCode::kUnavailable, "node " + std::to_string(handshake.expected_node) +
                                               " is not here, this is node " + std::to_string(identity.self.value()) +
                                               "; wait for a newer map");
  }
  if (handshake.node == identity.self.value()) return Error(StatusCode::kInvalidArgument, "a node dials itself");
  return OkStatus();
}

// The lower node's dial wins, unless the dialer has seen the present connection end: then it is gone, and this side
// has not noticed yet.
Status ChooseConnection(const wire::Handshake& handshake, NodeId self, const PresentLink& present) {
  const bool mine_wins = self.value() < handshake.node;
  if (present.connected && present.connection != handshake.replaces && mine_wins) {
    return Error(StatusCode::kAborted, "the two nodes are linked already");
  }
  if (!present.connected && present.dialing && mine_wins) {
    return Error(StatusCode::kAborted, "the two nodes dial each other; the other connection is kept");
  }
  return OkStatus();
}

wire::HandshakeReply MakeReply(const Status& status) {
  wire::HandshakeReply reply{};
  reply.magic = wire::kHandshakeMagic;
  reply.status_code = static_cast<uint32_t>(status.code());
  const std::string_view text = attune::Message(status).substr(0, sizeof reply.text);
  reply.text_bytes = static_cast<uint16_t>(text.size());
  text.copy(reply.text, text.size());
  return reply;
}

wire::HandshakeReply RefuseUnproved() { return MakeReply(Error(StatusCode::kUnauthenticated, "refused")); }

void ProveReply(const JobSecret& secret, const wire::Challenge& challenge, const wire::Handshake& handshake,
                wire::HandshakeReply& reply) {
  std::ranges::copy(ProofOfReply(secret, challenge, handshake, reply), reply.proof);
}

Status ReadReply(const JobSecret& secret, const wire::Challenge& challenge, const wire::Handshake& handshake,
                 const wire::HandshakeReply& reply) {
  if (reply.magic != wire::kHandshakeMagic ||
      !SameInConstantTime(reply.proof, ProofOfReply(secret, challenge, handshake, reply))) {
    return Error(StatusCode::kUnauthenticated,
                 "the peer does not believe that this node is of its job; give all pods of the job the same token");
  }
  if (reply.status_code == 0) return OkStatus();
  const auto code = reply.status_code <= static_cast<uint32_t>(StatusCode::kUnauthenticated)
                        ? static_cast<StatusCode>(reply.status_code)
                        : StatusCode::kUnknown;
  return Error(code, std::string_view(reply.text, std::min<size_t>(reply.text_bytes, sizeof reply.text)));
}

}  // namespace attune::ps
