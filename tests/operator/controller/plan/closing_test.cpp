// How a job ends, over the ways in which its processes can: never well because of an exit code alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "operator/controller/plan/servers.h"
#include "proto/contract.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::closing_test {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Two servers and two workers that have trained; the coordinator is heard all the while, unless a story says otherwise.
class Story {
 public:
  explicit Story(int32_t backoff_limit = 1)
      : cluster(Running(MakeTrainingJob("a").Servers(2).Workers(2).BackoffLimit(backoff_limit))) {
    cluster.sample.job->set_workers(2);
    Hear();
    cluster.Settle();
  }

  // Time passes. Pods that are made start at once; `next` is what becomes of a worker that does.
  void Pass(seconds time, const std::function<void(const std::string&)>& next = nullptr) {
    for (seconds passed{}; passed < time; passed += seconds(1)) {
      cluster.Advance(seconds(1));
      Hear();
      cluster.Settle();
      for (const std::string& name : cluster.PodNames()) {
        if (!cluster.pod(name)["status"].is_null()) continue;
        cluster.Start(name);
        cluster.Connect(name);
        if (next && name.starts_with("a-worker")) next(name);
      }
      cluster.Settle();
    }
  }

  // With windows of a worker's program, or without: then it has never joined.
  void Exit(const std::string& name, int code, bool joined = true) {
    if (joined && name.starts_with("a-worker")) SampleOf(name).window.mutable_worker()->set_clock(50);
    cluster.Exit(name, code);
  }
  void ExitAll(const std::string& role, int code, bool joined = true) {
    for (const char* index : {"0", "1"}) Exit("a-" + role + "-" + index, code, joined);
  }

  // All this happens while no operator runs. The one that follows has heard nothing.
  void WhileTheOperatorIsAway(const std::function<void()>& happens) {
    happens();
    cluster.Advance(seconds(30));
    cluster.RestartOperator();
    cluster.sample = {};
  }

  telemetry::PodSample& SampleOf(const std::string& pod) {
    return *std::ranges::find(cluster.sample.pods, pod, &telemetry::PodSample::pod);
  }

  FakeCluster cluster;
  bool hears_none = false;  // the operator hears no process

 private:
  void Hear() {
    for (telemetry::PodSample& sample : cluster.sample.pods) {
      if (hears_none || !cluster.Has(sample.pod)) continue;
      if (cluster.pod(sample.pod)["status"]["phase"] != "Running") continue;
      sample.pod_uid = kube::Uid(cluster.pod(sample.pod));
      sample.heard_at = sample.reported_at = cluster.now().monotonic;
      sample.window.set_sequence(100);
    }
  }
};

struct Way {
  const char* name;
  std::function<void(Story&)> happens;
  const char* want;       // of the condition Failed, or of Succeeded: "True/reason: beginning"
  const char* text = "";  // somewhere in it
};

std::string Ending(const FakeCluster& cluster) {
  if (api::IsTrue(cluster.status(), api::kSucceeded)) return "Succeeded " + cluster.Condition(api::kSucceeded);
  if (api::IsTrue(cluster.status(), api::kFailed)) return "Failed " + cluster.Condition(api::kFailed);
  return "still " + cluster.status().phase;
}

const std::vector<Way>& Failures() {
  static const std::vector<Way> ways = {
      {"programs that take no part exit with 0",
       [](Story& story) {
         const auto end = [&](const std::string& name) { story.Exit(name, 0, false); };
         story.ExitAll("worker", 0, false);
         story.cluster.sample.job->set_workers(0);
         story.Pass(seconds(60), end);
       },
       "Failed True/BackoffLimitExceeded", "exited with code 0 before the goal was reached, and has never joined"},
      {"workers exit with 0 in the middle of training",
       [](Story& story) {
         const auto end = [&](const std::string& name) { story.Exit(name, 0); };
         story.ExitAll("worker", 0);
         story.Pass(seconds(60), end);
       },
       "Failed True/BackoffLimitExceeded", "exited with code 0 before the goal was reached"},
      {"and the coordinator is not heard",
       [](Story& story) {
         story.hears_none = true;
         story.ExitAll("worker", 0);
         story.Pass(seconds(300), [&](const std::string& name) { story.cluster.Exit(name, 0); });
       },
       "Failed True/BackoffLimitExceeded", "exited with code 0 before the goal was reached"},
      {"an evaluation returns an error, each time",
       [](Story& story) {
         story.cluster.ReachGoal("evaluate");
         story.cluster.sample.job->set_workers(0);
         story.ExitAll("worker", 1);
         story.Pass(seconds(60), [&](const std::string& name) { story.Exit(name, 1); });
       },
       "Failed True/BackoffLimitExceeded",
       "the closing work was not done (\"evaluate\": 1 item left): the model is not saved. No checkpoint"},
      {"an evaluation aborts",
       [](Story& story) {
         story.cluster.ReachGoal("evaluate");
         story.cluster.sample.job->set_workers(0);
         story.ExitAll("worker", 134);
         story.Pass(seconds(60), [&](const std::string& name) { story.Exit(name, 134); });
       },
       "Failed True/BackoffLimitExceeded", "was killed by signal 6"},
      {"the kernel kills every worker in its evaluation",
       [](Story& story) {
         story.cluster.ReachGoal("evaluate");
         story.cluster.sample.job->set_workers(0);
         story.ExitAll("worker", 137);
         story.Pass(seconds(60), [&](const std::string& name) { story.Exit(name, 137); });
       },
       "Failed True/BackoffLimitExceeded", "the model is not saved"},
      {"workers give up their evaluation and exit with 0",
       [](Story& story) {
         story.cluster.ReachGoal("evaluate");
         story.cluster.sample.job->set_workers(0);
         story.ExitAll("worker", 0);
         story.Pass(seconds(60), [&](const std::string& name) { story.Exit(name, 0); });
       },
       "Failed True/BackoffLimitExceeded", "exited with code 0 although the closing work is not done"},
      {"a worker whose closing work has no data set fails, the others leave",
       [](Story& story) {
         story.cluster.ReachGoal();
         story.Pass(seconds(6));
         story.cluster.ExitAfterLeaving("a-worker-0", 1);
         story.Exit("a-worker-1", 0);
         story.cluster.Finish(/*declared=*/false);
         story.ExitAll("server", 0);
         story.Pass(seconds(90));
       },
       "Failed True/ClosingWorkFailed: a-worker-0 exited with code 1", "is not done"},
      {"the same, and the operator has heard nothing since the goal",
       [](Story& story) {
         story.cluster.ReachGoal();
         story.Pass(seconds(6));
         story.hears_none = true;
         story.cluster.ExitAfterLeaving("a-worker-0", 1);
         story.Exit("a-worker-1", 0);
         story.ExitAll("server", 0);
         story.Pass(seconds(90));
       },
       "Failed True/ClosingWorkFailed: a-worker-0 exited with code 1"},
      {"the same from the goal on, while no operator runs",
       [](Story& story) {
         story.WhileTheOperatorIsAway([&] {
           story.cluster.ExitAfterLeaving("a-worker-0", 1);
           story.cluster.ExitAfterLeaving("a-worker-1", 0);
           story.ExitAll("server", 0);
         });
         story.Pass(seconds(90));
       },
       "Failed True/ClosingWorkFailed: a-worker-0 exited with code 1 after the goal"},
      {"the kernel kills it as it saves, while no operator runs",
       [](Story& story) {
         story.WhileTheOperatorIsAway([&] {
           story.cluster.ExitAfterLeaving("a-worker-0", 0);
           story.cluster.ExitAfterLeaving("a-worker-1", 137);
           story.ExitAll("server", 0);
         });
         story.Pass(seconds(90));
       },
       "Failed True/ClosingWorkFailed: a-worker-1 was killed by signal 9"},
      {"the same before the eyes of the operator",
       [](Story& story) {
         story.cluster.ReachGoal();
         story.Pass(seconds(6));
         story.cluster.ExitAfterLeaving("a-worker-0", 134);
         story.cluster.ExitAfterLeaving("a-worker-1", 0);
         story.cluster.Finish(/*declared=*/false);
         story.ExitAll("server", 0);
         story.Pass(seconds(90));
       },
       "Failed True/ClosingWorkFailed: a-worker-0 was killed by signal 6"},
      {"it has failed long before the others leave",
       [](Story& story) {
         story.cluster.ReachGoal();
         story.Pass(seconds(6));
         story.cluster.ExitAfterLeaving("a-worker-0", 1);
         story.cluster.sample.job->set_workers(1);
         story.Pass(seconds(40));
         story.cluster.ExitAfterLeaving("a-worker-1", 0);
         story.cluster.Finish(/*declared=*/false);
         story.ExitAll("server", 0);
         story.Pass(seconds(90));
       },
       "Failed True/ClosingWorkFailed: a-worker-0 exited with code 1"},
      {"its node is drained as it saves",
       [](Story& story) {
         story.cluster.ReachGoal();
         story.Pass(seconds(6));
         story.cluster.DeleteFromOutside("a-worker-0");
         story.Pass(seconds(2));
         story.cluster.ExitAfterLeaving("a-worker-0", 143);
         story.cluster.ConfirmDeletions();
         story.cluster.sample.job->set_workers(1);
         story.Pass(seconds(10));
         story.cluster.ConfirmDeletions();
         story.cluster.ExitAfterLeaving("a-worker-1", 0);
         story.cluster.Finish(/*declared=*/false);
         story.ExitAll("server", 0);
         story.Pass(seconds(90));
       },
       "Failed True/ClosingWorkFailed: a-worker-0 was killed by signal 15"},
      {"a server is killed while the evaluation runs, its rows are nowhere else",
       [](Story& story) {
         story.cluster.ReachGoal("evaluate");
         story.Pass(seconds(2));
         story.Exit("a-server-1", 137);
         story.Pass(seconds(90));
       },
       "Failed True/ServerFailed: a-server-1 was killed by signal 9", "the closing work was not done"},
      {"the same, and the evaluation is done a moment later",
       [](Story& story) {
         story.cluster.ReachGoal("evaluate");
         story.Exit("a-server-1", 137);
         story.cluster.sample.job->mutable_recovery()->set_count(1);
         story.cluster.sample.job->mutable_recovery()->set_restored_shards(512);
         story.cluster.sample.job->mutable_recovery()->set_steps_lost(50);
         story.cluster.Finish();
         story.ExitAll("worker", 0);
         story.Exit("a-server-0", 0);
         story.Pass(seconds(90));
       },
       "Failed True/ServerFailed: a-server-1 was killed by signal 9",
       "(512 shards) went back to their first values: they were kept nowhere else"},
      {"a server is killed while the evaluation runs, and its rows go back to a checkpoint",
       [](Story& story) {
         story.cluster.job().status.checkpoint.emplace().directory = "/shared/c";
         story.cluster.ReachGoal("evaluate");
         story.Exit("a-server-1", 137);
         v1::Recovery& recovery = *story.cluster.sample.job->mutable_recovery();
         recovery.set_count(1);
         recovery.set_restored_shards(512);
         recovery.set_checkpoint(3);
         recovery.set_steps_lost(50);
         recovery.set_model_lost(true);
         story.cluster.Finish();
         story.ExitAll("worker", 0);
         story.Exit("a-server-0", 0);
         story.Pass(seconds(90));
       },
       "Failed True/ServerFailed: a-server-1 was killed by signal 9", "went back to checkpoint 3"},
      {"a server is killed so soon after the goal that the last steps were not reported",
       [](Story& story) {
         story.cluster.ReachGoal("evaluate");
         story.Exit("a-server-1", 137);
         v1::Recovery& recovery = *story.cluster.sample.job->mutable_recovery();
         recovery.set_count(1);
         recovery.set_restored_shards(512);
         recovery.set_model_lost(true);
         story.cluster.Finish();
         story.ExitAll("worker", 0);
         story.Exit("a-server-0", 0);
         story.Pass(seconds(90));
       },
       "Failed True/ServerFailed: a-server-1 was killed by signal 9",
       "(512 shards) went back to their first values: they were kept nowhere else"},
      {"every server is killed while the evaluation runs",
       [](Story& story) {
         story.cluster.ReachGoal("evaluate");
         story.Pass(seconds(2));
         story.ExitAll("server", 137);
         story.ExitAll("worker", 1);
         story.Pass(seconds(90));
       },
       "Failed True/", "the model is not saved"},
      {"every server ends with 0 before the job has trained to its goal",
       [](Story& story) {
         story.Exit("a-server-1", 0);
         story.Pass(seconds(90));
       },
       "Failed True/ServerFailed: a-server-1 exited with code 0"},
  };
  return ways;
}

TEST(ClosingTest, NoWayToFailIsASuccess) {
  for (const Way& way : Failures()) {
    SCOPED_TRACE(way.name);
    Story story;
    way.happens(story);
    EXPECT_THAT(Ending(story.cluster), AllOf(StartsWith(way.want), HasSubstr(way.text)));
    EXPECT_FALSE(api::IsTrue(story.cluster.status(), api::kSucceeded));
  }
}

TEST(ClosingTest, WhatHasEndedWellSucceedsWhateverElseFails) {
  const std::vector<Way> ways = {
      {"the coordinator says that the job is finished, and the workers have ended",
       [](Story& story) {
         story.ExitAll("worker", 0);
         story.cluster.Finish();
         story.Pass(seconds(2));
       },
       "Succeeded True/AllWorkersSucceeded"},
      {"it is not heard, and the servers end with 0",
       [](Story& story) {
         story.hears_none = true;
         story.ExitAll("worker", 0);
         story.ExitAll("server", 0);
         story.Pass(seconds(2));
       },
       "Succeeded True/AllWorkersSucceeded"},
      {"the coordinator's server is killed before it could say so, the goal being on record",
       [](Story& story) {
         story.cluster.ReachGoal();
         story.Pass(seconds(2));
         story.Exit("a-server-0", 137);
         story.ExitAll("worker", 0);
         story.Pass(seconds(2));
       },
       "Succeeded True/AllWorkersSucceeded"},
      {"a disk is full once: the evaluation is done by the worker that follows",
       [](Story& story) {
         story.cluster.ReachGoal("evaluate");
         story.cluster.sample.job->set_workers(1);
         story.Exit("a-worker-0", 1);
         story.Pass(seconds(3));
         story.cluster.sample.job->set_workers(0);
         story.Exit("a-worker-1", 1);
         story.Pass(seconds(6), [&](const std::string&) { story.cluster.sample.job->set_workers(1); });
         story.ExitAll("worker", 0);
         story.cluster.Finish();
         story.Pass(seconds(2));
       },
       "Succeeded True/AllWorkersSucceeded"},
      {"a worker is killed after another has done the evaluation",
       [](Story& story) {
         story.cluster.ReachGoal();
         story.cluster.Finish();
         story.Exit("a-worker-0", 137);
         story.Exit("a-worker-1", 0);
         story.ExitAll("server", 0);
         story.Pass(seconds(90));
       },
       "Succeeded True/TrainingFinished"},
      {"while no operator runs a worker is killed in its closing work, and another that had joined does it",
       [](Story& story) {
         story.WhileTheOperatorIsAway([&] {
           story.cluster.Exit("a-worker-0", 137);
           story.cluster.ExitAfterLeaving("a-worker-1", 0);
           story.ExitAll("server", 0);
         });
         story.Pass(seconds(90));
       },
       "Succeeded True/TrainingFinished"},
      {"a server is killed before the goal is reached, and its rows go back to a checkpoint",
       [](Story& story) {
         story.cluster.job().status.checkpoint.emplace().directory = "/shared/c";
         v1::Recovery& recovery = *story.cluster.sample.job->mutable_recovery();
         recovery.set_count(1);
         recovery.set_restored_shards(512);
         recovery.set_checkpoint(3);
         recovery.set_steps_lost(50);
         story.cluster.ReachGoal("evaluate");
         story.cluster.Finish();
         story.ExitAll("worker", 0);
         story.ExitAll("server", 0);
         story.Pass(seconds(90));
       },
       "Succeeded True/"},
      {"while no operator runs the job finishes, and the other server has not ended yet",
       [](Story& story) {
         story.WhileTheOperatorIsAway([&] {
           story.cluster.ExitAfterLeaving("a-worker-0", 0);
           story.cluster.ExitAfterLeaving("a-worker-1", 0);
           story.cluster.ExitAfterWriting("a-server-0", 0, contract::kJobFinished);
           story.cluster.DeleteFromOutside("a-server-1", 30);
         });
         story.Pass(seconds(90));
       },
       "Succeeded True/"},
      {"while no operator runs rows are lost and the job finishes",
       [](Story& story) {
         story.WhileTheOperatorIsAway([&] {
           story.cluster.ExitAfterLeaving("a-worker-0", 0);
           story.cluster.ExitAfterLeaving("a-worker-1", 0);
           story.cluster.ExitAfterWriting("a-server-0", 0,
                                          std::string(contract::kJobFinished) + "\n" + contract::kModelLostRows);
           story.cluster.Exit("a-server-1", 0);
         });
         story.Pass(seconds(90));
       },
       "Failed True/ServerFailed: a server was lost, and rows of it went back"},
      {"rows go back to a checkpoint, and after the goal again while no operator runs",
       [](Story& story) {
         v1::Recovery& recovery = *story.cluster.sample.job->mutable_recovery();
         recovery.set_count(1);
         recovery.set_restored_shards(512);
         recovery.set_checkpoint(3);
         recovery.set_steps_lost(50);
         story.Pass(seconds(5));
         story.WhileTheOperatorIsAway([&] {
           story.cluster.ExitAfterLeaving("a-worker-0", 0);
           story.cluster.ExitAfterLeaving("a-worker-1", 0);
           story.cluster.ExitAfterWriting("a-server-0", 0,
                                          std::string(contract::kJobFinished) + "\n" + contract::kModelLostRows);
           story.cluster.Exit("a-server-1", 0);
         });
         story.Pass(seconds(90));
       },
       "Failed True/ServerFailed"},
      {"an operator begins before it hears that the coordinator's process has ended",
       [](Story& story) {
         story.cluster.RestartOperator();
         story.cluster.ExitAfterLeaving("a-worker-0", 0);
         story.cluster.ExitAfterLeaving("a-worker-1", 0);
         story.cluster.DeleteFromOutside("a-server-1", 30);
         story.Pass(seconds(20));
         story.cluster.ExitAfterWriting("a-server-0", 0, contract::kJobFinished);
         story.Pass(seconds(90));
       },
       "Succeeded True/"},
      {"while no operator runs a worker fails at its closing work, and another one does it",
       [](Story& story) {
         story.WhileTheOperatorIsAway([&] {
           story.cluster.ExitAfterLeaving("a-worker-0", 1);
           story.cluster.ExitAfterLeaving("a-worker-1", 0);
           story.cluster.ExitAfterWriting("a-server-0", 0,
                                          std::string(contract::kJobFinished) + "\n" + contract::kClosingWorkDone);
           story.cluster.Exit("a-server-1", 0);
         });
         story.Pass(seconds(90));
       },
       "Succeeded True/TrainingFinished"},
      {"while no operator runs a worker that came too late is refused",
       [](Story& story) {
         story.WhileTheOperatorIsAway([&] {
           story.cluster.Exit("a-worker-0", 1);
           story.cluster.ExitAfterLeaving("a-worker-1", 0);
           story.ExitAll("server", 0);
         });
         story.Pass(seconds(90));
       },
       "Succeeded True/TrainingFinished"},
      {"a worker that came too late is refused",
       [](Story& story) {
         story.cluster.ReachGoal();
         story.Pass(seconds(6));
         story.Exit("a-worker-0", 1, /*joined=*/false);
         story.Exit("a-worker-1", 0);
         story.cluster.Finish(/*declared=*/false);
         story.ExitAll("server", 0);
         story.Pass(seconds(90));
       },
       "Succeeded True/TrainingFinished"},
      {"a worker that was lost for a while is refused, and the one that did the work is killed after that",
       [](Story& story) {
         story.cluster.ReachGoal();
         story.Pass(seconds(6));
         story.Exit("a-worker-0", 1);
         story.Exit("a-worker-1", 137);
         story.cluster.Finish(/*declared=*/false);
         story.ExitAll("server", 0);
         story.Pass(seconds(90));
       },
       "Succeeded True/TrainingFinished"},
      {"a server that began when its coordinator had already ended waits for it in vain",
       [](Story& story) {
         story.cluster.ReachGoal();
         story.Pass(seconds(6));
         story.Exit("a-worker-0", 1, /*joined=*/false);
         story.Exit("a-worker-1", 0);
         story.cluster.Finish();
         story.Pass(seconds(2));
         story.Exit("a-server-0", 0);
         story.Pass(seconds(90));
       },
       "Succeeded True/TrainingFinished"},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    Story story(/*backoff_limit=*/2);
    way.happens(story);
    EXPECT_THAT(Ending(story.cluster), StartsWith(way.want));
  }
}

TEST(ClosingTest, WhatAProgramWroteAtItsEndIsShownWithoutTheSessionsLine) {
  FakeCluster cluster = Running(MakeTrainingJob("a"));
  const auto seen = [&](const std::string& message) {
    cluster.Exit("a-worker-0", 3);
    kube::Json pod = cluster.pod("a-worker-0");
    pod["status"]["containerStatuses"][0]["state"]["terminated"]["message"] = message;
    const RoleContainer container = ObservePod(ProjectPod(pod)).container;
    return std::string(container.left_in_order ? "left" : "not left") + "|" + container.message;
  };
  const std::string line = std::string(contract::kLeftInOrder);
  EXPECT_EQ(seen(""), "not left|");
  EXPECT_EQ(seen("no such file"), "not left|no such file");
  EXPECT_EQ(seen("\n" + line + "\n"), "left|");
  EXPECT_EQ(seen("a note\n" + line + "\nno space left"), "left|a note\nno space left");
  EXPECT_EQ(seen("it said " + line), "not left|it said " + line) << "a program's own words";
}

TEST(ClosingTest, AWorkerThatIsScaledAwayIsWaitedForWhenTheCoordinatorIsLost) {
  Story story;
  story.cluster.ReachGoal("");
  story.cluster.ExitAfterLeaving("a-worker-0", 0);
  story.Exit("a-server-0", 137);
  story.cluster.job().spec.workers.replicas = 1;
  ++story.cluster.job().generation;
  story.cluster.Settle();
  EXPECT_FALSE(api::IsTrue(story.cluster.status(), api::kSucceeded)) << "it may be saving the model";
}

TEST(ClosingTest, AWorkerThatCameTooLateHasNotFailedWhateverItsProgramReturns) {
  Story story(/*backoff_limit=*/0);
  story.WhileTheOperatorIsAway([&] {
    story.cluster.ExitAfterWriting("a-worker-0", 1, contract::kCameTooLate);
    story.cluster.ExitAfterLeaving("a-worker-1", 0);
  });
  story.Pass(seconds(5));
  EXPECT_EQ(story.cluster.Condition(api::kFailed), "absent");
  EXPECT_EQ(story.cluster.status().workers.failed, 0);
  story.cluster.ExitAfterWriting("a-server-0", 0, contract::kJobFinished);
  story.cluster.Exit("a-server-1", 0);
  story.Pass(seconds(90));
  EXPECT_THAT(Ending(story.cluster), StartsWith("Succeeded True/"));
}

TEST(ClosingTest, AFailureNamesTheLastCheckpoint) {
  Story story(/*backoff_limit=*/0);
  story.cluster.job().status.checkpoint.emplace().directory = "/shared/c";
  story.cluster.ReachGoal("evaluate");
  story.cluster.sample.job->set_workers(0);
  story.ExitAll("worker", 1);
  story.Pass(seconds(2));
  EXPECT_THAT(Ending(story.cluster), HasSubstr("The last checkpoint is /shared/c: `attune run --resume /shared/c`"));
}

TEST(ClosingTest, AWorkerThatEndedEarlyIsReplacedAndTheEventSaysWhy) {
  Story story;
  story.Exit("a-worker-1", 0, /*joined=*/false);
  story.Pass(seconds(4));
  EXPECT_EQ(story.cluster.status().workers.failed, 0) << "the coordinator's word may be older than its end";
  const std::string before(kube::Uid(story.cluster.pod("a-worker-1")));
  story.Pass(seconds(6));
  EXPECT_EQ(story.cluster.status().workers.failed, 1);
  EXPECT_NE(kube::Uid(story.cluster.pod("a-worker-1")), before);
  const auto& events = story.cluster.events();
  EXPECT_TRUE(std::ranges::any_of(events, [](const EmitEvent& event) {
    return event.event_reason == kEventWorkerFailed &&
           event.note.find("a-worker-1 exited with code 0 before the goal was reached, and has never joined") == 0;
  }));
}

// A program that ends at once has mostly ended before its sidecar had connected. Kubelets report starts in whole
// seconds.
TEST(ClosingTest, ThatAWorkerHasNeverJoinedIsSaidByAnOperatorThatHasListenedSinceItsStart) {
  const auto note_of_an_operator_begun_after = [](Duration start) {
    Story story;
    const auto job = story.cluster.sample.job;
    story.cluster.Advance(start);
    story.cluster.RestartOperator();
    story.cluster.sample.job = job;
    for (const char* name : {"a-server-0", "a-server-1", "a-worker-0"}) story.cluster.Connect(name);
    story.Exit("a-worker-1", 0, /*joined=*/false);
    story.Pass(seconds(10));
    for (const EmitEvent& event : story.cluster.events()) {
      if (event.event_reason == kEventWorkerFailed) return event.note;
    }
    return std::string("no Event");
  };
  EXPECT_THAT(note_of_an_operator_begun_after(std::chrono::milliseconds(700)), HasSubstr("and has never joined"));
  EXPECT_THAT(note_of_an_operator_begun_after(seconds(3)),
              AllOf(HasSubstr("before the goal was reached"), testing::Not(HasSubstr("never joined"))))
      << "it may have joined before";
}

TEST(ClosingTest, WhileOthersAreAtTheClosingWorkAFailedWorkerIsNotMadeAgain) {
  Story story;
  story.cluster.ReachGoal("evaluate");
  story.cluster.sample.job->set_workers(1);
  story.Exit("a-worker-1", 1);
  story.Pass(seconds(20));
  EXPECT_FALSE(story.cluster.Has("a-worker-1"));
  story.cluster.sample.job->set_workers(0);
  story.Exit("a-worker-0", 0);
  story.Pass(seconds(2));
  EXPECT_TRUE(story.cluster.Has("a-worker-1")) << "no worker does it now";
}

TEST(Closing, TheEndSaysWhichGoalWasReachedAlsoWhenWhoSaidSoIsGone) {
  Story story;
  story.cluster.sample.job->set_goal_reached(true);
  story.cluster.sample.job->set_goal_reason("held_out_loss <= 3.2 at epoch 41 (3.187)");
  v1::JobMetric& metric = *story.cluster.sample.job->add_metrics();
  metric.set_name("held_out_loss");
  metric.set_value(3.187);
  metric.mutable_at()->set_epoch(41);
  story.Pass(seconds(2));
  const api::TrainingJobStatus reached = story.cluster.status();
  ASSERT_EQ(reached.metrics.size(), 1U);
  EXPECT_EQ(reached.metrics[0].value, 3.187);
  EXPECT_EQ(reached.metrics[0].at.epoch, 41U);
  story.cluster.sample.job->clear_goal_reason();
  story.cluster.sample.job->clear_metrics();
  story.cluster.sample.job->mutable_closing()->set_done(true);
  story.cluster.sample.job->set_workers(0);
  story.ExitAll("worker", 0);
  story.ExitAll("server", 0);
  story.Pass(seconds(90));
  const api::TrainingJobStatus ended = story.cluster.status();
  const api::Condition* succeeded = api::FindCondition(ended, api::kSucceeded);
  ASSERT_NE(succeeded, nullptr);
  EXPECT_THAT(succeeded->message, testing::EndsWith("; goal: held_out_loss <= 3.2 at epoch 41 (3.187)"));
  EXPECT_EQ(ended.metrics.size(), 1U);
}

TEST(Closing, AJobThatIsToReachItsGoalAndNoMoreHasSucceededAtOnce) {
  for (const auto policy : {api::SuccessPolicy::kClosingWorkDone, api::SuccessPolicy::kGoalReached}) {
    const bool at_once = policy == api::SuccessPolicy::kGoalReached;
    Story story;
    story.cluster.job().spec.run_policy.success_policy = policy;
    story.Pass(seconds(5));
    EXPECT_FALSE(api::IsTrue(story.cluster.status(), api::kSucceeded)) << "before the goal";
    story.cluster.ReachGoal("evaluate");
    story.Pass(seconds(2));
    EXPECT_EQ(api::IsTrue(story.cluster.status(), api::kSucceeded), at_once);
    if (at_once) {
      EXPECT_THAT(story.cluster.Condition(api::kSucceeded), StartsWith("True/GoalReached: its goal is reached"));
    }
  }
}

}  // namespace
}  // namespace attune::controller::closing_test
