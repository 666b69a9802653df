// Transport over TCP with the frames of proto/frame.h: one connection per pair of nodes, no matter who dialed it;
// inside TLS where the job has certificates; and through shared memory where both processes can reach the same, in
// which case the connection only says whether the peer lives. Payloads are not copied on their way to a socket, and
// pulled rows are received into their asker's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ps/transport/event_loop.h"
#include "ps/transport/transport.h"

namespace attune::ps {

struct TcpOptions {
  std::string job_uid;
  NodeId self;                // may be given later, see SetSelf; until then dialers are asked to try again
  std::string bind_address;   // listens here; empty: a node that none dials
  uint16_t port = 0;          // 0: any free port
  uint64_t seed = 1;          // of the jitter
  std::string token;          // the job's secret; both sides prove in every handshake that they know it
  std::string tls_directory;  // tls.crt, tls.key, ca.crt (ps/transport/security/tls.h); with them rows are encrypted
  bool encrypted =
      false;  // also without them, by certificates that the token gives (ps/transport/security/job_authority.h)
  bool shared_memory = true;  // use it where both processes can reach it
  // A link that was not dialed from here and has had no connection for so long is forgotten, with what waits for it:
  // the node may be gone, and this end may never learn it. One that comes back begins a new link.
  Duration forget_after = std::chrono::minutes(1);
};

class TcpTransport : public Transport {
 public:
  using Transport::Send;
  // A connection whose handshake takes longer is closed.
  static constexpr Duration kHandshakeTimeout = std::chrono::seconds(5);
  // Connections that have not proved yet that they are of the job; the oldest makes room (PendingHandshakes).
  static constexpr size_t kStrangersPerSourceMax = 128, kStrangersMax = 512;
  static constexpr size_t kLinksMax = 8192;  // accepted; the longest unconnected ones make room

  // Events come on `loop`, which must outlive the transport. A port in use is ResourceExhausted and named in the text;
  // certificates that cannot be used are FailedPrecondition, and so is an address that other machines can reach where
  // there is neither a token nor a certificate (ps/transport/tcp/listen_rule.h).
  static StatusOr<std::unique_ptr<TcpTransport>> Create(const TcpOptions& options, EventLoop& loop, Events events);

  // Any thread: this node's id, once the coordinator has given it.
  virtual void SetSelf(NodeId self) = 0;
  // host:port really bound; empty when not listening.
  virtual const std::string& address() const = 0;
};

}  // namespace attune::ps
