// What becomes of connections that are accepted, and of those that a dialer of this job makes.
#include "ps/transport/tcp/connect/tcp_listener.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "ps/transport/tcp/connect/tcp_dialer.h"
#include "tests/ps/transport/connect/recorded_links.h"

namespace attune::ps::tcp_listener_test {
namespace {

constexpr NodeId kServer(4711), kWorker(4712);
const HandshakeIdentity kMember{.self = kWorker, .incarnation = 77};
constexpr TcpListener::Limits kLimits{
    .handshake_timeout = std::chrono::minutes(5), .strangers_per_source_max = 2, .strangers_max = 4, .links_max = 8};

// A node that listens, and dials when a test says so, on a loop of its own.
class Node {
 public:
  explicit Node(NodeId self, const TcpListener::Limits& limits = kLimits, const std::string& token = "")
      : node{.loop = *loop_, .self = self.value(), .secret = JobSecret::Create("uid", token).value(), .tls = nullptr},
        listener(node, links, limits),
        dialer(node, links, 7) {
    EXPECT_TRUE(listener.Listen("127.0.0.1", 0).ok());
  }
  ~Node() {
    OnLoop([&] {
      listener.Stop();
      dialer.Stop();
      node.doorbell.reset();
      links.added.clear();
    });
    loop_->Stop();
  }

  void Start(bool shares_memory = false) {
    OnLoop([&] {
      if (shares_memory) node.doorbell = Doorbell::Create(*loop_).value();
      listener.Start();
    });
  }
  void Dial(NodeId peer, const std::string& address) {
    OnLoop([&] { dialer.Connect(peer, address); });
  }
  bool AwaitLink() {
    return links.Await([&] { return links.added.size() == 1; });
  }
  template <typename Task>
  void OnLoop(Task task) {
    std::promise<void> done;
    loop_->Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

 private:
  SystemTime time_;
  std::unique_ptr<EventLoop> loop_ = EventLoop::Start("test", time_);

 public:
  RecordedLinks links;
  LocalNode node;
  TcpListener listener;
  TcpDialer dialer;
};

TEST(TcpListenerTest, AConnectionIsAddedOnceBothSidesAgree) {
  Node server(kServer);
  server.Start();
  BareDialer worker(server.listener.address(), kMember, kServer);
  ASSERT_TRUE(worker.ShakeHands().ok());
  ASSERT_TRUE(server.AwaitLink());
  const auto& [node, link] = server.links.added[0];
  EXPECT_EQ(node, kWorker);
  EXPECT_FALSE(link.dialed);
  EXPECT_EQ(link.incarnation, kMember.incarnation);
  EXPECT_EQ(link.connection, worker.handshake.connection);
  EXPECT_FALSE(link.remembers);
  EXPECT_NE(link.stream, nullptr);
  EXPECT_FALSE(link.memory);
  EXPECT_EQ(server.links.replaced, std::vector{kWorker});
}

TEST(TcpListenerTest, TheAnswerSaysWhereADialerThatRemembersContinues) {
  for (const bool remembers : {false, true}) {
    Node server(kServer);
    server.links.memory[kWorker] = {.peer_incarnation = kMember.incarnation, .connection = 9, .delivered = 123};
    server.Start();
    BareDialer worker(server.listener.address(), kMember, kServer);
    if (remembers) worker.handshake.met = server.node.incarnation;
    ASSERT_TRUE(worker.ShakeHands().ok());
    EXPECT_EQ(worker.reply.met, kMember.incarnation);
    EXPECT_EQ(worker.reply.delivered, remembers ? 123U : 0U);
    ASSERT_TRUE(server.AwaitLink());
    EXPECT_EQ(server.links.added[0].second.remembers, remembers);
  }
}

TEST(TcpListenerTest, AnOwnAttemptThatWinsIsKept) {
  Node server(kServer);
  server.links.present[kWorker].dialing = true;
  server.Start();
  BareDialer worker(server.listener.address(), kMember, kServer);
  EXPECT_EQ(worker.ShakeHands().code(), StatusCode::kAborted);
  EXPECT_EQ(worker.Read(1), "") << "the connection ends";
  server.OnLoop([&] {
    EXPECT_TRUE(server.links.added.empty());
    EXPECT_TRUE(server.links.replaced.empty());
  });
}

TEST(TcpListenerTest, WithoutRoomAConnectionEndsBeforeItsHandshake) {
  Node server(kServer);
  server.links.room = false;
  server.Start();
  EXPECT_EQ(BareSocket(server.listener.address()).Read(1), "");
}

TEST(TcpListenerTest, TheOldestStrangerOfASourceMakesRoom) {
  Node server(kServer);
  server.Start();
  BareSocket oldest(server.listener.address()), second(server.listener.address());
  BareDialer worker(server.listener.address(), kMember, kServer);
  ASSERT_TRUE(worker.ShakeHands().ok());
  EXPECT_EQ(oldest.Read(1), "");
  EXPECT_TRUE(server.AwaitLink());
}

TEST(TcpListenerTest, AStrangerHasLittleTime) {
  TcpListener::Limits limits = kLimits;
  limits.handshake_timeout = std::chrono::milliseconds(1);
  Node server(kServer, limits);
  server.Start();
  EXPECT_EQ(BareSocket(server.listener.address()).Read(1), "");
}

TEST(TcpListenerTest, HandshakesInFlightEndWithIt) {
  Node server(kServer);
  server.Start();
  BareDialer worker(server.listener.address(), kMember, kServer);
  worker.Write(&worker.hello, sizeof worker.hello);
  ASSERT_EQ(worker.Read(sizeof worker.challenge).size(), sizeof worker.challenge);
  server.OnLoop([&] { server.listener.Stop(); });
  EXPECT_EQ(worker.Read(1), "");
}

// --- with the dialer on the other end

TEST(TcpListenerTest, DialerAndListenerAgreeOnOneConnectionAndOnMemory) {
  for (const bool shares_memory : {false, true}) {
    Node server(kServer), worker(kWorker);
    server.Start(shares_memory);
    worker.Start(shares_memory);
    worker.Dial(kServer, server.listener.address());
    ASSERT_TRUE(server.AwaitLink());
    ASSERT_TRUE(worker.AwaitLink());
    const auto& [of_server, accepted] = worker.links.added[0];
    const auto& [of_worker, dialed] = server.links.added[0];
    EXPECT_EQ(of_server, kServer);
    EXPECT_EQ(of_worker, kWorker);
    EXPECT_TRUE(accepted.dialed);
    EXPECT_FALSE(dialed.dialed);
    EXPECT_EQ(accepted.connection, dialed.connection);
    EXPECT_EQ(accepted.incarnation, server.node.incarnation);
    EXPECT_EQ(dialed.incarnation, worker.node.incarnation);
    EXPECT_EQ(accepted.memory.has_value(), shares_memory);
    EXPECT_EQ(dialed.memory.has_value(), shares_memory);
    worker.OnLoop([&] { EXPECT_FALSE(worker.dialer.IsDialing(kServer)); });
  }
}

TEST(TcpListenerTest, ADialerOfAnotherJobLearnsThatItIsRefused) {
  Node server(kServer, kLimits, "a token that cannot be guessed"), worker(kWorker, kLimits, "a token of another job");
  server.Start();
  worker.Dial(kServer, server.listener.address());
  ASSERT_TRUE(worker.links.Await([&] { return !worker.links.dial_errors.empty(); }));
  worker.OnLoop([&] { EXPECT_EQ(worker.links.dial_errors[0].code(), StatusCode::kUnauthenticated); });
  server.OnLoop([&] { EXPECT_TRUE(server.links.added.empty()); });
}

}  // namespace
}  // namespace attune::ps::tcp_listener_test
