// The runs of a user, in directories of a test's own.
#include "cli/runs/run_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "base/os/file.h"
#include "cli/commands/commands.h"
#include "cli/display/description.h"
#include "cli/runs/archived_api.h"
#include "cli/runs/run_directory.h"
#include "cli/runs/run_history.h"
#include "cli/runs/run_state.h"
#include "operator/local/instance.h"
#include "tests/scratch.h"

namespace attune::cli::run_store_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kStart = 1'800'000'000;

class RunStore : public testing::Test {
 protected:
  RunStore() : before_(fs::current_path()) {
    fs::create_directories(root_ / "work");
    fs::current_path(root_ / "work");
    ::setenv("XDG_STATE_HOME", (root_ / "state").c_str(), 1);
    ::setenv("XDG_RUNTIME_DIR", root_.c_str(), 1);
    ::setenv("HOME", root_.c_str(), 1);
    ::unsetenv("KUBECONFIG");
  }
  ~RunStore() override {
    fs::current_path(before_);
    ::unsetenv("XDG_STATE_HOME");
    ::unsetenv("XDG_RUNTIME_DIR");
  }

  static RunRecord Record(const std::string& name, RunOutcome outcome, double started, const std::string& job = "toy") {
    RunRecord record;
    record.name = name;
    record.outcome = outcome;
    record.started = started;
    record.ended = outcome == RunOutcome::kRunning ? 0 : started + 60;
    RunJob entry;
    entry.name = job;
    entry.name_space = "default";
    entry.outcome = outcome;
    record.jobs = {entry};
    return record;
  }
  void Write(const fs::path& directory, const RunRecord& record) {
    fs::create_directories(directory);
    ASSERT_TRUE(WriteFileAtomically(directory / kRunFile, SaveRecord(record)).ok());
  }
  static std::vector<std::string> Names(const std::vector<RunRecord>& runs) {
    std::vector<std::string> names;
    for (const RunRecord& run : runs) names.push_back(run.name);
    return names;
  }
  template <typename Command>
  int Capture(Command&& command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = command();
    output_ = testing::internal::GetCapturedStdout();
    errors_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const fs::path before_;
  const Scratch scratch_;
  const fs::path& root_ = scratch_.path();
  std::string output_, errors_;
};

TEST_F(RunStore, ListsWhatLiesHereAndWhatTheIndexNamesOnceEachNewestFirst) {
  Write("attune-runs/one", Record("one", RunOutcome::kSucceeded, kStart));
  Write("attune-runs/two", Record("two", RunOutcome::kFailed, kStart + 100));
  Write(root_ / "elsewhere", Record("three", RunOutcome::kSucceeded, kStart + 50));
  Write(root_ / "unknown", Record("four", RunOutcome::kSucceeded, kStart));
  fs::create_directories("attune-runs/no-run");
  RememberRun(root_ / "elsewhere");
  RememberRun(root_ / "elsewhere");
  RememberRun(fs::absolute("attune-runs/one"));
  EXPECT_THAT(Names(ListRuns()), ElementsAre("two", "three", "one"));
  fs::current_path(root_);
  EXPECT_THAT(Names(ListRuns()), ElementsAre("three", "one")) << "from elsewhere by the index alone";
  fs::remove_all(root_ / "elsewhere");
  EXPECT_THAT(Names(ListRuns()), ElementsAre("one"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "state" / "attune" / "runs"), {}), 1)
      << "what is gone is forgotten";
}

TEST_F(RunStore, TheIndexIsOnlyForItsUserAndMayShareTheDirectoryOfInstances) {
  ::setenv("XDG_STATE_HOME", root_.c_str(), 1);  // as XDG_RUNTIME_DIR
  Write("attune-runs/one", Record("one", RunOutcome::kSucceeded, kStart));
  RememberRun(fs::absolute("attune-runs/one"));
  EXPECT_EQ(fs::status(root_ / "attune").permissions(), fs::perms::owner_all);
  EXPECT_TRUE(local::FindInstances().ok());
  EXPECT_THAT(Names(ListRuns()), ElementsAre("one"));
}

TEST_F(RunStore, WithoutAStateDirectoryRunsHereAreStillFound) {
  ASSERT_TRUE(WriteFileAtomically(root_ / "state", "a file").ok());
  Write("attune-runs/one", Record("one", RunOutcome::kSucceeded, kStart));
  RememberRun(fs::absolute("attune-runs/one"));
  EXPECT_THAT(Names(ListRuns()), ElementsAre("one"));
}

TEST_F(RunStore, ARunWhoseProcessIsGoneIsLostAndOneThatLivesRuns) {
  RunRecord living = Record("living", RunOutcome::kRunning, kStart);
  living.process_id = getpid();
  living.process_start = local::ProcessStart(getpid());
  RunRecord reused = living;
  reused.name = "reused";
  reused.process_start = "1";
  Write("attune-runs/living", living);
  Write("attune-runs/reused", reused);
  EXPECT_EQ(LoadRun("attune-runs/living")->outcome, RunOutcome::kRunning);
  const auto lost = LoadRun("attune-runs/reused");
  EXPECT_EQ(lost->outcome, RunOutcome::kLost);
  EXPECT_EQ(lost->jobs.front().outcome, RunOutcome::kLost);
  EXPECT_GT(lost->ended, 0);
  reused.interrupted = true;  // three times, so that it could not conclude anything
  Write("attune-runs/interrupted", reused);
  const auto interrupted = LoadRun("attune-runs/interrupted");
  EXPECT_EQ(interrupted->outcome, RunOutcome::kInterrupted);
  EXPECT_EQ(interrupted->jobs.front().outcome, RunOutcome::kInterrupted);
  EXPECT_EQ(RemoveRun(*LoadRun("attune-runs/living")).code(), StatusCode::kFailedPrecondition);
}

TEST_F(RunStore, ARunOfAnOlderReleaseIsReadFromItsHistory) {
  RunHistory history;
  history.name = "toy";
  history.phase = "Succeeded";
  history.started = kStart;
  history.ended = kStart + 5;
  history.points.push_back({.time = kStart, .loss = 2.5, .servers = 1, .workers = 2});
  fs::create_directories("attune-runs/toy-1");
  ASSERT_TRUE(WriteFileAtomically(fs::path("attune-runs/toy-1") / HistoryFile("toy"), SaveHistory(history)).ok());
  const auto run = FindRun("toy");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->name, "toy-1");
  EXPECT_EQ(run->outcome, RunOutcome::kSucceeded);
  EXPECT_EQ(run->jobs.front().loss, 2.5);
}

TEST_F(RunStore, RunsAreFoundByNameByDirectoryAndByTheirJob) {
  const std::vector<RunRecord> runs = [] {
    std::vector<RunRecord> all = {Record("b", RunOutcome::kFailed, kStart + 9),
                                  Record("a", RunOutcome::kSucceeded, kStart),
                                  Record("twice", RunOutcome::kSucceeded, kStart, "other"),
                                  Record("twice", RunOutcome::kFailed, kStart, "other")};
    all[2].directory = "/x/1";
    all[3].directory = "/x/2";
    return all;
  }();
  EXPECT_EQ(ChooseRun(runs, "a")->name, "a");
  EXPECT_EQ(ChooseRun(runs, "toy")->name, "b") << "the newest of the job";
  const Status twice = ChooseRun(runs, "twice").status();
  EXPECT_EQ(twice.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(twice)), HasSubstr("/x/1 (Succeeded)\n  /x/2 (Failed)"));
  EXPECT_THAT(std::string(Message(ChooseRun(runs, "c").status())),
              HasSubstr("there is no run c; `attune runs` lists them all: b (Failed), a (Succeeded)"));
  EXPECT_THAT(std::string(Message(ChooseRun({}, "c").status())), HasSubstr("`attune run FILE` starts one"));
  Write("there", Record("named", RunOutcome::kSucceeded, kStart));
  EXPECT_EQ(FindRun("./there")->name, "named");
  EXPECT_EQ(FindRun("there")->name, "named");
}

TEST_F(RunStore, ADirectoryThatHoldsAnythingIsNotRunIn) {
  const WallTime now{};
  Write("attune-runs/one", Record("one", RunOutcome::kSucceeded, kStart));
  const Status earlier = MakeRunDirectory({"attune-runs/one", "", "toy"}, now).status();
  EXPECT_EQ(earlier.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(Message(earlier)), HasSubstr("holds run one, which succeeded"));
  EXPECT_THAT(std::string(Message(earlier)), HasSubstr("attune resume"));
  fs::create_directories("mine");
  ASSERT_TRUE(WriteFileAtomically("mine/model.npz", "14455 lines").ok());
  EXPECT_THAT(std::string(Message(MakeRunDirectory({"mine", "", "toy"}, now).status())),
              HasSubstr("is not empty (it holds model.npz)"));
  fs::create_directories("background");
  ASSERT_TRUE(WriteFileAtomically(fs::path("background") / kRunOutput, "").ok());
  EXPECT_TRUE(MakeRunDirectory({"background", "", "toy"}, now).ok()) << "as `attune run --detach` leaves it";
  EXPECT_EQ(*MakeRunDirectory({"new/below", "", "toy"}, now), fs::current_path() / "new/below");
  EXPECT_EQ(*MakeRunDirectory({"", "named", "toy"}, now), fs::current_path() / "attune-runs/named");
  EXPECT_EQ(MakeRunDirectory({"", "one", "toy"}, now).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(*MakeRunDirectory({"", "", "toy"}, now), fs::current_path() / "attune-runs/toy-19700101-000000");
  EXPECT_EQ(*MakeRunDirectory({"", "", "toy"}, now), fs::current_path() / "attune-runs/toy-19700101-000000-2");
}

TEST_F(RunStore, KeepingSomeSparesWhatRunsAndWhatLiesElsewhere) {
  std::vector<RunRecord> runs;
  for (int i = 9; i > 0; --i) {
    runs.push_back(Record("r" + std::to_string(i), i == 5 ? RunOutcome::kRunning : RunOutcome::kSucceeded, kStart + i));
    runs.back().directory = (i == 2 ? "/other/r" : "/here/r") + std::to_string(i);
  }
  EXPECT_THAT(Names(RunsBeyond(runs, "/here", 4)), ElementsAre("r4", "r3", "r1"));
  EXPECT_THAT(Names(RunsBeyond(runs, "/here", 100)), ElementsAre());
}

TEST_F(RunStore, RemovingTakesTheDirectoryAndNeverGuessesByAJobsName) {
  Write("attune-runs/one", Record("one", RunOutcome::kSucceeded, kStart));
  ASSERT_EQ(Capture([] { return Runs({.action = "rm", .runs = {"toy"}}); }), 2);
  EXPECT_THAT(errors_, HasSubstr("toy is the name of a job; name a run: one is its newest"));
  ASSERT_EQ(Capture([] { return Runs({.action = "rm", .runs = {"one", "none"}}); }), 1);
  EXPECT_TRUE(fs::exists("attune-runs/one")) << "all are found before the first is removed";
  ASSERT_EQ(Capture([] { return Runs({.action = "rm", .runs = {"one"}}); }), 0);
  EXPECT_FALSE(fs::exists("attune-runs/one"));
}

class EndedRun : public RunStore {
 protected:
  void WriteEnded(RunOutcome outcome) {
    const fs::path directory = "attune-runs/toy-1";
    Write(directory, Record("toy-1", outcome, kStart));
    RunState state;
    state.job = kube::Json::parse(R"({"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob",
      "metadata": {"name": "toy", "namespace": "default", "creationTimestamp": "2027-01-15T08:00:00Z",
                   "managedFields": [{"manager": "attune"}]},
      "spec": {"goal": {"epochs": 3}, "servers": {}, "workers": {"replicas": 2, "template": {"spec": {"containers": [
        {"name": "worker", "image": "none"}]}}}},
      "status": {"phase": "Running", "servers": {"ready": 1, "replicas": 1}, "workers": {"ready": 2, "replicas": 2},
                 "progress": {"fraction": 0.5, "remainingSeconds": 30},
                 "conditions": [{"type": "Ready", "status": "True", "reason": "Ready",
                  "message": "all are ready"}]}})");
    state.pods = {kube::Json::parse(R"({"metadata": {"name": "toy-worker-0", "namespace": "default",
      "labels": {"attune.dev/job": "toy", "attune.dev/role": "worker", "attune.dev/index": "0"}},
      "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})")};
    state.events = {
        kube::Json::parse(R"({"metadata": {"name": "e", "namespace": "default"}, "reason": "TrainingStarted",
      "note": "all servers have joined", "regarding": {"kind": "TrainingJob", "name": "toy"}})")};
    ASSERT_TRUE(WriteFileAtomically(directory / StateFile("toy"), SaveState(state)).ok());
    for (const char* pod : {"toy-worker-0", "toy-worker-1"}) {
      fs::create_directories(directory / "pods/default" / pod / "worker");
      ASSERT_TRUE(WriteFileAtomically(directory / "pods/default" / pod / "worker/0.log", "first\nat work\n").ok());
    }
    ASSERT_TRUE(WriteFileAtomically(directory / "pods/default/toy-worker-0/worker/1.log", "again\n").ok());
  }
};

TEST_F(EndedRun, AnInterruptedRunDoesNotSayThatItRuns) {
  WriteEnded(RunOutcome::kInterrupted);
  ASSERT_EQ(Capture([] { return Describe({.job = "toy"}, {}); }), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("Phase:        Interrupted"));
  EXPECT_THAT(output_, HasSubstr("0 ready"));
  EXPECT_THAT(output_, HasSubstr("toy-worker-0   Ended"));
  EXPECT_THAT(output_, HasSubstr("all servers have joined"));
  EXPECT_THAT(output_, HasSubstr("Ready   Unknown")) << "it is not ready now";
  EXPECT_THAT(output_, HasSubstr("the run has ended; before: all are ready"));
  EXPECT_THAT(output_, HasSubstr("Run toy-1 has ended (Interrupted) and is kept in "));
  EXPECT_THAT(output_, Not(HasSubstr("30s left")));
}

// Kept in a ConfigMap of the job while it ran; of a run that an earlier version made, in its status.
TEST_F(EndedRun, WhatTheTunerDidIsExplainedAfterwards) {
  WriteEnded(RunOutcome::kSucceeded);
  const fs::path file = fs::path("attune-runs/toy-1") / StateFile("toy");
  auto state = LoadState(*ReadFile(file, 1 << 20));
  ASSERT_TRUE(state.ok());
  const std::string saved = R"({"story": [{"number": 1, "time": 60, "kind": "trial", "from": {"workers": 1},
    "to": {"workers": 2}, "incumbent": {"workers": 1}, "why": "a first look", "predicted": {"mean": 0.1,
    "deviation": 0.05}, "measured": null, "cost_s": 3, "horizon_s": 100, "windows": 0, "outcome": "kept"}]})";
  state->job["metadata"]["uid"] = "u";
  state->job["spec"]["tuning"] = {{"mode", "Auto"}};
  state->job["status"]["tuning"] = {{"stage", "Keeping"}, {"message", "keeping"}, {"changes", 1}};
  state->tuning_record = {
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata",
       {{"name", "toy-tuning"}, {"namespace", "default"}, {"ownerReferences", {{{"uid", "u"}, {"controller", true}}}}}},
      {"data", {{"state", saved}}}};
  const auto expect_known = [&] {
    ASSERT_TRUE(WriteFileAtomically(file, SaveState(*state)).ok());
    ASSERT_EQ(Capture([] { return Explain({.job = "toy"}, {}); }), 0) << errors_;
    EXPECT_THAT(output_, HasSubstr("tried workers=2 (from workers=1): a first look."));
  };
  expect_known();
  state->tuning_record["metadata"]["ownerReferences"][0]["uid"] = "another";
  ASSERT_TRUE(WriteFileAtomically(file, SaveState(*state)).ok());
  ASSERT_EQ(Capture([] { return Explain({.job = "toy"}, {}); }), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("Nothing was tried")) << "of another job";
  state->tuning_record = {};
  state->job["status"]["tuning"]["state"] = saved;
  expect_known();
}

TEST_F(EndedRun, WhatIsMadeOfAnnouncedRowsIsExplainedWhereTheStatusSaysIt) {
  WriteEnded(RunOutcome::kSucceeded);
  EXPECT_NE(Capture([] { return Explain({.job = "toy", .rows = true}, {}); }), 0);
  EXPECT_THAT(errors_, HasSubstr("has said nothing of announced rows"));
  const fs::path file = fs::path("attune-runs/toy-1") / StateFile("toy");
  auto state = LoadState(*ReadFile(file, 1 << 20));
  ASSERT_TRUE(state.ok());
  state->job["status"]["rows"] = {{"perSecond", 100},
                                  {"fetched", 1},
                                  {"ignored", true},
                                  {"tables", {{{"name", "input"}, {"rows", 7}, {"bytes", 700}, {"announced", 3}}}}};
  ASSERT_TRUE(WriteFileAtomically(file, SaveState(*state)).ok());
  ASSERT_EQ(Capture([] { return Explain({.job = "toy", .rows = true}, {}); }), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("Rows asked for: 100.0% of 100/s here"));
  EXPECT_THAT(output_, HasSubstr("Announced rows are ignored\ninput: 7 rows, 700 B; 3 announced"));
  ASSERT_EQ(Capture([] { return Explain({.job = "toy", .rows = true, .json = true}, {}); }), 0) << errors_;
  EXPECT_EQ(kube::Json::parse(output_)["tables"][0]["announced"], 3);
}

TEST_F(EndedRun, EveryCommandThatLooksAnswersByJobByRunAndByDirectory) {
  WriteEnded(RunOutcome::kLost);
  for (const std::string& name : {std::string("toy"), std::string("toy-1"), std::string("attune-runs/toy-1")}) {
    EXPECT_EQ(Capture([&] { return Get({.job = name}, {}); }), 0) << errors_;
    EXPECT_THAT(output_, HasSubstr("Lost"));
    EXPECT_EQ(Capture([&] { return Describe({.job = name}, {}); }), 0) << errors_;
    EXPECT_EQ(Capture([&] { return Logs({.job = name}, {}); }), 0) << errors_;
    EXPECT_THAT(output_, HasSubstr("toy-worker-1  at work")) << "also of a pod that had left";
    EXPECT_THAT(output_, HasSubstr("toy-worker-0  again"));
  }
  EXPECT_EQ(Capture([] { return Logs({.job = "toy", .role = "worker", .index = 0, .previous = true, .tail = 1}, {}); }),
            0);
  EXPECT_EQ(output_, "at work\n");
  EXPECT_EQ(Capture([] { return Get({}, {}); }), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("toy-1"));
  EXPECT_EQ(Capture([] { return Get({.job = "toy", .output = "json"}, {}); }), 0);
  EXPECT_THAT(output_, Not(HasSubstr("managedFields")));
}

TEST_F(EndedRun, WithoutAJobTheNewestRunOfTheOnlyJobAnswers) {
  WriteEnded(RunOutcome::kLost);
  Write("attune-runs/toy-0", Record("toy-0", RunOutcome::kFailed, kStart - 100));
  Write("attune-runs/runs-now", Record("runs-now", RunOutcome::kSucceeded, kStart + 100));
  RunRecord nothing = Record("nothing", RunOutcome::kFailed, kStart + 200);
  nothing.jobs.clear();
  Write("attune-runs/nothing", nothing);
  const auto only = ChooseOnlyRun(ListRuns());
  ASSERT_TRUE(only.ok()) << only.status();
  EXPECT_EQ(only->run.name, "runs-now") << "the newest that had a job";
  fs::remove_all("attune-runs/runs-now");
  EXPECT_EQ(Capture([] { return Describe({}, {}); }), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("Run toy-1 has ended (Lost)"));
  EXPECT_THAT(errors_, HasSubstr("no job is named; taking toy, run toy-1, which has ended"));
  EXPECT_EQ(Capture([] { return Logs({.role = "worker", .index = 0}, {}); }), 0) << errors_;
  EXPECT_EQ(output_, "again\n");
  EXPECT_EQ(Capture([] { return Scale({.changes = {"workers=3"}}, {}); }), 1);
  EXPECT_THAT(errors_, HasSubstr("nothing to talk to")) << "what has ended is not steered";

  Write("attune-runs/other-1", Record("other-1", RunOutcome::kFailed, kStart - 50, "other"));
  EXPECT_EQ(Capture([] { return Describe({}, {}); }), 2);
  EXPECT_THAT(errors_,
              HasSubstr("nothing runs, and the runs that have ended trained 2 jobs; name a job (its newest run "
                        "answers) or a run: "));
  for (const char* name : {"toy-1 (Lost)", "other-1 (Failed)"}) EXPECT_THAT(errors_, HasSubstr(name));
  EXPECT_EQ(Capture([] { return Resume({}, {}); }), 2);
  EXPECT_THAT(errors_, HasSubstr("name a job"));
}

TEST_F(EndedRun, SteeringItSaysThatItHasEndedAndHowToContinue) {
  WriteEnded(RunOutcome::kInterrupted);
  EXPECT_EQ(Capture([] { return Scale({.job = "toy", .changes = {"workers=3"}}, {}); }), 1);
  EXPECT_THAT(errors_, HasSubstr("run toy-1 has ended (Interrupted): `attune describe toy-1` says what it did"))
      << "it left no checkpoint";
  EXPECT_EQ(Capture([] { return Stop({.job = "toy"}, {}); }), 1);
  EXPECT_THAT(errors_, HasSubstr("has ended"));
  EXPECT_EQ(Capture([] { return Resume({.run = "toy"}, {}); }), 1);
  EXPECT_THAT(errors_, HasSubstr("kept no manifest"));
  ASSERT_TRUE(WriteFileAtomically(fs::path("attune-runs/toy-1") / kRunManifest, "").ok());
  EXPECT_EQ(Capture([] { return Resume({.run = "toy"}, {}); }), 1);
  EXPECT_THAT(errors_, HasSubstr("run toy-1 (" + fs::absolute("attune-runs/toy-1").string() + ") holds no checkpoint"));
  RunRecord record = Record("toy-1", RunOutcome::kInterrupted, kStart);
  record.jobs.front().checkpoint = "/checkpoints";
  Write("attune-runs/toy-1", record);
  EXPECT_EQ(Capture([] { return Scale({.job = "toy", .changes = {"workers=3"}}, {}); }), 1);
  EXPECT_THAT(errors_, HasSubstr("`attune resume toy-1` continues it"));
}

}  // namespace
}  // namespace attune::cli::run_store_test
