// What every node of the data plane is stepped with and what it sends, whether it is a server or a worker.
#pragma once

#include <cstdint>

#include "ps/core/ids.h"
#include "ps/core/messages.h"

namespace attune::ps {

struct Received {
  NodeId from;  // kCoordinator, or the peer the link's handshake named
  Message message;
  LinkHeader link = {};  // between servers, see ps/core/link.h
};
struct PeerConnected {
  NodeId peer;
};
struct PeerDisconnected {
  NodeId peer;
};
// Nothing but time has passed.
struct Timer {};

struct Outgoing {
  NodeId to;
  Message message;
  LinkHeader link = {};  // travels in front of the message
};

}  // namespace attune::ps
