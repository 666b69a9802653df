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

void AppendLength(std::string& out, uint32_t length) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(length >> shift));
}

uint32_t ReadLength(const char* bytes) {
  uint32_t length = 0;
  for (int i = 3; i >= 0; --i) length = length << 8 | static_cast<uint8_t>(bytes[i]);
  return length;
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
  received_.clear();
}

Status UnixSocket::Send(std::string_view message) {
  if (!connected()) return Error(StatusCode::kUnavailable, "the socket is not connected");
  if (message.size() > kMessageBytesMax || unsent_.size() + message.size() + 4 > kUnsentBytesMax) {
    return Error(StatusCode::kResourceExhausted, "the socket's send buffer is full; a message was dropped");
  }
  AppendLength(unsent_, static_cast<uint32_t>(message.size()));
  unsent_.append(message);
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
    received_.append(buffer, static_cast<size_t>(n));
    while (received_.size() >= 4) {
      const uint32_t length = ReadLength(received_.data());
      if (length > kMessageBytesMax) {
        Close();
        return Error(StatusCode::kInvalidArgument, "a message of " + std::to_string(length) + " bytes was announced");
      }
      if (received_.size() < 4 + size_t{length}) break;
      const std::string message = received_.substr(4, length);
      received_.erase(0, 4 + size_t{length});
      take(message);
    }
  }
  return OkStatus();
}

}  // namespace attune::ps
