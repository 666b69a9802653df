// Runs beside each other and after their end, as a user meets them: real processes, with shell scripts in the roles of
// workers and servers.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "base/os/file.h"
#include "tests/local/cli/job_run.h"

namespace attune::runs_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kWorks[] = "echo at work; exec sleep 600";
constexpr char kFails[] = "echo no such corpus; exit 3";

class RunsTest : public JobRun {
 protected:
  // A job whose servers wait and whose workers run `script`; the file's name.
  std::string Job(const std::string& name, const std::string& script) const {
    const std::string file = (directory_ / (name + ".yaml")).string();
    std::ofstream(file) << "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: " << name
                        << "}\nspec:\n  runPolicy: {backoffLimit: 0, drainSeconds: 1}\n  servers:\n    template:\n"
                        << "      spec:\n        terminationGracePeriodSeconds: 1\n        containers:\n"
                        << "        - {name: server, image: none, command: [/bin/sh, -c, 'exec sleep 600'],\n"
                        << "           readinessProbe: {exec: {command: [/bin/true]}, periodSeconds: 1}}\n"
                        << "  workers:\n    replicas: 2\n    max: 4\n    template:\n      spec:\n"
                        << "        terminationGracePeriodSeconds: 1\n        containers:\n"
                        << "        - {name: worker, image: none, command: [/bin/sh, -c], args: ['" << script
                        << "']}\n";
    return file;
  }
  bool AwaitText(const std::vector<std::string>& command, const std::string& text) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    Outcome last;
    while (std::chrono::steady_clock::now() < deadline) {
      last = Attune(command);
      if (last.output.find(text) != std::string::npos) return true;
    }
    ADD_FAILURE() << text << " was not seen; last:\n" << last.output;
    return false;
  }
  std::string InstanceOf(const std::string& run) const {
    std::ifstream file(directory_ / "attune-runs" / run / "run.json");
    const Json record = Json::parse(file, nullptr, false);
    return record.is_object() ? std::to_string(record.value("processId", 0)) : "";
  }
};

TEST_F(RunsTest, ADirectoryOfAnEarlierRunIsNeverWrittenOver) {
  ASSERT_EQ(Attune({"run", Job("toy", kFails), "--run-directory", "kept"}).code, 1);
  std::ofstream(directory_ / "kept" / "model.txt") << "14455 lines";
  const std::string record = *ReadFile(directory_ / "kept" / "run.json");
  for (const char* how : {"--plain", "--detach"}) {
    const Outcome again = Attune({"run", Job("toy", kFails), "--run-directory", "kept", how});
    EXPECT_NE(again.code, 0) << how;
    EXPECT_THAT(again.output, HasSubstr("holds run kept, which failed")) << how;
    EXPECT_THAT(again.output, HasSubstr("attune runs rm")) << how;
  }
  EXPECT_EQ(*ReadFile(directory_ / "kept" / "model.txt"), "14455 lines");
  EXPECT_EQ(*ReadFile(directory_ / "kept" / "run.json"), record);
}

TEST_F(RunsTest, AllThatRunIsOneWorld) {
  for (const auto& [job, run] : {std::pair("aaa", "first"), {"bbb", "second"}, {"bbb", "third"}}) {
    const Outcome started = Attune({"run", Job(job, kWorks), "--detach", "--name", run});
    ASSERT_EQ(started.code, 0) << started.output;
    EXPECT_THAT(started.output, HasSubstr("output.log"));
    const bool is_ambiguous = std::string(run) == "third";
    EXPECT_THAT(started.output, HasSubstr(std::string("attune stop ") + (is_ambiguous ? run : job) + " "));
  }
  const Outcome listed = Attune({"get"});
  for (const char* text : {"aaa", "bbb", "INSTANCE", "first", "second", "third"})
    EXPECT_THAT(listed.output, HasSubstr(text));
  ASSERT_TRUE(AwaitText({"describe", "aaa"}, "aaa-worker-1")) << "although others are newer";

  const Outcome ambiguous = Attune({"scale", "bbb", "workers=3"});
  EXPECT_EQ(ambiguous.code, 2);
  EXPECT_THAT(ambiguous.output, HasSubstr("2 running jobs are meant by bbb; say which with --instance PID"));
  EXPECT_THAT(ambiguous.output, HasSubstr(InstanceOf("second")));
  EXPECT_EQ(Attune({"stop", "bbb"}).code, 2) << "none of the two is ended";
  const Outcome scaled = Attune({"scale", "bbb", "workers=3", "--instance", InstanceOf("second")});
  EXPECT_EQ(scaled.code, 0) << scaled.output;
  EXPECT_THAT(Attune({"describe", "third"}).output, HasSubstr("2 wanted")) << "the other one is as it was";

  EXPECT_EQ(Attune({"stop", "second"}).code, 0);
  EXPECT_EQ(Attune({"stop", "bbb"}).code, 0) << "there is one only, now";
  EXPECT_EQ(Attune({"stop", "first"}).code, 0);
  EXPECT_TRUE(AwaitText({"runs"}, "Stopped"));
}

TEST_F(RunsTest, WhatEndedAnswersAndIsCompared) {
  EXPECT_EQ(Attune({"run", Job("toy", kFails), "--name", "first", "--tag", "small"}).code, 1);
  EXPECT_EQ(Attune({"run", Job("toy", "echo worse; exit 4"), "--name", "second"}).code, 1);
  EXPECT_THAT(Attune({"describe", "toy"}).output, HasSubstr("exit code 4")) << "the newest run of the job";
  const Outcome first = Attune({"describe", "first"});
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.output, HasSubstr("no such corpus"));
  EXPECT_THAT(Attune({"logs", "first", "worker", "0"}).output, HasSubstr("no such corpus"));
  EXPECT_THAT(Attune({"get"}).output, HasSubstr("second"));
  EXPECT_THAT(Attune({"get", "first"}).output, HasSubstr("Failed"));
  EXPECT_THAT(Attune({"explain", "first"}).output, HasSubstr("job toy is not tuned"));
  EXPECT_EQ(Attune({"report", "first", "-o", "page.html"}).code, 0);
  const std::string page = *ReadFile(directory_ / "page.html");
  EXPECT_THAT(page, HasSubstr("<dt>tags</dt><dd>small</dd>"));
  EXPECT_THAT(page, HasSubstr("toy.yaml (SHA-256 "));
  EXPECT_EQ(Attune({"report", "first", "second", "-o", "both.html"}).code, 0);
  EXPECT_THAT(*ReadFile(directory_ / "both.html"), HasSubstr("2 runs over each other"));
  const Outcome runs = Attune({"runs"});
  EXPECT_THAT(runs.output, HasSubstr("first"));
  EXPECT_THAT(runs.output, HasSubstr("Failed"));
  EXPECT_THAT(Attune({"runs", "--tag", "small"}).output, Not(HasSubstr("second")));
  const Outcome compared = Attune({"runs", "diff", "first", "second"});
  EXPECT_THAT(compared.output, HasSubstr("spec.workers.template.spec.containers[0].args"));
  EXPECT_EQ(Attune({"scale", "toy", "workers=3"}).code, 1);
  EXPECT_EQ(Attune({"run", Job("toy", kFails), "--name", "first"}).code, 2) << "the name is taken";
  for (const char* file :
       {"run.json", "manifest.yaml", "manifest-defaulted.yaml", "state-toy.json", "history-toy.json"})
    EXPECT_TRUE(fs::exists(directory_ / "attune-runs" / "first" / file)) << file;

  EXPECT_EQ(Attune({"run", Job("toy", kFails), "--name", "third", "--keep", "2"}).code, 1);
  EXPECT_FALSE(fs::exists(directory_ / "attune-runs" / "first"));
  EXPECT_TRUE(fs::exists(directory_ / "attune-runs" / "second"));
  EXPECT_EQ(Attune({"runs", "rm", "second"}).code, 0);
  EXPECT_FALSE(fs::exists(directory_ / "attune-runs" / "second"));
}

TEST_F(RunsTest, ARunThatWasKilledIsLostAndAnswers) {
  run_ = Start({"run", Job("toy", kWorks), "--plain", "--name", "killed"});
  ASSERT_TRUE(run_->AwaitOutput("workers 2/2"));
  ASSERT_TRUE(AwaitText({"logs", "toy", "worker", "1"}, "at work"));
  run_->Signal(SIGKILL);
  (void)run_->AwaitEnd();
  EXPECT_THAT(Attune({"runs"}).output, HasSubstr("Lost"));
  EXPECT_THAT(Attune({"report", "killed", "-o", "-"}).output, HasSubstr("<p class=\"sub\">Lost, "));
  EXPECT_THAT(Attune({"logs", "toy", "worker", "1"}).output, HasSubstr("at work"));
}

// The directory of the run is so long that sockets lie in the temporary directory, and the processes end by force only.
TEST_F(RunsTest, ASecondCtrlCEndsAtOnceAndLeavesNothingBehind) {
  const std::string directory = std::string(120, 'd') + "/" + std::string(120, 'e');
  run_ = Start({"run", Job("toy", "trap \"\" TERM INT; echo at work; while true; do sleep 1; done"), "--plain",
                "--run-directory", directory});
  ASSERT_TRUE(run_->AwaitOutput("workers 2/2")) << run_->AwaitEnd(std::chrono::seconds(1)).output;
  EXPECT_FALSE(fs::is_empty(directory_ / "tmp"));
  run_->Signal(SIGINT);
  ASSERT_TRUE(run_->AwaitOutput("another signal                        ends the processes without waiting"));
  ASSERT_TRUE(run_->AwaitOutput("stopping: ending all processes"));
  run_->Signal(SIGINT);
  const Outcome outcome = run_->AwaitEnd();
  EXPECT_EQ(outcome.code, 130) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("no process is left"));
  EXPECT_THAT(Processes(""), IsEmpty());
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp"));
}

// As a third Ctrl-C and a kernel out of memory do: nothing is put in order.
TEST_F(RunsTest, WhatAKilledRunLeftInTheTemporaryDirectoryIsRemovedByTheNextLook) {
  const std::string directory = std::string(120, 'd') + "/" + std::string(120, 'e');
  run_ = Start({"run", Job("toy", kWorks), "--plain", "--run-directory", directory});
  ASSERT_TRUE(run_->AwaitOutput("workers 2/2"));
  (void)Attune({"runs"});
  EXPECT_FALSE(fs::is_empty(directory_ / "tmp")) << "it is in use";
  run_->Signal(SIGKILL);
  (void)run_->AwaitEnd();
  EXPECT_FALSE(fs::is_empty(directory_ / "tmp"));
  (void)Attune({"runs"});
  EXPECT_TRUE(fs::is_empty(directory_ / "tmp"));
}

TEST_F(RunsTest, AManifestFromAPipeIsReadOnceInTheBackgroundToo) {
  ASSERT_EQ(mkfifo((directory_ / "manifest").c_str(), 0600), 0);
  const std::string text = *ReadFile(Job("toy", kWorks));
  std::thread writer([&] { std::ofstream(directory_ / "manifest") << text; });
  const Outcome started = Attune({"run", "manifest", "--detach", "--name", "piped"});
  writer.join();
  ASSERT_EQ(started.code, 0) << started.output;
  EXPECT_EQ(*ReadFile(directory_ / "attune-runs/piped/manifest.yaml"), text);
  EXPECT_THAT(*ReadFile(directory_ / "attune-runs/piped/run.json"), HasSubstr("\"manifest\": \"manifest\""));
  EXPECT_THAT(Attune({"report", "piped", "-o", "-"}).output, HasSubstr("attune run manifest --plain"));
  EXPECT_EQ(Attune({"stop", "piped"}).code, 0);
}

TEST_F(RunsTest, TooFewOpenFilesAndTooLittleMemoryAreSaidWithWhatToDo) {
  const Outcome files = Start({"run", Job("toy", kFails)}, {{RLIMIT_NOFILE, 16}})->AwaitEnd();
  EXPECT_EQ(files.code, 1) << files.output;
  EXPECT_THAT(files.output, HasSubstr("ulimit -n 1024"));
  const Outcome memory = Start({"run", Job("toy", kFails)}, {{RLIMIT_AS, 1'000'000ULL << 10}})->AwaitEnd();
  EXPECT_EQ(memory.code, 1) << memory.output;
  EXPECT_THAT(memory.output, HasSubstr("ulimit -v unlimited"));
  EXPECT_FALSE(fs::exists(directory_ / "attune-runs")) << "nothing was begun";
}

TEST_F(RunsTest, OutputThatCannotArriveIsRefusedBeforeTheRun) {
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/full", directory_ / "full");
  for (const char* file : {"/absent/page.html", ".", "-"}) {
    const Outcome outcome = Attune({"run", Job("toy", kFails), "--report", file});
    EXPECT_EQ(outcome.code, 2) << file << outcome.output;
  }
  EXPECT_FALSE(fs::exists(directory_ / "attune-runs"));
  ASSERT_EQ(Attune({"run", Job("toy", kFails), "--name", "first"}).code, 1);
  EXPECT_EQ(Attune({"report", "first", "-o", "full"}).code, 1);
  EXPECT_TRUE(fs::is_symlink(directory_ / "full"));
  EXPECT_THAT(Attune({"report", "first", "-o", "-"}).output, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_FALSE(fs::exists(directory_ / "-"));
  auto report = Start({"report", "first", "-o", "pipe"});
  EXPECT_THAT(ReadFile(directory_ / "pipe").value_or(""), HasSubstr("<!DOCTYPE html>"));
  EXPECT_EQ(report->AwaitEnd().code, 0);
  EXPECT_TRUE(fs::is_fifo(directory_ / "pipe"));
}

}  // namespace
}  // namespace attune::runs_test
