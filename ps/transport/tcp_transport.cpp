#include "ps/transport/tcp_transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "base/random_seed.h"
#include "ps/transport/conversation.h"
#include "ps/transport/frame.h"
#include "ps/transport/handshake.h"
#include "ps/transport/peer.h"
#include "ps/transport/shared_memory.h"
#include "ps/transport/tls.h"

namespace attune::ps {
namespace {

constexpr int kSocketBufferBytes = 4 << 20;
constexpr uint32_t kTlsHandshakeBytes = 0x03'16;  // how TLS begins: a handshake record of version 3.x
constexpr Duration kBackoffFirst = std::chrono::milliseconds(20);
constexpr Duration kBackoffMax = std::chrono::seconds(2);
constexpr Duration kDialTimeout = std::chrono::seconds(5);
constexpr Duration kStopTimeout = std::chrono::seconds(5);
constexpr Duration kAcceptPause = std::chrono::milliseconds(200);
// A peer whose machine is gone is noticed within about ten seconds.
constexpr int kKeepAliveIdleSeconds = 5, kKeepAliveIntervalSeconds = 2, kKeepAliveProbes = 3;
constexpr unsigned kUnacknowledgedMilliseconds = 10'000;

// "host:port", "[v6]:port"; false when it is neither.
bool SplitAddress(const std::string& address, std::string& host, std::string& port) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) return false;
  host = address.substr(0, colon);
  port = address.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
}

void SetOption(int fd, int level, int name, int value) { (void)::setsockopt(fd, level, name, &value, sizeof value); }

void Tune(int fd) {
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, SOL_SOCKET, SO_SNDBUF, kSocketBufferBytes);
  SetOption(fd, SOL_SOCKET, SO_RCVBUF, kSocketBufferBytes);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMilliseconds);
}

std::string TextOf(const sockaddr_storage& address, bool with_port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return with_port ? "[" + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port)) : text;
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
  ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
  return with_port ? std::string(text) + ":" + std::to_string(ntohs(v4.sin_port)) : text;
}

// One attempt to shake hands, either side.
struct Greeting {
  std::shared_ptr<Conversation> conversation;
  wire::Handshake handshake{};
  wire::HandshakeReply reply{};
  wire::HandshakeEnd end{};
  uint32_t first_bytes = 0;
  uint64_t connection = 0;
  MeetingToken token{};
  std::unique_ptr<Visit> visit;
  std::optional<SharedMemory> memory;
};

class Tcp final : public TcpTransport {
 public:
  Tcp(const TcpOptions& options, EventLoop& loop, Events events)
      : state_(std::make_shared<State>(options, loop, std::move(events))) {}

  ~Tcp() override {
    // Links and timers live on the loop; what is under way there ends before this returns.
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
  struct Dial {
    std::string address;
    Duration backoff = kBackoffFirst;
    std::shared_ptr<Greeting> greeting;  // under way
    std::unique_ptr<EventLoop::Timer> redial;
  };

  // Shared with the handlers on the loop, so that none outlives it.
  struct State : std::enable_shared_from_this<State>, EventLoop::Participant {
    State(const TcpOptions& given, EventLoop& on, Events called)
        : options(given),
          self(given.self.value()),
          loop(on),
          events(std::move(called)),
          host{.loop = on,
               .events = events,
               .flush_at_end_of_turn = [this](const std::shared_ptr<Peer>& peer) { to_flush.push_back(peer); },
               .on_broken = [this](NodeId peer, const Channel* channel,
                                   const Status& reason) { OnBroken(peer, channel, reason); }},
          random(given.seed) {}

    Status Open();
    Status Listen();
    void OpenMeetingPlace();
    void Accept();
    void Greet(const std::shared_ptr<Greeting>& greeting, FileDescriptor fd);
    void Secure(const std::shared_ptr<Greeting>& greeting, FileDescriptor fd);
    void ReadHandshake(const std::shared_ptr<Greeting>& greeting);
    void Answer(const std::shared_ptr<Greeting>& greeting);
    void Refuse(const std::shared_ptr<Greeting>& greeting, const Status& status);
    void Accepted(const std::shared_ptr<Greeting>& greeting);

    void Connect(NodeId peer, const std::string& to);
    void Disconnect(NodeId peer);
    void DialNow(NodeId peer);
    void Dialed(NodeId peer, const std::shared_ptr<Greeting>& greeting);
    void SendHandshake(NodeId peer, const std::shared_ptr<Greeting>& greeting);
    void OnReply(NodeId peer, const std::shared_ptr<Greeting>& greeting);
    void EndDial(NodeId peer, const std::shared_ptr<Greeting>& greeting);
    void DialFailed(NodeId peer, const Greeting* greeting, const Status& status);
    void DialLater(NodeId peer);

    HandshakeIdentity Identity() const {
      return {
          .job_uid = options.job_uid, .token = options.token, .self = NodeId(self.load()), .incarnation = incarnation};
    }
    std::shared_ptr<Peer> Find(NodeId node) const;
    std::shared_ptr<Peer> FindOrAdd(NodeId node);
    std::vector<std::shared_ptr<Peer>> All() const;
    void AddLink(NodeId node, const std::shared_ptr<Greeting>& greeting, bool dialed);
    void EndLink(const std::shared_ptr<Peer>& peer, NodeId node, const Status& reason);
    void OnBroken(NodeId node, const Channel* channel, const Status& reason);
    void RefreshPolled();
    void Stop();

    bool Poll() override;
    bool PrepareSleep() override;
    void Awake() override;
    void EndTurn() override;

    const TcpOptions options;
    const uint64_t incarnation = RandomSeed() | 1;
    std::atomic<uint32_t> self;
    EventLoop& loop;
    Events events;
    Peer::Host host;
    std::string address;
    std::unique_ptr<TlsContext> tls;

    // Of the loop.
    FileDescriptor listener;
    std::unique_ptr<EventLoop::Watch> accept_watch;
    std::unique_ptr<EventLoop::Timer> accept_again;
    std::unique_ptr<Doorbell> doorbell;
    std::unique_ptr<MeetingPlace> meeting_place;
    std::map<MeetingToken, std::weak_ptr<Greeting>> expected;  // at the meeting place
    Random random;
    NameResolver names;
    std::unordered_map<NodeId, Dial> dials;
    std::unordered_set<std::shared_ptr<Greeting>> accepting;
    std::vector<std::shared_ptr<Peer>> to_flush;
    std::vector<std::shared_ptr<Peer>> polled;  // through shared memory
    bool stopped = false;

    mutable std::mutex peers_mutex;  // guards peers
    std::unordered_map<NodeId, std::shared_ptr<Peer>> peers;
  };

  std::shared_ptr<State> state_;
};

// --- listening

Status Tcp::State::Open() {
  if (options.token.size() > kTokenBytesMax) {
    return Error(StatusCode::kInvalidArgument, "the job's token has " + std::to_string(options.token.size()) +
                                                   " bytes; at most " + std::to_string(kTokenBytesMax) +
                                                   " are allowed");
  }
  if (!options.tls_directory.empty()) {
    ASSIGN_OR_RETURN(tls, TlsContext::Create(options.tls_directory, options.job_uid));
  }
  if (!options.bind_address.empty()) RETURN_IF_ERROR(Listen());
  loop.Post([state = shared_from_this()] {
    if (state->stopped) return;
    state->loop.SetParticipant(state.get());
    state->OpenMeetingPlace();
    if (!state->listener.valid()) return;
    state->accept_watch =
        state->loop.WatchFile(state->listener.get(), [state = state.get()](bool, bool) { state->Accept(); });
    state->accept_watch->Want(true, false);
  });
  return OkStatus();
}

Status Tcp::State::Listen() {
  const std::string wanted = options.bind_address + ":" + std::to_string(options.port);
  sockaddr_storage storage{};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  socklen_t length = sizeof *v4;
  if (::inet_pton(AF_INET, options.bind_address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(options.port);
  } else if (::inet_pton(AF_INET6, options.bind_address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(options.port);
    length = sizeof *v6;
  } else {
    return Error(StatusCode::kInvalidArgument, "bind address '" + options.bind_address + "' is not an IP address");
  }
  listener = FileDescriptor(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return Error(StatusCode::kUnavailable, "cannot create a socket: " + ErrnoText(errno));
  SetOption(listener.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&storage), length) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    if (errno == EADDRINUSE) {
      return Error(StatusCode::kResourceExhausted, "port " + std::to_string(options.port) + " of " +
                                                       options.bind_address +
                                                       " is in use by another process; end it or choose another port");
    }
    return Error(StatusCode::kUnavailable, "cannot listen at " + wanted + ": " + ErrnoText(errno));
  }
  length = sizeof storage;
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&storage), &length);
  address = TextOf(storage, true);
  return OkStatus();
}

void Tcp::State::OpenMeetingPlace() {
  if (!options.shared_memory) return;
  auto made = Doorbell::Create(loop);
  if (made.ok()) doorbell = *std::move(made);
  if (doorbell == nullptr || !listener.valid()) return;
  auto place = MeetingPlace::Open(
      loop, doorbell->fd(), [this](const MeetingToken& token) { return expected.contains(token); },
      [this](const MeetingToken& token, SharedMemory memory) {
        const auto it = expected.find(token);
        if (it == expected.end()) return;
        if (const auto greeting = it->second.lock()) greeting->memory = std::move(memory);
        expected.erase(it);
      });
  if (place.ok()) {
    meeting_place = *std::move(place);
  } else {
    log::Debug("no shared memory with other processes", {{"reason", place.status()}});
  }
}

void Tcp::State::Accept() {
  for (;;) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    FileDescriptor fd(
        ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // Out of descriptors, most likely: a pause, so that the loop does not spin.
      log::Warn("cannot accept a connection", {{"reason", ErrnoText(errno)}});
      accept_watch->Want(false, false);
      accept_again = loop.NewTimer();
      accept_again->SetAt(loop.time().Now() + kAcceptPause, [this] { accept_watch->Want(true, false); });
      return;
    }
    if (accepting.size() + All().size() >= kLinksMax) continue;
    auto greeting = std::make_shared<Greeting>();
    greeting->conversation = Conversation::Start(
        loop, kHandshakeTimeout, [this, weak = std::weak_ptr<Greeting>(greeting)](const Status& status) {
          const auto failed = weak.lock();
          if (failed == nullptr) return;
          // Port scanners and early dialers are no news; wrong certificates are.
          if (status.code() == StatusCode::kUnauthenticated) {
            log::Warn("refused a connection", {{"from", failed->conversation->peer_address()}, {"reason", status}});
          }
          accepting.erase(failed);
        });
    greeting->conversation->set_peer_address(TextOf(from, false));
    accepting.insert(greeting);
    Greet(greeting, std::move(fd));
  }
}

// The first bytes tell whether the dialer speaks TLS; who does not, where it is needed, is told in words it reads.
void Tcp::State::Greet(const std::shared_ptr<Greeting>& greeting, FileDescriptor fd) {
  Tune(fd.get());
  greeting->conversation->Peek(std::move(fd), &greeting->first_bytes, sizeof greeting->first_bytes,
                               [this, greeting](FileDescriptor peeked) { Secure(greeting, std::move(peeked)); });
}

void Tcp::State::Secure(const std::shared_ptr<Greeting>& greeting, FileDescriptor fd) {
  const std::shared_ptr<Conversation>& conversation = greeting->conversation;
  if (tls == nullptr || greeting->first_bytes == wire::kHandshakeMagic) {
    conversation->Use(Stream::Plain(std::move(fd)));
    if (tls == nullptr && (greeting->first_bytes & 0xFFFF) == kTlsHandshakeBytes) {
      return Refuse(greeting,
                    Error(StatusCode::kFailedPrecondition, "the peer speaks TLS and this node has no certificates"));
    }
    return ReadHandshake(greeting);
  }
  auto secured = tls->Wrap(std::move(fd), TlsContext::kListener);
  if (!secured.ok()) {
    log::Error("cannot serve TLS", {{"reason", secured.status()}});
    return conversation->Fail(secured.status());
  }
  conversation->Use(*std::move(secured));
  conversation->ShakeHands([this, greeting] { ReadHandshake(greeting); });
}

void Tcp::State::ReadHandshake(const std::shared_ptr<Greeting>& greeting) {
  greeting->conversation->Read(&greeting->handshake, sizeof greeting->handshake,
                               [this, greeting] { Answer(greeting); });
}

void Tcp::State::Refuse(const std::shared_ptr<Greeting>& greeting, const Status& status) {
  // Early dialers are no news; a wrong job, release or secret is.
  const bool news = status.code() == StatusCode::kFailedPrecondition || status.code() == StatusCode::kUnauthenticated;
  log::Write(news ? log::Level::kWarn : log::Level::kDebug, "refused a connection",
             {{"from", greeting->conversation->peer_address()}, {"reason", status}});
  greeting->reply = MakeReply(status);
  greeting->conversation->Write(&greeting->reply, sizeof greeting->reply, [this, greeting] {
    greeting->conversation->Cancel();
    accepting.erase(greeting);
  });
}

void Tcp::State::Answer(const std::shared_ptr<Greeting>& greeting) {
  if (tls != nullptr && greeting->first_bytes == wire::kHandshakeMagic) {
    return Refuse(greeting, Error(StatusCode::kFailedPrecondition,
                                  "this job's nodes speak TLS only; give the dialing pod the job's certificates"));
  }
  if (const Status status = CheckHandshake(greeting->handshake, Identity()); !status.ok()) {
    return Refuse(greeting, status);
  }
  const NodeId node(greeting->handshake.node);
  if (node.value() == self) return Refuse(greeting, Error(StatusCode::kInvalidArgument, "a node dials itself"));
  const std::shared_ptr<Peer> peer = FindOrAdd(node);
  const auto dial = dials.find(node);
  const Status chosen = ChooseConnection(greeting->handshake, NodeId(self.load()),
                                         {.connected = peer->connected(),
                                          .connection = peer->memory().connection,
                                          .dialing = dial != dials.end() && dial->second.greeting != nullptr});
  if (!chosen.ok()) return Refuse(greeting, chosen);
  // What the old connection still held is not handled any more: the answer says where the dialer goes on.
  if (peer->connected()) {
    EndLink(peer, node, Error(StatusCode::kUnavailable, "replaced by a newer connection of the same node"));
  }
  peer->Meet(greeting->handshake.incarnation);
  greeting->reply = MakeReply(OkStatus());
  greeting->reply.incarnation = incarnation;
  greeting->reply.delivered = peer->memory().delivered;
  if (meeting_place != nullptr) {
    const uint64_t secret[] = {RandomSeed(), RandomSeed()};
    std::memcpy(greeting->token.data(), secret, sizeof secret);
    expected[greeting->token] = greeting;
    greeting->reply.shared_memory = 1;
    meeting_place->name().copy(greeting->reply.meeting_place, sizeof greeting->reply.meeting_place - 1);
    std::memcpy(greeting->reply.meeting_token, secret, sizeof secret);
  }
  greeting->conversation->Write(&greeting->reply, sizeof greeting->reply, [this, greeting] {
    greeting->conversation->Read(&greeting->end, sizeof greeting->end, [this, greeting] { Accepted(greeting); });
  });
}

void Tcp::State::Accepted(const std::shared_ptr<Greeting>& greeting) {
  expected.erase(greeting->token);
  accepting.erase(greeting);
  const bool wants_memory = greeting->end.shared_memory != 0;
  if (greeting->end.magic != wire::kHandshakeMagic || (wants_memory && !greeting->memory)) {
    return greeting->conversation->Cancel();
  }
  if (!wants_memory) greeting->memory.reset();
  // This side may have dialed meanwhile; both have agreed on this connection.
  const NodeId node(greeting->handshake.node);
  if (const auto dial = dials.find(node); dial != dials.end()) {
    if (dial->second.greeting != nullptr) dial->second.greeting->conversation->Cancel();
    dial->second.greeting = nullptr;
    dial->second.redial = nullptr;
    dial->second.backoff = kBackoffFirst;
  }
  AddLink(node, greeting, false);
}

// --- dialing

void Tcp::State::Connect(NodeId peer, const std::string& to) {
  if (stopped) return;
  const auto it = dials.find(peer);
  if (it != dials.end() && it->second.address == to) return;
  if (it != dials.end() && it->second.greeting != nullptr) it->second.greeting->conversation->Cancel();
  dials[peer] = {.address = to};
  const std::shared_ptr<Peer> known = FindOrAdd(peer);
  if (!known->connected()) DialNow(peer);
}

void Tcp::State::Disconnect(NodeId node) {
  if (const auto it = dials.find(node); it != dials.end()) {
    if (it->second.greeting != nullptr) it->second.greeting->conversation->Cancel();
    dials.erase(it);
  }
  const std::shared_ptr<Peer> peer = Find(node);
  if (peer == nullptr) return;
  {
    std::lock_guard lock(peers_mutex);
    peers.erase(node);
  }
  if (peer->connected()) EndLink(peer, node, Error(StatusCode::kUnavailable, "disconnected by this node"));
}

void Tcp::State::DialNow(NodeId peer) {
  Dial& dial = dials.at(peer);
  auto greeting = std::make_shared<Greeting>();
  dial.greeting = greeting;
  dial.redial = nullptr;
  greeting->conversation = Conversation::Start(
      loop, kDialTimeout, [this, peer, raw = greeting.get()](const Status& status) { DialFailed(peer, raw, status); });
  std::string host, port;
  if (!SplitAddress(dial.address, host, port)) {
    return greeting->conversation->Fail(Error(StatusCode::kInvalidArgument, "'" + dial.address + "' is not host:port"));
  }
  greeting->conversation->Connect(host, port, names, [this, peer, greeting] { Dialed(peer, greeting); });
}

void Tcp::State::Dialed(NodeId peer, const std::shared_ptr<Greeting>& greeting) {
  FileDescriptor fd = greeting->conversation->TakeDescriptor();
  Tune(fd.get());
  if (tls == nullptr) {
    greeting->conversation->Use(Stream::Plain(std::move(fd)));
    return SendHandshake(peer, greeting);
  }
  auto secured = tls->Wrap(std::move(fd), TlsContext::kDialer);
  if (!secured.ok()) return greeting->conversation->Fail(secured.status());
  greeting->conversation->Use(*std::move(secured));
  greeting->conversation->ShakeHands([this, peer, greeting] { SendHandshake(peer, greeting); });
}

void Tcp::State::SendHandshake(NodeId peer, const std::shared_ptr<Greeting>& greeting) {
  const std::shared_ptr<Peer> known = FindOrAdd(peer);
  greeting->connection = RandomSeed() | 1;
  greeting->handshake = MakeHandshake(Identity(), peer, greeting->connection, known->memory());
  greeting->conversation->Write(&greeting->handshake, sizeof greeting->handshake, [this, peer, greeting] {
    greeting->conversation->Read(&greeting->reply, sizeof greeting->reply,
                                 [this, peer, greeting] { OnReply(peer, greeting); });
  });
}

void Tcp::State::OnReply(NodeId peer, const std::shared_ptr<Greeting>& greeting) {
  if (const Status status = ReadReply(greeting->reply); !status.ok()) return greeting->conversation->Fail(status);
  greeting->end = {.magic = wire::kHandshakeMagic, .shared_memory = 0};
  const char* const place = greeting->reply.meeting_place;
  if (doorbell == nullptr || greeting->reply.shared_memory == 0) return EndDial(peer, greeting);
  std::memcpy(greeting->token.data(), greeting->reply.meeting_token, greeting->token.size());
  greeting->conversation->Rest();
  greeting->visit = Visit::Start(loop, std::string(place, ::strnlen(place, sizeof greeting->reply.meeting_place)),
                                 greeting->token, doorbell->fd(),
                                 [this, peer, weak = std::weak_ptr<Greeting>(greeting)](StatusOr<SharedMemory> memory) {
                                   const auto visitor = weak.lock();
                                   if (visitor == nullptr || visitor->conversation->ended()) return;
                                   if (memory.ok()) visitor->memory = *std::move(memory);
                                   visitor->end.shared_memory = visitor->memory ? 1 : 0;
                                   EndDial(peer, visitor);
                                 });
}

void Tcp::State::EndDial(NodeId peer, const std::shared_ptr<Greeting>& greeting) {
  greeting->conversation->Write(&greeting->end, sizeof greeting->end, [this, peer, greeting] {
    const auto it = dials.find(peer);
    if (stopped || it == dials.end() || it->second.greeting != greeting) return greeting->conversation->Cancel();
    it->second.greeting = nullptr;
    it->second.backoff = kBackoffFirst;
    AddLink(peer, greeting, true);
  });
}

void Tcp::State::DialFailed(NodeId peer, const Greeting* greeting, const Status& status) {
  const auto it = dials.find(peer);
  if (stopped || it == dials.end() || it->second.greeting.get() != greeting) return;
  it->second.greeting = nullptr;
  const Status told = Annotate(status, "node " + std::to_string(peer.value()) + " at " + it->second.address);
  if (IsFinalRefusal(status)) {
    log::Error("a peer refuses this node; not dialed again", {{"reason", told}});
    return events.on_disconnected(peer, told);
  }
  log::Debug("cannot reach a peer yet", {{"reason", told}});
  DialLater(peer);
}

// Between half and the whole of a backoff that doubles, so that many workers do not return in step.
void Tcp::State::DialLater(NodeId peer) {
  Dial& dial = dials.at(peer);
  const Duration wait =
      dial.backoff / 2 +
      Duration(static_cast<int64_t>(random.Below(static_cast<uint64_t>(dial.backoff.count() / 2 + 1))));
  dial.backoff = std::min(dial.backoff * 2, kBackoffMax);
  dial.redial = loop.NewTimer();
  dial.redial->SetAt(loop.time().Now() + wait, [this, peer] {
    const auto known = Find(peer);
    if (!stopped && dials.contains(peer) && (known == nullptr || !known->connected())) DialNow(peer);
  });
}

// --- links

std::shared_ptr<Peer> Tcp::State::Find(NodeId node) const {
  std::lock_guard lock(peers_mutex);
  const auto it = peers.find(node);
  return it == peers.end() ? nullptr : it->second;
}

std::shared_ptr<Peer> Tcp::State::FindOrAdd(NodeId node) {
  std::lock_guard lock(peers_mutex);
  std::shared_ptr<Peer>& peer = peers[node];
  if (peer == nullptr) peer = std::make_shared<Peer>(node, host);
  return peer;
}

std::vector<std::shared_ptr<Peer>> Tcp::State::All() const {
  std::lock_guard lock(peers_mutex);
  std::vector<std::shared_ptr<Peer>> all;
  all.reserve(peers.size());
  for (const auto& [node, peer] : peers) all.push_back(peer);
  return all;
}

void Tcp::State::AddLink(NodeId node, const std::shared_ptr<Greeting>& greeting, bool dialed) {
  if (stopped) return;
  const std::shared_ptr<Peer> peer = FindOrAdd(node);
  if (peer->connected()) {
    EndLink(peer, node, Error(StatusCode::kUnavailable, "replaced by a newer connection of the same node"));
  }
  const wire::Handshake& handshake = greeting->handshake;
  // Of another incarnation of this node nothing counts.
  const uint64_t heard = handshake.met == incarnation ? handshake.delivered : 0;
  const Status resumed =
      dialed ? peer->Resume(greeting->reply.incarnation, greeting->connection, greeting->reply.delivered)
             : peer->Resume(handshake.incarnation, handshake.connection, heard);
  if (!resumed.ok()) {
    log::Error("a link cannot be taken up again", {{"node", node.value()}, {"reason", resumed}});
    greeting->conversation->Cancel();
    return events.on_disconnected(node, Annotate(resumed, "node " + std::to_string(node.value())));
  }
  std::unique_ptr<Stream> stream = greeting->conversation->Take();
  std::shared_ptr<Channel> channel;
  if (greeting->memory) {
    SharedMemory& memory = *greeting->memory;
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

void Tcp::State::EndLink(const std::shared_ptr<Peer>& peer, NodeId node, const Status& reason) {
  peer->Detach();
  RefreshPolled();
  events.on_disconnected(node, reason);
}

void Tcp::State::OnBroken(NodeId node, const Channel* channel, const Status& reason) {
  const std::shared_ptr<Peer> peer = Find(node);
  if (stopped || peer == nullptr || peer->channel() != channel) return;
  EndLink(peer, node, reason);
  if (dials.contains(node)) DialLater(node);
}

void Tcp::State::RefreshPolled() {
  polled.clear();
  for (const std::shared_ptr<Peer>& peer : All()) {
    if (peer->connected() && peer->channel()->path() == LinkCounters::kSharedMemory) polled.push_back(peer);
  }
}

bool Tcp::State::Poll() {
  bool any = false;
  // By place: handlers may change the list.
  for (size_t i = 0; i < polled.size(); ++i) {
    const std::shared_ptr<Peer> peer = polled[i];
    if (peer->connected()) any = peer->channel()->Poll() || any;
  }
  return any;
}

bool Tcp::State::PrepareSleep() {
  EndTurn();
  bool quiet = true;
  for (const std::shared_ptr<Peer>& peer : polled) quiet = peer->channel()->PrepareSleep() && quiet;
  return quiet;
}

void Tcp::State::Awake() {
  for (const std::shared_ptr<Peer>& peer : polled) peer->channel()->Awake();
}

void Tcp::State::EndTurn() {
  if (to_flush.empty()) return;
  std::vector<std::shared_ptr<Peer>> now;
  now.swap(to_flush);
  for (const std::shared_ptr<Peer>& peer : now) peer->Flush();
}

void Tcp::State::Stop() {
  if (std::exchange(stopped, true)) return;
  EndTurn();
  loop.SetParticipant(nullptr);
  accept_watch.reset();
  accept_again.reset();
  meeting_place.reset();
  doorbell.reset();
  listener.Close();
  for (auto& [node, dial] : dials) {
    if (dial.greeting != nullptr) dial.greeting->conversation->Cancel();
  }
  dials.clear();
  for (const auto& greeting : std::exchange(accepting, {})) greeting->conversation->Cancel();
  polled.clear();
  for (const std::shared_ptr<Peer>& peer : All()) peer->Detach();
  std::lock_guard lock(peers_mutex);
  peers.clear();
}

}  // namespace

StatusOr<std::unique_ptr<TcpTransport>> TcpTransport::Create(const TcpOptions& options, EventLoop& loop,
                                                             Events events) {
  auto transport = std::make_unique<Tcp>(options, loop, std::move(events));
  RETURN_IF_ERROR(transport->Open());
  return transport;
}

}  // namespace attune::ps
