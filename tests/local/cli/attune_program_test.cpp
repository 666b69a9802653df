// The program as a user meets it: real processes under the real platform and controllers, with shell scripts in the
// roles of server, worker and sidecar, so that what is seen here is the program's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "base/os/file.h"
#include "tests/local/cli/program.h"
#include "tests/scratch.h"

namespace attune::attune_program_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AttuneProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    environment_ = {{"XDG_RUNTIME_DIR", directory_.string()},
                    {"HOME", directory_.string()},
                    {"KUBECONFIG", ""},
                    {"XDG_STATE_HOME", directory_.string()}};
  }

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

  const Scratch scratch_;
  const std::filesystem::path& directory_ = scratch_.path();
  std::map<std::string, std::string> environment_;
};

TEST_F(AttuneProgram, WithoutAnInstanceItSaysHowToStartOne) {
  const Outcome outcome = Attune({"get"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("start one with `attune run FILE`"));
}

TEST_F(AttuneProgram, WhatInitWritesIsValid) {
  ASSERT_EQ(Attune({"init", "mine", "--command", "/bin/false", "--workers", "1"}).code, 0);
  EXPECT_THAT(Attune({"validate", "mine.yaml"}).output, HasSubstr("mine.yaml: valid (mine)"));
  const Outcome again = Attune({"init", "mine"});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.output, HasSubstr("mine.yaml exists; --force writes over it"));
  EXPECT_THAT(Attune({"init", "-"}).output, HasSubstr("kind: TrainingJob"));
}

TEST_F(AttuneProgram, TheDoctorKnowsThisMachine) {
  const Outcome outcome = Attune({"doctor", "-o", "json"});
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("\"checked\": \"this machine"), HasSubstr("\"subject\": \"control groups\"")));
  EXPECT_THAT(Attune({"doctor"}).output, HasSubstr(" ok\n"));
  const Outcome nowhere = Attune({"doctor", "--kubeconfig", "none.yaml"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.output, AllOf(HasSubstr("problem"), HasSubstr("none.yaml")));
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
  EXPECT_THAT(Attune({"top", "--once"}).output, AllOf(HasSubstr("JOB "), HasSubstr("3/3")));
  // Its processes report nothing to their sidecars: what is known is shown.
  EXPECT_THAT(Attune({"top", "toy", "--once"}).output,
              AllOf(HasSubstr("workers 3/3"), HasSubstr("toy-worker-2   Ready   -")));
  EXPECT_THAT(Attune({"top", "tyo", "--once"}).output, HasSubstr("there are: toy"));
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

// A terminal with the program in its foreground.
class Terminal {
 public:
  Terminal(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
           winsize size) {
    // Made before: a child of a process with threads may call little else than exec.
    std::vector<std::string> words = {ATTUNE_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> settings = {"TERM=xterm", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"};
    for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> list;
      for (std::string& text : texts) list.push_back(text.data());
      list.push_back(nullptr);
      return list;
    };
    const auto argv = pointers(words), envp = pointers(settings);
    EXPECT_EQ(openpty(&master_, &slave_, nullptr, nullptr, &size), 0);
    child_ = fork();
    if (child_ != 0) return;
    login_tty(slave_);
    execve(ATTUNE_PROGRAM, argv.data(), envp.data());
    _exit(127);
  }
  ~Terminal() {
    if (child_ > 0) kill(child_, SIGKILL), waitpid(child_, nullptr, 0);
    close(master_);
    close(slave_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // What has been drawn since the last call, as far as `text`; all of it, with a failure, when that did not come.
  std::string Await(const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::string drawn;
    while (std::chrono::steady_clock::now() < deadline) {
      pollfd ready{master_, POLLIN, 0};
      char part[4096];
      const ssize_t size = poll(&ready, 1, 1000) > 0 ? read(master_, part, sizeof part) : 0;
      if (size > 0) drawn.append(part, static_cast<size_t>(size));
      if (drawn.find(text) != std::string::npos) return drawn;
      if (size < 0) break;
    }
    ADD_FAILURE() << text << " was not drawn:\n" << drawn;
    return drawn;
  }
  void Type(const std::string& keys) const {
    EXPECT_EQ(write(master_, keys.data(), keys.size()), ssize_t(keys.size()));
  }
  void Resize(winsize size) const { EXPECT_EQ(ioctl(master_, TIOCSWINSZ, &size), 0); }
  bool EchoesLines() const {
    termios mode{};
    return tcgetattr(slave_, &mode) == 0 && (mode.c_lflag & ECHO) != 0 && (mode.c_lflag & ICANON) != 0;
  }
  // The exit code.
  int AwaitEnd() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    int status = 0;
    while (std::chrono::steady_clock::now() < deadline) {
      pollfd ready{master_, POLLIN, 0};
      char part[4096];
      // What it still draws must not keep it from ending.
      if (poll(&ready, 1, 20) > 0 && read(master_, part, sizeof part) < 0 && errno != EIO) break;
      if (waitpid(child_, &status, WNOHANG) != child_) continue;
      child_ = 0;
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    ADD_FAILURE() << "it did not end";
    return -1;
  }

 private:
  int master_ = -1, slave_ = -1;
  pid_t child_ = 0;
};

TEST_F(AttuneProgram, TopIsDrawnInPlaceFollowsTheTerminalsSizeAndEndsWithQ) {
  ASSERT_EQ(Attune({"run", WriteJob("exec sleep 597.25"), "--detach"}).code, 0);
  Terminal terminal({"top", "--interval", "3600"}, environment_,
                    {.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0});
  EXPECT_THAT(terminal.Await("toy"), HasSubstr("SRV")) << "short names of columns";
  EXPECT_FALSE(terminal.EchoesLines());
  terminal.Resize({.ws_row = 40, .ws_col = 160, .ws_xpixel = 0, .ws_ypixel = 0});
  terminal.Await("SERVERS");  // long before the next look
  terminal.Type("x");
  terminal.Type("q");
  EXPECT_EQ(terminal.AwaitEnd(), 0);
  EXPECT_TRUE(terminal.EchoesLines()) << "the terminal is as it was";
  Terminal interrupted({"top", "toy"}, environment_, {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0});
  interrupted.Await("toy");
  interrupted.Type("\x03");
  EXPECT_EQ(interrupted.AwaitEnd(), 130);
  EXPECT_TRUE(interrupted.EchoesLines());
  EXPECT_EQ(Attune({"stop"}).code, 0);
}

TEST_F(AttuneProgram, TopEndsQuietlyWhenItsReaderIsGone) {
  ASSERT_EQ(Attune({"run", WriteJob("exec sleep 596.25"), "--detach"}).code, 0);
  // The shell says how `attune top` ended, once the reader has gone with the first line.
  const std::string script =
      "set -o pipefail; '" ATTUNE_PROGRAM "' top --interval 3600 | head -n 1; echo \"code ${PIPESTATUS[0]}\"";
  std::string environment;
  for (const auto& [name, value] : environment_) environment += name + "='" + value + "' ";
  const std::string file = (directory_ / "top.sh").string();
  std::ofstream(file) << script;
  FILE* pipe = popen((environment + "timeout 60 bash " + file + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  char part[256];
  while (std::fgets(part, sizeof part, pipe) != nullptr) output += part;
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_THAT(output, HasSubstr("the local instance"));
  EXPECT_THAT(output, AnyOf(HasSubstr("code 0\n"), HasSubstr("code 141\n"))) << "no word of an error";
  EXPECT_THAT(output, Not(HasSubstr("attune:")));
  EXPECT_EQ(Attune({"stop"}).code, 0);
}

}  // namespace
}  // namespace attune::attune_program_test
