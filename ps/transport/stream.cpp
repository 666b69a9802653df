#include "ps/transport/stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/os/file.h"

namespace attune::ps {
namespace {

class PlainStream final : public Stream {
 public:
  using Stream::Stream;

  IoResult Read(std::span<iovec> parts) override {
    size_t room = 0;
    for (const iovec& part : parts) room += part.iov_len;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    for (;;) {
      const ssize_t n = ::recvmsg(fd(), &message, MSG_DONTWAIT);
      if (n > 0) {
        const auto bytes = static_cast<size_t>(n);
        // Less than there was room for: the socket is empty, and a later byte makes it ready again.
        return {.outcome = bytes < room ? IoResult::kAgain : IoResult::kDone, .bytes = bytes, .error = {}};
      }
      if (n == 0) {
        return {.outcome = IoResult::kEnded,
                .error = Error(StatusCode::kUnavailable, "the peer closed the connection")};
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {.outcome = IoResult::kAgain};
      return {.outcome = IoResult::kEnded,
              .error = Error(StatusCode::kUnavailable, "cannot read: " + ErrnoText(errno))};
    }
  }

  IoResult Write(std::span<iovec> parts) override {
    size_t wanted = 0;
    for (const iovec& part : parts) wanted += part.iov_len;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    for (;;) {
      const ssize_t n = ::sendmsg(fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) {
        const auto bytes = static_cast<size_t>(n);
        return {.outcome = bytes < wanted ? IoResult::kAgain : IoResult::kDone, .bytes = bytes, .error = {}};
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {.outcome = IoResult::kAgain};
      return {.outcome = IoResult::kEnded,
              .error = Error(StatusCode::kUnavailable, "cannot write: " + ErrnoText(errno))};
    }
  }
};

}  // namespace

void Stream::Shut() { ::shutdown(fd(), SHUT_RDWR); }

std::unique_ptr<Stream> Stream::Plain(FileDescriptor fd) { return std::make_unique<PlainStream>(std::move(fd)); }

}  // namespace attune::ps
