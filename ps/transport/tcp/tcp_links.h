// The inside of TcpTransport: the links that exist, over all connections of each. A dialer and a listener bring the
// connections; here they are attached to their peers, ended, and what is kept of peers that do not come back is
// forgotten.
//
// Any thread may use the peers; everything else is of the loop. Shared with the handlers on the loop, so that none
// outlives it.
#pragma once

#include <memory>
#include <string>

#include "ps/transport/tcp/connect/link_book.h"
#include "ps/transport/tcp/connect/local_node.h"
#include "ps/transport/tcp/connect/tcp_dialer.h"
#include "ps/transport/tcp/connect/tcp_listener.h"
#include "ps/transport/tcp/departed_peers.h"
#include "ps/transport/tcp/link_rounds.h"
#include "ps/transport/tcp/peer.h"
#include "ps/transport/tcp/peer_table.h"
#include "ps/transport/tcp/tcp_transport.h"

namespace attune::ps {

// How a node proves what it is, and hides what it says.
struct Credentials {
  JobSecret secret;
  std::unique_ptr<TlsContext> tls;  // null: rows are not encrypted
};

class TcpLinks final : public LinkBook, public std::enable_shared_from_this<TcpLinks> {
 public:
  // Any thread. They accept and dial from the next turn of `loop` on. Errors are TcpTransport::Create's.
  static StatusOr<std::shared_ptr<TcpLinks>> Start(const TcpOptions& options, EventLoop& loop,
                                                   Transport::Events events);
  TcpLinks(const TcpOptions& options, Credentials credentials, EventLoop& loop, Transport::Events events);

  // Any thread.
  void SetSelf(NodeId self) { node_.self = self.value(); }
  const std::string& address() const { return listener_.address(); }
  const PeerTable& peers() const { return peers_; }
  Transport::Counters counters() const;

  void Connect(NodeId node, const std::string& address) { dialer_.Connect(node, address); }
  void Disconnect(NodeId node);
  // Ends all links, without a word. Idempotent.
  void Stop();

 private:
  // Of dialer and listener.
  PresentLink Present(NodeId node) const override;
  LinkMemory MemoryOf(NodeId node) const override;
  void Add(NodeId node, AgreedLink link) override;
  void Expect(NodeId node) override { peers_.FindOrAdd(node); }
  void SetDialError(NodeId node, const Status& reason) override { peers_.FindOrAdd(node)->SetDialError(reason); }
  LinkMemory Replace(NodeId node) override;
  bool MakeRoom(size_t handshakes) override;

  void Begin();
  void End(const std::shared_ptr<Peer>& peer, NodeId node, const Status& reason);
  void OnBroken(NodeId node, const Channel* channel, const Status& reason);
  void ForgetLater(NodeId node);
  void ForgetDue();
  void Forget(const DepartedPeers::Departure& departure);

  LocalNode node_;
  const bool shares_memory_;
  Transport::Events events_;
  Peer::Host host_;
  PeerTable peers_{host_};
  LinkRounds rounds_;
  DepartedPeers departed_;
  std::unique_ptr<EventLoop::Timer> forget_timer_;
  TcpDialer dialer_;
  TcpListener listener_;
  bool stopped_ = false;
};

}  // namespace attune::ps
