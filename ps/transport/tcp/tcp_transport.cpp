#include "ps/transport/tcp/tcp_transport.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "ps/transport/frame.h"
#include "ps/transport/tcp/tcp_socket.h"
#include "ps/transport/tcp/tcp_state.h"

namespace attune::ps {

std::shared_ptr<Peer> TcpState::Find(NodeId node) const {
  const MutexLock lock(peers_mutex);
  const auto it = peers.find(node);
  return it == peers.end() ? nullptr : it->second;
}

std::shared_ptr<Peer> TcpState::FindOrAdd(NodeId node) {
  const MutexLock lock(peers_mutex);
  std::shared_ptr<Peer>& peer = peers[node];
  if (peer == nullptr) peer = std::make_shared<Peer>(node, host);
  return peer;
}

std::vector<std::shared_ptr<Peer>> TcpState::All() const {
  const MutexLock lock(peers_mutex);
  std::vector<std::shared_ptr<Peer>> all;
  all.reserve(peers.size());
  for (const auto& [node, peer] : peers) all.push_back(peer);
  return all;
}

void TcpState::AddLink(NodeId node, const std::shared_ptr<HandshakeExchange>& exchange, bool dialed) {
  if (stopped) return;
  const std::shared_ptr<Peer> peer = FindOrAdd(node);
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
  RefreshPolled();
  events.on_connected(node);
  channel->Start();
}

void TcpState::EndLink(const std::shared_ptr<Peer>& peer, NodeId node, const Status& reason) {
  peer->Detach();
  RefreshPolled();
  if (!dials.contains(node)) ForgetLater(node);
  events.on_disconnected(node, reason);
}

// --- links of nodes that do not come back

void TcpState::ForgetLater(NodeId node) {
  left.emplace_back(loop.time().Now(), node);
  if (left.size() == 1) ForgetLeft();
}

// Entries of links that are back, and were perhaps broken again, find a connection or a later entry.
void TcpState::ForgetLeft() {
  const MonotonicTime now = loop.time().Now();
  while (!left.empty() && now >= left.front().first + options.forget_after) {
    ForgetOldest();
  }
  if (left.empty()) return;
  if (forget_timer == nullptr) forget_timer = loop.NewTimer();
  forget_timer->SetAt(left.front().first + options.forget_after, [this] { ForgetLeft(); });
}

void TcpState::ForgetOldest() {
  const auto [since, node] = left.front();
  left.pop_front();
  const std::shared_ptr<Peer> peer = Find(node);
  if (peer == nullptr || peer->connected() || peer->ended_at() > since || dials.contains(node)) return;
  const MutexLock lock(peers_mutex);
  peers.erase(node);
}

bool TcpState::RoomForAnother() {
  const auto links = [this] {
    const MutexLock lock(peers_mutex);
    return peers.size();
  };
  while (accepting.size() + links() >= TcpTransport::kLinksMax && !left.empty()) ForgetOldest();
  return accepting.size() + links() < TcpTransport::kLinksMax;
}

void TcpState::OnBroken(NodeId node, const Channel* channel, const Status& reason) {
  const std::shared_ptr<Peer> peer = Find(node);
  if (stopped || peer == nullptr || peer->channel() != channel) return;
  EndLink(peer, node, reason);
  if (dials.contains(node)) DialAfterBreak(node);
}

void TcpState::RefreshPolled() {
  polled.clear();
  for (const std::shared_ptr<Peer>& peer : All()) {
    if (peer->connected() && peer->channel()->path() == LinkCounters::kSharedMemory) polled.push_back(peer);
  }
}

bool TcpState::Poll() {
  bool any = false;
  // By place: handlers may change the list.
  for (size_t i = 0; i < polled.size(); ++i) {
    const std::shared_ptr<Peer> peer = polled[i];
    if (peer->connected()) any = peer->channel()->Poll() || any;
  }
  return any;
}

bool TcpState::PrepareSleep() {
  EndTurn();
  bool quiet = true;
  for (const std::shared_ptr<Peer>& peer : polled) quiet = peer->channel()->PrepareSleep() && quiet;
  return quiet;
}

void TcpState::Awake() {
  for (const std::shared_ptr<Peer>& peer : polled) peer->channel()->Awake();
}

void TcpState::EndTurn() {
  if (to_flush.empty()) return;
  std::vector<std::shared_ptr<Peer>> now;
  now.swap(to_flush);
  for (const std::shared_ptr<Peer>& peer : now) peer->Flush();
}

void TcpState::Stop() {
  if (std::exchange(stopped, true)) return;
  EndTurn();
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
  polled.clear();
  for (const std::shared_ptr<Peer>& peer : All()) peer->Detach();
  const MutexLock lock(peers_mutex);
  peers.clear();
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
    const std::shared_ptr<Peer> peer = state_->Find(to);
    if (peer == nullptr) return Error(StatusCode::kUnavailable, "no link to node " + std::to_string(to.value()));
    return peer->Send(std::move(frame));
  }
  std::shared_ptr<void> Reserve(NodeId to, size_t bytes) override {
    const std::shared_ptr<Peer> peer = state_->Find(to);
    return peer == nullptr ? nullptr : peer->Reserve(bytes);
  }
  void Unplace(std::span<const float> rows) override {
    for (const std::shared_ptr<Peer>& peer : state_->All()) peer->Unplace(rows);
  }

  Counters counters() const override {
    uint32_t connections = 0;
    for (const std::shared_ptr<Peer>& peer : state_->All()) connections += peer->counters().connected ? 1 : 0;
    return {state_->host.bytes_sent, state_->host.bytes_received, connections};
  }
  std::vector<LinkCounters> links(size_t links_max) const override {
    std::vector<LinkCounters> links;
    for (const std::shared_ptr<Peer>& peer : state_->All()) links.push_back(peer->counters());
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
