// What dialer and listener need of the links that exist, and all that they need of them: whether there is one, what is
// remembered of it, and where a connection goes that both sides have agreed on.
//
// On the loop only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/status.h"
#include "ps/transport/security/handshake.h"
#include "ps/transport/shared/shared_memory.h"
#include "ps/transport/stream.h"

namespace attune::ps {

// A connection whose handshake is through.
struct AgreedLink {
  bool dialed = false;       // by this side
  uint64_t incarnation = 0;  // of the peer's process
  bool remembers = false;    // the peer has met this process before...
  uint64_t delivered = 0;    // ...and has handled so many of its frames
  uint64_t connection = 0;   // its name, the same on both sides
  std::unique_ptr<Stream> stream;
  std::optional<SharedMemory> memory;  // absent: frames go over the stream
};

class LinkBook {
 public:
  virtual ~LinkBook() = default;

  virtual PresentLink Present(NodeId node) const = 0;
  // Of a node that was never met: nothing.
  virtual LinkMemory MemoryOf(NodeId node) const = 0;
  // The connection that has been agreed on ends the present one, if any, and becomes the link to the node. May call
  // the dialer.
  virtual void Add(NodeId node, AgreedLink link) = 0;

  // For the dialer: the node is dialed, so what is sent to it waits for a connection.
  virtual void Expect(NodeId node) = 0;
  virtual void SetDialError(NodeId node, const Status& reason) = 0;

  // For the listener: the present connection, if any, ends for one that is about to be agreed on. Nothing of it is
  // handled any more, so that what is returned is what the other side may rely on.
  virtual LinkMemory Replace(NodeId node) = 0;
  // False: there are too many links, beside so many `handshakes` in flight, for another connection.
  virtual bool MakeRoom(size_t handshakes) = 0;
};

}  // namespace attune::ps
