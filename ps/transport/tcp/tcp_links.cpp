#include "ps/transport/tcp/tcp_links.h"

#include <utility>

#include "base/log.h"
#include "ps/transport/security/job_authority.h"
#include "ps/transport/tcp/connect/tcp_socket.h"
#include "ps/transport/tcp/listen_rule.h"

namespace attune::ps {
namespace {

StatusOr<Credentials> CredentialsOf(const TcpOptions& options) {
  ASSIGN_OR_RETURN(const JobSecret secret, JobSecret::Create(options.job_uid, options.token));
  std::unique_ptr<TlsContext> tls;
  if (!options.tls_directory.empty()) {
    ASSIGN_OR_RETURN(tls, TlsContext::Create(options.tls_directory, options.job_uid));
  } else if (options.encrypted) {
    ASSIGN_OR_RETURN(const TlsFiles own, IssueCertificate(secret));
    ASSIGN_OR_RETURN(tls, TlsContext::Create(own, kSelfIssuedName));
  }
  return Credentials{.secret = secret, .tls = std::move(tls)};
}

constexpr TcpListener::Limits kLimits = {.handshake_timeout = TcpTransport::kHandshakeTimeout,
                                         .strangers_per_source_max = TcpTransport::kStrangersPerSourceMax,
                                         .strangers_max = TcpTransport::kStrangersMax,
                                         .links_max = TcpTransport::kLinksMax};

}  // namespace

TcpLinks::TcpLinks(const TcpOptions& options, Credentials credentials, EventLoop& loop, Transport::Events events)
    : node_{.loop = loop,
            .self = options.self.value(),
            .secret = credentials.secret,
            .tls = std::move(credentials.tls)},
      shares_memory_(options.shared_memory),
      events_(std::move(events)),
      host_{.loop = loop,
            .events = events_,
            .flush_at_end_of_turn = [this](const std::shared_ptr<Peer>& peer) { rounds_.FlushAtEnd(peer); },
            .on_broken = [this](NodeId node, const Channel* channel,
                                const Status& reason) { OnBroken(node, channel, reason); }},
      departed_(options.forget_after),
      dialer_(node_, *this, options.seed),
      listener_(node_, *this, kLimits) {}

StatusOr<std::shared_ptr<TcpLinks>> TcpLinks::Start(const TcpOptions& options, EventLoop& loop,
                                                    Transport::Events events) {
  ASSIGN_OR_RETURN(Credentials credentials, CredentialsOf(options));
  auto links = std::make_shared<TcpLinks>(options, std::move(credentials), loop, std::move(events));
  if (!options.bind_address.empty()) {
    RETURN_IF_ERROR(CheckListenAddress(options.bind_address, options.token, options.tls_directory));
    RETURN_IF_ERROR(links->listener_.Listen(options.bind_address, options.port));
  }
  loop.Post([links] { links->Begin(); });
  return links;
}

void TcpLinks::Begin() {
  if (stopped_) return;
  node_.loop.SetParticipant(&rounds_);
  if (shares_memory_) {
    auto made = Doorbell::Create(node_.loop);
    if (made.ok()) node_.doorbell = *std::move(made);
  }
  listener_.Start();
}

void TcpLinks::Disconnect(NodeId node) {
  dialer_.Disconnect(node);
  const std::shared_ptr<Peer> peer = peers_.Find(node);
  if (peer == nullptr) return;
  peers_.Remove(node);
  if (peer->connected()) End(peer, node, Error(StatusCode::kUnavailable, "disconnected by this node"));
}

void TcpLinks::Stop() {
  if (std::exchange(stopped_, true)) return;
  rounds_.EndTurn();
  node_.loop.SetParticipant(nullptr);
  forget_timer_.reset();
  listener_.Stop();
  dialer_.Stop();
  node_.doorbell.reset();
  rounds_.SetPeers({});
  for (const std::shared_ptr<Peer>& peer : peers_.All()) peer->Detach();
  peers_.Clear();
}

Transport::Counters TcpLinks::counters() const {
  Transport::Counters sum{.bytes_sent = host_.bytes_sent, .bytes_received = host_.bytes_received};
  for (const std::shared_ptr<Peer>& peer : peers_.All()) {
    const LinkCounters link = peer->counters();
    sum.connections += link.connected ? 1 : 0;
    sum.bytes_waiting += link.bytes_waiting;
  }
  return sum;
}

// --- a link begins and ends

PresentLink TcpLinks::Present(NodeId node) const {
  const std::shared_ptr<Peer> peer = peers_.Find(node);
  return {.connected = peer != nullptr && peer->connected(),
          .connection = peer == nullptr ? 0 : peer->memory().connection,
          .dialing = dialer_.IsDialing(node)};
}

LinkMemory TcpLinks::MemoryOf(NodeId node) const {
  const std::shared_ptr<Peer> peer = peers_.Find(node);
  return peer == nullptr ? LinkMemory() : peer->memory();
}

// Nothing is added for a node that is not known: its handshake is not through.
LinkMemory TcpLinks::Replace(NodeId node) {
  const std::shared_ptr<Peer> peer = peers_.Find(node);
  if (peer == nullptr) return {};
  if (peer->connected()) {
    End(peer, node, Error(StatusCode::kUnavailable, "replaced by a newer connection of the same node"));
  }
  return peer->memory();
}

void TcpLinks::Add(NodeId node, AgreedLink link) {
  // This side may have dialed meanwhile; both have agreed on this connection.
  if (!link.dialed) dialer_.Yield(node);
  if (stopped_) return;
  const std::shared_ptr<Peer> peer = peers_.FindOrAdd(node);
  if (peer->connected()) {
    End(peer, node, Error(StatusCode::kUnavailable, "replaced by a newer connection of the same node"));
  }
  const Status resumed = peer->Resume({link.incarnation, link.remembers, link.delivered}, link.connection);
  if (!resumed.ok()) {
    log::Error("a link cannot be taken up again; it starts over", {{"node", node.value()}, {"reason", resumed}});
    peer->Forget();
    link.stream.reset();
    return dialer_.Dials(node) ? dialer_.RedialAfterBreak(node) : ForgetLater(node);
  }
  if (!link.dialed) Tune(link.stream->fd());  // large buffers are for members only
  std::shared_ptr<Channel> channel;
  if (link.memory) {
    SharedMemory& memory = *link.memory;
    channel = NewRingChannel(peer, std::move(link.stream), link.dialed ? memory.to_listener : memory.to_dialer,
                             link.dialed ? memory.to_dialer : memory.to_listener, memory.ring_peer);
  } else {
    channel = NewStreamChannel(peer, std::move(link.stream));
  }
  peer->Attach(channel);
  rounds_.SetPeers(peers_.All());
  events_.on_connected(node);
  channel->Start();
}

void TcpLinks::End(const std::shared_ptr<Peer>& peer, NodeId node, const Status& reason) {
  peer->Detach();
  rounds_.SetPeers(peers_.All());
  if (!dialer_.Dials(node)) ForgetLater(node);
  events_.on_disconnected(node, reason);
}

void TcpLinks::OnBroken(NodeId node, const Channel* channel, const Status& reason) {
  const std::shared_ptr<Peer> peer = peers_.Find(node);
  if (stopped_ || peer == nullptr || peer->channel() != channel) return;
  End(peer, node, reason);
  if (dialer_.Dials(node)) dialer_.RedialAfterBreak(node);
}

// --- links of nodes that do not come back

void TcpLinks::ForgetLater(NodeId node) {
  const bool is_first = departed_.empty();
  departed_.Add(node, node_.loop.time().Now());
  if (is_first) ForgetDue();
}

void TcpLinks::ForgetDue() {
  while (const auto departure = departed_.TakeDue(node_.loop.time().Now())) Forget(*departure);
  if (departed_.empty()) return;
  if (forget_timer_ == nullptr) forget_timer_ = node_.loop.NewTimer();
  forget_timer_->SetAt(departed_.due_at(), [this] { ForgetDue(); });
}

// A link that is back, and was perhaps broken again, has a connection or a later departure.
void TcpLinks::Forget(const DepartedPeers::Departure& departure) {
  const std::shared_ptr<Peer> peer = peers_.Find(departure.node);
  if (peer == nullptr || peer->connected() || peer->ended_at() > departure.at || dialer_.Dials(departure.node)) return;
  peers_.Remove(departure.node);
}

bool TcpLinks::MakeRoom(size_t handshakes) {
  while (handshakes + peers_.size() >= TcpTransport::kLinksMax) {
    const auto departure = departed_.TakeOldest();
    if (!departure) return false;
    Forget(*departure);
  }
  return true;
}

}  // namespace attune::ps
