#include "ps/transport/tcp/connect/tcp_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/os/file.h"

namespace attune::ps {
namespace {

constexpr int kSocketBufferBytes = 4 << 20;
// A peer whose machine is gone is noticed within about ten seconds.
constexpr int kKeepAliveIdleSeconds = 5, kKeepAliveIntervalSeconds = 2, kKeepAliveProbes = 3;
constexpr unsigned kUnacknowledgedMilliseconds = 10'000;

void SetOption(int fd, int level, int name, int value) { (void)::setsockopt(fd, level, name, &value, sizeof value); }

}  // namespace

// "host:port", "[v6]:port"; false when it is neither.
bool SplitAddress(const std::string& address, std::string& host, std::string& port) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) return false;
  host = address.substr(0, colon);
  port = address.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
}

void NoDelay(int fd) { SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

void Tune(int fd) {
  NoDelay(fd);
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

StatusOr<ListeningSocket> ListenAt(const std::string& bind_address, uint16_t port) {
  const std::string wanted = bind_address + ":" + std::to_string(port);
  sockaddr_storage storage{};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  socklen_t length = sizeof *v4;
  if (::inet_pton(AF_INET, bind_address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
  } else if (::inet_pton(AF_INET6, bind_address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    length = sizeof *v6;
  } else {
    return Error(StatusCode::kInvalidArgument, "bind address '" + bind_address + "' is not an IP address");
  }
  FileDescriptor fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Error(StatusCode::kUnavailable, "cannot create a socket: " + ErrnoText(errno));
  SetOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    if (errno == EADDRINUSE) {
      return Error(StatusCode::kResourceExhausted, "port " + std::to_string(port) + " of " + bind_address +
                                                       " is in use by another process; end it or choose another port");
    }
    return Error(StatusCode::kUnavailable, "cannot listen at " + wanted + ": " + ErrnoText(errno));
  }
  length = sizeof storage;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &length);
  return ListeningSocket{.fd = std::move(fd), .address = TextOf(storage, true)};
}

}  // namespace attune::ps
