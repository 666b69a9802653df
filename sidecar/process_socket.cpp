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

#include "base/os/file.h"

namespace attune::sidecar {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadBytes = 16 << 10;
constexpr int kReadsPerTurn = 16;    // so that a flood of messages does not keep timers waiting
constexpr int kAcceptsPerTurn = 64;  // nor one of connections

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
  const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return false;
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || errno == EAGAIN;
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

// What can be read now, at most `reads` pieces of it. False: the peer has closed, or `status` says what broke.
bool ReadInto(int fd, int reads, FrameDecoder& decoder, Status& status) {
  std::array<char, kReadBytes> piece;
  for (int i = 0; i < reads; ++i) {
    const ssize_t count = recv(fd, piece.data(), piece.size(), 0);
    if (count > 0) {
      decoder.Feed({piece.data(), static_cast<size_t>(count)});
    } else if (count == 0 || errno == ECONNRESET) {  // reset: it closed with directives unread
      return false;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return true;
    } else if (errno != EINTR) {
      status = Error(StatusCode::kUnavailable, "reading from the process: " + ErrnoText(errno));
      return false;
    }
  }
  return true;
}

// The next whole message; nullopt when more bytes are needed.
StatusOr<std::optional<v1::ProcessMessage>> NextMessage(FrameDecoder& decoder) {
  ASSIGN_OR_RETURN(const std::optional<std::string> payload, decoder.Next());
  if (!payload) return std::optional<v1::ProcessMessage>();
  v1::ProcessMessage message;
  if (message.ParseFromString(*payload)) return std::optional(std::move(message));
  return Error(StatusCode::kInvalidArgument, "the process sent a frame that is no telemetry message");
}

}  // namespace

StatusOr<std::unique_ptr<ProcessSocket>> ProcessSocket::Listen(const fs::path& path, Admission why_refused) {
  ASSIGN_OR_RETURN(const sockaddr_un address, Address(path));
  std::error_code error;
  if (path.has_parent_path() && !fs::is_directory(path.parent_path(), error)) {
    return Error(StatusCode::kNotFound, "directory " + path.parent_path().string() +
                                            " for the sidecar's socket does not exist; mount the volume there");
  }
  RETURN_IF_ERROR(MakeRoom(path, address));
  FileDescriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return SocketError(path, "making a socket for", errno);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), 0666) != 0 || listen(listener.get(), 8) != 0) {
    return SocketError(path, "listening on", errno);
  }
  return std::unique_ptr<ProcessSocket>(new ProcessSocket(path, std::move(listener), std::move(why_refused)));
}

ProcessSocket::~ProcessSocket() { unlink(path_.c_str()); }

void ProcessSocket::AddTo(std::vector<pollfd>& waits) const {
  waits.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
  for (const Peer& stranger : strangers_) waits.push_back({.fd = stranger.fd.get(), .events = POLLIN, .revents = 0});
  if (!process_.fd.valid()) return;
  const short events = unsent_.empty() ? POLLIN : POLLIN | POLLOUT;
  waits.push_back({.fd = process_.fd.get(), .events = events, .revents = 0});
}

std::vector<SocketEvent> ProcessSocket::Handle() {
  std::vector<SocketEvent> events;
  if (process_.fd.valid()) Read(events);
  if (process_.fd.valid()) Write();
  if (process_.fd.valid() && !broken_.ok()) Lose(std::exchange(broken_, OkStatus()), events);
  Accept(events);
  HearStrangers(events);
  return events;
}

// When there are too many strangers, those that have already sent their first message leave the list before one is
// closed: the process may be among them, with its hello not read yet.
void ProcessSocket::Accept(std::vector<SocketEvent>& events) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    FileDescriptor fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) return;
    if (strangers_.size() >= kStrangersMax) HearStrangers(events);
    if (strangers_.size() >= kStrangersMax) strangers_.erase(strangers_.begin());
    strangers_.push_back({.fd = std::move(fd), .decoder = {}});
  }
}

StatusOr<std::optional<v1::ProcessMessage>> ProcessSocket::FirstMessage(Peer& stranger) {
  Status problem;
  const bool open = ReadInto(stranger.fd.get(), 1, stranger.decoder, problem);
  RETURN_IF_ERROR(problem);
  ASSIGN_OR_RETURN(std::optional<v1::ProcessMessage> message, NextMessage(stranger.decoder));
  if (!message && !open) return Error(StatusCode::kUnavailable, "it connected and left without a word");
  return message;
}

void ProcessSocket::HearStrangers(std::vector<SocketEvent>& events) {
  std::vector<Peer> strangers = std::exchange(strangers_, {});
  for (Peer& stranger : strangers) {
    StatusOr<std::optional<v1::ProcessMessage>> first = FirstMessage(stranger);
    if (first.ok() && !*first) {
      strangers_.push_back(std::move(stranger));
      continue;
    }
    const std::string why = first.ok() ? why_refused_(**first) : std::string(attune::Message(first.status()));
    if (why.empty()) {
      Admit(std::move(stranger), **std::move(first), events);
    } else {
      if (first.ok()) Refuse(stranger, why);
      events.push_back({.kind = SocketEvent::Kind::kRefused, .reason = Error(StatusCode::kPermissionDenied, why)});
    }
  }
}

void ProcessSocket::Admit(Peer stranger, v1::ProcessMessage hello, std::vector<SocketEvent>& events) {
  CloseProcess();
  process_ = std::move(stranger);
  ++connection_;
  events.push_back(
      {.kind = SocketEvent::Kind::kConnected, .connection = connection_, .peer_pid = PeerPid(process_.fd.get())});
  events.push_back({.kind = SocketEvent::Kind::kMessage, .connection = connection_, .message = std::move(hello)});
  Decode(events);  // what came with the hello
  if (process_.fd.valid()) Read(events);
}

// A few bytes to a socket that nothing has been written to yet: they fit, or are not read.
void ProcessSocket::Refuse(const Peer& stranger, const std::string& reason) {
  v1::ProcessDirective directive;
  directive.mutable_refused()->set_reason(reason);
  const std::string frame = EncodeFrame(directive.SerializeAsString());
  [[maybe_unused]] const ssize_t sent =
      send(stranger.fd.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ProcessSocket::Read(std::vector<SocketEvent>& events) {
  for (int i = 0; i < kReadsPerTurn && process_.fd.valid(); ++i) {
    Status problem;
    const bool open = ReadInto(process_.fd.get(), 1, process_.decoder, problem);
    Decode(events);
    if (process_.fd.valid() && !open) Lose(problem, events);
  }
}

void ProcessSocket::Decode(std::vector<SocketEvent>& events) {
  while (process_.fd.valid()) {
    StatusOr<std::optional<v1::ProcessMessage>> message = NextMessage(process_.decoder);
    if (!message.ok()) return Lose(message.status(), events);
    if (!*message) return;
    events.push_back({.kind = SocketEvent::Kind::kMessage, .connection = connection_, .message = **std::move(message)});
  }
}

void ProcessSocket::Send(uint64_t connection, const v1::ProcessDirective& directive) {
  if (!process_.fd.valid() || connection != connection_) return;
  unsent_ += EncodeFrame(directive.SerializeAsString());
  Write();
}

void ProcessSocket::Close(uint64_t connection) {
  if (connection == connection_) CloseProcess();
}

void ProcessSocket::Write() {
  while (!unsent_.empty()) {
    const ssize_t count = send(process_.fd.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
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
  events.push_back({.kind = SocketEvent::Kind::kGone, .connection = connection_, .reason = std::move(reason)});
}

void ProcessSocket::CloseProcess() {
  process_ = Peer();
  unsent_.clear();
  broken_ = OkStatus();
}

}  // namespace attune::sidecar
