// A world in which three runs train, two of them a job of the same name, and others have ended: what is meant is found,
// or nothing is done and it is said between what to choose.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>

#include "operator/kube/object.h"
#include "tests/local/bad_day/bad_day.h"

namespace attune::several_runs {
namespace {

using kube::Json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kTimeout{60};

struct Question {
  std::string name;
  std::vector<std::string> command;
  int code;
  std::vector<std::string> appears, absent = {};
  std::string standard_output = {};
};
void PrintTo(const Question& each, std::ostream* out) { *out << each.name; }

std::string NameOf(const ::testing::TestParamInfo<Question>& info) {
  return CaseName({Case{info.param.name, {}, {}}, info.index});
}

class World : public ::testing::Test {
 protected:
  static Outcome Attune(const std::vector<std::string>& command, const std::string& standard_output = "") {
    return Program(command, world_->path(), world_->Environment(), {}, {.standard_output = standard_output})
        .AwaitEnd(kTimeout);
  }

  static void SetUpTestSuite() {
    world_ = std::make_unique<Place>();
    for (const char* job : {"aaa", "bbb", "toy"}) world_->Write({std::string(job) + ".yaml", Manifest(job)});
    ASSERT_EQ(Attune({"run", "toy.yaml", "--plain", "--name", "old"}).code, 1);
    for (const auto& [job, run] : {std::pair("aaa", "first"), {"bbb", "second"}, {"bbb", "third"}}) {
      const Outcome started = Attune({"run", std::string(job) + ".yaml", "--detach", "--name", run});
      ASSERT_EQ(started.code, 0) << started.output;
    }
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    for (std::string seen; std::chrono::steady_clock::now() < deadline;) {
      seen = Attune({"get"}).output;
      size_t ready = 0;
      for (size_t at = seen.find("2/2"); at != std::string::npos; at = seen.find("2/2", at + 1)) ++ready;
      if (ready == 3) break;
    }
    world_->Write({"notes", "mine"});
    before_ = Specs();
  }
  static void TearDownTestSuite() {
    for (const char* run : {"first", "second", "third"}) EXPECT_EQ(Attune({"stop", run}).code, 0) << run;
    world_->KillEverything();
    world_.reset();
  }

  // Servers that wait and workers that work on, or that fail where the job is "toy".
  static std::string Manifest(const std::string& name) {
    const std::string script = name == "toy" ? "echo no such corpus; exit 3" : "exec sleep 600";
    const auto pod = [](const std::string& container) {
      return "{template: {spec: {terminationGracePeriodSeconds: 1, containers: [" + container + "]}}";
    };
    return "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: " + name +
           "}\nspec:\n  runPolicy: {backoffLimit: 0, drainSeconds: 1}\n  servers: " +
           pod("{name: server, command: [/bin/sh, -c, exec sleep 600], readinessProbe: {exec: {command: [/bin/true]}, "
               "periodSeconds: 1}}") +
           "}\n  workers: " + pod("{name: worker, command: [/bin/sh, -c, \"" + script + "\"]}") +
           ", replicas: 2, max: 4}\n";
  }
  // Of all jobs that run, each with its run: what may not be changed by mistake.
  static std::string Specs() {
    const Json list = Json::parse(Attune({"get", "-o", "json"}).output, nullptr, false);
    std::string specs;
    if (!list.is_object() || !list.contains("items")) return "?";
    for (const Json& job : list["items"]) {
      if (!kube::At(job, {"spec"}).is_object() || kube::StringAt(job, {"metadata", "name"}) == "toy") continue;
      specs += std::string(kube::Uid(job)) + " " + job["spec"].dump() + "\n";
    }
    return specs;
  }

  static std::unique_ptr<Place> world_;
  static std::string before_;
};
std::unique_ptr<Place> World::world_;
std::string World::before_;

class SeveralRuns : public World, public ::testing::WithParamInterface<Question> {};
class OfThree : public World {};

TEST_P(SeveralRuns, WhatIsMeantIsFoundOrNothingIsDone) {
  const Question& asked = GetParam();
  const std::string record = ContentOf(world_->path() / "attune-runs/old/run.json");
  const Outcome outcome = Attune(asked.command, asked.standard_output);
  EXPECT_EQ(outcome.code, asked.code) << outcome.output;
  for (const std::string& text : asked.appears) EXPECT_THAT(outcome.output, HasSubstr(text));
  for (const std::string& text : asked.absent) EXPECT_THAT(outcome.output, Not(HasSubstr(text)));
  EXPECT_EQ(Specs(), before_) << "a job was changed";
  EXPECT_EQ(ContentOf(world_->path() / "attune-runs/old/run.json"), record);
  EXPECT_EQ(ContentOf(world_->path() / "notes"), "mine");
}

Question Ambiguous(std::string name, std::vector<std::string> command) {
  return {
      std::move(name),
      std::move(command),
      2,
      {"2 running jobs are meant by bbb; say which with --instance PID", "/attune-runs/second", "/attune-runs/third"},
      {"/attune-runs/first"}};
}
// Without a job, and more than one runs: none is guessed.
Question Unnamed(std::string name, std::vector<std::string> command) {
  return {std::move(name),
          std::move(command),
          2,
          {"3 jobs run; name one, or its run:", "/attune-runs/first", "/attune-runs/second", "/attune-runs/third"}};
}
// `attune resume` is promised only where there is a checkpoint to continue from.
Question Ended(std::string name, std::vector<std::string> command) {
  return {std::move(name),
          std::move(command),
          1,
          {"no job toy runs; run old has ended (Failed): `attune describe old` says what it did"},
          {"attune resume"}};
}

const Question kQuestions[] = {
    Ambiguous("a scale of one of two", {"scale", "bbb", "workers=3"}),
    Ambiguous("a scale of one of two, turned around", {"scale", "workers=3", "bbb"}),
    Ambiguous("an end of one of two", {"stop", "bbb"}),
    Ambiguous("an end of one of two, without a checkpoint", {"stop", "bbb", "--no-checkpoint"}),
    Ambiguous("a look at one of two", {"describe", "bbb"}),
    Ambiguous("one of two as an object", {"get", "bbb", "-o", "json"}),
    Ambiguous("logs of one of two", {"logs", "bbb"}),
    Ambiguous("a checkpoint of one of two", {"checkpoint", "bbb"}),
    Ambiguous("another pace of one of two", {"sync", "bbb", "bsp"}),
    Ambiguous("another pace of one of two, turned around", {"sync", "bsp", "bbb"}),
    Ambiguous("a tuner of one of two", {"tune", "pause", "bbb"}),
    Ambiguous("a pin of one of two, turned around", {"tune", "workers=3", "pin", "bbb"}),
    Ambiguous("an explanation of one of two", {"explain", "bbb"}),
    Ambiguous("a report of one of two", {"report", "bbb"}),
    Unnamed("a look at no job of three", {"describe"}),
    Unnamed("an explanation of no job of three", {"explain"}),
    Unnamed("a report of no job of three", {"report"}),
    Unnamed("logs of no job of three", {"logs", "worker", "0"}),
    Unnamed("an end of no job of three", {"stop"}),
    Unnamed("a checkpoint of no job of three", {"checkpoint"}),
    Unnamed("a scale of no job of three", {"scale", "workers=3"}),
    Unnamed("another pace of no job of three", {"sync", "bsp"}),
    Unnamed("a tuner of no job of three", {"tune", "pause"}),
    {"a job that no worker trains",
     {"scale", "ccc", "workers=2"},
     1,
     {"there is no job or run ccc; there are: "},
     {"bbb, bbb"}},
    {"a misspelled job to look at", {"describe", "aab"}, 1, {"there is no job or run aab", "runs (attune runs): "}},
    {"a process that trains nothing",
     {"scale", "bbb", "workers=3", "--instance", "1"},
     1,
     {"no local instance has process id 1; running: "}},
    {"a job of another namespace to look at",
     {"describe", "aaa", "-n", "other"},
     1,
     {"run first trained default/aaa, which is not in namespace other"}},
    {"a job of another namespace to change", {"scale", "aaa", "workers=3", "-n", "other"}, 1, {"in namespace other"}},
    {"an ended job of another namespace", {"describe", "old", "-n", "other"}, 1, {"not in namespace other"}},
    {"workers beyond the most",
     {"scale", "aaa", "workers=9"},
     2,
     {"workers=9 is outside what job aaa allows, 1 to 4 (spec.workers.min and max)"}},
    {"workers beyond the most, turned around", {"scale", "workers=9", "aaa"}, 2, {"outside what job aaa allows"}},
    {"no workers at all", {"scale", "aaa", "workers=0"}, 2, {"workers=0 is outside what job aaa allows"}},
    {"a pin beyond the most", {"tune", "pin", "aaa", "workers=9"}, 2, {"workers=9 is outside what job aaa allows"}},
    {"servers of a job that has not begun, in both orders",
     {"scale", "servers=2", "aaa"},
     1,
     {"the servers of job aaa do not serve yet"}},
    {"a checkpoint of a job that has not begun", {"checkpoint", "aaa"}, 1, {"job aaa has not begun"}},
    {"logs of a worker that is not there",
     {"logs", "aaa", "worker", "7"},
     1,
     {"job aaa has no such pod; it has aaa-server-0, aaa-worker-0, aaa-worker-1"}},
    {"logs of an earlier try that never was", {"logs", "aaa", "worker", "0", "--previous"}, 1, {"aaa-worker-0"}},
    {"a run that trains, to remove",
     {"runs", "rm", "first"},
     1,
     {"run first has not ended; `attune stop aaa` ends it"}},
    {"a run that trains among those to remove", {"runs", "rm", "old", "first"}, 1, {"run first has not ended"}},
    {"a job for a run to remove",
     {"runs", "rm", "toy"},
     2,
     {"toy is the name of a job; name a run: old is its newest"}},
    {"a run that trains, to continue",
     {"resume", "first"},
     1,
     {"run first has not ended; there is nothing to continue"}},
    {"a run without a checkpoint, to continue", {"resume", "old"}, 1, {"holds no checkpoint"}},
    {"a name that a run has",
     {"run", "aaa.yaml", "--name", "first"},
     2,
     {"there is a run of that name", "(Running); choose another name"},
     {"attune runs rm"}},
    {"a name that an ended run has", {"run", "aaa.yaml", "--name", "old"}, 2, {"(Failed)", "`attune runs rm old`"}},
    {"the directory of a run that trains",
     {"run", "aaa.yaml", "--run-directory", "attune-runs/first"},
     1,
     {"holds run first, which has not ended, and a run writes over nothing; choose another directory"},
     {"attune runs rm"}},
    {"the directory of an ended run",
     {"run", "aaa.yaml", "--run-directory", "attune-runs/old", "--detach"},
     1,
     {"holds run old, which failed, and a run writes over nothing", "attune runs rm"}},
    Ended("an ended job to scale", {"scale", "toy", "workers=3"}),
    Ended("an ended job to stop", {"stop", "toy"}),
    Ended("an ended job to checkpoint", {"checkpoint", "toy"}),
    Ended("an ended job to tune", {"tune", "pause", "toy"}),
    {"an ended run to give another pace",
     {"sync", "old", "bsp"},
     1,
     {"no job old runs; run old has ended (Failed): `attune describe old` says what it did"},
     {"attune resume"}},
    {"a model of a run that wrote none", {"export", "attune-runs/old", "--format", "npz"}, 1, {"checkpoint"}},
    {"a comparison with nothing", {"runs", "diff", "first", "ccc"}, 1, {"there is no run ccc"}},
    {"a report of an ended run into a directory",
     {"report", "old", "-o", "attune-runs"},
     2,
     {"cannot write to 'attune-runs': it is a directory"}},
    {"a report of an ended run below nothing",
     {"report", "old", "-o", "absent/page.html"},
     1,
     {"cannot write to 'absent/page.html': No such file or directory, seen from /"}},
    {"a report of an ended run to a full device", {"report", "old", "-o", "/dev/full"}, 1, {"No space left on device"}},
    {"a report of an ended run to a full standard output",
     {"report", "old", "-o", "-"},
     1,
     {"No space left on device"},
     {},
     "/dev/full"},
    {"a list that cannot be printed", {"get"}, 1, {"cannot write to standard output"}, {}, "/dev/full"},
    {"a list of runs that cannot be printed", {"runs"}, 1, {"cannot write to standard output"}, {}, "/dev/full"},
    {"a look at a run that cannot be printed",
     {"describe", "old"},
     1,
     {"cannot write to standard output"},
     {},
     "/dev/full"},
};

// In the background there is no key to press.
TEST_F(OfThree, TheOutputOfARunInTheBackgroundNamesNoCtrlC) {
  const std::string output = ContentOf(world_->path() / "attune-runs/first/output.log");
  EXPECT_THAT(output, HasSubstr("`attune stop aaa` ends it"));
  EXPECT_THAT(output, Not(HasSubstr("Ctrl-C")));
}

TEST_F(OfThree, LogsThatAreEmptySayThatTheyAreWaitedFor) {
  Program logs({"logs", "aaa", "worker", "0", "--follow"}, world_->path(), world_->Environment());
  EXPECT_TRUE(logs.AwaitOutput("the pod has written nothing so far; waiting for more until it ends (Ctrl-C leaves)"));
}

INSTANTIATE_TEST_SUITE_P(Questions, SeveralRuns, ::testing::ValuesIn(kQuestions), NameOf);

}  // namespace
}  // namespace attune::several_runs
