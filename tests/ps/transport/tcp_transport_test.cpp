#include "ps/transport/tcp/tcp_transport.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

#include "base/os/random_seed.h"
#include "base/random.h"
#include "ps/transport/frame.h"
#include "tests/ps/transport/node.h"

namespace attune::ps::tcp_transport_test {
namespace {

constexpr NodeId kServer(1), kWorker(2);

// A server listens, a worker does not.
class Node : public TestNode {
 public:
  explicit Node(NodeId self, const std::string& bind = "127.0.0.1", uint16_t port = 0, std::string job_uid = "uid",
                bool shared_memory = true)
      : TestNode({.job_uid = std::move(job_uid),
                  .self = self,
                  .bind_address = bind,
                  .port = port,
                  .shared_memory = shared_memory}) {}
};

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

// --- a refusal is the word of the process that answers at an address, not of the peer

TEST(TcpTransportTest, AddressUsedAgainByAnotherJobIsDialedUntilTheServerIsBack) {
  Node worker(kWorker, "");
  std::string address;
  {
    Node another(kServer, "127.0.0.1", 0, "another job");
    address = another.transport().address();
    worker.transport().Connect(kServer, address);
    EXPECT_FALSE(worker.AwaitRefusal(kServer).ok());
    EXPECT_EQ(another.connects_, 0);
  }
  EXPECT_EQ(worker.disconnects_, 0) << "no link has ended: there was none";
  const auto port = static_cast<uint16_t>(std::atoi(address.substr(address.find(':') + 1).c_str()));
  Node server(kServer, "127.0.0.1", port);
  ASSERT_TRUE(server.status().ok()) << server.status();
  EXPECT_TRUE(worker.AwaitConnected(kServer));
}

TEST(TcpTransportTest, PeerThatAnswersNonsenseIsDialedAgain) {
  Node worker(kWorker, "");
  NonsenseListener nonsense;
  worker.transport().Connect(kServer, nonsense.address());
  EXPECT_TRUE(nonsense.AwaitDials(3));
  EXPECT_EQ(worker.disconnects_, 0);
}

// --- what comes must go

TEST(TcpTransportTest, LinksOfNodesThatAreGoneAreForgotten) {
  TestNode server({.job_uid = "uid", .self = kServer, .bind_address = "127.0.0.1", .forget_after = Duration(0)});
  for (uint32_t i = 0; i < 200; ++i) {
    Node worker(NodeId(100 + i), "", 0, "uid", i % 2 == 0);
    worker.transport().Connect(kServer, server.transport().address());
    ASSERT_TRUE(server.AwaitConnected(NodeId(100 + i)));
    (void)server.transport().Send(NodeId(100 + i), SomePush(i, 100, 64));  // may wait for it for ever
  }
  ASSERT_TRUE(server.Await([&] { return server.disconnects_ == 200; }));
  EXPECT_EQ(server.transport().links(SIZE_MAX).size(), 0U);
}

TEST(TcpTransportTest, NodeThatComesBackAfterItWasForgottenBeginsANewLink) {
  TestNode server({.job_uid = "uid", .self = kServer, .bind_address = "127.0.0.1", .forget_after = Duration(0)});
  Node worker(kWorker, "", 0, "uid", false);
  Line line(server.transport().address());
  worker.transport().Connect(kServer, line.address());
  for (uint64_t round = 1; round <= 5; ++round) {
    ASSERT_TRUE(worker.Await([&] { return worker.connects_ == static_cast<int>(round); })) << "round " << round;
    ASSERT_TRUE(server.Await([&] { return server.connects_ == static_cast<int>(round); })) << "round " << round;
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(worker.transport().Send(kServer, SomePush(round, 2, 2)).ok());
      ASSERT_TRUE(server.transport().Send(kWorker, PushAck{.sequence = SequenceNumber(round)}).ok());
    }
    ASSERT_TRUE(server.Await([&] { return server.received_.size() == 10 * round; })) << "round " << round;
    ASSERT_TRUE(worker.Await([&] { return worker.received_.size() == 10 * round; })) << "round " << round;
    line.Cut();
    ASSERT_TRUE(worker.Await([&] { return worker.disconnects_ == static_cast<int>(round); })) << "round " << round;
    ASSERT_TRUE(server.Await([&] { return server.disconnects_ == static_cast<int>(round); })) << "round " << round;
  }
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

TEST(TcpTransportTest, OversizedFrameEndsTheLinkWithTheReason) {
  Node server(kServer);
  BareDialer peer(server.transport().address(), {.self = kWorker, .incarnation = 77}, kServer);
  ASSERT_TRUE(peer.ShakeHands().ok());
  wire::FrameHeader header = EncodeFrame(SomePush(1, 1, 1))->header;
  header.key_count = 0x40000000;
  peer.Write(&header, sizeof header);
  EXPECT_EQ(peer.Read(1), "") << "the server closes the link";
  ASSERT_TRUE(server.Await([&] { return server.disconnects_ == 1; }));
  EXPECT_EQ(server.last_reason_.code(), StatusCode::kInvalidArgument);
}

TEST(TcpTransportTest, RandomBytesFromStrangersHarmNobody) {
  const char* text = std::getenv("ATTUNE_TEST_SEED");
  const uint64_t seed = text == nullptr ? RandomSeed() : std::strtoull(text, nullptr, 10);
  std::cout << "ATTUNE_TEST_SEED=" << seed << " strangers=100\n";
  Random random(seed);
  Node server(kServer), worker(kWorker, "");
  for (uint32_t i = 0; i < 100; ++i) {
    BareDialer stranger(server.transport().address(), {.self = NodeId(10 + i), .incarnation = 77}, kServer);
    if (random.Chance(0.3)) {
      EXPECT_TRUE(stranger.ShakeHands().ok());
    } else if (random.Chance(0.5)) {
      stranger.Write(&stranger.hello, random.Chance(0.3) ? random.Below(sizeof stranger.hello) : sizeof stranger.hello);
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

// --- one link per pair, over any number of connections

TEST(TcpTransportTest, NothingIsLostOrRepeatedWhenConnectionsBreak) {
  Node server(kServer, "127.0.0.1", 0, "uid", false), worker(kWorker, "", 0, "uid", false);
  Line line(server.transport().address());
  worker.transport().Connect(kServer, line.address());
  ASSERT_TRUE(worker.AwaitConnected(kServer));
  constexpr uint64_t kCount = 400;
  for (uint64_t i = 1; i <= kCount; ++i) {
    ASSERT_TRUE(worker.transport().Send(kServer, SomePush(i, 50, 64)).ok());
    ASSERT_TRUE(server.transport().Send(kWorker, PushAck{.sequence = SequenceNumber(i)}).code() !=
                StatusCode::kInvalidArgument);
    if (i % 40 == 0) line.Cut();
  }
  ASSERT_TRUE(server.Await([&] { return server.received_.size() >= kCount; }));
  for (uint64_t i = 1; i <= kCount; ++i) {
    ASSERT_TRUE(server.received_[i - 1] == Message(SomePush(i, 50, 64))) << "at " << i;
  }
  EXPECT_EQ(server.received_.size(), kCount);
  EXPECT_GE(worker.transport().links(1)[0].connections, 2U);
}

TEST(TcpTransportTest, BothMayDialAndOneConnectionRemains) {
  for (int round = 0; round < 10; ++round) {
    Node a(kServer), b(kWorker);
    a.transport().Connect(kWorker, b.transport().address());
    b.transport().Connect(kServer, a.transport().address());
    ASSERT_TRUE(a.AwaitConnected(kWorker));
    ASSERT_TRUE(b.AwaitConnected(kServer));
    for (uint64_t i = 1; i <= 20; ++i) {
      (void)a.transport().Send(kWorker, SomePush(i, 2, 2));
      (void)b.transport().Send(kServer, SomePush(i, 2, 2));
    }
    ASSERT_TRUE(a.Await([&] { return a.received_.size() == 20; })) << "round " << round;
    ASSERT_TRUE(b.Await([&] { return b.received_.size() == 20; })) << "round " << round;
    EXPECT_EQ(a.transport().counters().connections, 1U);
  }
}

TEST(TcpTransportTest, PullRowsArriveInTheirPlace) {
  Node server(kServer, "127.0.0.1", 0, "uid", false), worker(kWorker, "", 0, "uid", false);
  std::vector<float> rows(64 * 256);
  worker.place = [&](NodeId, RequestId request, size_t values) {
    return request == RequestId(5) && values == rows.size() ? std::span<float>(rows) : std::span<float>();
  };
  worker.transport().Connect(kServer, server.transport().address());
  ASSERT_TRUE(server.AwaitConnected(kWorker));
  const std::vector<float> sent(rows.size(), 3.5F);
  for (const uint64_t request : {4, 5}) {
    ASSERT_TRUE(server.transport().Send(kWorker, PullReply{.request = RequestId(request), .rows = sent}).ok());
  }
  ASSERT_TRUE(worker.Await([&] { return worker.received_.size() == 2; }));
  EXPECT_NE(std::get<PullReply>(worker.received_[0]).rows.data(), rows.data());
  EXPECT_EQ(std::get<PullReply>(worker.received_[1]).rows.data(), rows.data());
  EXPECT_EQ(rows, sent);
}

TEST(TcpTransportTest, NothingIsWrittenIntoRowsThatWereTakenBack) {
  Node server(kServer, "127.0.0.1", 0, "uid", false), worker(kWorker, "", 0, "uid", false);
  Line line(server.transport().address());
  std::vector<float> rows(1 << 20);
  std::atomic<bool> placed = false;
  worker.place = [&](NodeId, RequestId, size_t values) {
    if (values != rows.size()) return std::span<float>();
    placed = true;
    return std::span<float>(rows);
  };
  worker.transport().Connect(kServer, line.address());
  ASSERT_TRUE(server.AwaitConnected(kWorker));
  bool taken_back = false;
  for (uint64_t request = 1; request <= 100 && !taken_back; ++request) {
    placed = false;
    const PullReply reply{.request = RequestId(request), .rows = std::vector<float>(rows.size(), 1)};
    ASSERT_TRUE(server.transport().Send(kWorker, reply).ok());
    while (!placed) std::this_thread::yield();
    worker.transport().Unplace(rows);
    std::ranges::fill(rows, 7.0F);
    ASSERT_TRUE(worker.Await([&] { return worker.received_.size() == request; }));
    EXPECT_TRUE(std::ranges::all_of(rows, [](float value) { return value == 7.0F; }));
    const Slice<float>& received = std::get<PullReply>(worker.received_.back()).rows;
    if (received.data() == rows.data()) continue;  // it had come before it could be taken back
    taken_back = true;
    EXPECT_EQ(static_cast<size_t>(std::ranges::count(received, 1.0F)), rows.size()) << "whole all the same";
  }
  EXPECT_TRUE(taken_back);
}

// --- shared memory

TEST(TcpTransportTest, ProcessesOfOneMachineShareMemoryUnlessToldNotTo) {
  for (const bool wanted : {true, false}) {
    Node server(kServer), worker(kWorker, "", 0, "uid", wanted);
    worker.transport().Connect(kServer, server.transport().address());
    ASSERT_TRUE(worker.AwaitConnected(kServer));
    ASSERT_TRUE(server.AwaitConnected(kWorker));
    const auto path = wanted ? LinkCounters::kSharedMemory : LinkCounters::kTcp;
    EXPECT_EQ(worker.transport().links(1)[0].path, path);
    EXPECT_EQ(server.transport().links(1)[0].path, path);
    for (uint64_t i = 1; i <= 100; ++i) {
      ASSERT_TRUE(worker.transport().Send(kServer, SomePush(i, static_cast<uint32_t>(i * 13), 64)).ok());
    }
    ASSERT_TRUE(server.Await([&] { return server.received_.size() == 100; }));
    for (uint64_t i = 1; i <= 100; ++i) {
      ASSERT_TRUE(server.received_[i - 1] == Message(SomePush(i, static_cast<uint32_t>(i * 13), 64)));
    }
  }
}

TEST(TcpTransportTest, MoreThanTheSharedMemoryHoldsWaitsAndArrives) {
  Node server(kServer), worker(kWorker, "");
  std::mutex gate;
  std::unique_lock closed(gate);
  std::atomic<int> handled = 0;
  server.handle = [&](NodeId, Message) {
    std::lock_guard wait(gate);
    ++handled;
  };
  worker.transport().Connect(kServer, server.transport().address());
  ASSERT_TRUE(worker.AwaitConnected(kServer));
  for (uint64_t i = 1; i <= 40; ++i) {  // 1 MiB each
    ASSERT_TRUE(worker.transport().Send(kServer, SomePush(i, 1024, 256)).ok());
  }
  closed.unlock();
  const MonotonicTime until = SystemTime().Now() + kTestDeadline;
  while (handled < 40 && SystemTime().Now() < until) std::this_thread::yield();
  EXPECT_EQ(handled, 40);
}

TEST(TcpTransportTest, EndOfAProcessThatSharesMemoryIsNoticed) {
  Node server(kServer);
  const std::string address = server.transport().address();
  auto worker = std::make_unique<Node>(kWorker, "");
  worker->transport().Connect(kServer, address);
  ASSERT_TRUE(server.AwaitConnected(kWorker));
  ASSERT_TRUE(worker->AwaitConnected(kServer));
  ASSERT_TRUE(worker->transport().Send(kServer, SomePush(1, 4, 4)).ok());
  worker.reset();
  ASSERT_TRUE(server.Await([&] { return server.disconnects_ == 1; }));
  EXPECT_EQ(server.received_.size(), 1U) << "what was said before the end is heard";
}

}  // namespace
}  // namespace attune::ps::tcp_transport_test
