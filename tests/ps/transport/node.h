// What tests of transports share: a node that notes what happens to it, a bare socket, a line that can be cut.
#pragma once

#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ps/transport/security/handshake.h"
#include "ps/transport/tcp/tcp_transport.h"

namespace attune::ps {

constexpr auto kTestDeadline = std::chrono::seconds(20);

Push SomePush(uint64_t sequence, uint32_t keys, uint32_t dim);

// A transport on its own loop.
class TestNode {
 public:
  explicit TestNode(const TcpOptions& options);
  ~TestNode() { transport_.reset(); }

  TcpTransport& transport() { return *transport_; }
  const Status& status() const { return status_; }
  EventLoop& loop() { return *loop_; }

  template <typename Condition>
  bool Await(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTestDeadline, condition);
  }
  bool AwaitConnected(NodeId peer) {
    return Await([&] { return connected_.contains(peer); });
  }

  // Why the peer could not be reached, once it was reached and refused; OK when that does not happen in time.
  Status AwaitRefusal(NodeId peer) {
    const MonotonicTime until = time_.Now() + kTestDeadline;
    while (time_.Now() < until) {
      for (const LinkCounters& link : transport_->links(SIZE_MAX)) {
        const StatusCode code = link.dial_error.code();
        if (link.peer == peer && code != StatusCode::kOk && code != StatusCode::kUnavailable) return link.dial_error;
      }
      std::this_thread::yield();
    }
    return OkStatus();
  }

  std::function<void(NodeId, Message)> handle;                       // set before traffic
  std::function<std::span<float>(NodeId, RequestId, size_t)> place;  // likewise
  std::vector<Message> received_;
  std::set<NodeId> connected_;
  int connects_ = 0, disconnects_ = 0;
  Status last_reason_;

 private:
  template <typename Change>
  void Note(Change change) {
    std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }
  SystemTime time_;
  std::unique_ptr<EventLoop> loop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Status status_;
  std::unique_ptr<TcpTransport> transport_;
};

class BareSocket {
 public:
  explicit BareSocket(const std::string& address);
  ~BareSocket();
  int fd() const { return fd_; }
  void Write(const void* bytes, size_t size);
  // Reads until the other side closes or `most` bytes came.
  std::string Read(size_t most);

 private:
  int fd_;
};

// A dialer that says what its test wants it to say.
class BareDialer : public BareSocket {
 public:
  BareDialer(const std::string& address, const HandshakeIdentity& identity, NodeId peer, const std::string& token = "",
             const std::string& job_uid = "uid");

  // The whole handshake, with what is in the fields below, changed or not. OK: the link exists.
  Status ShakeHands();

  wire::Hello hello;
  wire::Challenge challenge{};
  wire::Handshake handshake{};
  wire::HandshakeReply reply{};

 private:
  template <typename T>
  bool Receive(T& message) {
    const std::string bytes = Read(sizeof message);
    if (bytes.size() != sizeof message) return false;
    std::memcpy(&message, bytes.data(), sizeof message);
    return true;
  }
  const JobSecret secret_;
};

// Answers every dialer with bytes that mean nothing, and closes.
class NonsenseListener {
 public:
  NonsenseListener();
  ~NonsenseListener();
  const std::string& address() const { return address_; }
  bool AwaitDials(int wanted);

 private:
  void Run();
  int listener_;
  std::string address_;
  std::atomic<bool> end_ = false;
  std::atomic<int> dials_ = 0;
  std::thread thread_;
};

// Passes bytes between a dialer and `target`, until cut; then waits for the next to dial.
class Line {
 public:
  explicit Line(const std::string& target);
  ~Line();
  const std::string& address() const { return address_; }
  void Cut() { cut_ = true; }
  // Bytes passed so far.
  size_t passed() const { return passed_; }

 private:
  void Run();
  const std::string target_;
  std::string address_;
  int listener_;
  std::atomic<bool> cut_ = false, end_ = false;
  std::atomic<size_t> passed_ = 0;
  std::thread thread_;
};

}  // namespace attune::ps
