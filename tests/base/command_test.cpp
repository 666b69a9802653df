#include "base/os/command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/os/file.h"

namespace attune::command_test {
namespace {

using End = CommandResult::End;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSearchPath[] = "/usr/local/bin:/usr/bin:/bin";

// Tests say what a program does in the shell's language; RunCommand itself knows no shell.
Command Shell(const std::string& script) {
  return {.program = "/bin/sh", .arguments = {"-c", script}, .environment = {std::string("PATH=") + kSearchPath}};
}

TEST(RunCommandTest, OutputErrorsAndCodeComeBack) {
  const auto result = RunCommand(Shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->end, End::kExited);
  EXPECT_EQ(result->code, 3);
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->errors, "err\n");
}

TEST(RunCommandTest, ArgumentsAreNeitherSplitNorExpanded) {
  const auto result = RunCommand({.program = "/usr/bin/printf", .arguments = {"<%s>", "a b", "$(id)", "*", ""}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->output, "<a b><$(id)><*><>");
}

TEST(RunCommandTest, TheEnvironmentIsTheOneGivenAndInputIsEmpty) {
  Command command = Shell("read line && echo got $line; echo [$ONE] [$HOME]");
  command.environment.push_back("ONE=1 2");
  EXPECT_EQ(RunCommand(command)->output, "[1 2] []\n");
}

TEST(RunCommandTest, ASignalIsNamed) {
  const auto result = RunCommand(Shell("kill -TERM $$"));
  EXPECT_EQ(result->end, End::kSignaled);
  EXPECT_EQ(result->code, SIGTERM);
}

TEST(RunCommandTest, AProgramThatHangsIsKilledWithAllOfItsGroupAndReaped) {
  Command command = Shell("sleep 600 & echo $!; echo waiting >&2; wait");
  command.timeout = milliseconds(300);
  const auto result = RunCommand(command);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->end, End::kTimedOut);
  EXPECT_EQ(result->errors, "waiting\n");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child of this process is left, as a zombie or running";
  const pid_t grandchild = std::stoi(result->output);
  for (int i = 0; i < 1000 && ::kill(grandchild, 0) == 0; ++i) std::this_thread::yield();
  std::string state = "/proc/" + std::to_string(grandchild) + "/stat";
  const auto stat = ReadFile(state);  // init may take its time to reap it
  EXPECT_TRUE(!stat.ok() || stat->find(") Z ") != std::string::npos) << *stat;
}

TEST(RunCommandTest, TooMuchOutputEndsItAndTooManyErrorsDoNot) {
  Command endless = Shell("while :; do echo 0123456789012345678901234567890123456789; done");
  endless.output_bytes_max = 1000;
  const auto result = RunCommand(endless);
  EXPECT_EQ(result->end, End::kTooMuchOutput);
  EXPECT_EQ(result->output.size(), 1000U);

  Command talkative = Shell(
      "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789 >&2; "
      "i=$((i+1)); done; echo done");
  talkative.errors_bytes_max = 100;
  const auto finished = RunCommand(talkative);
  EXPECT_EQ(finished->end, End::kExited);
  EXPECT_EQ(finished->output, "done\n");
  EXPECT_EQ(finished->errors.size(), 100U);
}

TEST(RunCommandTest, ExactlyTheLimitIsNotTooMuch) {
  Command command = Shell("printf 0123456789");
  command.output_bytes_max = 10;
  EXPECT_EQ(RunCommand(command)->end, End::kExited);
  command.output_bytes_max = 9;
  EXPECT_EQ(RunCommand(command)->end, End::kTooMuchOutput);
}

TEST(RunCommandTest, AProcessThatKeepsTheOutputOpenDoesNotHoldUpTheEnd) {
  Command command = Shell("sleep 5 & echo token");
  const auto began = std::chrono::steady_clock::now();
  const auto result = RunCommand(command);
  EXPECT_EQ(result->end, End::kExited);
  EXPECT_EQ(result->output, "token\n");
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(4));
}

TEST(RunCommandTest, CancellationEndsIt) {
  std::atomic<bool> cancelled = false;
  std::thread other([&] { cancelled = true; });
  const auto result = RunCommand(Shell("sleep 600"), &cancelled);
  other.join();
  EXPECT_EQ(result->end, End::kCancelled);
}

TEST(RunCommandTest, FilesAndIgnoredSignalsAreNotInherited) {
  const int file = ::open("/dev/null", O_RDONLY);
  const int open = ::fcntl(file, F_DUPFD, 77);  // without close-on-exec
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  const auto files = RunCommand(Shell("ls /proc/self/fd"));
  const auto signals = RunCommand(Shell("grep SigIgn /proc/self/status"));
  ::signal(SIGPIPE, before);
  ::close(open);
  ::close(file);
  EXPECT_THAT(files->output, AllOf(HasSubstr("2\n"), Not(HasSubstr(std::to_string(open)))));
  constexpr unsigned long long kWithNames = (1ULL << 31) - 1;  // above are those of the C library itself
  ASSERT_THAT(signals->output, HasSubstr("SigIgn:\t"));
  EXPECT_EQ(std::stoull(signals->output.substr(signals->output.find('\t') + 1), nullptr, 16) & kWithNames, 0U)
      << signals->output;
}

TEST(RunCommandTest, WhatCannotBeStartedSaysWhy) {
  const auto directory = std::filesystem::path(::testing::TempDir()) / ("command-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  ASSERT_TRUE(WriteFileAtomically(directory / "text", "no program", 0644).ok());
  ASSERT_TRUE(WriteFileAtomically(directory / "odd", "no program", 0755).ok());
  struct {
    std::string program;
    StatusCode want;
  } cases[] = {{directory / "absent", StatusCode::kNotFound},
               {directory / "text", StatusCode::kPermissionDenied},
               {directory, StatusCode::kPermissionDenied},
               {directory / "odd", StatusCode::kInvalidArgument}};
  for (const auto& c : cases) {
    const Status status = RunCommand({.program = c.program}).status();
    EXPECT_EQ(status.code(), c.want) << status;
    EXPECT_THAT(ToString(status), HasSubstr("cannot run '" + c.program + "'"));
  }
  std::filesystem::remove_all(directory);
}

TEST(FindProgramTest, LooksForExecutableFilesInOrderAndNeverInThePresentDirectory) {
  const auto root = std::filesystem::path(::testing::TempDir()) / ("find-program-" + std::to_string(::getpid()));
  std::filesystem::create_directories(root / "one" / "tool");  // a directory of the name
  std::filesystem::create_directories(root / "two");
  std::filesystem::create_directories(root / "three");
  ASSERT_TRUE(WriteFileAtomically(root / "two" / "tool", "", 0644).ok());
  ASSERT_TRUE(WriteFileAtomically(root / "three" / "tool", "", 0755).ok());
  const std::string path = (root / "one").string() + "::" + (root / "two").string() + ":" + (root / "three").string();
  EXPECT_EQ(*FindProgram("tool", path), (root / "three" / "tool").string());
  EXPECT_EQ(*FindProgram("./tool", path), "./tool");
  const Status absent = FindProgram("absent", path).status();
  EXPECT_EQ(absent.code(), StatusCode::kNotFound);
  EXPECT_THAT(ToString(absent), AllOf(HasSubstr("'absent'"), HasSubstr(path)));
  EXPECT_FALSE(FindProgram("", path).ok());
  EXPECT_FALSE(FindProgram("tool", "").ok());
  std::filesystem::remove_all(root);
}

TEST(EnvironmentWithTest, ChangesReplaceWhatTheProcessHas) {
  ::setenv("ATTUNE_COMMAND_TEST", "old", 1);
  const std::vector<std::string> environment = EnvironmentWith({"ATTUNE_COMMAND_TEST=new", "ATTUNE_COMMAND_MORE=a=b"});
  ::unsetenv("ATTUNE_COMMAND_TEST");
  EXPECT_THAT(environment, AllOf(Contains("ATTUNE_COMMAND_TEST=new"), Contains("ATTUNE_COMMAND_MORE=a=b"),
                                 Not(Contains("ATTUNE_COMMAND_TEST=old"))));
}

}  // namespace
}  // namespace attune::command_test
