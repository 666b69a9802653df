// What every node of the data plane is stepped with and what it sends, whether it is a server or a worker.
#pragma once

#include <cstdint>
#include <string>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

struct Received {
  NodeId from;  // kCoordinator, or the peer the link's handshake named
  Message message;
  LinkHeader link = {};  // between servers, see ps/core/link/link.h
  uint32_t term = 0;     // of the coordinator it comes from; 0: any
};
struct PeerConnected {
  NodeId peer;
};
struct PeerDisconnected {
  NodeId peer;
};
// Where a coordinator listens.
struct CoordinatorPlace {
  uint32_t term = 0;
  std::string address;  // host:port
};
// host:port of the coordinator at the member with this data plane, which has the same host. Empty when it has none.
std::string CoordinatorAddress(const std::string& address, uint16_t port);

// Nothing but time has passed.
struct Timer {};

// A message that was ignored, by what this node knows: it is wrong whatever it says (message_check.h). For the log.
struct RejectedMessage {
  NodeId from;
  std::string why;  // kind and cause
};

struct Outgoing {
  NodeId to;
  Message message;
  LinkHeader link = {};  // travels in front of the message
};

}  // namespace attune::ps
