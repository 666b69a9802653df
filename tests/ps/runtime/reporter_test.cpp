#include "ps/runtime/process/reporter.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <future>

#include "attune/v1/telemetry.pb.h"
#include "proto/contract.h"
#include "tests/scratch.h"

namespace attune::ps::reporter_test {
namespace {

using std::chrono::milliseconds;

// A sidecar that accepts one connection at a time; every wait ends after ten seconds.
class FakeSidecar {
 public:
  explicit FakeSidecar(const std::string& path) : listener_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 4), 0);
  }
  ~FakeSidecar() {
    Drop();
    ::close(listener_);
  }
  void Accept() {
    ASSERT_TRUE(Readable(listener_)) << "no process connected";
    connection_ = ::accept(listener_, nullptr, nullptr);
  }
  void Drop() {
    if (connection_ >= 0) ::close(connection_);
    connection_ = -1;
  }
  v1::ProcessMessage Next() {
    uint8_t head[4];
    ReadAll(head, 4);
    std::string body(head[0] | head[1] << 8 | head[2] << 16, '\0');
    ReadAll(body.data(), body.size());
    v1::ProcessMessage message;
    EXPECT_TRUE(message.ParseFromString(body));
    return message;
  }
  // Skips other messages.
  v1::ProcessMessage NextOf(v1::ProcessMessage::KindCase kind) {
    for (int i = 0; i < 1000; ++i) {
      v1::ProcessMessage message = Next();
      if (message.kind_case() == kind || testing::Test::HasFailure()) return message;
    }
    ADD_FAILURE() << "no message of kind " << kind;
    return {};
  }
  void SendRaw(const std::string& bytes) {
    ASSERT_EQ(::send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void Send(const v1::ProcessDirective& directive) {
    const std::string body = directive.SerializeAsString();
    SendRaw(std::string{static_cast<char>(body.size()), 0, 0, 0} + body);
  }

 private:
  static bool Readable(int fd) {
    pollfd polled{fd, POLLIN, 0};
    return ::poll(&polled, 1, 10'000) == 1;
  }
  void ReadAll(void* to, size_t bytes) {
    auto* out = static_cast<char*>(to);
    while (bytes > 0) {
      if (!Readable(connection_)) FAIL() << "no message within ten seconds";
      const ssize_t n = ::recv(connection_, out, bytes, 0);
      if (n <= 0) FAIL() << "the reporter closed the connection";
      out += n;
      bytes -= static_cast<size_t>(n);
    }
  }
  int listener_;
  int connection_ = -1;
};

class ReporterTest : public testing::Test {
 protected:
  std::unique_ptr<Reporter> Start(Duration every = milliseconds(20)) {
    const ReporterOptions options{
        .socket_path = path_, .job_uid = "uid", .role = "worker", .index = 3, .window = every};
    return Reporter::Start(options, time_,
                           {.take_window =
                                [this](MonotonicTime) {
                                  v1::WindowReport window;
                                  window.set_duration_seconds(0.02);
                                  window.mutable_worker()->set_clock(++windows_);
                                  window.mutable_worker()->set_samples(7);
                                  return window;
                                },
                            .drain =
                                [this](const std::string& reason) {
                                  drain_reason_ = reason;
                                  return OkStatus();
                                },
                            .threads = threads_,
                            .command = command_});
  }

  SystemTime time_;
  const Scratch scratch_;
  std::string path_ = scratch_.path() / "s";
  std::atomic<uint64_t> windows_ = 0;
  std::string drain_reason_;
  std::function<Status(uint32_t)> threads_;
  std::function<void(const Command&, AnswerCommand)> command_;
};

TEST_F(ReporterTest, GreetsAndThenReportsWindowsInSequence) {
  FakeSidecar sidecar(path_);
  auto reporter = Start();
  sidecar.Accept();
  const v1::ProcessMessage hello = sidecar.Next();
  EXPECT_EQ(hello.hello().protocol_version(), contract::kProtocolVersion);
  EXPECT_EQ(hello.hello().job_uid(), "uid");
  EXPECT_EQ(hello.hello().role(), "worker");
  EXPECT_EQ(hello.hello().index(), 3U);
  EXPECT_EQ(hello.hello().process_id(), ::getpid());
  const v1::ProcessMessage first = sidecar.Next();
  EXPECT_EQ(first.window().worker().samples(), 7U);
  EXPECT_EQ(sidecar.Next().window().sequence(), first.window().sequence() + 1);
}

TEST_F(ReporterTest, WhatMustBeKnownAtOnceEndsTheWindowEarly) {
  FakeSidecar sidecar(path_);
  auto reporter = Start(std::chrono::hours(1));
  sidecar.Accept();
  EXPECT_TRUE(sidecar.Next().has_hello());
  reporter->ReportSoon();
  EXPECT_EQ(sidecar.Next().window().sequence(), 1U);
  reporter->ReportSoon();
  EXPECT_EQ(sidecar.Next().window().sequence(), 2U);
}

TEST_F(ReporterTest, SidecarThatComesLateOrComesBackIsGreetedAgain) {
  auto reporter = Start();
  {
    FakeSidecar sidecar(path_);
    sidecar.Accept();
    EXPECT_TRUE(sidecar.Next().has_hello());
  }
  std::filesystem::remove(path_);
  FakeSidecar sidecar(path_);
  sidecar.Accept();
  EXPECT_TRUE(sidecar.Next().has_hello());
}

TEST_F(ReporterTest, DrainIsCarriedOutAndAnswered) {
  FakeSidecar sidecar(path_);
  auto reporter = Start();
  sidecar.Accept();
  v1::ProcessDirective directive;
  directive.mutable_directive()->set_id(9);
  directive.mutable_directive()->mutable_drain()->set_reason("scaled down");
  sidecar.Send(directive);
  const v1::ProcessMessage answer = sidecar.NextOf(v1::ProcessMessage::kDirectiveResult);
  EXPECT_EQ(answer.directive_result().id(), 9U);
  EXPECT_TRUE(answer.directive_result().accepted());
  EXPECT_EQ(drain_reason_, "scaled down");
}

TEST_F(ReporterTest, AWishForThreadsReachesAWorkerAndNobodyElse) {
  uint32_t wanted = 0;
  threads_ = [&](uint32_t threads) {
    wanted = threads;
    return threads < 9 ? OkStatus() : Error(StatusCode::kInvalidArgument, "too many");
  };
  v1::ProcessDirective message;
  message.mutable_directive()->mutable_set_threads()->set_threads(3);
  const auto ask = [&](FakeSidecar& sidecar) {
    sidecar.Send(message);
    return sidecar.NextOf(v1::ProcessMessage::kDirectiveResult).directive_result();
  };
  FakeSidecar sidecar(path_);
  {
    auto reporter = Start();
    sidecar.Accept();
    EXPECT_TRUE(ask(sidecar).accepted());
    EXPECT_EQ(wanted, 3U);
    message.mutable_directive()->mutable_set_threads()->set_threads(9);
    const v1::DirectiveResult refused = ask(sidecar);
    EXPECT_FALSE(refused.accepted());
    EXPECT_EQ(refused.message(), "too many");
    sidecar.Drop();
  }
  threads_ = nullptr;
  auto reporter = Start();
  sidecar.Accept();
  EXPECT_EQ(ask(sidecar).message(), "this process is not a worker");
}

TEST_F(ReporterTest, UnknownDirectiveIsRefused) {
  FakeSidecar sidecar(path_);
  auto reporter = Start();
  sidecar.Accept();
  v1::ProcessDirective directive;
  directive.mutable_directive()->set_id(1);
  sidecar.Send(directive);
  EXPECT_FALSE(sidecar.NextOf(v1::ProcessMessage::kDirectiveResult).directive_result().accepted());
}

TEST_F(ReporterTest, OversizedAnnouncementEndsTheConnectionOnly) {
  FakeSidecar sidecar(path_);
  auto reporter = Start();
  sidecar.Accept();
  sidecar.SendRaw("\xff\xff\xff\xff");
  sidecar.Accept();
  EXPECT_TRUE(sidecar.Next().has_hello()) << "the reporter connects again";
}

TEST_F(ReporterTest, FinishDeliversTheResultAndCutsALongSummary) {
  FakeSidecar sidecar(path_);
  auto reporter = Start();
  sidecar.Accept();
  const std::string long_text(5000, 'x');
  EXPECT_TRUE(reporter
                  ->Finish({.metrics = {{"held_out_loss", 2.5}}, .summary = long_text, .model_path = "/m"},
                           milliseconds(10'000))
                  .ok());
  const v1::ProcessMessage message = sidecar.NextOf(v1::ProcessMessage::kFinal);
  EXPECT_EQ(message.final().metrics().at("held_out_loss"), 2.5);
  EXPECT_EQ(message.final().summary().size(), 4096U);
  EXPECT_EQ(message.final().model_path(), "/m");
}

// Whatever else is in it: what can be reported is, in one message that the sidecar takes.
TEST_F(ReporterTest, FinishKeepsWhatIsGoodAndNamesWhatIsNot) {
  FakeSidecar sidecar(path_);
  auto reporter = Start();
  sidecar.Accept();
  FinalResult result{.metrics = {{"loss", 2.5}, {"recall", std::nan("")}, {"", 1}, {"bad\xff", 1}},
                     .summary = "fitted \xff weights",
                     .model_path = std::string(100'000, 'm')};
  for (int i = 0; i < 10'000; ++i) result.metrics["metric-" + std::to_string(i)] = i;
  EXPECT_TRUE(reporter->Finish(result, milliseconds(10'000)).ok());
  const v1::FinalReport report = sidecar.NextOf(v1::ProcessMessage::kFinal).final();
  EXPECT_EQ(report.metrics().at("loss"), 2.5);
  EXPECT_EQ(report.metrics_size(), 64);
  EXPECT_EQ(report.summary(), "fitted ? weights");
  EXPECT_LE(report.model_path().size(), 1024U);
  for (const char* named : {"1 metric without a finite value (recall)", "2 metrics without a proper name (bad?)",
                            "9937 metrics beyond the 64 that are kept (metric-"}) {
    EXPECT_NE(report.left_out().find(named), std::string::npos) << report.left_out();
  }
}

TEST_F(ReporterTest, FinishWithoutSidecarEndsInTime) {
  auto reporter = Start();
  const Status status = reporter->Finish({}, milliseconds(30));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(attune::Message(status).find(path_), std::string_view::npos);
}

TEST_F(ReporterTest, WithoutSocketPathThereIsNoReporter) {
  path_.clear();
  EXPECT_EQ(Start(), nullptr);
}

v1::ProcessDirective SetServersTo(uint32_t servers, uint64_t id) {
  v1::ProcessDirective message;
  message.mutable_directive()->set_id(id);
  message.mutable_directive()->mutable_set_servers()->set_servers(servers);
  return message;
}

TEST_F(ReporterTest, CommandsReachTheCoordinatorAndItsAnswersComeBackInAnyOrderAndLate) {
  std::vector<std::pair<Command, AnswerCommand>> asked;
  std::promise<void> both;
  command_ = [&](const Command& command, AnswerCommand answer) {
    asked.emplace_back(command, std::move(answer));
    if (asked.size() == 2) both.set_value();
  };
  FakeSidecar sidecar(path_);
  auto reporter = Start();
  sidecar.Accept();
  sidecar.Send(SetServersTo(3, 41));
  sidecar.Send(SetServersTo(2, 42));
  ASSERT_EQ(both.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(std::get<SetServers>(asked[0].first).servers, 3U);
  asked[1].second(OkStatus(), "2 servers");
  v1::ProcessMessage answer = sidecar.NextOf(v1::ProcessMessage::kDirectiveResult);
  EXPECT_EQ(answer.directive_result().id(), 42U);
  EXPECT_TRUE(answer.directive_result().accepted());
  EXPECT_EQ(answer.directive_result().message(), "2 servers");
  asked[0].second(Error(StatusCode::kFailedPrecondition, "another change is in progress"), "");
  answer = sidecar.NextOf(v1::ProcessMessage::kDirectiveResult);
  EXPECT_EQ(answer.directive_result().id(), 41U);
  EXPECT_FALSE(answer.directive_result().accepted());
  EXPECT_EQ(answer.directive_result().message(), "another change is in progress");
  reporter.reset();
  asked[0].second(OkStatus(), "no caller waits for this one any more");
}

TEST_F(ReporterTest, AProcessWithoutCoordinatorRefusesCommands) {
  FakeSidecar sidecar(path_);
  auto reporter = Start();
  sidecar.Accept();
  sidecar.Send(SetServersTo(3, 1));
  const v1::ProcessMessage answer = sidecar.NextOf(v1::ProcessMessage::kDirectiveResult);
  EXPECT_FALSE(answer.directive_result().accepted());
  EXPECT_EQ(answer.directive_result().message(), "this process does not run the job's coordinator");
}

}  // namespace
}  // namespace attune::ps::reporter_test
