#include "base/net/grpc_port.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include "base/log.h"
#include "base/mutex.h"
#include "base/net/strangers.h"
#include "base/os/file.h"
#include "base/os/file_descriptor.h"

namespace attune {
namespace {

constexpr uint64_t kListener = 0, kWake = 1;  // what an event is about; other numbers are connections
constexpr Duration kAcceptPause = std::chrono::milliseconds(200);
constexpr Duration kLoggedEvery = std::chrono::seconds(1);

// A connection is gRPC's; the second descriptor of it here is for ending it, and for seeing that it has ended.
using StrangersHere = Strangers<FileDescriptor>;

// One end of a connection, named as gRPC names it: its source is the address as text (IPv4 in IPv6 is IPv4), its key
// has the port, too.
StrangersHere::Peer PeerOf(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  uint16_t port = 0;
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    const bool is_v4 = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
    ::inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? &v6.sin6_addr.s6_addr[12] : v6.sin6_addr.s6_addr, text,
                sizeof text);
    port = ntohs(v6.sin6_port);
  } else {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  }
  return {.key = std::string(text) + "|" + std::to_string(port), .source = text};
}

// gRPC writes "ipv4:1.2.3.4:5", "ipv6:[::1]:5" or "ipv6:%5B::1%5D:5".
std::string KeyOf(std::string peer) {
  for (const auto& [written, meant] : {std::pair("%5B", "["), std::pair("%5D", "]")}) {
    if (const size_t at = peer.find(written); at != std::string::npos) peer.replace(at, 3, meant);
  }
  const size_t scheme = peer.find(':'), port = peer.rfind(':');
  if (scheme == std::string::npos || port <= scheme) return "";
  std::string host = peer.substr(scheme + 1, port - scheme - 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host.substr(0, host.find('%')) + "|" + peer.substr(port + 1);  // without the scope of a link-local address
}

struct Listening {
  FileDescriptor socket;
  uint16_t port = 0;
};

struct BindAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

StatusOr<BindAddress> AddressOf(const std::string& host, uint16_t port) {
  BindAddress address;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  const std::string ip = bracketed ? host.substr(1, host.size() - 2) : host;
  if (::inet_pton(AF_INET, ip.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.length = sizeof *v4;
  } else if (::inet_pton(AF_INET6, ip.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.length = sizeof *v6;
  } else {
    return Error(StatusCode::kInvalidArgument,
                 "bind address '" + host + "' is not an IP address; write one, for example 0.0.0.0");
  }
  return address;
}

StatusOr<Listening> ListenAt(const std::string& host, uint16_t port) {
  ASSIGN_OR_RETURN(const BindAddress address, AddressOf(host, port));
  Listening listening;
  listening.socket = FileDescriptor(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int fd = listening.socket.get();
  if (fd < 0) return Error(StatusCode::kUnavailable, "cannot create a socket: " + ErrnoText(errno));
  const int yes = 1, no = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);  // connections inherit it
  if (address.storage.ss_family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0 ||
      ::listen(fd, SOMAXCONN) != 0) {
    const std::string where = host + ":" + std::to_string(port);
    if (errno == EADDRINUSE) {
      return Error(StatusCode::kResourceExhausted, "port " + std::to_string(port) + " of " + host +
                                                       " is in use by another process; end it or choose another port");
    }
    return Error(StatusCode::kUnavailable, "cannot listen at " + where + ": " + ErrnoText(errno));
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  listening.port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                                     : reinterpret_cast<sockaddr_in&>(bound).sin_port);
  return listening;
}

// gRPC takes 0.0.0.0 for both families; a machine without IPv6 has one.
StatusOr<Listening> ListenAtAny(const std::string& host, uint16_t port) {
  if (host == "0.0.0.0") {
    if (auto both = ListenAt("::", port); both.ok() || both.status().code() == StatusCode::kResourceExhausted) {
      return both;
    }
  }
  return ListenAt(host, port);
}

// gRPC writes a line about every handshake that fails, so strangers could fill the log, and a pipe that is read slowly
// would hold up the process. Here they are lines of this process' log, at most one each second.
void LogOfGrpc(gpr_log_func_args* line) {
  static std::atomic<int64_t> again_at{0};
  const int64_t now = SystemTime().Now().time_since_epoch().count();
  int64_t due = again_at;
  if (now < due || !again_at.compare_exchange_strong(due, now + kLoggedEvery.count())) return;
  log::Write(line->severity == GPR_LOG_SEVERITY_ERROR ? log::Level::kWarn : log::Level::kDebug, "gRPC says",
             {{"what", line->message}});
}

// Unless the user asked gRPC for more, to look for a fault.
void KeepGrpcQuiet() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function(&LogOfGrpc);
  });
}

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

class Port final : public GrpcPort {
 public:
  Port(const GrpcPortOptions& options, Listening listening, std::unique_ptr<Acceptor> acceptor, const TimeSource& time)
      : options_(options),
        listener_(std::move(listening.socket)),
        port_(listening.port),
        acceptor_(std::move(acceptor)),
        time_(time),
        strangers_(options.strangers_max, kWake + 1) {}

  ~Port() override { Close(); }

  // Whether the process had descriptors left for it.
  bool IsUsable() const { return epoll_.get() >= 0 && wake_.get() >= 0; }

  void Open() override {
    Watch(listener_.get(), EPOLLIN, kListener);
    Watch(wake_.get(), EPOLLIN, kWake);
    thread_ = std::thread([this] { Run(); });
  }

  void Close() override {
    stopping_ = true;
    if (!thread_.joinable()) return;
    (void)::eventfd_write(wake_.get(), 1);
    thread_.join();
  }

  void Proved(const std::string& peer) override {
    const MutexLock lock(mutex_);
    if (const auto id = strangers_.IdOf(KeyOf(peer))) Forget(*id);
  }

  uint16_t port() const override { return port_; }
  size_t strangers() const override {
    const MutexLock lock(mutex_);
    return strangers_.size();
  }

 private:
  void Watch(int fd, uint32_t events, uint64_t about) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = about;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  void Run() {
    std::array<epoll_event, 64> events{};
    while (!stopping_) {
      const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), Timeout());
      for (int i = 0; i < count; ++i) {
        const uint64_t about = events[static_cast<size_t>(i)].data.u64;
        if (about == kListener) {
          Accept();
        } else if (about != kWake) {
          const MutexLock lock(mutex_);
          Forget(about);
        }
      }
      EndOverdue();
      AcceptAgain();
    }
  }

  // Milliseconds until something is due; -1: nothing is.
  int Timeout() const {
    const MutexLock lock(mutex_);
    const MonotonicTime due = std::min(accept_again_.value_or(kNever), strangers_.NextDeadline());
    if (due == kNever) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - time_.Now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
  }

  void Accept() {
    for (;;) {
      sockaddr_storage from{};
      socklen_t length = sizeof from;
      FileDescriptor connection(
          ::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (connection.get() >= 0) {
        Admit(std::move(connection), PeerOf(from));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return;
      } else if (errno != EINTR && errno != ECONNABORTED) {
        // Out of descriptors, most likely: a pause, so that this thread does not spin.
        LogRarely("cannot accept a connection", ErrnoText(errno));
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
        const MutexLock lock(mutex_);
        accept_again_ = time_.Now() + kAcceptPause;
        return;
      }
    }
  }

  void AcceptAgain() {
    const MutexLock lock(mutex_);
    if (!accept_again_ || time_.Now() < *accept_again_) return;
    accept_again_.reset();
    Watch(listener_.get(), EPOLLIN, kListener);
  }

  void Admit(FileDescriptor connection, StrangersHere::Peer peer) {
    FileDescriptor second(::fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
    if (second.get() < 0) return LogRarely("cannot take a connection", ErrnoText(errno));
    {
      const MutexLock lock(mutex_);
      const int fd = second.get();
      const auto [id, shed] =
          strangers_.Enter(std::move(second), std::move(peer), time_.Now() + options_.proof_timeout);
      if (shed) {
        End(*shed, "too many connections that have not proved themselves; the oldest of the largest source is closed");
      }
      Watch(fd, 0, id);  // an end is reported without being asked for
    }
    Acceptor::NewConnectionParameters handed;
    handed.fd = connection.Release();
    acceptor_->HandleNewConnection(&handed);
  }

  void EndOverdue() {
    const MutexLock lock(mutex_);
    const MonotonicTime now = time_.Now();
    while (const auto id = strangers_.OldestDue(now)) {
      End(*id, "closed a connection that has not proved itself in time");
    }
  }

  // gRPC sees that the connection has ended, and closes its descriptor.
  void End(uint64_t id, const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const StrangersHere::Stranger* stranger = strangers_.Find(id);
    LogRarely(why, stranger->peer.source);
    ::shutdown(stranger->connection.get(), SHUT_RDWR);
    Forget(id);
  }

  void Forget(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const StrangersHere::Stranger* stranger = strangers_.Find(id);
    if (stranger == nullptr) return;
    // Closing would not end the watch, since the connection has another descriptor.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, stranger->connection.get(), nullptr);
    strangers_.Leave(id);
  }

  // Of the thread. At most a line each second, whatever strangers do.
  void LogRarely(const std::string& what, const std::string& detail) {
    const MonotonicTime now = time_.Now();
    if (now < log_again_) return;
    log_again_ = now + kLoggedEvery;
    log::Warn(what, {{"port", port_}, {"detail", detail}});
  }

  const GrpcPortOptions options_;
  const FileDescriptor listener_;
  const FileDescriptor epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  const FileDescriptor wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  const uint16_t port_;
  const std::unique_ptr<Acceptor> acceptor_;
  const TimeSource& time_;
  std::atomic<bool> stopping_ = false;
  MonotonicTime log_again_{};  // of the thread

  mutable Mutex mutex_;
  StrangersHere strangers_ ABSL_GUARDED_BY(mutex_);
  std::optional<MonotonicTime> accept_again_ ABSL_GUARDED_BY(mutex_);  // the listener is not watched until then

  std::thread thread_;
};

}  // namespace

StatusOr<std::unique_ptr<GrpcPort>> GrpcPort::Bind(const GrpcPortOptions& options, grpc::ServerBuilder& builder,
                                                   const std::shared_ptr<grpc::ServerCredentials>& credentials,
                                                   const TimeSource& time) {
  KeepGrpcQuiet();
  ASSIGN_OR_RETURN(Listening listening, ListenAtAny(options.host, options.port));
  std::unique_ptr<Acceptor> acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  auto port = std::make_unique<Port>(options, std::move(listening), std::move(acceptor), time);
  if (!port->IsUsable()) {
    return Error(StatusCode::kResourceExhausted,
                 "cannot watch the port: the process has no file descriptors left; raise its limit (ulimit -n)");
  }
  return StatusOr<std::unique_ptr<GrpcPort>>(std::move(port));
}

}  // namespace attune
