#include "ps/transport/handshake.h"

#include <algorithm>

#include "proto/contract.h"

namespace attune::ps {

bool SameSecret(std::string_view a, std::string_view b) {
  // The length of a token is no secret; what is compared below does not depend on where they differ.
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference =
        static_cast<unsigned char>(difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  }
  return difference == 0;
}

wire::Handshake MakeHandshake(const HandshakeIdentity& identity, NodeId peer, uint64_t connection,
                              const LinkMemory& memory) {
  wire::Handshake handshake{};
  handshake.magic = wire::kHandshakeMagic;
  handshake.endian_mark = wire::kEndianMark;
  handshake.protocol_version = contract::kProtocolVersion;
  handshake.node = identity.self.value();
  handshake.expected_node = peer.value();
  handshake.data_type = wire::DataType::kFloat32;
  handshake.incarnation = identity.incarnation;
  handshake.connection = connection;
  handshake.replaces = memory.connection;
  handshake.met = memory.peer_incarnation;
  handshake.delivered = memory.delivered;
  const std::string_view job_uid = std::string_view(identity.job_uid).substr(0, sizeof handshake.job_uid);
  handshake.job_uid_bytes = static_cast<uint8_t>(job_uid.size());
  job_uid.copy(handshake.job_uid, job_uid.size());
  const std::string_view token = std::string_view(identity.token).substr(0, sizeof handshake.token);
  handshake.token_bytes = static_cast<uint8_t>(token.size());
  token.copy(handshake.token, token.size());
  return handshake;
}

Status CheckHandshake(const wire::Handshake& handshake, const HandshakeIdentity& identity) {
  if (handshake.magic == __builtin_bswap32(wire::kHandshakeMagic) ||
      (handshake.magic == wire::kHandshakeMagic && handshake.endian_mark != wire::kEndianMark)) {
    return Error(StatusCode::kFailedPrecondition,
                 "the peer has the other byte order; run the job on machines of one kind");
  }
  if (handshake.magic != wire::kHandshakeMagic) {
    return Error(StatusCode::kInvalidArgument,
                 "the peer does not speak Attune's row protocol; check the address it dials");
  }
  if (handshake.protocol_version != contract::kProtocolVersion) {
    return Error(StatusCode::kFailedPrecondition,
                 "protocol version " + std::to_string(handshake.protocol_version) + " dials a node of version " +
                     std::to_string(contract::kProtocolVersion) + "; use the same release for all pods of a job");
  }
  if (handshake.data_type != wire::DataType::kFloat32) {
    return Error(StatusCode::kFailedPrecondition, "the peer sends values of another type than 32-bit floats");
  }
  const size_t length = std::min<size_t>(handshake.job_uid_bytes, sizeof handshake.job_uid);
  const std::string_view job_uid(handshake.job_uid, length);
  if (job_uid != std::string_view(identity.job_uid).substr(0, sizeof handshake.job_uid)) {
    return Error(StatusCode::kFailedPrecondition, "job id '" + std::string(job_uid) + "' dials a node of job id '" +
                                                      identity.job_uid + "'; check the address it dials");
  }
  const size_t token_length = std::min<size_t>(handshake.token_bytes, sizeof handshake.token);
  if (!SameSecret({handshake.token, token_length},
                  std::string_view(identity.token).substr(0, sizeof handshake.token))) {
    return Error(StatusCode::kUnauthenticated,
                 token_length == 0 ? "the peer shows no job token and this job wants one; give all pods the job's token"
                                   : "the peer's job token is not this job's; give all pods the same token");
  }
  if (identity.self == NodeId()) {
    return Error(StatusCode::kUnavailable, "the node is still joining its job; try again");
  }
  if (handshake.expected_node != identity.self.value()) {
    return Error(StatusCode::kUnavailable, "node " + std::to_string(handshake.expected_node) +
                                               " is not here, this is node " + std::to_string(identity.self.value()) +
                                               "; wait for a newer map");
  }
  if (handshake.node == 0 || handshake.incarnation == 0 || handshake.connection == 0) {
    return Error(StatusCode::kInvalidArgument, "the peer did not say which node it is");
  }
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
  reply.protocol_version = contract::kProtocolVersion;
  reply.status_code = static_cast<uint32_t>(status.code());
  const std::string_view text = attune::Message(status).substr(0, sizeof reply.text);
  reply.text_bytes = static_cast<uint16_t>(text.size());
  text.copy(reply.text, text.size());
  return reply;
}

Status ReadReply(const wire::HandshakeReply& reply) {
  if (reply.magic != wire::kHandshakeMagic) {
    return Error(StatusCode::kInvalidArgument,
                 "whoever answers there does not speak Attune's row protocol; check the address");
  }
  if (reply.status_code == 0) return OkStatus();
  const auto code = reply.status_code <= static_cast<uint32_t>(StatusCode::kUnauthenticated)
                        ? static_cast<StatusCode>(reply.status_code)
                        : StatusCode::kUnknown;
  return Error(code, std::string_view(reply.text, std::min<size_t>(reply.text_bytes, sizeof reply.text)));
}

}  // namespace attune::ps
