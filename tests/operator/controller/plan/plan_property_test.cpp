// Random histories of one job: pods start, exit, are deleted, nodes are lost, number and size of workers are edited,
// the operator is restarted or dies in the middle of a plan. Whatever happened, plans come to rest, no failure is
// counted twice or forgotten, workers that run are asked to be what the spec says, and once the world behaves the job
// ends and everything is let go. Replay: ATTUNE_SEED=<seed> plan_test
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/status/status.h"
#include "tests/base/seeds.h"
#include "tests/operator/controller/execute/fake_cluster.h"

namespace attune::controller::plan_property_test {
namespace {

using std::chrono::seconds;

class History {
 public:
  explicit History(uint64_t seed)
      : random_(seed),
        cluster_(MakeTrainingJob("j")
                     .Servers(static_cast<int32_t>(random_.Between(1, 3)))
                     .Workers(static_cast<int32_t>(random_.Between(1, 4)))
                     .BackoffLimit(static_cast<int32_t>(random_.Between(0, 6)))
                     .DrainSeconds(random_.Between(1, 60))
                     .Build()) {
    // The coordinator is not heard: an end with 0 is no failure for as long as it takes.
    cluster_.options.servers_ended_grace = std::chrono::hours(24);
  }

  void Run() {
    for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) {
      Disturb();
      // Now and then the operator dies after some of its actions.
      if (random_.Chance(0.2)) {
        cluster_.Reconcile(random_.Below(4));
        cluster_.RestartOperator();
      }
      cluster_.Settle();
      Check();
    }
    Heal();
  }

 private:
  std::string AnyPod() {
    const auto names = cluster_.PodNames();
    return names.empty() ? "" : names[random_.Below(names.size())];
  }
  bool IsRunning(const std::string& name) {
    for (const ObservedPod& pod : cluster_.Observe().pods) {
      if (pod.name == name) return HasStarted(pod) && !HasFailed(pod) && !HasSucceeded(pod) && !IsBeingDeleted(pod);
    }
    return false;
  }
  static bool IsWorker(const std::string& name) { return name.find("worker") != std::string::npos; }

  void Disturb() {
    const std::string name = AnyPod();
    switch (random_.Below(12)) {
      case 0:
      case 1:
      case 2:
        cluster_.StartAll();
        break;
      case 3:
        cluster_.Advance(seconds(random_.Between(1, 90)));
        break;
      case 4:
        cluster_.job().spec.workers.replicas = static_cast<int32_t>(random_.Between(1, 5));
        break;
      case 5:
        if (IsWorker(name) && IsRunning(name)) Fail(name);
        break;
      case 6:
        if (IsWorker(name)) cluster_.DeleteFromOutside(name, static_cast<int>(random_.Between(0, 30)));
        break;
      case 7:
        if (IsRunning(name)) cluster_.Connect(name, random_.Chance(0.7));
        break;
      case 8:
        if (IsWorker(name) && random_.Chance(0.3)) {
          cluster_.LoseNodeOf(name);
          cluster_.DeleteFromOutside(name);
        }
        break;
      case 9:
        if (IsWorker(name) && IsRunning(name) && random_.Chance(0.3)) cluster_.Exit(name, 0);
        break;
      case 10:
        cluster_.job().spec.workers.resources.cpu.target = 100 * random_.Between(1, 9);
        break;
      case 11:
        if (IsRunning(name)) cluster_.GiveResources(name);
        break;
    }
  }

  void Fail(const std::string& name) {
    if (!HasEnded(cluster_.status()) &&
        !kube::At(cluster_.pod(name), {"metadata", "annotations"}).contains("attune.dev/drain-deadline") &&
        kube::IntegerAt(cluster_.pod(name), {"none"}) == 0) {
      ++failures_;  // the ghost's count: of workers that were not asked to leave, whatever their index
    }
    cluster_.Exit(name, 1);
  }

  void Check() {
    const api::TrainingJobStatus& status = cluster_.status();
    EXPECT_EQ(status.workers.failed, failures_) << "failures forgotten or counted twice";
    EXPECT_FALSE(api::IsTrue(status, api::kFailed) && api::IsTrue(status, api::kSucceeded));
    EXPECT_EQ(api::IsTrue(status, api::kFailed), failures_ > cluster_.job().spec.run_policy.backoff_limit);
    if (!HasEnded(status)) CheckSizes();
  }

  void CheckSizes() {
    const auto target = cluster_.job().spec.workers.resources.cpu.target;
    for (const ObservedPod& pod : cluster_.Observe().pods) {
      const bool stays = pod.role == RoleName::kWorker && IsAlive(pod) && !pod.drain_deadline;
      if (!target || !stays || !pod.resize.asked.cpu.any()) continue;
      EXPECT_EQ(pod.resize.asked.cpu, (ResourceFigures{target, target})) << pod.name;
    }
  }

  void Heal() {
    for (int round = 0; round < 100 && !HasEnded(cluster_.status()); ++round) {
      cluster_.StartAll();
      cluster_.Advance(seconds(120));
      cluster_.Settle();
      for (const std::string& name : cluster_.PodNames()) {
        if (round > 3 && IsWorker(name) && IsRunning(name)) cluster_.Exit(name, 0);
      }
      if (round > 3) cluster_.Finish();
      cluster_.Settle();
    }
    EXPECT_TRUE(HasEnded(cluster_.status())) << "the job never ends";
    cluster_.Advance(seconds(1000));
    cluster_.Settle();
    for (const ObservedPod& pod : cluster_.Observe().pods) {
      EXPECT_FALSE(pod.held) << pod.name;
      EXPECT_TRUE(HasFailed(pod) || HasSucceeded(pod) || IsBeingDeleted(pod)) << pod.name << " still runs";
    }
  }

  Random random_;
  FakeCluster cluster_;
  int32_t failures_ = 0;
};

TEST(PlanPropertyTest, RandomHistoriesComeToRest) {
  ForSeeds(20, [](uint64_t seed) { History(seed).Run(); });
}

}  // namespace
}  // namespace attune::controller::plan_property_test
