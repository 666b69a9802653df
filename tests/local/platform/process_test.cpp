// Nothing stays behind: containers that end, are killed, lose their shim, or fork descendants that ignore TERM.
#include "operator/local/containers/process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/local/platform/support.h"
#include "tests/scratch.h"

namespace attune::local::process_test {
namespace {

using testing::Contents;
using testing::Eventually;
using testing::ProcessesWith;

// Descendants in sessions of their own that ignore TERM, then the same itself.
constexpr char kStubborn[] =
    "trap '' TERM; setsid sh -c 'trap \"\" TERM; (while :; do sleep 0.1; done) & while :; do sleep 0.1; done' & "
    "echo ready; while :; do sleep 0.1; done";

class ProcessTest : public ::testing::Test {
 protected:
  Process Start(const std::string& script) {
    ProcessOptions options;
    options.shim_command = {POD_SHIM_PROGRAM, "pod-shim"};
    options.container_id = id;
    options.program = "/bin/sh";
    options.arguments = {"-c", script};
    options.environment = {"PATH=/usr/bin:/bin", "WELCOME=hello"};
    options.directory = directory.path();
    options.log_file = log;
    options.log_bytes_max = 1000;
    return Process::Start(options).value();
  }
  int Wait(Process& process) {
    int code = -1;
    EXPECT_TRUE(Eventually([&] { return process.Poll(code); }));
    return code;
  }
  std::vector<int> Left() { return ProcessesWith(std::string(kContainerMark) + "=" + id); }
  bool AwaitReady() {
    return Eventually([&] { return Contents(log).find("ready") != std::string::npos && Left().size() >= 4; });
  }

  Scratch directory;
  std::filesystem::path log = directory.path() / "0.log";
  std::string id =
      "test-" + std::to_string(getpid()) + "-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ProcessTest, RunsWithItsEnvironmentAndDirectoryAndReturnsItsCode) {
  Process process = Start("echo $WELCOME; pwd; echo oops >&2; exit 7");
  EXPECT_EQ(Wait(process), 7);
  EXPECT_EQ(Contents(log), "hello\n" + directory.path().string() + "\noops\n");
  EXPECT_TRUE(Left().empty());
}

TEST_F(ProcessTest, ASignalIsACodeOf128AndMore) {
  Process process = Start("kill -SEGV $$");
  EXPECT_EQ(Wait(process), 128 + SIGSEGV);
}

TEST_F(ProcessTest, TermReachesTheMainProcess) {
  Process process = Start("trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done");
  ASSERT_TRUE(Eventually([&] { return Contents(log) == "ready\n"; }));
  process.Terminate();
  EXPECT_EQ(Wait(process), 5);
}

TEST_F(ProcessTest, DetachedDescendantsGoWithTheMainProcess) {
  Process process = Start("setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' & echo ready; exit 0");
  EXPECT_EQ(Wait(process), 0);
  EXPECT_TRUE(Eventually([&] { return Left().empty(); }));
}

TEST_F(ProcessTest, KillEndsAStubbornTree) {
  Process process = Start(kStubborn);
  ASSERT_TRUE(AwaitReady());
  process.Terminate();
  int code = 0;
  EXPECT_FALSE(process.Poll(code)) << "TERM is ignored";
  process.Kill();
  EXPECT_EQ(Wait(process), 128 + SIGKILL);
  EXPECT_TRUE(Left().empty());
}

TEST_F(ProcessTest, DestructionEndsAStubbornTree) {
  {
    Process process = Start(kStubborn);
    ASSERT_TRUE(AwaitReady());
  }
  EXPECT_TRUE(Left().empty());
}

TEST_F(ProcessTest, AKilledShimTakesItsTreeWithIt) {
  Process process = Start(kStubborn);
  ASSERT_TRUE(AwaitReady());
  ASSERT_EQ(kill(process.shim(), SIGKILL), 0);
  EXPECT_EQ(Wait(process), 128 + SIGKILL);
  EXPECT_TRUE(Left().empty());
}

TEST_F(ProcessTest, AKilledAgentTakesEverythingWithIt) {
  const pid_t agent = fork();
  if (agent == 0) {
    const Process process = Start(kStubborn);
    while (true) pause();
  }
  ASSERT_TRUE(AwaitReady());
  ASSERT_EQ(kill(agent, SIGKILL), 0);
  waitpid(agent, nullptr, 0);
  EXPECT_TRUE(Eventually([&] { return Left().empty(); }));
}

TEST_F(ProcessTest, LogsAreBounded) {
  Process process = Start("i=0; while [ $i -lt 1000 ]; do echo \"line $i\"; i=$((i+1)); done");
  EXPECT_EQ(Wait(process), 0);
  EXPECT_LE(std::filesystem::file_size(log) + std::filesystem::file_size(log.string() + ".1"), 2000u);
  EXPECT_THAT(Contents(log), ::testing::EndsWith("line 999\n"));
}

TEST_F(ProcessTest, AProgramThatCannotStartSaysWhy) {
  ProcessOptions options;
  options.shim_command = {POD_SHIM_PROGRAM, "pod-shim"};
  options.container_id = id;
  options.program = directory.path() / "nothing";
  options.directory = directory.path();
  options.log_file = log;
  Process process = Process::Start(options).value();
  EXPECT_EQ(Wait(process), 127);
  EXPECT_THAT(Contents(log), ::testing::HasSubstr("cannot start " + options.program.string() + ": No such file"));
}

TEST(FindProgramTest, LooksForNamesInDirectoriesThenOnThePathAndSaysWhere) {
  const Scratch directory;
  const std::filesystem::path program = directory.path() / "tool";
  std::ofstream(program) << "#!/bin/sh\n";
  EXPECT_EQ(FindProgram("tool", {directory.path()}, "", "/").status().code(), StatusCode::kPermissionDenied);
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  EXPECT_EQ(FindProgram("tool", {directory.path()}, "", "/").value(), program);
  EXPECT_EQ(FindProgram("tool", {}, "/nowhere:" + directory.path().string(), "/").value(), program);
  EXPECT_THAT(std::string(Message(FindProgram("absent", {directory.path()}, "/nowhere", "/").status())),
              ::testing::AllOf(::testing::HasSubstr(directory.path().string()), ::testing::HasSubstr("/nowhere")));
}

// Another program of the same last name is another program.
TEST(FindProgramTest, TakesPathsAsTheyAre) {
  const Scratch directory;
  const std::filesystem::path program = directory.path() / "bin" / "tool";
  std::filesystem::create_directory(program.parent_path());
  std::ofstream(program) << "#!/bin/sh\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const auto find = [&](const std::string& name) {
    return FindProgram(name, {program.parent_path()}, program.parent_path().string(), directory.path());
  };
  EXPECT_EQ(find(program.string()).value(), program);
  EXPECT_EQ(find("bin/tool").value(), program) << "from the base";
  EXPECT_EQ(find("./bin/../bin/tool").value(), program);
  EXPECT_EQ(find("/opt/image/bin/tool").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(find("/opt/image/bin/tool").status())),
              ::testing::HasSubstr("there is no program /opt/image/bin/tool; a path is taken as it is: correct it, or "
                                   "write tool alone"));
  EXPECT_EQ(find("bin").status().code(), StatusCode::kNotFound) << "a name";
  EXPECT_EQ(find("./bin").status().code(), StatusCode::kPermissionDenied) << "a directory";
}

}  // namespace
}  // namespace attune::local::process_test
