// The inside of TcpTransport: who dials whom, handshakes in flight, links that exist. Its parts by file:
//
//   tcp_listener.cpp   accepting, and the listener's side of a handshake
//   tcp_dialer.cpp     dialing with backoff, and the dialer's side of a handshake
//   tcp_transport.cpp  links, and the transport as others see it
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/os/random_seed.h"
#include "base/random.h"
#include "ps/transport/security/handshake.h"
#include "ps/transport/security/job_secret.h"
#include "ps/transport/security/tls.h"
#include "ps/transport/shared/shared_memory.h"
#include "ps/transport/tcp/connect/conversation.h"
#include "ps/transport/tcp/connect/log_pace.h"
#include "ps/transport/tcp/connect/pending_handshakes.h"
#include "ps/transport/tcp/departed_peers.h"
#include "ps/transport/tcp/link_rounds.h"
#include "ps/transport/tcp/peer.h"
#include "ps/transport/tcp/peer_table.h"
#include "ps/transport/tcp/tcp_transport.h"

namespace attune::ps {

inline constexpr Duration kDialBackoffFirst = std::chrono::milliseconds(20);

// One attempt to shake hands, either side.
struct HandshakeExchange {
  uint64_t id = 0;  // of the listener's side
  std::shared_ptr<Conversation> conversation;
  wire::Hello hello{};
  wire::Challenge challenge{};
  wire::Handshake handshake{};
  wire::HandshakeReply reply{};
  wire::HandshakeEnd end{};
  uint32_t first_bytes = 0;
  uint64_t connection = 0;
  RendezvousToken token{};
  std::unique_ptr<RendezvousClient> rendezvous;
  std::optional<SharedMemory> memory;
};

struct Dial {
  std::string address;
  Duration backoff = kDialBackoffFirst;
  std::shared_ptr<HandshakeExchange> exchange;  // in flight
  std::unique_ptr<EventLoop::Timer> redial;
  MonotonicTime connected_at{};         // the last time
  StatusCode logged = StatusCode::kOk;  // the refusal that was last logged as news
  MonotonicTime logged_at{};
};

// Shared with the handlers on the loop, so that none outlives it.
struct TcpState : std::enable_shared_from_this<TcpState> {
  TcpState(const TcpOptions& given, EventLoop& on, Transport::Events called)
      : options(given),
        self(given.self.value()),
        loop(on),
        events(std::move(called)),
        host{.loop = on,
             .events = events,
             .flush_at_end_of_turn = [this](const std::shared_ptr<Peer>& peer) { rounds.FlushAtEnd(peer); },
             .on_broken = [this](NodeId peer, const Channel* channel,
                                 const Status& reason) { OnBroken(peer, channel, reason); }},
        random(given.seed),
        departed(given.forget_after) {}

  Status Open();
  void OpenRendezvous();
  void Accept();
  void Admit(FileDescriptor fd, const std::string& source);
  void Dismiss(uint64_t exchange);
  void LogStranger(const std::string& source, const Status& reason);
  void Secure(const std::shared_ptr<HandshakeExchange>& exchange, FileDescriptor fd);
  void ReadHello(const std::shared_ptr<HandshakeExchange>& exchange);
  void OnHello(const std::shared_ptr<HandshakeExchange>& exchange);
  void OnHandshake(const std::shared_ptr<HandshakeExchange>& exchange);
  void RefuseUnheard(const std::shared_ptr<HandshakeExchange>& exchange, const Status& reason);
  void EndRefused(const std::shared_ptr<HandshakeExchange>& exchange);
  void Answer(const std::shared_ptr<HandshakeExchange>& exchange);
  void Refuse(const std::shared_ptr<HandshakeExchange>& exchange, const Status& status);
  void Accepted(const std::shared_ptr<HandshakeExchange>& exchange);

  void Connect(NodeId peer, const std::string& to);
  void Disconnect(NodeId peer);
  void DialNow(NodeId peer);
  void Dialed(NodeId peer, const std::shared_ptr<HandshakeExchange>& exchange);
  void SendHello(NodeId peer, const std::shared_ptr<HandshakeExchange>& exchange);
  void SendHandshake(NodeId peer, const std::shared_ptr<HandshakeExchange>& exchange);
  void OnReply(NodeId peer, const std::shared_ptr<HandshakeExchange>& exchange);
  void EndDial(NodeId peer, const std::shared_ptr<HandshakeExchange>& exchange);
  void DialFailed(NodeId peer, const HandshakeExchange* exchange, const Status& status);
  void DialLater(NodeId peer);
  void DialAfterBreak(NodeId peer);

  HandshakeIdentity Identity() const { return {.self = NodeId(self.load()), .incarnation = incarnation}; }
  void AddLink(NodeId node, const std::shared_ptr<HandshakeExchange>& exchange, bool dialed);
  void EndLink(const std::shared_ptr<Peer>& peer, NodeId node, const Status& reason);
  void OnBroken(NodeId node, const Channel* channel, const Status& reason);
  void ForgetLater(NodeId node);
  void ForgetDue();
  void Forget(const DepartedPeers::Departure& departure);
  bool RoomForAnother();
  void Stop();

  const TcpOptions options;
  const uint64_t incarnation = RandomSeed() | 1;
  std::atomic<uint32_t> self;
  EventLoop& loop;
  Transport::Events events;
  Peer::Host host;
  std::string address;
  std::unique_ptr<TlsContext> tls;
  std::optional<JobSecret> secret;  // set by Open
  PeerTable peers{host};

  // Of the loop.
  FileDescriptor listener;
  std::unique_ptr<EventLoop::Watch> accept_watch;
  std::unique_ptr<EventLoop::Timer> accept_again;
  std::unique_ptr<Doorbell> doorbell;
  std::unique_ptr<Rendezvous> rendezvous;
  std::map<RendezvousToken, std::weak_ptr<HandshakeExchange>> expected;  // at the rendezvous
  Random random;
  NameResolver names;
  std::unordered_map<NodeId, Dial> dials;
  uint64_t last_exchange = 0;
  std::unordered_map<uint64_t, std::shared_ptr<HandshakeExchange>> accepting;
  PendingHandshakes pending{TcpTransport::kStrangersPerSourceMax, TcpTransport::kStrangersMax};
  LogPace strangers_logged{std::chrono::seconds(1)};
  DepartedPeers departed;
  std::unique_ptr<EventLoop::Timer> forget_timer;
  LinkRounds rounds;
  bool stopped = false;
};

}  // namespace attune::ps
