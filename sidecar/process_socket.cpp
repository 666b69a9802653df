#include "sidecar/process_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.h"

namespace attune::sidecar {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadBytes = 16 << 10;
constexpr int kReadsPerTurn = 16;  // so that a flood of messages does not keep timers waiting

Status SocketError(const fs::path& path, const std::string& doing, int error_number) {
  return Error(StatusCode::kFailedPrecondition, doing + " " + path.string() + ": " + ErrnoText(error_number));
}

StatusOr<sockaddr_un> Address(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.empty() || text.size() >= sizeof(address.sun_path)) {
    return Error(StatusCode::kInvalidArgument, "socket path '" + text + "' has " + std::to_string(text.size()) +
                                                   " bytes; 1 to " + std::to_string(sizeof(address.sun_path) - 1) +
                                                   " are possible, choose a shorter directory");
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

bool SomebodyListens(const sockaddr_un& address) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  const int result = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error_number = errno;
  close(probe);
  return result == 0 || error_number == EAGAIN;
}

Status MakeRoom(const fs::path& path, const sockaddr_un& address) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return Error(StatusCode::kFailedPrecondition, path.string() + " exists and is not a socket; remove it");
  }
  if (SomebodyListens(address)) {
    return Error(StatusCode::kAlreadyExists, "another sidecar listens on " + path.string() + "; one per pod");
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return SocketError(path, "removing the stale socket", errno);
  return OkStatus();
}

int PeerPid(int connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

}  // namespace

StatusOr<std::unique_ptr<ProcessSocket>> ProcessSocket::Listen(const fs::path& path) {
  ASSIGN_OR_RETURN(const sockaddr_un address, Address(path));
  std::error_code error;
  if (path.has_parent_path() && !fs::is_directory(path.parent_path(), error)) {
    return Error(StatusCode::kNotFound, "directory " + path.parent_path().string() +
                                            " for the sidecar's socket does not exist; mount the volume there");
  }
  RETURN_IF_ERROR(MakeRoom(path, address));
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return SocketError(path, "making a socket for", errno);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), 0666) != 0 || listen(listener, 8) != 0) {
    const Status status = SocketError(path, "listening on", errno);
    close(listener);
    return status;
  }
  return std::unique_ptr<ProcessSocket>(new ProcessSocket(path, listener));
}

ProcessSocket::~ProcessSocket() {
  CloseProcess();
  close(listener_);
  unlink(path_.c_str());
}

void ProcessSocket::AddTo(std::vector<pollfd>& waits) const {
  waits.push_back({.fd = listener_, .events = POLLIN, .revents = 0});
  if (process_ < 0) return;
  const short events = unsent_.empty() ? POLLIN : POLLIN | POLLOUT;
  waits.push_back({.fd = process_, .events = events, .revents = 0});
}

std::vector<SocketEvent> ProcessSocket::Handle() {
  std::vector<SocketEvent> events;
  if (process_ >= 0) Read(events);
  if (process_ >= 0) Write();
  if (process_ >= 0 && !broken_.ok()) Lose(std::exchange(broken_, OkStatus()), events);
  Accept(events);
  return events;
}

void ProcessSocket::Accept(std::vector<SocketEvent>& events) {
  while (true) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) return;
    CloseProcess();
    process_ = connection;
    events.push_back({.kind = SocketEvent::Kind::kConnected, .peer_pid = PeerPid(connection)});
    Read(events);
  }
}

void ProcessSocket::Read(std::vector<SocketEvent>& events) {
  std::array<char, kReadBytes> piece;
  for (int i = 0; i < kReadsPerTurn && process_ >= 0; ++i) {
    const ssize_t count = recv(process_, piece.data(), piece.size(), 0);
    if (count > 0) {
      decoder_.Feed({piece.data(), static_cast<size_t>(count)});
      Decode(events);
    } else if (count == 0 || errno == ECONNRESET) {  // reset: it closed with directives unread
      Lose(OkStatus(), events);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR) {
      Lose(Error(StatusCode::kUnavailable, "reading from the process: " + ErrnoText(errno)), events);
    }
  }
}

void ProcessSocket::Decode(std::vector<SocketEvent>& events) {
  while (process_ >= 0) {
    StatusOr<std::optional<std::string>> payload = decoder_.Next();
    if (!payload.ok()) return Lose(payload.status(), events);
    if (!*payload) return;
    SocketEvent event{.kind = SocketEvent::Kind::kMessage};
    if (!event.message.ParseFromString(**payload)) {
      return Lose(Error(StatusCode::kInvalidArgument, "the process sent a frame that is no telemetry message"), events);
    }
    events.push_back(std::move(event));
  }
}

void ProcessSocket::Send(const v1::ProcessDirective& directive) {
  if (process_ < 0) return;
  unsent_ += EncodeFrame(directive.SerializeAsString());
  Write();
}

void ProcessSocket::Write() {
  while (!unsent_.empty()) {
    const ssize_t count = send(process_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      unsent_.erase(0, static_cast<size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      // Reading goes first: what the process said before it left counts, and its end shows there.
      unsent_.clear();
      return;
    }
  }
  if (unsent_.size() > kUnsentBytesMax) {
    broken_ = Error(StatusCode::kResourceExhausted, "the process does not read its directives");
  }
}

void ProcessSocket::Lose(Status reason, std::vector<SocketEvent>& events) {
  CloseProcess();
  events.push_back({.kind = SocketEvent::Kind::kGone, .reason = std::move(reason)});
}

void ProcessSocket::CloseProcess() {
  if (process_ >= 0) close(process_);
  process_ = -1;
  decoder_ = FrameDecoder();
  unsent_.clear();
  broken_ = OkStatus();
}

}  // namespace attune::sidecar
