// Who may talk to whom: the fixed messages in front of every connection (layout: proto/frame.h) as pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "proto/frame.h"
#include "ps/core/ids.h"

namespace attune::ps {

// What a node knows of the link to a peer, over all connections of the pair.
struct LinkMemory {
  uint64_t peer_incarnation = 0;  // 0: never met
  uint64_t connection = 0;        // the present one, or the last; 0: none yet
  uint64_t delivered = 0;         // the peer's frames handled here
};

struct HandshakeIdentity {
  std::string job_uid;
  std::string token;  // the job's secret; empty: it has none
  NodeId self;        // 0 while this node has not been given its id
  uint64_t incarnation = 0;
};

wire::Handshake MakeHandshake(const HandshakeIdentity& identity, NodeId peer, uint64_t connection,
                              const LinkMemory& memory);
// What is wrong with a dialer.
Status CheckHandshake(const wire::Handshake& handshake, const HandshakeIdentity& identity);

// Both ends of a pair may dial at the same time; one connection must remain, and both must choose the same. The
// listener decides. Aborted: it keeps what it has or is about to get.
struct PresentLink {
  bool connected = false;   // an established connection...
  uint64_t connection = 0;  // ...of this name
  bool dialing = false;
};
Status ChooseConnection(const wire::Handshake& handshake, NodeId self, const PresentLink& present);

wire::HandshakeReply MakeReply(const Status& status);
// The listener's verdict. A reply that is none is InvalidArgument.
Status ReadReply(const wire::HandshakeReply& reply);

// Whether two secrets are the same, in a time that tells nothing about them.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace attune::ps
