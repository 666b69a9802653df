#include "ps/transport/tcp_transport.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <deque>
#include <future>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "ps/transport/frame.h"

namespace attune::ps {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr int kSocketBufferBytes = 4 << 20;
constexpr Duration kBackoffFirst = std::chrono::milliseconds(20);
constexpr Duration kBackoffMax = std::chrono::seconds(2);
constexpr Duration kDialTimeout = std::chrono::seconds(5);
constexpr Duration kStopTimeout = std::chrono::seconds(5);
constexpr int kReadsPerTurn = 16;  // then other sockets get their turn

Status NetworkError(std::string_view doing, const ErrorCode& error) {
  return Error(StatusCode::kUnavailable, std::string(doing) + ": " + error.message());
}

// "host:port", "[v6]:port"; false when it is neither.
bool SplitAddress(const std::string& address, std::string& host, std::string& port) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) return false;
  host = address.substr(0, colon);
  port = address.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return true;
}

void Tune(tcp::socket& socket) {
  ErrorCode ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::send_buffer_size(kSocketBufferBytes), ignored);
  socket.set_option(asio::socket_base::receive_buffer_size(kSocketBufferBytes), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  socket.non_blocking(true, ignored);
}

struct Totals {
  std::atomic<uint64_t> sent = 0;
  std::atomic<uint64_t> received = 0;
};

// An established connection: after the handshake, until the first error. Reading happens on the loop; writing on
// whichever thread sends, and on the loop when the socket was full.
class Link : public std::enable_shared_from_this<Link> {
 public:
  using Deliver = FrameReader::Deliver;
  using Closed = std::function<void(const Status& reason)>;

  Link(tcp::socket socket, Totals& totals) : socket_(std::move(socket)), totals_(totals) {
    fd_ = socket_.native_handle();
  }

  // On the loop. `closed` is called once, unless Close came first.
  void Start(Deliver deliver, Closed closed) {
    deliver_ = std::move(deliver);
    closed_ = std::move(closed);
    WaitReadable();
  }

  // On the loop: ends the link without telling.
  void Close() {
    closed_ = nullptr;
    Shut();
  }

  // Any thread.
  Status Send(OutgoingFrame frame) {
    std::lock_guard lock(write_mutex_);
    if (!open_) return Error(StatusCode::kUnavailable, "the link has just been closed");
    if (unsent_bytes_ + frame.bytes() > TcpTransport::kUnsentBytesMax) {
      return Error(StatusCode::kResourceExhausted, "the peer reads too slowly; a message was dropped");
    }
    unsent_bytes_ += frame.bytes();
    queue_.push_back(std::move(frame));
    if (queue_.size() == 1) WriteQueue();
    return OkStatus();
  }

 private:
  // Requires write_mutex_. On error the reading side finds out and closes.
  void WriteQueue() {
    while (!queue_.empty()) {
      iovec parts[4];
      const size_t count = static_cast<size_t>(queue_.front().Gather(front_sent_, parts));
      msghdr message{};
      message.msg_iov = parts;
      message.msg_iovlen = count;
      const ssize_t n = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return WaitWritable();
        ::shutdown(fd_, SHUT_RDWR);
        return;
      }
      totals_.sent.fetch_add(static_cast<uint64_t>(n), std::memory_order_relaxed);
      front_sent_ += static_cast<size_t>(n);
      unsent_bytes_ -= static_cast<size_t>(n);
      if (front_sent_ == queue_.front().bytes()) {
        queue_.pop_front();
        front_sent_ = 0;
      }
    }
  }

  // Asio's sockets belong to one thread: the wait is set up on the loop.
  void WaitWritable() {
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
      if (!self->socket_.is_open()) return;
      self->socket_.async_wait(tcp::socket::wait_write, [self](const ErrorCode& error) {
        if (error) return;
        std::lock_guard lock(self->write_mutex_);
        if (self->open_) self->WriteQueue();
      });
    });
  }

  void WaitReadable() {
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const ErrorCode& error) {
      if (!error) self->ReadSome();
    });
  }

  void ReadSome() {
    for (int turn = 0; turn < kReadsPerTurn; ++turn) {
      if (!socket_.is_open()) return;
      iovec parts[2];
      msghdr message{};
      message.msg_iov = parts;
      message.msg_iovlen = static_cast<size_t>(reader_.Space(parts));
      const ssize_t n = ::recvmsg(fd_, &message, MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return WaitReadable();
      if (n == 0) return Fail(Error(StatusCode::kUnavailable, "the peer closed the connection"));
      if (n < 0) return Fail(Error(StatusCode::kUnavailable, "cannot read: " + ErrnoText(errno)));
      totals_.received.fetch_add(static_cast<uint64_t>(n), std::memory_order_relaxed);
      if (const Status status = reader_.Filled(static_cast<size_t>(n), deliver_); !status.ok()) return Fail(status);
    }
    // More may be waiting; a posted wait lets the other sockets of the loop go first.
    WaitReadable();
  }

  void Fail(const Status& status) {
    Shut();
    if (Closed closed = std::exchange(closed_, nullptr)) closed(status);
  }

  void Shut() {
    std::lock_guard lock(write_mutex_);
    open_ = false;
    queue_.clear();
    ErrorCode ignored;
    socket_.close(ignored);
  }

  // Of the loop.
  tcp::socket socket_;
  FrameReader reader_;
  Deliver deliver_;
  Closed closed_;

  Totals& totals_;
  int fd_;

  std::mutex write_mutex_;  // guards what follows, and fd_ against closing during a write
  bool open_ = true;
  std::deque<OutgoingFrame> queue_;
  size_t front_sent_ = 0;
  size_t unsent_bytes_ = 0;
};

// One attempt to shake hands, either side: a socket, a deadline, and the fixed messages. Ends itself in any case.
struct Greeting : std::enable_shared_from_this<Greeting> {
  explicit Greeting(asio::io_context& context) : socket(context), timer(context), resolver(context) {}

  void CloseAfter(Duration timeout) {
    timer.expires_after(timeout);
    timer.async_wait([self = shared_from_this()](const ErrorCode& error) {
      if (!error) self->Cancel();
    });
  }
  void Cancel() {
    ErrorCode ignored;
    timer.cancel();
    resolver.cancel();
    socket.close(ignored);
  }

  tcp::socket socket;
  asio::steady_timer timer;
  tcp::resolver resolver;
  wire::Handshake handshake{};
  wire::HandshakeReply reply{};
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

  Status Listen() { return state_->Listen(); }

  void SetSelf(NodeId self) override { state_->self = self.value(); }
  const std::string& address() const override { return state_->address; }

  void Connect(NodeId peer, const std::string& address) override {
    state_->loop.Post([state = state_, peer, address] { state->Connect(peer, address); });
  }
  void Disconnect(NodeId peer) override {
    state_->loop.Post([state = state_, peer] { state->Disconnect(peer); });
  }

  Status Send(NodeId to, const Message& message) override {
    ASSIGN_OR_RETURN(OutgoingFrame frame, EncodeFrame(message));
    std::shared_ptr<Link> link;
    {
      std::lock_guard lock(state_->links_mutex);
      const auto it = state_->links.find(to);
      if (it != state_->links.end()) link = it->second;
    }
    if (link == nullptr) return Error(StatusCode::kUnavailable, "no link to node " + std::to_string(to.value()));
    return link->Send(std::move(frame));
  }

  Counters counters() const override {
    std::lock_guard lock(state_->links_mutex);
    return {state_->totals.sent, state_->totals.received, static_cast<uint32_t>(state_->links.size())};
  }

 private:
  struct Dial {
    std::string address;
    Duration backoff = kBackoffFirst;
    std::shared_ptr<Greeting> greeting;
    std::unique_ptr<asio::steady_timer> redial;
  };

  // Shared with the handlers on the loop, so that none outlives it.
  struct State : std::enable_shared_from_this<State> {
    State(const TcpOptions& options, EventLoop& loop, Events events)
        : options(options),
          self(options.self.value()),
          loop(loop),
          context(*static_cast<asio::io_context*>(loop.native())),
          events(std::move(events)),
          acceptor(context),
          random(options.seed) {}

    Status Listen();
    void Accept();
    void Greet(std::shared_ptr<Greeting> greeting);
    void Answer(std::shared_ptr<Greeting> greeting);

    void Connect(NodeId peer, const std::string& address);
    void Disconnect(NodeId peer);
    void DialNow(NodeId peer);
    void DialResolved(NodeId peer, std::shared_ptr<Greeting> greeting, const tcp::resolver::results_type& endpoints);
    void SendHandshake(NodeId peer, std::shared_ptr<Greeting> greeting);
    void DialFailed(NodeId peer, const std::shared_ptr<Greeting>& greeting, const Status& status);
    void DialLater(NodeId peer);

    void AddLink(NodeId peer, tcp::socket socket);
    void RemoveLink(NodeId peer, const std::shared_ptr<Link>& link, const Status& reason);
    std::shared_ptr<Link> TakeLink(NodeId peer);
    void Stop();

    const TcpOptions options;
    std::atomic<uint32_t> self;
    EventLoop& loop;
    asio::io_context& context;
    Events events;
    Totals totals;
    std::string address;

    // Of the loop.
    tcp::acceptor acceptor;
    Random random;
    std::unordered_map<NodeId, Dial> dials;
    std::unordered_set<std::shared_ptr<Greeting>> accepting;
    bool stopped = false;

    std::mutex links_mutex;
    std::unordered_map<NodeId, std::shared_ptr<Link>> links;
  };

  std::shared_ptr<State> state_;
};

// --- listening

Status Tcp::State::Listen() {
  ErrorCode error;
  const auto host = asio::ip::make_address(options.bind_address, error);
  if (error) {
    return Error(StatusCode::kInvalidArgument, "bind address '" + options.bind_address + "' is not an IP address");
  }
  const tcp::endpoint endpoint(host, options.port);
  const std::string wanted = options.bind_address + ":" + std::to_string(options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error == asio::error::address_in_use) {
    return Error(StatusCode::kResourceExhausted, "port " + std::to_string(options.port) + " of " +
                                                     options.bind_address +
                                                     " is in use by another process; end it or choose another port");
  }
  if (error) return Annotate(NetworkError("cannot listen", error), "address " + wanted);
  const tcp::endpoint bound = acceptor.local_endpoint(error);
  const std::string text = bound.address().to_string();
  address = (bound.address().is_v6() ? "[" + text + "]" : text) + ":" + std::to_string(bound.port());
  loop.Post([state = shared_from_this()] { state->Accept(); });
  return OkStatus();
}

void Tcp::State::Accept() {
  if (stopped) return;
  auto greeting = std::make_shared<Greeting>(context);
  acceptor.async_accept(greeting->socket, [state = shared_from_this(), greeting](const ErrorCode& error) {
    if (state->stopped || error == asio::error::operation_aborted) return;
    if (error) {
      // Out of descriptors, most likely: a pause, so that the loop does not spin.
      log::Warn("cannot accept a connection", {{"reason", error.message()}});
      greeting->timer.expires_after(std::chrono::milliseconds(200));
      greeting->timer.async_wait([state, greeting](const ErrorCode&) { state->Accept(); });
      return;
    }
    state->Greet(greeting);
    state->Accept();
  });
}

void Tcp::State::Greet(std::shared_ptr<Greeting> greeting) {
  if (accepting.size() + links.size() >= kLinksMax) return greeting->Cancel();
  Tune(greeting->socket);
  accepting.insert(greeting);
  greeting->CloseAfter(kHandshakeTimeout);
  asio::async_read(greeting->socket, asio::buffer(&greeting->handshake, sizeof greeting->handshake),
                   [state = shared_from_this(), greeting](const ErrorCode& error, size_t) {
                     if (!error && !state->stopped) return state->Answer(greeting);
                     greeting->Cancel();
                     state->accepting.erase(greeting);
                   });
}

void Tcp::State::Answer(std::shared_ptr<Greeting> greeting) {
  const Status status = CheckHandshake(greeting->handshake, {.job_uid = options.job_uid, .self = NodeId(self.load())});
  if (!status.ok()) {
    // Port scanners and early dialers are no news; a wrong job or release is.
    const auto level = status.code() == StatusCode::kFailedPrecondition ? log::Level::kWarn : log::Level::kDebug;
    ErrorCode ignored;
    log::Write(level, "refused a connection",
               {{"from", greeting->socket.remote_endpoint(ignored).address().to_string()}, {"reason", status}});
  }
  greeting->reply = MakeReply(status);
  asio::async_write(greeting->socket, asio::buffer(&greeting->reply, sizeof greeting->reply),
                    [state = shared_from_this(), greeting, ok = status.ok()](const ErrorCode& error, size_t) {
                      greeting->timer.cancel();
                      state->accepting.erase(greeting);
                      if (error || !ok || state->stopped) return greeting->Cancel();
                      state->AddLink(NodeId(greeting->handshake.node), std::move(greeting->socket));
                    });
}

// --- dialing

void Tcp::State::Connect(NodeId peer, const std::string& to) {
  if (stopped) return;
  const auto it = dials.find(peer);
  if (it != dials.end() && it->second.address == to) return;
  if (it != dials.end()) Disconnect(peer);
  dials[peer].address = to;
  DialNow(peer);
}

void Tcp::State::Disconnect(NodeId peer) {
  if (const auto it = dials.find(peer); it != dials.end()) {
    if (it->second.greeting != nullptr) it->second.greeting->Cancel();
    dials.erase(it);
  }
  if (const std::shared_ptr<Link> link = TakeLink(peer)) {
    link->Close();
    events.on_disconnected(peer, Error(StatusCode::kUnavailable, "disconnected by this node"));
  }
}

void Tcp::State::DialNow(NodeId peer) {
  Dial& dial = dials.at(peer);
  auto greeting = std::make_shared<Greeting>(context);
  dial.greeting = greeting;
  greeting->CloseAfter(kDialTimeout);
  std::string host, port;
  if (!SplitAddress(dial.address, host, port)) {
    return DialFailed(peer, greeting, Error(StatusCode::kInvalidArgument, "'" + dial.address + "' is not host:port"));
  }
  ErrorCode error;
  const auto numeric = asio::ip::make_address(host, error);
  uint16_t number = 0;
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
  if (!error && parsed.ec == std::errc() && parsed.ptr == port.data() + port.size()) {
    return DialResolved(peer, greeting,
                        tcp::resolver::results_type::create(tcp::endpoint(numeric, number), host, port));
  }
  greeting->resolver.async_resolve(host, port,
                                   [state = shared_from_this(), peer, greeting](
                                       const ErrorCode& failed, const tcp::resolver::results_type& endpoints) {
                                     if (failed)
                                       return state->DialFailed(peer, greeting,
                                                                NetworkError("cannot find the address", failed));
                                     state->DialResolved(peer, greeting, endpoints);
                                   });
}

void Tcp::State::DialResolved(NodeId peer, std::shared_ptr<Greeting> greeting,
                              const tcp::resolver::results_type& endpoints) {
  asio::async_connect(greeting->socket, endpoints,
                      [state = shared_from_this(), peer, greeting](const ErrorCode& error, const tcp::endpoint&) {
                        if (error) return state->DialFailed(peer, greeting, NetworkError("cannot connect", error));
                        state->SendHandshake(peer, greeting);
                      });
}

void Tcp::State::SendHandshake(NodeId peer, std::shared_ptr<Greeting> greeting) {
  Tune(greeting->socket);
  greeting->handshake = MakeHandshake(options.job_uid, NodeId(self.load()), peer);
  auto on_reply = [state = shared_from_this(), peer, greeting](const ErrorCode& error, size_t) {
    if (error) return state->DialFailed(peer, greeting, NetworkError("no answer to the handshake", error));
    if (const Status status = ReadReply(greeting->reply); !status.ok())
      return state->DialFailed(peer, greeting, status);
    const auto it = state->dials.find(peer);
    if (state->stopped || it == state->dials.end() || it->second.greeting != greeting) return greeting->Cancel();
    greeting->timer.cancel();
    it->second.greeting = nullptr;
    it->second.backoff = kBackoffFirst;
    state->AddLink(peer, std::move(greeting->socket));
  };
  asio::async_write(greeting->socket, asio::buffer(&greeting->handshake, sizeof greeting->handshake),
                    [state = shared_from_this(), peer, greeting, on_reply](const ErrorCode& error, size_t) {
                      if (error) return state->DialFailed(peer, greeting, NetworkError("cannot shake hands", error));
                      asio::async_read(greeting->socket, asio::buffer(&greeting->reply, sizeof greeting->reply),
                                       on_reply);
                    });
}

void Tcp::State::DialFailed(NodeId peer, const std::shared_ptr<Greeting>& greeting, const Status& status) {
  greeting->Cancel();
  const auto it = dials.find(peer);
  if (stopped || it == dials.end() || it->second.greeting != greeting) return;
  it->second.greeting = nullptr;
  const Status told = Annotate(status, "node " + std::to_string(peer.value()) + " at " + it->second.address);
  if (status.code() != StatusCode::kUnavailable) {
    log::Error("a peer refuses this node; not dialed again", {{"reason", told}});
    return events.on_disconnected(peer, told);
  }
  log::Debug("cannot reach a peer yet", {{"reason", told}});
  DialLater(peer);
}

// Between half and the whole of a backoff that doubles, so that many workers do not return in step.
void Tcp::State::DialLater(NodeId peer) {
  Dial& dial = dials.at(peer);
  const Duration wait = dial.backoff / 2 + Duration(static_cast<int64_t>(random.Below(dial.backoff.count() / 2 + 1)));
  dial.backoff = std::min(dial.backoff * 2, kBackoffMax);
  dial.redial = std::make_unique<asio::steady_timer>(context, wait);
  dial.redial->async_wait([state = shared_from_this(), peer](const ErrorCode& error) {
    if (!error && !state->stopped && state->dials.contains(peer)) state->DialNow(peer);
  });
}

// --- links

void Tcp::State::AddLink(NodeId peer, tcp::socket socket) {
  if (const std::shared_ptr<Link> old = TakeLink(peer)) {
    old->Close();
    events.on_disconnected(peer, Error(StatusCode::kUnavailable, "replaced by a newer connection of the same node"));
  }
  auto link = std::make_shared<Link>(std::move(socket), totals);
  {
    std::lock_guard lock(links_mutex);
    links[peer] = link;
  }
  events.on_connected(peer);
  // The state is held weakly: links are members of it.
  link->Start([this, peer](Message message) { events.on_message(peer, std::move(message)); },
              [weak = weak_from_this(), peer, link_weak = std::weak_ptr<Link>(link)](const Status& reason) {
                if (const auto state = weak.lock()) state->RemoveLink(peer, link_weak.lock(), reason);
              });
}

std::shared_ptr<Link> Tcp::State::TakeLink(NodeId peer) {
  std::lock_guard lock(links_mutex);
  const auto it = links.find(peer);
  if (it == links.end()) return nullptr;
  std::shared_ptr<Link> link = std::move(it->second);
  links.erase(it);
  return link;
}

void Tcp::State::RemoveLink(NodeId peer, const std::shared_ptr<Link>& link, const Status& reason) {
  {
    std::lock_guard lock(links_mutex);
    const auto it = links.find(peer);
    if (it == links.end() || it->second != link) return;
    links.erase(it);
  }
  if (stopped) return;
  events.on_disconnected(peer, reason);
  if (dials.contains(peer)) DialLater(peer);
}

void Tcp::State::Stop() {
  stopped = true;
  ErrorCode ignored;
  acceptor.close(ignored);
  for (auto& [peer, dial] : dials) {
    if (dial.greeting != nullptr) dial.greeting->Cancel();
  }
  dials.clear();
  for (const auto& greeting : accepting) greeting->Cancel();
  accepting.clear();
  std::unordered_map<NodeId, std::shared_ptr<Link>> all;
  {
    std::lock_guard lock(links_mutex);
    all.swap(links);
  }
  for (auto& [peer, link] : all) link->Close();
}

}  // namespace

StatusOr<std::unique_ptr<TcpTransport>> TcpTransport::Create(const TcpOptions& options, EventLoop& loop,
                                                             Events events) {
  auto transport = std::make_unique<Tcp>(options, loop, std::move(events));
  if (!options.bind_address.empty()) RETURN_IF_ERROR(transport->Listen());
  return transport;
}

}  // namespace attune::ps
