#include "ps/transport/shared/shared_memory.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/os/file.h"
#include "base/os/random_seed.h"

namespace attune::ps {
namespace {

constexpr Duration kRendezvousTimeout = std::chrono::milliseconds(500);
constexpr size_t kMapBytes = 2 * sizeof(RingArea);
constexpr char kWelcome = 1;

Status SystemError(const char* doing) {
  return Error(StatusCode::kUnavailable, std::string(doing) + ": " + ErrnoText(errno));
}

// Abstract names begin with a zero byte and are exactly as long as said.
socklen_t AddressOf(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 2);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// A packet with descriptors beside it. Fewer than `descriptors` arrived: the others are not valid.
ssize_t SendPacket(int fd, const void* bytes, size_t size, std::span<const int> descriptors) {
  iovec part{const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  return ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t ReceivePacket(int fd, void* bytes, size_t size, std::span<FileDescriptor> descriptors) {
  iovec part{bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0) return n;
  size_t taken = 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int received;
      std::memcpy(&received, CMSG_DATA(header) + i * sizeof(int), sizeof received);
      FileDescriptor owned(received);
      if (taken < descriptors.size()) descriptors[taken++] = std::move(owned);
    }
  }
  return n;
}

StatusOr<FileDescriptor> NewMemoryFile() {
  FileDescriptor fd(::memfd_create("attune-link", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return SystemError("cannot create a memory file");
  if (::ftruncate(fd.get(), static_cast<off_t>(kMapBytes)) != 0) return SystemError("cannot size a memory file");
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return SystemError("cannot seal a memory file");
  }
  return fd;
}

// A file that could shrink would end this process at its next access.
Status CheckMemoryFile(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return SystemError("cannot look at the memory file");
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (status.st_size != static_cast<off_t>(kMapBytes) || seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Error(StatusCode::kInvalidArgument, "the memory file brought by the peer is not one of this release");
  }
  return OkStatus();
}

StatusOr<SharedMemory> Map(int memory_file, FileDescriptor peer_doorbell) {
  void* const memory = ::mmap(nullptr, kMapBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file, 0);
  if (memory == MAP_FAILED) return SystemError("cannot map shared memory");
  const std::shared_ptr<void> mapping(memory, [](void* start) { ::munmap(start, kMapBytes); });
  auto* const areas = static_cast<RingArea*>(memory);
  const auto doorbell = std::make_shared<FileDescriptor>(std::move(peer_doorbell));
  return SharedMemory{.to_listener = std::shared_ptr<RingArea>(mapping, areas),
                      .to_dialer = std::shared_ptr<RingArea>(mapping, areas + 1),
                      .ring_peer = [doorbell] {
                        const uint64_t one = 1;
                        (void)!::write(doorbell->get(), &one, sizeof one);
                      }};
}

bool IsEventCounter(int fd) {
  // What is written to a doorbell must not block; an eventfd made so does not.
  const int flags = ::fcntl(fd, F_GETFL);
  struct stat status {};
  return flags >= 0 && (flags & O_NONBLOCK) != 0 && ::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode);
}

class AbstractSocket final : public Rendezvous {
 public:
  AbstractSocket(EventLoop& loop, int own_doorbell, Expected expected, Arrived arrived)
      : loop_(loop), own_doorbell_(own_doorbell), expected_(std::move(expected)), arrived_(std::move(arrived)) {}

  Status Open() {
    fd_ = FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd_.valid()) return SystemError("cannot create a socket");
    char text[32];
    std::snprintf(text, sizeof text, "attune-%016llx", static_cast<unsigned long long>(RandomSeed()));
    name_ = text;
    sockaddr_un address;
    const socklen_t length = AddressOf(name_, address);
    if (::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) return SystemError("cannot bind");
    if (::listen(fd_.get(), 64) != 0) return SystemError("cannot listen");
    watch_ = loop_.WatchFile(fd_.get(), [this](bool, bool) { Accept(); });
    watch_->Want(true, false);
    return OkStatus();
  }
  const std::string& name() const override { return name_; }

 private:
  struct Visitor {
    FileDescriptor fd;
    std::unique_ptr<EventLoop::Watch> watch;
    std::unique_ptr<EventLoop::Timer> timer;
  };

  void Accept() {
    FileDescriptor fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid() || visitors_.size() >= kVisitorsMax) return;
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != ::geteuid()) return;
    const uint64_t id = ++last_visitor_;
    Visitor& visitor = visitors_[id];
    visitor.watch = loop_.WatchFile(fd.get(), [this, id](bool, bool) { Receive(id); });
    visitor.fd = std::move(fd);
    visitor.watch->Want(true, false);
    visitor.timer = loop_.NewTimer();
    visitor.timer->SetAt(loop_.time().Now() + kRendezvousTimeout, [this, id] { Leave(id); });
  }

  void Receive(uint64_t id) {
    const int fd = visitors_.at(id).fd.get();
    RendezvousToken token;
    std::array<FileDescriptor, 2> brought;
    const ssize_t n = ReceivePacket(fd, token.data(), token.size(), brought);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n == static_cast<ssize_t>(token.size()) && brought[1].valid() && expected_(token) &&
        CheckMemoryFile(brought[0].get()).ok() && IsEventCounter(brought[1].get())) {
      if (auto memory = Map(brought[0].get(), std::move(brought[1])); memory.ok()) {
        const int own[] = {own_doorbell_};
        if (SendPacket(fd, &kWelcome, sizeof kWelcome, own) == sizeof kWelcome) arrived_(token, *std::move(memory));
      }
    }
    Leave(id);
  }

  void Leave(uint64_t id) {
    const auto it = visitors_.find(id);
    if (it == visitors_.end()) return;
    it->second.watch.reset();
    visitors_.erase(it);
  }

  EventLoop& loop_;
  const int own_doorbell_;
  const Expected expected_;
  const Arrived arrived_;
  FileDescriptor fd_;
  std::string name_;
  std::unique_ptr<EventLoop::Watch> watch_;
  std::unordered_map<uint64_t, Visitor> visitors_;
  uint64_t last_visitor_ = 0;
};

class SocketRendezvousClient final : public RendezvousClient {
 public:
  SocketRendezvousClient(EventLoop& loop, Done done) : loop_(loop), done_(std::move(done)) {}

  Status Begin(const std::string& name, const RendezvousToken& token, int own_doorbell) {
    fd_ = FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd_.valid()) return SystemError("cannot create a socket");
    sockaddr_un address;
    const socklen_t length = AddressOf(name, address);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
      return SystemError("the peer is not on this machine");
    }
    ASSIGN_OR_RETURN(memory_file_, NewMemoryFile());
    const int brought[] = {memory_file_.get(), own_doorbell};
    if (SendPacket(fd_.get(), token.data(), token.size(), brought) != static_cast<ssize_t>(token.size())) {
      return SystemError("cannot hand over memory");
    }
    watch_ = loop_.WatchFile(fd_.get(), [this](bool, bool) { Receive(); });
    watch_->Want(true, false);
    WaitFor(loop_.time().Now() + kRendezvousTimeout, Error(StatusCode::kUnavailable, "no answer at the rendezvous"));
    return OkStatus();
  }
  void WaitFor(MonotonicTime when, Status then) {
    timer_ = loop_.NewTimer();
    timer_->SetAt(when, [this, then = std::move(then)] { End(then); });
  }

 private:
  void Receive() {
    char answer = 0;
    std::array<FileDescriptor, 1> doorbell;
    const ssize_t n = ReceivePacket(fd_.get(), &answer, sizeof answer, doorbell);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n != 1 || answer != kWelcome || !doorbell[0].valid() || !IsEventCounter(doorbell[0].get())) {
      return End(Error(StatusCode::kUnavailable, "the peer does not take the memory"));
    }
    End(Map(memory_file_.get(), std::move(doorbell[0])));
  }
  void End(StatusOr<SharedMemory> memory) {
    watch_.reset();
    timer_.reset();
    if (const Done done = std::exchange(done_, nullptr)) done(std::move(memory));  // may destroy this
  }

  EventLoop& loop_;
  Done done_;
  FileDescriptor fd_, memory_file_;
  std::unique_ptr<EventLoop::Watch> watch_;
  std::unique_ptr<EventLoop::Timer> timer_;
};

}  // namespace

StatusOr<std::unique_ptr<Doorbell>> Doorbell::Create(EventLoop& loop) {
  auto doorbell = std::make_unique<Doorbell>();
  doorbell->fd_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!doorbell->fd_.valid()) return SystemError("cannot create an eventfd");
  // Being awake is all that is wanted.
  doorbell->watch_ = loop.WatchFile(doorbell->fd(), [fd = doorbell->fd()](bool, bool) {
    uint64_t rung;
    (void)!::read(fd, &rung, sizeof rung);
  });
  doorbell->watch_->Want(true, false);
  return doorbell;
}

StatusOr<std::unique_ptr<Rendezvous>> Rendezvous::Open(EventLoop& loop, int own_doorbell, Expected expected,
                                                       Arrived arrived) {
  auto place = std::make_unique<AbstractSocket>(loop, own_doorbell, std::move(expected), std::move(arrived));
  RETURN_IF_ERROR(place->Open());
  return place;
}

std::unique_ptr<RendezvousClient> RendezvousClient::Start(EventLoop& loop, const std::string& name,
                                                          const RendezvousToken& token, int own_doorbell, Done done) {
  auto client = std::make_unique<SocketRendezvousClient>(loop, std::move(done));
  // Never within this call: the caller has not got the client yet.
  if (Status status = client->Begin(name, token, own_doorbell); !status.ok()) {
    client->WaitFor(loop.time().Now(), std::move(status));
  }
  return client;
}

}  // namespace attune::ps
