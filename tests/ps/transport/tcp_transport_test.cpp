#include "ps/transport/tcp_transport.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "base/random.h"
#include "ps/transport/frame.h"

namespace attune::ps {
namespace {

constexpr auto kDeadline = std::chrono::seconds(20);
constexpr NodeId kServer(1), kWorker(2);

// A transport on its own loop that notes what happens to it.
class Node {
 public:
  explicit Node(NodeId self, std::string bind = "127.0.0.1", uint16_t port = 0, std::string job_uid = "uid")
      : loop_(EventLoop::Start("test", time_)) {
    auto created = TcpTransport::Create(
        {.job_uid = std::move(job_uid), .self = self, .bind_address = std::move(bind), .port = port}, *loop_,
        {.on_message = [this](NodeId from, Message message) { OnMessage(from, std::move(message)); },
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
             }});
    status_ = created.status();
    if (created.ok()) transport_ = *std::move(created);
  }
  ~Node() { transport_.reset(); }

  TcpTransport& transport() { return *transport_; }
  const Status& status() const { return status_; }

  template <typename Condition>
  bool Await(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDeadline, condition);
  }
  bool AwaitConnected(NodeId peer) {
    return Await([&] { return connected_.contains(peer); });
  }

  std::function<void(NodeId, Message)> handle;  // set before traffic
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
  void OnMessage(NodeId from, Message message) {
    if (handle) return handle(from, std::move(message));
    Note([&] { received_.push_back(std::move(message)); });
  }

  SystemTime time_;
  std::unique_ptr<EventLoop> loop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Status status_;
  std::unique_ptr<TcpTransport> transport_;
};

Push SomePush(uint64_t sequence, uint32_t keys, uint32_t dim) {
  Push push{.origin = kWorker, .sequence = SequenceNumber(sequence), .table = TableId(1), .map_version = MapVersion(1)};
  push.positions.count = keys;
  std::vector<Key> key(keys);
  std::iota(key.begin(), key.end(), sequence);
  push.keys = std::move(key);
  push.gradients = std::vector<float>(size_t{keys} * dim, static_cast<float>(sequence));
  return push;
}

TEST(TcpTransportTest, MessagesPassBothWaysWholeAndInOrder) {
  Node server(kServer), worker(kWorker, "");
  worker.transport().Connect(kServer, server.transport().address());
  ASSERT_TRUE(worker.AwaitConnected(kServer));
  ASSERT_TRUE(server.AwaitConnected(kWorker));
  constexpr int kCount = 300;
  for (int i = 1; i <= kCount; ++i) {
    ASSERT_TRUE(worker.transport().Send(kServer, SomePush(static_cast<uint64_t>(i), 1 + i % 200, 64)).ok());
  }
  ASSERT_TRUE(server.Await([&] { return server.received_.size() == kCount; }));
  for (int i = 1; i <= kCount; ++i) {
    ASSERT_TRUE(server.received_[static_cast<size_t>(i - 1)] ==
                Message(SomePush(static_cast<uint64_t>(i), 1 + i % 200, 64)));
  }
  ASSERT_TRUE(server.transport().Send(kWorker, PushAck{SequenceNumber(4), MapVersion(1), Positions{0, 3, {}}}).ok());
  ASSERT_TRUE(worker.Await([&] { return worker.received_.size() == 1; }));
  EXPECT_EQ(worker.transport().counters().bytes_sent, server.transport().counters().bytes_received);
}

TEST(TcpTransportTest, ManyThreadsSendOverOneLinkWithoutMixingBytes) {
  Node server(kServer), worker(kWorker, "");
  worker.transport().Connect(kServer, server.transport().address());
  ASSERT_TRUE(worker.AwaitConnected(kServer));
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 50; ++i)
        EXPECT_TRUE(worker.transport().Send(kServer, SomePush(t * 50 + i, 200, 64)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(server.Await([&] { return server.received_.size() == 200; }));
  std::set<uint64_t> seen;
  for (const Message& message : server.received_) {
    const Push& push = std::get<Push>(message);
    EXPECT_EQ(push.gradients[64 * 199], static_cast<float>(push.sequence.value()));
    seen.insert(push.sequence.value());
  }
  EXPECT_EQ(seen.size(), 200U);
}

TEST(TcpTransportTest, PeerThatComesLateAndComesBackIsDialedAgain) {
  Node worker(kWorker, "");
  std::string address;
  {
    Node server(kServer);
    address = server.transport().address();
    worker.transport().Connect(kServer, address);
    ASSERT_TRUE(worker.AwaitConnected(kServer));
  }
  ASSERT_TRUE(worker.Await([&] { return worker.disconnects_ == 1; }));
  EXPECT_EQ(worker.transport().Send(kServer, SomePush(1, 1, 1)).code(), StatusCode::kUnavailable);
  const auto port = static_cast<uint16_t>(std::atoi(address.substr(address.find(':') + 1).c_str()));
  Node server(kServer, "127.0.0.1", port);
  ASSERT_TRUE(server.status().ok()) << server.status();
  EXPECT_TRUE(worker.AwaitConnected(kServer));
}

TEST(TcpTransportTest, OccupiedPortIsNamed) {
  Node first(kServer);
  const std::string address = first.transport().address();
  const std::string port = address.substr(address.find(':') + 1);
  Node second(kServer, "127.0.0.1", static_cast<uint16_t>(std::stoi(port)));
  EXPECT_EQ(second.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(attune::Message(second.status()).find("port " + port), std::string_view::npos);
}

TEST(TcpTransportTest, WrongJobIsToldToTheDialerAndNotDialedAgain) {
  Node server(kServer), stranger(kWorker, "", 0, "another job");
  stranger.transport().Connect(kServer, server.transport().address());
  ASSERT_TRUE(stranger.Await([&] { return stranger.disconnects_ == 1; }));
  EXPECT_EQ(stranger.last_reason_.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(attune::Message(stranger.last_reason_).find("another job"), std::string_view::npos)
      << stranger.last_reason_;
  EXPECT_EQ(server.connects_, 0);
}

TEST(TcpTransportTest, NodeWithoutIdentityAsksToTryAgain) {
  Node server(NodeId{}), worker(kWorker, "");
  worker.transport().Connect(kServer, server.transport().address());
  server.transport().SetSelf(kServer);
  EXPECT_TRUE(worker.AwaitConnected(kServer));
}

TEST(TcpTransportTest, DisconnectEndsTheLink) {
  Node server(kServer), worker(kWorker, "");
  worker.transport().Connect(kServer, server.transport().address());
  ASSERT_TRUE(server.AwaitConnected(kWorker));
  ASSERT_TRUE(worker.AwaitConnected(kServer));
  worker.transport().Disconnect(kServer);
  ASSERT_TRUE(server.Await([&] { return server.disconnects_ == 1; }));
  EXPECT_TRUE(worker.Await([&] { return worker.disconnects_ == 1; }));
}

TEST(TcpTransportTest, SlowReaderBoundsWhatWaits) {
  Node server(kServer), worker(kWorker, "");
  std::mutex gate;
  std::unique_lock closed(gate);
  server.handle = [&](NodeId, Message) { std::lock_guard wait(gate); };
  worker.transport().Connect(kServer, server.transport().address());
  ASSERT_TRUE(worker.AwaitConnected(kServer));
  const Push push = SomePush(1, 4096, 256);  // 4 MiB
  Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) status = worker.transport().Send(kServer, push);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  closed.unlock();
}

// --- hostile peers, over a bare socket

class BareSocket {
 public:
  explicit BareSocket(const std::string& address) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~BareSocket() { ::close(fd_); }
  void Write(const void* bytes, size_t size) { (void)!::send(fd_, bytes, size, MSG_NOSIGNAL); }
  // Reads until the other side closes or `most` bytes came.
  std::string Read(size_t most) {
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

 private:
  int fd_;
};

TEST(TcpTransportTest, OtherProtocolVersionIsAnsweredWithBothNumbers) {
  Node server(kServer);
  BareSocket peer(server.transport().address());
  wire::Handshake handshake = MakeHandshake("uid", kWorker, kServer);
  handshake.protocol_version = 99;
  peer.Write(&handshake, sizeof handshake);
  wire::HandshakeReply reply{};
  const std::string bytes = peer.Read(sizeof reply);
  ASSERT_EQ(bytes.size(), sizeof reply);
  std::memcpy(&reply, bytes.data(), sizeof reply);
  const Status status = ReadReply(reply);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(attune::Message(status).find("version 99"), std::string_view::npos);
  EXPECT_NE(attune::Message(status).find("version 1"), std::string_view::npos);
}

TEST(TcpTransportTest, OversizedFrameEndsTheLinkWithTheReason) {
  Node server(kServer);
  BareSocket peer(server.transport().address());
  const wire::Handshake handshake = MakeHandshake("uid", kWorker, kServer);
  peer.Write(&handshake, sizeof handshake);
  EXPECT_EQ(peer.Read(sizeof(wire::HandshakeReply)).size(), sizeof(wire::HandshakeReply));
  wire::FrameHeader header = EncodeFrame(SomePush(1, 1, 1))->header;
  header.key_count = 0x40000000;
  peer.Write(&header, sizeof header);
  EXPECT_EQ(peer.Read(1), "") << "the server closes the link";
  ASSERT_TRUE(server.Await([&] { return server.disconnects_ == 1; }));
  EXPECT_EQ(server.last_reason_.code(), StatusCode::kInvalidArgument);
}

TEST(TcpTransportTest, RandomBytesFromStrangersHarmNobody) {
  const char* text = std::getenv("ATTUNE_TEST_SEED");
  const uint64_t seed = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  std::cout << "ATTUNE_TEST_SEED=" << seed << " strangers=100\n";
  Random random(seed);
  Node server(kServer), worker(kWorker, "");
  for (int i = 0; i < 100; ++i) {
    BareSocket stranger(server.transport().address());
    if (random.Chance(0.5)) {
      const wire::Handshake handshake = MakeHandshake("uid", NodeId(10 + static_cast<uint32_t>(i)), kServer);
      stranger.Write(&handshake, random.Chance(0.3) ? random.Below(sizeof handshake) : sizeof handshake);
    }
    std::string noise(random.Below(2000), '\0');
    for (char& byte : noise) byte = static_cast<char>(random.Next());
    stranger.Write(noise.data(), noise.size());
  }
  worker.transport().Connect(kServer, server.transport().address());
  ASSERT_TRUE(worker.AwaitConnected(kServer));
  ASSERT_TRUE(worker.transport().Send(kServer, SomePush(1, 2, 2)).ok());
  EXPECT_TRUE(server.Await([&] { return server.received_.size() == 1; }));
}

}  // namespace
}  // namespace attune::ps
