#include "sidecar/agent.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <thread>

#include "attune/v1/telemetry.grpc.pb.h"
#include "tests/scratch.h"
#include "tests/sidecar/test_process.h"

namespace attune::sidecar::agent_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// The operator's end: accepts every stream, remembers what was said, sends one drain when asked.
class TestOperator final : public v1::Telemetry::Service {
 public:
  explicit TestOperator(int port = 0) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~TestOperator() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  int port() const { return port_; }
  bool WaitFor(const std::function<bool(const TestOperator&)>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(10), [&] { return condition(*this); });
  }

  bool accepts = true;  // set before anybody connects

  // Read inside WaitFor only.
  std::vector<v1::SidecarMessage> messages;
  std::vector<std::string> tokens;
  int streams_ended_cleanly = 0;

 private:
  grpc::Status Connect(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<v1::OperatorMessage, v1::SidecarMessage>* stream) override {
    const auto token = context->client_metadata().find("authorization");
    {
      const std::lock_guard lock(mutex_);
      tokens.emplace_back(
          token == context->client_metadata().end() ? "" : std::string(token->second.data(), token->second.size()));
    }
    v1::SidecarMessage message;
    while (stream->Read(&message)) {
      v1::OperatorMessage answer;
      if (message.has_hello() && accepts) {
        answer.mutable_accepted()->set_protocol_version(1);
        answer.mutable_accepted()->set_report_seconds(1);
        stream->Write(answer);
      } else if (message.has_report()) {
        answer.mutable_directive()->set_id(5);
        answer.mutable_directive()->mutable_drain()->set_reason("test");
        stream->Write(answer);
      }
      const std::lock_guard lock(mutex_);
      messages.push_back(message);
      changed_.notify_all();
    }
    const std::lock_guard lock(mutex_);
    streams_ended_cleanly += context->IsCancelled() ? 0 : 1;
    changed_.notify_all();
    return grpc::Status::OK;
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

template <class Predicate>
bool Said(const TestOperator& op, Predicate predicate) {
  return std::any_of(op.messages.begin(), op.messages.end(), predicate);
}

std::string HttpGet(uint16_t port, const std::string& path) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const timeval deadline{.tv_sec = 5, .tv_usec = 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  send(connection, request.data(), request.size(), 0);
  std::string text;
  char piece[4096];
  for (ssize_t count; (count = recv(connection, piece, sizeof(piece), 0)) > 0;)
    text.append(piece, static_cast<size_t>(count));
  close(connection);
  return text;
}

class AgentTest : public testing::Test {
 protected:
  AgentTest() { scratch_.Write("token", "secret-1\n"); }
  ~AgentTest() override { Stop(); }

  AgentOptions Options(int operator_port) {
    AgentOptions options;
    options.identity.set_protocol_version(1);
    options.identity.set_namespace_("ns");
    options.identity.set_job("w2v");
    options.identity.set_job_uid("uid");
    options.identity.set_pod("w2v-worker-0");
    options.identity.set_role("worker");
    options.socket = directory_ / "sidecar.sock";
    options.telemetry = "127.0.0.1:" + std::to_string(operator_port);
    options.token_file = directory_ / "token";
    return options;
  }
  void Start(const AgentOptions& options) {
    auto agent = Agent::Create(options, time_);
    ASSERT_TRUE(agent.ok()) << ToString(agent.status());
    agent_ = *std::move(agent);
    thread_ = std::thread([this] { agent_->Run(); });
  }
  // How long the end took.
  Duration Stop() {
    const MonotonicTime begin = time_.Now();
    if (thread_.joinable()) {
      agent_->Terminate();
      thread_.join();
    }
    return time_.Now() - begin;
  }
  bool HasStream() const {
    const std::string text = HttpGet(agent_->metrics_port(), "/metrics");
    EXPECT_NE(text.find("attune_sidecar_stream_connected{"), std::string::npos) << text;
    return text.find("attune_sidecar_stream_connected{index=\"0\",job=\"w2v\",namespace=\"ns\",role=\"worker\"} 1") !=
           std::string::npos;
  }
  // Whether it came to that within ten seconds.
  bool StreamBecomes(bool connected) const {
    const MonotonicTime deadline = time_.Now() + seconds(10);
    while (HasStream() != connected && time_.Now() < deadline) std::this_thread::yield();
    return HasStream() == connected;
  }
  static v1::ProcessMessage Window() {
    v1::ProcessMessage message;
    message.mutable_window()->set_duration_seconds(1);
    message.mutable_window()->mutable_worker()->set_samples(123);
    return message;
  }
  static v1::ProcessMessage Final() {
    v1::ProcessMessage message;
    message.mutable_final()->set_summary("done");
    return message;
  }

  SystemTime time_;
  const Scratch scratch_;
  const fs::path& directory_ = scratch_.path();
  std::unique_ptr<Agent> agent_;
  std::thread thread_;
};

TEST_F(AgentTest, CarriesReportsUpDirectivesDownAndEndsCleanly) {
  TestOperator op;
  Start(Options(op.port()));
  TestProcess process(directory_ / "sidecar.sock");
  process.Hello("uid", "worker", 0);
  process.Send(Window());
  const auto directive = process.Receive();
  ASSERT_TRUE(directive);
  EXPECT_EQ(directive->directive().drain().reason(), "test");
  v1::ProcessMessage result;
  result.mutable_directive_result()->set_id(directive->directive().id());
  result.mutable_directive_result()->set_accepted(true);
  process.Send(result);
  process.Send(Final());
  process.Close();
  EXPECT_TRUE(op.WaitFor([](const TestOperator& o) {
    return Said(o, [](const auto& m) { return m.directive_result().id() == 5 && m.directive_result().accepted(); });
  }));
  EXPECT_LT(Stop(), kTerminateTimeout) << "nothing held it up";
  EXPECT_TRUE(op.WaitFor([](const TestOperator& o) { return o.streams_ended_cleanly == 1; }));
  EXPECT_TRUE(op.WaitFor([](const TestOperator& o) {
    return o.tokens.front() == "Bearer secret-1" &&
           Said(o, [](const auto& m) { return m.hello().pod() == "w2v-worker-0"; }) &&
           Said(o,
                [](const auto& m) {
                  return m.report().window().worker().samples() == 123 && m.report().usage().memory_bytes() > 0;
                }) &&
           Said(o, [](const auto& m) { return m.final().summary() == "done"; });
  }));
  EXPECT_FALSE(fs::exists(directory_ / "sidecar.sock"));
}

TEST_F(AgentTest, LastWordsBeforeTerminateReachAnOperatorThatComesBackLate) {
  int port = 0;
  {
    TestOperator first;
    port = first.port();
    AgentOptions options = Options(port);
    options.metrics_host = "127.0.0.1";
    Start(options);
    EXPECT_TRUE(
        first.WaitFor([](const TestOperator& o) { return Said(o, [](const auto& m) { return m.has_hello(); }); }));
    ASSERT_TRUE(StreamBecomes(true));
  }
  // A report that is written while the stream ends may be lost with it; what comes later may not.
  ASSERT_TRUE(StreamBecomes(false));
  TestProcess process(directory_ / "sidecar.sock");
  process.Hello("uid", "worker", 0);
  process.Send(Window());
  process.Send(Final());
  std::ofstream(directory_ / "token") << "secret-2";  // rotated meanwhile
  TestOperator second(port);
  ASSERT_EQ(second.port(), port);
  EXPECT_TRUE(second.WaitFor([](const TestOperator& o) {
    return Said(o, [](const auto& m) { return m.has_report(); }) &&
           Said(o, [](const auto& m) { return m.has_final(); }) && o.tokens.front() == "Bearer secret-2";
  }));
}

TEST_F(AgentTest, WithoutAnOperatorItEndsWithinItsDeadlineAndTheProcessIsNotDisturbed) {
  AgentOptions options = Options(1);  // no process listens there
  Start(options);
  TestProcess process(directory_ / "sidecar.sock");
  process.Hello("uid", "worker", 0);
  for (int i = 0; i < 1000; ++i) process.Send(Window());
  process.Send(Final());
  EXPECT_LT(Stop(), kTerminateTimeout + seconds(1));
}

TEST_F(AgentTest, AForeignProcessIsToldWhy) {
  TestOperator op;
  Start(Options(op.port()));
  TestProcess process(directory_ / "sidecar.sock");
  process.Hello("another-uid", "worker", 0);
  const auto answer = process.Receive();
  ASSERT_TRUE(answer);
  EXPECT_NE(answer->refused().reason().find("another-uid"), std::string::npos);
  EXPECT_FALSE(process.Receive()) << "then the connection closes";
}

// Bytes that make no sense, a message before the hello, another job's hello: each costs its own connection only.
TEST_F(AgentTest, StrangersAtTheSocketDoNotDisturbTheProcess) {
  TestOperator op;
  Start(Options(op.port()));
  TestProcess process(directory_ / "sidecar.sock");
  process.Hello("uid", "worker", 0);
  for (int round = 0; round < 20; ++round) {
    TestProcess(directory_ / "sidecar.sock").SendBytes("GET / HTTP/1.1\r\n\r\n");
    TestProcess(directory_ / "sidecar.sock").Send(Window());
    TestProcess(directory_ / "sidecar.sock").Hello("another-uid", "worker", 0);
  }
  process.Send(Window());
  process.Send(Final());
  EXPECT_TRUE(op.WaitFor([](const TestOperator& o) {
    return Said(o, [](const auto& m) { return m.has_report(); }) &&
           Said(o, [](const auto& m) { return m.has_final(); });
  }));
}

TEST_F(AgentTest, ServesMetricsOfTheLastWindowWithThePodsLabels) {
  TestOperator op;
  AgentOptions options = Options(op.port());
  options.metrics_host = "127.0.0.1";
  Start(options);
  TestProcess process(directory_ / "sidecar.sock");
  process.Hello("uid", "worker", 0);
  process.Send(Window());
  ASSERT_TRUE(op.WaitFor([](const TestOperator& o) { return Said(o, [](const auto& m) { return m.has_report(); }); }));
  const std::string text = HttpGet(agent_->metrics_port(), "/metrics");
  EXPECT_NE(text.find("# TYPE attune_worker_samples_total counter"), std::string::npos) << text;
  EXPECT_NE(text.find("attune_worker_samples_total{index=\"0\",job=\"w2v\",namespace=\"ns\",role=\"worker\"} 123"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("attune_process_memory_bytes{"), std::string::npos);
  EXPECT_TRUE(HasStream());
}

TEST_F(AgentTest, AHundredSlowClientsDoNotDisturbAScrape) {
  TestOperator op;
  AgentOptions options = Options(op.port());
  options.metrics_host = "127.0.0.1";
  Start(options);
  std::vector<int> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(agent_->metrics_port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(slow.back(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    send(slow.back(), "GET /me", 7, MSG_NOSIGNAL);
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(HttpGet(agent_->metrics_port(), "/metrics").find("attune_sidecar_process_connected{"), std::string::npos);
  }
  for (const int client : slow) close(client);
}

TEST_F(AgentTest, AnOccupiedMetricsPortIsAWarningOnly) {
  TestOperator op;
  AgentOptions options = Options(op.port());
  options.metrics_host = "127.0.0.1";
  options.metrics_port = static_cast<uint16_t>(op.port());
  Start(options);
  EXPECT_EQ(agent_->metrics_port(), 0);
  EXPECT_TRUE(op.WaitFor([](const TestOperator& o) { return Said(o, [](const auto& m) { return m.has_hello(); }); }));
}

TEST(OperatorStreamTest, StreamsToAnOperatorThatDoesNotAnswerCanBeCancelledAgainAndAgain) {
  TestOperator op;
  op.accepts = false;
  std::atomic<int> posts_after_cancel = 0;
  std::atomic<bool> cancelled = false;
  auto stream = OperatorStream::Create({.target = "127.0.0.1:" + std::to_string(op.port()), .token_file = ""},
                                       [&](uint64_t, RelayInput) { posts_after_cancel += cancelled ? 1 : 0; });
  for (size_t i = 1; i <= 20; ++i) {
    cancelled = false;
    stream->Open();
    v1::SidecarMessage hello;
    hello.mutable_hello()->set_pod("p");
    stream->Send(hello);
    ASSERT_TRUE(op.WaitFor([&](const TestOperator& o) { return o.messages.size() == i; }));
    stream->Cancel();
    cancelled = true;
  }
  stream.reset();
  EXPECT_EQ(posts_after_cancel, 0);
}

TEST(AgentOptionsTest, EveryMissingVariableIsNamedAtOnce) {
  const auto options = AgentOptions::FromEnvironment();
  ASSERT_FALSE(options.ok());
  for (const char* name : {"ATTUNE_JOB ", "ATTUNE_NAMESPACE ", "ATTUNE_JOB_UID ", "ATTUNE_ROLE ", "ATTUNE_INDEX ",
                           "ATTUNE_POD_UID ", "ATTUNE_SIDECAR_SOCKET "}) {
    EXPECT_NE(std::string(Message(options.status())).find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace attune::sidecar::agent_test
