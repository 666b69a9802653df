// A gRPC server's port under callers that prove nothing: raw connections that stay silent, from one source and several.
#include "base/net/grpc_port.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpc/support/log.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace attune::grpc_port_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kDeadline = seconds(20);

// Answers every call, and takes the call for a proof.
class Service final : public grpc::CallbackGenericService {
 public:
  GrpcPort* port = nullptr;

 private:
  class Answer final : public grpc::ServerGenericBidiReactor {
   public:
    Answer() { Finish(grpc::Status::OK); }
    void OnDone() override { delete this; }
  };
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    port->Proved(context->peer());
    return new Answer;  // deletes itself
  }
};

class Silent {
 public:
  // Connects from this address of the machine, and says nothing.
  explicit Silent(uint16_t port, const char* from = "127.0.0.1") : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in source{}, target{};
    source.sin_family = target.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &source.sin_addr);
    ::inet_pton(AF_INET, "127.0.0.1", &target.sin_addr);
    target.sin_port = htons(port);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&source), sizeof source), 0);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&target), sizeof target), 0);
  }
  ~Silent() { ::close(fd_); }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;

  // Whether the server has closed the connection, at the latest after so long. What gRPC says first is read away.
  bool IsClosed(milliseconds wait) {
    const auto until = std::chrono::steady_clock::now() + wait;
    for (;;) {
      pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
      const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
      if (::poll(&ready, 1, static_cast<int>(std::max<int64_t>(left.count(), 0))) == 0) return false;
      char bytes[256];
      if (::recv(fd_, bytes, sizeof bytes, 0) <= 0) return true;
    }
  }

 private:
  const int fd_;
};

class GrpcPortTest : public testing::Test {
 protected:
  ~GrpcPortTest() override {
    if (server_ == nullptr) return;
    port_->Close();
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  void Start(size_t strangers_max, Duration proof_timeout = 10 * kDeadline, const std::string& host = "127.0.0.1") {
    grpc::ServerBuilder builder;
    auto bound = GrpcPort::Bind({.host = host, .strangers_max = strangers_max, .proof_timeout = proof_timeout}, builder,
                                grpc::InsecureServerCredentials(), time_);
    ASSERT_TRUE(bound.ok()) << bound.status();
    port_ = *std::move(bound);
    service_.port = port_.get();
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    port_->Open();
  }
  std::shared_ptr<grpc::Channel> Channel(const std::string& host = "127.0.0.1") const {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    const std::string target = host + ":" + std::to_string(port_->port());
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), own);
  }
  static bool Call(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    const grpc::Slice nothing("-");
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, "/any/Call", {}, &request, &response,
                   [&](grpc::Status status) { done.set_value(std::move(status)); });
    // The service answers without a message, which a unary call takes for an error of its own.
    const grpc::StatusCode code = done.get_future().get().error_code();
    return code != grpc::StatusCode::UNAVAILABLE && code != grpc::StatusCode::DEADLINE_EXCEEDED;
  }
  bool AwaitStrangers(size_t wanted) const {
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    while (port_->strangers() != wanted) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }

  const SystemTime time_;
  Service service_;
  std::unique_ptr<GrpcPort> port_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(GrpcPortTest, SilentConnectionsAreBoundedAndTheOldestOfTheLargestSourceGivesWay) {
  constexpr size_t kMax = 8;
  Start(kMax);
  Silent other(port_->port(), "127.0.0.2");
  ASSERT_TRUE(AwaitStrangers(1));
  std::vector<std::unique_ptr<Silent>> silent;
  for (size_t i = 0; i < 3 * kMax; ++i) silent.push_back(std::make_unique<Silent>(port_->port()));
  EXPECT_TRUE(silent.front()->IsClosed(kDeadline)) << "the oldest made room";
  ASSERT_TRUE(AwaitStrangers(kMax));
  for (size_t i = 0; i <= 2 * kMax; ++i) EXPECT_TRUE(silent[i]->IsClosed(kDeadline)) << i;
  EXPECT_FALSE(silent.back()->IsClosed(milliseconds(0)));
  EXPECT_FALSE(other.IsClosed(milliseconds(0))) << "its source has one";
  EXPECT_TRUE(Call(Channel())) << "a new caller gets in";
}

TEST_F(GrpcPortTest, ACallerThatHasProvedItselfStaysWhateverOthersDo) {
  constexpr size_t kMax = 4;
  Start(kMax);
  const auto member = Channel();
  ASSERT_TRUE(Call(member));
  EXPECT_TRUE(AwaitStrangers(0)) << "it counts no longer";
  std::vector<std::unique_ptr<Silent>> silent;
  for (size_t i = 0; i < 5 * kMax; ++i) silent.push_back(std::make_unique<Silent>(port_->port()));
  ASSERT_TRUE(silent.front()->IsClosed(kDeadline));
  EXPECT_EQ(member->GetState(false), GRPC_CHANNEL_READY) << "its connection was not closed";
  EXPECT_TRUE(Call(member));
}

TEST_F(GrpcPortTest, WhoeverProvesNothingIsClosedInTime) {
  Start(100, milliseconds(100));
  Silent silent(port_->port());
  EXPECT_TRUE(silent.IsClosed(kDeadline));
  EXPECT_TRUE(AwaitStrangers(0));
  const auto member = Channel();
  ASSERT_TRUE(Call(member));
  EXPECT_FALSE(Silent(port_->port()).IsClosed(milliseconds(0)));
  EXPECT_TRUE(AwaitStrangers(0));
  EXPECT_EQ(member->GetState(false), GRPC_CHANNEL_READY);
}

TEST_F(GrpcPortTest, ConnectionsThatEndAreForgotten) {
  Start(100);
  for (int i = 0; i < 50; ++i) Silent(port_->port());
  ASSERT_TRUE(Call(Channel())) << "it was accepted after them";
  EXPECT_TRUE(AwaitStrangers(0));
}

bool HasIpv6() {
  const int fd = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool bound = fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) == 0;
  if (fd >= 0) ::close(fd);
  return bound;
}

TEST_F(GrpcPortTest, PeersAreKnownByTheNamesThatGrpcGivesThem) {
  Start(100, 10 * kDeadline, "0.0.0.0");
  for (const char* host : {"127.0.0.1", "[::1]"}) {
    if (host[0] == '[' && !HasIpv6()) continue;
    const auto member = Channel(host);  // stays, so that only its proof can be what takes it off the list
    ASSERT_TRUE(Call(member)) << host;
    EXPECT_TRUE(AwaitStrangers(0)) << host;
  }
}

TEST_F(GrpcPortTest, WhatGrpcSaysOfStrangersIsALineEachSecond) {
  Start(100);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) gpr_log(GPR_ERROR, "Handshake failed");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_LE(std::ranges::count(text, '\n'), 10) << "of a thousand lines, within some seconds";
}

TEST_F(GrpcPortTest, APortInUseAndAHostThatIsNoneAreNamed) {
  Start(100);
  grpc::ServerBuilder builder;
  const auto bind = [&](const std::string& host, uint16_t port) {
    return GrpcPort::Bind({.host = host, .port = port}, builder, grpc::InsecureServerCredentials(), time_).status();
  };
  const Status taken = bind("127.0.0.1", port_->port());
  EXPECT_EQ(taken.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(Message(taken).find("port " + std::to_string(port_->port())), std::string_view::npos) << taken;
  EXPECT_EQ(bind("localhost", 0).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace attune::grpc_port_test
