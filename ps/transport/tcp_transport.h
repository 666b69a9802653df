// Transport over plain TCP with the frames of proto/frame.h. Payloads are neither copied on their way to the socket
// nor, beyond the first few KiB of a frame, on their way from it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ps/transport/event_loop.h"
#include "ps/transport/transport.h"

namespace attune::ps {

struct TcpOptions {
  std::string job_uid;
  NodeId self;               // may be given later, see SetSelf; until then dialers are told to try again
  std::string bind_address;  // listens here; empty: a node nobody dials
  uint16_t port = 0;         // 0: any free port
  uint64_t seed = 1;         // of the jitter
};

class TcpTransport : public Transport {
 public:
  // Sockets that nobody reads or writes for this long during a handshake are closed.
  static constexpr Duration kHandshakeTimeout = std::chrono::seconds(10);
  static constexpr size_t kUnsentBytesMax = 64 << 20;  // per link
  static constexpr size_t kLinksMax = 8192;            // accepted

  // Events come on `loop`, which must outlive the transport. A port in use is ResourceExhausted and named in the text.
  static StatusOr<std::unique_ptr<TcpTransport>> Create(const TcpOptions& options, EventLoop& loop, Events events);

  // Any thread: this node's id, once the coordinator has given it.
  virtual void SetSelf(NodeId self) = 0;
  // host:port really bound; empty when not listening.
  virtual const std::string& address() const = 0;
};

}  // namespace attune::ps
