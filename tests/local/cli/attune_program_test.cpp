// The program as a user meets it: real processes under the real platform and controllers, with shell scripts in the
// roles of server, worker and sidecar, so that what is seen here is the program's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "base/os/file.h"
#include "tests/local/cli/program.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AttuneProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "attune-cli-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    environment_ = {{"XDG_RUNTIME_DIR", directory_.string()},
                    {"HOME", directory_.string()},
                    {"KUBECONFIG", ""},
                    {"XDG_STATE_HOME", directory_.string()}};
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Outcome Attune(const std::vector<std::string>& arguments) {
    return Program(arguments, directory_, environment_).AwaitEnd();
  }
  std::unique_ptr<Program> Start(const std::vector<std::string>& arguments) {
    return std::make_unique<Program>(arguments, directory_, environment_);
  }

  // A job whose workers run `script`, and whose servers end well when one of those says so: `finish`.
  std::string WriteJob(const std::string& script) {
    const std::string file = (directory_ / "job.yaml").string();
    std::ofstream out(file);
    out << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: toy}\nspec:\n"
        << "  runPolicy: {backoffLimit: 1, drainSeconds: 2}\n"
        << "  servers:\n    template:\n      spec:\n        terminationGracePeriodSeconds: 1\n        containers:\n"
        << "        - {name: server, image: none, command: [/bin/sh, -c, 'while ! [ -e "
        << (directory_ / "finished").string() << " ]; do sleep 0.1; done'],\n"
        << "           readinessProbe: {exec: {command: [/bin/true]}, periodSeconds: 1}}\n"
        << "  workers:\n    replicas: 2\n    max: 4\n    template:\n      spec:\n        "
           "terminationGracePeriodSeconds: 1\n"
        << "        containers:\n        - name: worker\n          image: none\n          command: [/bin/sh, -c]\n     "
           "     args:\n          - |\n";
    out << "            finish() { touch " << (directory_ / "finished").string() << "; }\n";
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line);) out << "            " << line << "\n";
    return file;
  }

  // Processes whose command line holds the run's directory or the marker of a script.
  static int CountProcesses(const std::string& marker) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      const std::string words((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      if (words.find(marker) != std::string::npos) ++count;
    }
    return count;
  }

  std::filesystem::path directory_;
  std::map<std::string, std::string> environment_;
};

TEST_F(AttuneProgram, WithoutAnInstanceItSaysHowToStartOne) {
  const Outcome outcome = Attune({"get"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("start one with `attune run FILE`"));
}

TEST_F(AttuneProgram, ABadManifestStartsNothing) {
  const std::string file = WriteJob("exit 0");
  std::ofstream(file, std::ios::app) << "  worker: 3\n";
  const Outcome outcome = Attune({"run", file});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("spec.worker: found an unknown field; allowed: workers (nearest)"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "attune-runs"));
}

TEST_F(AttuneProgram, AJobWhoseWorkersEndWellSucceeds) {
  const Outcome outcome = Attune({"run", WriteJob("echo working; finish; exit 0")});
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("toy succeeded after"));
  EXPECT_EQ(CountProcesses(directory_.string()), 0);
}

TEST_F(AttuneProgram, AJobWhoseWorkersFailTellsTheReasonAndTheLastLines) {
  const Outcome outcome = Attune({"run", WriteJob("echo no such corpus: /nowhere; exit 3")});
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("toy failed after"));
  EXPECT_THAT(outcome.output, HasSubstr("no such corpus: /nowhere"));
}

TEST_F(AttuneProgram, InterruptEndsEveryProcessWithinSeconds) {
  auto run = Start({"run", WriteJob("echo at work\nexec sleep 599.25"), "--plain"});
  ASSERT_TRUE(run->AwaitOutput("workers 2/2")) << run->AwaitEnd(std::chrono::seconds(1)).output;
  EXPECT_GE(CountProcesses("599.25"), 2);
  run->Signal(SIGINT);
  const Outcome outcome = run->AwaitEnd(std::chrono::seconds(20));
  EXPECT_EQ(outcome.code, 130) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("no process is left"));
  EXPECT_EQ(CountProcesses("599.25"), 0);
}

TEST_F(AttuneProgram, ARunThatIsLeftByThreeInterruptsWasInterruptedAndIsNotLost) {
  auto run = Start({"run", WriteJob("trap '' TERM\necho at work\nwhile :; do sleep 0.2; done"), "--plain"});
  ASSERT_TRUE(run->AwaitOutput("workers 2/2")) << run->AwaitEnd(std::chrono::seconds(1)).output;
  run->Signal(SIGINT);
  ASSERT_TRUE(run->AwaitOutput("stopping: ending all processes"));
  run->Signal(SIGINT);
  run->Signal(SIGTERM);  // two of the same signal may be delivered as one
  const Outcome outcome = run->AwaitEnd(std::chrono::seconds(20));
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("no process is left")));
  EXPECT_THAT(Attune({"runs"}).output, HasSubstr("Interrupted"));
}

// Started with nohup: the shell that did so may end.
TEST_F(AttuneProgram, AHangUpThatIsToBeIgnoredEndsNothing) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  const std::string heard = (directory_ / "heard").string();
  auto run =
      Start({"run", WriteJob("echo at work\nwhile ! [ -e " + heard + " ]; do sleep 0.1; done\nfinish"), "--plain"});
  std::signal(SIGHUP, before);
  ASSERT_TRUE(run->AwaitOutput("workers 2/2")) << run->AwaitEnd(std::chrono::seconds(1)).output;
  run->Signal(SIGHUP);
  std::ofstream{heard};  // the workers have waited for it: what is shown every few seconds showed both of them
  const Outcome outcome = run->AwaitEnd(std::chrono::seconds(60));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("toy succeeded after"));
}

TEST_F(AttuneProgram, DetachedRunsAreSeenScaledReadAndStopped) {
  const Outcome started = Attune({"run", WriteJob("echo at work\nexec sleep 598.75"), "--detach"});
  ASSERT_EQ(started.code, 0) << started.output;
  EXPECT_THAT(started.output, HasSubstr("attune stop toy"));
  const auto await = [&](const std::vector<std::string>& arguments, const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    Outcome last;
    while (std::chrono::steady_clock::now() < deadline) {
      last = Attune(arguments);
      if (last.output.find(text) != std::string::npos) return true;
    }
    ADD_FAILURE() << text << " not seen; last:\n" << last.output;
    return false;
  };
  await({"get"}, "2/2");
  await({"logs", "toy", "worker", "1"}, "at work");
  EXPECT_THAT(Attune({"logs", "toy"}).output, HasSubstr("toy-worker-0  at work"));
  EXPECT_EQ(Attune({"scale", "toy", "workers=9"}).code, 2);
  const Outcome servers =
      Attune({"scale", "toy", "servers=2"});  // this worker program has no server that could move rows
  EXPECT_EQ(servers.code, 1);
  EXPECT_THAT(servers.output, HasSubstr("servers"));
  const Outcome scaled = Attune({"scale", "toy", "workers=3"});
  EXPECT_EQ(scaled.code, 0) << scaled.output;
  EXPECT_THAT(scaled.output, HasSubstr("toy: workers 2 -> 3"));
  await({"get"}, "3/3");
  EXPECT_THAT(Attune({"describe", "toy"}).output, HasSubstr("toy-worker-2"));
  EXPECT_THAT(Attune({"get", "tyo"}).output, HasSubstr("there are: toy"));
  EXPECT_THAT(Attune({"get", "toy", "-o", "yaml"}).output, HasSubstr("kind: TrainingJob"));
  EXPECT_THAT(Attune({"version"}).output, HasSubstr("the local instance"));
  // The only job there is needs no name.
  EXPECT_THAT(Attune({"describe"}).output, AllOf(HasSubstr("no job is named; taking toy"), HasSubstr("toy-worker-2")));
  EXPECT_THAT(Attune({"scale", "workers=2"}).output, HasSubstr("toy: workers 3 -> 2"));
  EXPECT_THAT(Attune({"explain"}).output, HasSubstr("job toy is not tuned"));
  const Outcome stopped = Attune({"stop"});
  EXPECT_EQ(stopped.code, 0) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("toy is gone, and its pods"));
  await({"get"}, "nothing runs; these runs have ended");
  EXPECT_EQ(CountProcesses("598.75"), 0);
}

}  // namespace
}  // namespace attune
