#include "tests/ps/transport/node.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <numeric>

namespace attune::ps {
namespace {

sockaddr_in LoopbackAt(const std::string& address) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
  ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  return to;
}

std::string ListenOnLoopback(int listener) {
  sockaddr_in any = LoopbackAt("127.0.0.1:0");
  socklen_t length = sizeof any;
  EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&any), length), 0);
  EXPECT_EQ(::listen(listener, 8), 0);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&any), &length);
  return "127.0.0.1:" + std::to_string(ntohs(any.sin_port));
}

}  // namespace

Push SomePush(uint64_t sequence, uint32_t keys, uint32_t dim) {
  Push push{
      .origin = NodeId(2), .sequence = SequenceNumber(sequence), .table = TableId(1), .map_version = MapVersion(1)};
  push.positions.count = keys;
  std::vector<Key> key(keys);
  std::iota(key.begin(), key.end(), sequence);
  push.keys = std::move(key);
  push.gradients = std::vector<float>(size_t{keys} * dim, static_cast<float>(sequence));
  return push;
}

TestNode::TestNode(const TcpOptions& options) : loop_(EventLoop::Start("test", time_)) {
  auto created = TcpTransport::Create(
      options, *loop_,
      {.on_message =
           [this](NodeId from, Message message) {
             if (handle) return handle(from, std::move(message));
             Note([&] { received_.push_back(std::move(message)); });
           },
       .on_connected =
           [this](NodeId peer) {
             Note([&] {
               connected_.insert(peer);
               ++connects_;
             });
           },
       .on_disconnected =
           [this](NodeId peer, const Status& reason) {
             Note([&] {
               connected_.erase(peer);
               last_reason_ = reason;
               ++disconnects_;
             });
           },
       .place = [this](NodeId from, RequestId request,
                       size_t values) { return place ? place(from, request, values) : std::span<float>(); }});
  status_ = created.status();
  if (created.ok()) transport_ = *std::move(created);
}

BareSocket::BareSocket(const std::string& address) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  const sockaddr_in to = LoopbackAt(address);
  EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
}
BareSocket::~BareSocket() { ::close(fd_); }
void BareSocket::Write(const void* bytes, size_t size) { (void)!::send(fd_, bytes, size, MSG_NOSIGNAL); }
std::string BareSocket::Read(size_t most) {
  std::string all;
  char buffer[512];
  while (all.size() < most) {
    pollfd polled{fd_, POLLIN, 0};
    if (::poll(&polled, 1, 20'000) != 1) {
      ADD_FAILURE() << "neither bytes nor an end within 20 s";
      break;
    }
    const ssize_t n = ::recv(fd_, buffer, std::min(sizeof buffer, most - all.size()), 0);
    if (n <= 0) break;
    all.append(buffer, static_cast<size_t>(n));
  }
  return all;
}

BareDialer::BareDialer(const std::string& address, const HandshakeIdentity& identity, NodeId peer,
                       const std::string& token, const std::string& job_uid)
    : BareSocket(address),
      hello(MakeHello(FreshNonce())),
      handshake(MakeHandshake(identity, peer, 78, {})),
      secret_(JobSecret::Create(job_uid, token).value()) {}

Status BareDialer::ShakeHands() {
  const Status closed = Error(StatusCode::kUnavailable, "closed without an answer");
  Write(&hello, sizeof hello);
  if (!Receive(challenge)) return closed;
  if (challenge.refused != 0) return CheckChallenge(secret_, hello, challenge);
  ProveHandshake(secret_, hello, challenge, handshake);
  Write(&handshake, sizeof handshake);
  if (!Receive(reply)) return closed;
  RETURN_IF_ERROR(ReadReply(secret_, challenge, handshake, reply));
  const wire::HandshakeEnd end{.magic = wire::kHandshakeMagic, .shared_memory = 0};
  Write(&end, sizeof end);
  return OkStatus();
}

NonsenseListener::NonsenseListener()
    : listener_(::socket(AF_INET, SOCK_STREAM, 0)), address_(ListenOnLoopback(listener_)), thread_([this] { Run(); }) {}

NonsenseListener::~NonsenseListener() {
  end_ = true;
  thread_.join();
  ::close(listener_);
}

bool NonsenseListener::AwaitDials(int wanted) {
  const SystemTime time;
  const MonotonicTime until = time.Now() + kTestDeadline;
  while (dials_ < wanted && time.Now() < until) std::this_thread::yield();
  return dials_ >= wanted;
}

void NonsenseListener::Run() {
  while (!end_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, 10) != 1) continue;
    const int fd = ::accept(listener_, nullptr, nullptr);
    const std::string bytes(1000, 'x');
    (void)!::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::shutdown(fd, SHUT_WR);
    char buffer[4096];
    while (::recv(fd, buffer, sizeof buffer, 0) > 0) {
    }
    ::close(fd);
    ++dials_;
  }
}

Line::Line(const std::string& target) : target_(target), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
  address_ = ListenOnLoopback(listener_);
  thread_ = std::thread([this] { Run(); });
}

Line::~Line() {
  end_ = true;
  thread_.join();
  ::close(listener_);
}

void Line::Run() {
  while (!end_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, 10) != 1) continue;
    int ends[2] = {::accept(listener_, nullptr, nullptr), ::socket(AF_INET, SOCK_STREAM, 0)};
    const sockaddr_in to = LoopbackAt(target_);
    bool alive = ::connect(ends[1], reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    cut_ = false;
    while (alive && !cut_ && !end_) {
      pollfd both[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
      if (::poll(both, 2, 10) <= 0) continue;
      for (const int from : {0, 1}) {
        if (both[from].revents == 0 || cut_) continue;
        char buffer[16384];
        const ssize_t n = ::recv(ends[from], buffer, sizeof buffer, 0);
        alive = alive && n > 0 && ::send(ends[1 - from], buffer, static_cast<size_t>(n), MSG_NOSIGNAL) == n;
        if (n > 0) passed_ += static_cast<size_t>(n);
      }
    }
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

}  // namespace attune::ps
