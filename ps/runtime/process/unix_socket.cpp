#include "ps/runtime/process/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/os/file.h"

namespace attune::ps {
namespace {

Status SocketError(std::string_view doing, int error) {
  return Error(StatusCode::kUnavailable, std::string(doing) + ": " + ErrnoText(error));
}

}  // namespace

Status UnixSocket::Connect(const std::string& path) {
  Close();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error(StatusCode::kInvalidArgument, "socket path '" + path + "' is longer than 107 bytes");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  fd_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!connected()) return SocketError("cannot create a Unix socket", errno);
  if (::connect(fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    Close();
    return SocketError("cannot connect to '" + path + "'", error);
  }
  return OkStatus();
}

void UnixSocket::Close() {
  fd_.Close();
  unsent_.clear();
  received_ = FrameDecoder();
}

Status UnixSocket::Send(std::string_view message) {
  if (!connected()) return Error(StatusCode::kUnavailable, "the socket is not connected");
  if (message.size() > kFrameBytesMax || unsent_.size() + message.size() + kFrameHeaderBytes > kUnsentBytesMax) {
    return Error(StatusCode::kResourceExhausted, "the socket's send buffer is full; a message was dropped");
  }
  unsent_ += EncodeFrame(message);
  return WriteSome();
}

Status UnixSocket::WriteSome() {
  while (!unsent_.empty()) {
    const ssize_t n = ::send(fd(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return OkStatus();
    if (n < 0) {
      const Status status = SocketError("cannot write to the socket", errno);
      Close();
      return status;
    }
    unsent_.erase(0, static_cast<size_t>(n));
  }
  return OkStatus();
}

Status UnixSocket::ReadSome(const std::function<void(std::string_view)>& take) {
  char buffer[4096];
  while (connected()) {
    const ssize_t n = ::recv(fd(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return OkStatus();
    if (n <= 0) {
      const Status status = n == 0 ? Error(StatusCode::kUnavailable, "the other side closed the socket")
                                   : SocketError("cannot read from the socket", errno);
      Close();
      return status;
    }
    received_.Feed({buffer, static_cast<size_t>(n)});
    for (;;) {
      const StatusOr<std::optional<std::string>> message = received_.Next();
      if (!message.ok()) {
        Close();
        return message.status();
      }
      if (!*message) break;
      take(**message);
    }
  }
  return OkStatus();
}

}  // namespace attune::ps
