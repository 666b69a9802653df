#include "ps/transport/tcp/tcp_transport.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/log.h"
#include "ps/transport/frame.h"
#include "ps/transport/tcp/connect/tcp_socket.h"
#include "ps/transport/tcp/tcp_state.h"

namespace attune::ps {

void TcpState::AddLink(NodeId node, const std::shared_ptr<HandshakeExchange>& exchange, bool dialed) {
  if (stopped) return;
  const std::shared_ptr<Peer> peer = peers.FindOrAdd(node);
  if (peer->connected()) {
    EndLink(peer, node, Error(StatusCode::kUnavailable, "replaced by a newer connection of the same node"));
  }
  const wire::Handshake& handshake = exchange->handshake;
  const wire::HandshakeReply& reply = exchange->reply;
  const Status resumed =
      dialed ? peer->Resume({reply.incarnation, reply.met == incarnation, reply.delivered}, exchange->connection)
             : peer->Resume({handshake.incarnation, handshake.met == incarnation, handshake.delivered},
                            handshake.connection);
  if (!resumed.ok()) {
    log::Error("a link cannot be taken up again; it starts over", {{"node", node.value()}, {"reason", resumed}});
    peer->Forget();
    exchange->conversation->Cancel();
    return dials.contains(node) ? DialAfterBreak(node) : ForgetLater(node);
  }
  std::unique_ptr<Stream> stream = exchange->conversation->Take();
  if (!dialed) Tune(stream->fd());  // large buffers are for members only
  std::shared_ptr<Channel> channel;
  if (exchange->memory) {
    SharedMemory& memory = *exchange->memory;
    channel = NewRingChannel(peer, std::move(stream), dialed ? memory.to_listener : memory.to_dialer,
                             dialed ? memory.to_dialer : memory.to_listener, memory.ring_peer);
  } else {
    channel = NewStreamChannel(peer, std::move(stream));
  }
  peer->Attach(channel);
  rounds.SetPeers(peers.All());
  events.on_connected(node);
  channel->Start();
}

void TcpState::EndLink(const std::shared_ptr<Peer>& peer, NodeId node, const Status& reason) {
  peer->Detach();
  rounds.SetPeers(peers.All());
  if (!dials.contains(node)) ForgetLater(node);
  events.on_disconnected(node, reason);
}

// --- links of nodes that do not come back

void TcpState::ForgetLater(NodeId node) {
  const bool is_first = departed.empty();
  departed.Add(node, loop.time().Now());
  if (is_first) ForgetDue();
}

void TcpState::ForgetDue() {
  while (const auto departure = departed.TakeDue(loop.time().Now())) Forget(*departure);
  if (departed.empty()) return;
  if (forget_timer == nullptr) forget_timer = loop.NewTimer();
  forget_timer->SetAt(departed.due_at(), [this] { ForgetDue(); });
}

// A link that is back, and was perhaps broken again, has a connection or a later departure.
void TcpState::Forget(const DepartedPeers::Departure& departure) {
  const std::shared_ptr<Peer> peer = peers.Find(departure.node);
  if (peer == nullptr || peer->connected() || peer->ended_at() > departure.at || dials.contains(departure.node)) return;
  peers.Remove(departure.node);
}

bool TcpState::RoomForAnother() {
  while (accepting.size() + peers.size() >= TcpTransport::kLinksMax) {
    const auto departure = departed.TakeOldest();
    if (!departure) return false;
    Forget(*departure);
  }
  return true;
}

void TcpState::OnBroken(NodeId node, const Channel* channel, const Status& reason) {
  const std::shared_ptr<Peer> peer = peers.Find(node);
  if (stopped || peer == nullptr || peer->channel() != channel) return;
  EndLink(peer, node, reason);
  if (dials.contains(node)) DialAfterBreak(node);
}

void TcpState::Stop() {
  if (std::exchange(stopped, true)) return;
  rounds.EndTurn();
  loop.SetParticipant(nullptr);
  accept_watch.reset();
  accept_again.reset();
  forget_timer.reset();
  rendezvous.reset();
  doorbell.reset();
  listener.Close();
  for (auto& [node, dial] : dials) {
    if (dial.exchange != nullptr) dial.exchange->conversation->Cancel();
  }
  dials.clear();
  for (const auto& [id, exchange] : std::exchange(accepting, {})) exchange->conversation->Cancel();
  rounds.SetPeers({});
  for (const std::shared_ptr<Peer>& peer : peers.All()) peer->Detach();
  peers.Clear();
}

namespace {

constexpr Duration kStopTimeout = std::chrono::seconds(5);

class Tcp final : public TcpTransport {
 public:
  Tcp(const TcpOptions& options, EventLoop& loop, Events events)
      : state_(std::make_shared<TcpState>(options, loop, std::move(events))) {}

  ~Tcp() override {
    // Links and timers live on the loop; what is in flight there ends before this returns.
    if (state_->loop.InLoop() || state_->loop.stopped()) {
      state_->Stop();
      return;
    }
    // The promise belongs to the task too: a loop that is very late may reach it after this has given up waiting.
    const auto stopped = std::make_shared<std::promise<void>>();
    state_->loop.Post([stopped, state = state_] {
      state->Stop();
      stopped->set_value();
    });
    stopped->get_future().wait_for(kStopTimeout);
  }

  Status Open() { return state_->Open(); }

  void SetSelf(NodeId self) override { state_->self = self.value(); }
  const std::string& address() const override { return state_->address; }

  void Connect(NodeId peer, const std::string& address) override {
    state_->loop.Post([state = state_, peer, address] { state->Connect(peer, address); });
  }
  void Disconnect(NodeId peer) override {
    state_->loop.Post([state = state_, peer] { state->Disconnect(peer); });
  }

  Status Send(NodeId to, const Message& message, const LinkHeader& link) override {
    ASSIGN_OR_RETURN(OutgoingFrame frame, EncodeFrame(message));
    frame.header.core_sequence = link.sequence;
    frame.header.core_delivered = link.delivered;
    const std::shared_ptr<Peer> peer = state_->peers.Find(to);
    if (peer == nullptr) return Error(StatusCode::kUnavailable, "no link to node " + std::to_string(to.value()));
    return peer->Send(std::move(frame));
  }
  std::shared_ptr<void> Reserve(NodeId to, size_t bytes) override {
    const std::shared_ptr<Peer> peer = state_->peers.Find(to);
    return peer == nullptr ? nullptr : peer->Reserve(bytes);
  }
  void Unplace(std::span<const float> rows) override {
    for (const std::shared_ptr<Peer>& peer : state_->peers.All()) peer->Unplace(rows);
  }

  Counters counters() const override {
    uint32_t connections = 0;
    for (const std::shared_ptr<Peer>& peer : state_->peers.All()) connections += peer->counters().connected ? 1 : 0;
    return {state_->host.bytes_sent, state_->host.bytes_received, connections};
  }
  std::vector<LinkCounters> links(size_t links_max) const override {
    std::vector<LinkCounters> links;
    for (const std::shared_ptr<Peer>& peer : state_->peers.All()) links.push_back(peer->counters());
    const auto traffic = [](const LinkCounters& link) { return link.bytes_sent + link.bytes_received; };
    std::ranges::sort(links, std::greater<>(), traffic);
    links.resize(std::min(links.size(), links_max));
    return links;
  }

 private:
  const std::shared_ptr<TcpState> state_;
};

}  // namespace

StatusOr<std::unique_ptr<TcpTransport>> TcpTransport::Create(const TcpOptions& options, EventLoop& loop,
                                                             Events events) {
  auto transport = std::make_unique<Tcp>(options, loop, std::move(events));
  RETURN_IF_ERROR(transport->Open());
  return transport;
}

}  // namespace attune::ps
