#include "operator/kube/credentials/exec_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "base/os/file.h"

namespace attune::kube::exec_source_test {
namespace {

using End = CommandResult::End;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kV1[] = "client.authentication.k8s.io/v1";

std::string Answer(const std::string& status) {
  return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" + status + "}";
}

// A program whose answers the test decides, one run after the other.
class ScriptedProgram {
 public:
  // Runs wait in the program while it is held.
  void Hold() {
    const MutexLock lock(mutex_);
    held_ = true;
  }
  void Release() {
    const MutexLock lock(mutex_);
    held_ = false;
    changed_.NotifyAll();
  }
  void Answers(StatusOr<CommandResult> result) {
    const MutexLock lock(mutex_);
    result_ = std::move(result);
  }
  CommandRunner Runner() {
    return [this](const Command& command, const std::atomic<bool>* cancelled) -> StatusOr<CommandResult> {
      const MutexLock lock(mutex_);
      commands_.push_back(command);
      changed_.NotifyAll();
      while (held_ && !cancelled->load()) changed_.WaitFor(mutex_, std::chrono::milliseconds(1));
      if (cancelled->load()) return CommandResult{.end = End::kCancelled};
      return result_;
    };
  }
  std::vector<Command> Commands() const {
    const MutexLock lock(mutex_);
    return commands_;
  }
  void WaitForRuns(size_t runs) {
    const MutexLock lock(mutex_);
    while (commands_.size() < runs) changed_.Wait(mutex_);
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  StatusOr<CommandResult> result_ ABSL_GUARDED_BY(mutex_) = CommandResult{.output = Answer(R"({"token":"one"})")};
  std::vector<Command> commands_ ABSL_GUARDED_BY(mutex_);
};

class ExecSourceTest : public ::testing::Test {
 protected:
  ExecSourceTest() {
    config_.context = "prod";
    config_.exec = {.api_version = kV1, .command = "/bin/cloud", .arguments = {"get-token"}, .environment = {"A=b c"}};
  }
  void Make() { source_ = MakeCredentialSource(config_, time_, program_.Runner()); }
  StatusOr<Credentials> Get() { return source_->Get(time_.Now() + seconds(20)); }

  ManualTime time_;
  ClientConfig config_;
  ScriptedProgram program_;
  std::unique_ptr<CredentialSource> source_;
};

TEST_F(ExecSourceTest, RunsTheProgramAsTheKubeconfigSays) {
  Make();
  EXPECT_EQ(Get()->token, "one");
  EXPECT_EQ(Get()->token, "one");
  ASSERT_EQ(program_.Commands().size(), 1U) << "kept";
  const Command command = program_.Commands()[0];
  EXPECT_EQ(command.program, "/bin/cloud");
  EXPECT_THAT(command.arguments, ::testing::ElementsAre("get-token"));
  EXPECT_THAT(command.environment, AllOf(Contains("A=b c"), Contains(HasSubstr("KUBERNETES_EXEC_INFO={"))));
  EXPECT_EQ(command.timeout, seconds(15));
  EXPECT_EQ(command.output_bytes_max, size_t{1} << 20);
}

TEST_F(ExecSourceTest, HoweverManyCallsWaitItRunsOnce) {
  Make();
  program_.Hold();
  std::vector<std::thread> calls;
  std::atomic<int> good = 0;
  for (int i = 0; i < 16; ++i) {
    calls.emplace_back([&] {
      const auto got = Get();
      good += got.ok() && got->token == "one" ? 1 : 0;
    });
  }
  program_.WaitForRuns(1);
  program_.Release();
  for (std::thread& call : calls) call.join();
  EXPECT_EQ(good, 16);
  EXPECT_EQ(program_.Commands().size(), 1U);
}

TEST_F(ExecSourceTest, WhenItFailsAllWhoWaitHearWhyAndItIsNotRunForEach) {
  Make();
  program_.Answers(CommandResult{.code = 255, .errors = "please log in"});
  for (int i = 0; i < 5; ++i) {
    const Status status = Get().status();
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
    EXPECT_THAT(attune::ToString(status),
                HasSubstr("credentials of context prod from '/bin/cloud': the program ended with exit "
                          "code 255: please log in"));
  }
  EXPECT_EQ(program_.Commands().size(), 1U);
  program_.Answers(CommandResult{.output = Answer(R"({"token":"two"})")});
  time_.Advance(seconds(1));
  EXPECT_EQ(Get()->token, "two");
}

TEST_F(ExecSourceTest, ARefusedTokenIsAskedForAgainOnceAndEveryCallThatHadItGetsTheNew) {
  Make();
  const uint64_t first = Get()->number;
  program_.Answers(CommandResult{.output = Answer(R"({"token":"two"})")});
  EXPECT_TRUE(source_->Refused(first));
  EXPECT_TRUE(source_->Refused(first)) << "another call with the same token";
  const Credentials second = *Get();
  EXPECT_EQ(second.token, "two");
  EXPECT_TRUE(source_->Refused(first)) << "a late one: there is a newer token already";
  EXPECT_EQ(Get()->token, "two");
  EXPECT_EQ(program_.Commands().size(), 2U);
  EXPECT_FALSE(source_->Refused(second.number)) << "what was asked for again is refused as well";
  EXPECT_THAT(attune::ToString(Get().status()), HasSubstr("the API server refuses what the program gives"));
  EXPECT_EQ(program_.Commands().size(), 2U);
}

TEST_F(ExecSourceTest, ShortlyBeforeTheEndItIsRenewedWithoutAnyCallThatWaits) {
  Make();
  program_.Answers(CommandResult{.output = Answer(R"({"token":"one","expirationTimestamp":"2023-11-14T22:23:20Z"})")});
  EXPECT_EQ(Get()->token, "one");
  time_.Advance(minutes(10) - seconds(10));
  program_.Hold();
  EXPECT_EQ(Get()->token, "one");
  program_.WaitForRuns(2);
  EXPECT_EQ(Get()->token, "one");
  program_.Answers(CommandResult{.output = Answer(R"({"token":"two"})")});
  program_.Release();
  while (Get()->token != "two") std::this_thread::yield();
  EXPECT_EQ(program_.Commands().size(), 2U);
}

TEST_F(ExecSourceTest, ACallLeavesAtItsDeadlineAndTheRunContinues) {
  Make();
  program_.Hold();
  const Status late = source_->Get(time_.Now() + std::chrono::milliseconds(1)).status();
  EXPECT_EQ(late.code(), StatusCode::kUnavailable);
  EXPECT_THAT(attune::ToString(late), HasSubstr("has not answered yet"));
  program_.Release();
  EXPECT_EQ(Get()->token, "one");
  EXPECT_EQ(program_.Commands().size(), 1U);
}

TEST_F(ExecSourceTest, DestructionEndsARun) {
  Make();
  program_.Hold();
  EXPECT_FALSE(source_->Get(time_.Now()).ok());
  program_.WaitForRuns(1);
  source_.reset();
}

TEST_F(ExecSourceTest, ItsCertificateReplacesTheOneOfTheKubeconfig) {
  config_.client_certificate_pem = "C0";
  config_.client_key_pem = "K0";
  Make();
  EXPECT_EQ(Get()->certificate_pem, "C0") << "a token alone leaves it";
  program_.Answers(CommandResult{.output = Answer(R"({"clientCertificateData":"C1","clientKeyData":"K1"})")});
  source_->Refused(Get()->number);
  EXPECT_EQ(Get()->certificate_pem, "C1");
  EXPECT_EQ(Get()->key_pem, "K1");
  EXPECT_EQ(Get()->token, "");
}

TEST_F(ExecSourceTest, AMissingProgramIsNamedWithTheHint) {
  config_.exec.command = "attune-no-such-program";
  config_.exec.install_hint = "Install it with: brew install cloud";
  Make();
  const Status status = Get().status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(attune::ToString(status), AllOf(HasSubstr("there is no program 'attune-no-such-program'"),
                                              HasSubstr("; Install it with: brew install cloud")));
  EXPECT_TRUE(program_.Commands().empty());
}

TEST_F(ExecSourceTest, AStaticTokenComesFirstAsInKubectl) {
  config_.token = "fixed";
  Make();
  EXPECT_EQ(Get()->token, "fixed");
  EXPECT_TRUE(program_.Commands().empty());
}

// The whole way, with a program of the shell's.
TEST(ExecSourceProgramTest, ARealProgramIsAskedAndOneThatFailsIsShownWithItsErrors) {
  const auto file = std::filesystem::path(::testing::TempDir()) / ("exec-source-" + std::to_string(::getpid()));
  ASSERT_TRUE(WriteFileAtomically(file,
                                  "#!/bin/sh\n"
                                  "[ \"$1\" = fail ] && { echo not logged in >&2; exit 7; }\n"
                                  "case \"$KUBERNETES_EXEC_INFO\" in *'\"interactive\":false'*) ;; *) exit 8;; esac\n"
                                  "printf '{\"apiVersion\":\"%s\",\"kind\":\"ExecCredential\",\"status\":"
                                  "{\"token\":\"%s-%s\"}}' \"$1\" \"$2\" \"$REGION\"\n",
                                  0755)
                  .ok());
  const SystemTime time;
  ClientConfig config{.context = "prod"};
  config.exec = {.api_version = kV1, .command = file, .arguments = {kV1, "a b"}, .environment = {"REGION=x"}};
  EXPECT_EQ(MakeCredentialSource(config, time)->Get(time.Now() + seconds(20)).status().code(),
            StatusCode::kUnauthenticated)
      << "a token with a space";
  config.exec.arguments = {kV1, "token"};
  EXPECT_EQ(MakeCredentialSource(config, time)->Get(time.Now() + seconds(20))->token, "token-x");
  config.exec.arguments = {"fail"};
  EXPECT_THAT(attune::ToString(MakeCredentialSource(config, time)->Get(time.Now() + seconds(20)).status()),
              HasSubstr("exit code 7: not logged in"));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace attune::kube::exec_source_test
