// Dials the nodes that this one is to be linked to, again and again with backoff and jitter, and is the dialer's side
// of their handshakes. What it gets, and why it gets nothing, goes to the links.
//
// On the loop only. Nothing is reported once it has been stopped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/random.h"
#include "ps/transport/tcp/connect/conversation.h"
#include "ps/transport/tcp/connect/handshake_exchange.h"
#include "ps/transport/tcp/connect/link_book.h"
#include "ps/transport/tcp/connect/local_node.h"

namespace attune::ps {

class TcpDialer {
 public:
  static constexpr Duration kBackoffFirst = std::chrono::milliseconds(20);
  static constexpr Duration kBackoffMax = std::chrono::seconds(2);
  // A link that has not lasted this long may end each time because of what is said over it: it is dialed again less
  // eagerly, but not as slowly as a node that does not answer.
  static constexpr Duration kLastingLink = std::chrono::seconds(1);
  static constexpr Duration kBriefLinkBackoffMax = std::chrono::milliseconds(250);

  // `node` and `links` must outlive it. `seed`: of the jitter.
  TcpDialer(LocalNode& node, LinkBook& links, uint64_t seed) : node_(node), links_(links), random_(seed) {}

  // The node is dialed until Disconnect whenever it has no link. The same address again changes nothing.
  void Connect(NodeId peer, const std::string& address);
  void Disconnect(NodeId peer);
  // REQUIRES: Dials(peer). Its link has ended.
  void RedialAfterBreak(NodeId peer);
  // A connection that the peer has dialed is the one that both agreed on.
  void Yield(NodeId peer);
  void Stop();

  // Connect has named it.
  bool Dials(NodeId peer) const { return dials_.contains(peer); }
  // An attempt is in flight.
  bool IsDialing(NodeId peer) const;

 private:
  struct Attempt : HandshakeExchange {
    std::unique_ptr<RendezvousClient> rendezvous;
  };
  struct Dial {
    std::string address;
    Duration backoff = kBackoffFirst;
    std::shared_ptr<Attempt> attempt;  // in flight
    std::unique_ptr<EventLoop::Timer> redial;
    MonotonicTime connected_at{};         // the last time
    StatusCode logged = StatusCode::kOk;  // the refusal that was last logged as news
    MonotonicTime logged_at{};
  };

  void DialNow(NodeId peer);
  void Dialed(NodeId peer, const std::shared_ptr<Attempt>& attempt);
  void SendHello(NodeId peer, const std::shared_ptr<Attempt>& attempt);
  void SendHandshake(NodeId peer, const std::shared_ptr<Attempt>& attempt);
  void OnReply(NodeId peer, const std::shared_ptr<Attempt>& attempt);
  void SendEnd(NodeId peer, const std::shared_ptr<Attempt>& attempt);
  void Failed(NodeId peer, const Attempt* attempt, const Status& status);
  void Redial(NodeId peer);

  LocalNode& node_;
  LinkBook& links_;
  Random random_;
  NameResolver names_;
  std::unordered_map<NodeId, Dial> dials_;
  bool stopped_ = false;
};

}  // namespace attune::ps
