// Jobs that name a queue of Kueue, as stories over FakeCluster; the test is Kueue, by its published contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operator/controller/objects/pods.h"
#include "operator/controller/queue/queue_acts.h"
#include "operator/controller/queue/queue_book.h"
#include "operator/controller/queue/workload.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::queue_test {
namespace {

using kube::Json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr char kQueued[] = "True/Queued: ";

Json Requests(const char* cpu) { return {{"requests", {{"cpu", cpu}, {"memory", "1Gi"}}}}; }

JobBuilder SmallJob() {
  Json worker = {{"name", "worker"}, {"image", "example"}, {"command", Json::array({"train"})}};
  worker["resources"] = Requests("500m");
  return MakeTrainingJob("a").Servers(2).Workers(2).Claim("models").WorkerTemplate(
      {{"spec", {{"containers", Json::array({worker})}}}});
}

FakeCluster InQueue(JobBuilder job = SmallJob()) {
  FakeCluster cluster(job.Build());
  cluster.queue = "research";
  return cluster;
}

void Say(FakeCluster& cluster, const char* type, bool value, const char* reason, const std::string& message) {
  Json& conditions = (*cluster.workload)["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (auto it = conditions.begin(); it != conditions.end();) {
    it = (*it)["type"] == type ? conditions.erase(it) : it + 1;
  }
  conditions.push_back({{"type", type},
                        {"status", value ? "True" : "False"},
                        {"reason", reason},
                        {"message", message},
                        {"lastTransitionTime", "2026-11-21T12:00:00Z"}});
}

Json Assignment(const char* role, const char* cpu) {
  return {{"name", role}, {"flavors", {{"cpu", "spot"}}}, {"resourceUsage", {{"cpu", cpu}, {"memory", "64Gi"}}}};
}

// With so much of CPU for each role.
void Admit(FakeCluster& cluster, const char* cpu = "8") {
  (*cluster.workload)["status"]["admission"] = {
      {"clusterQueue", "all"},
      {"podSetAssignments", Json::array({Assignment("server", cpu), Assignment("worker", cpu)})}};
  Say(cluster, "QuotaReserved", true, "QuotaReserved", "Quota reserved in ClusterQueue all");
  Say(cluster, "Admitted", true, "Admitted", "The workload is admitted");
  Say(cluster, "Evicted", false, "QuotaReserved", "Previously: preempted");
}

void Evict(FakeCluster& cluster, const char* reason = "Preempted") {
  Say(cluster, "Evicted", true, reason, "Preempted to accommodate a workload");
}

void Write(FakeCluster& cluster, uint64_t number) {
  cluster.sample.job->mutable_checkpoint()->set_directory("/models/a/checkpoints");
  cluster.sample.job->mutable_checkpoint()->set_number(number);
}

std::string WorkloadCondition(const FakeCluster& cluster, const char* type) {
  for (const Json& each : kube::At(*cluster.workload, {"status", "conditions"})) {
    if (each["type"] == type) return each["status"].get<std::string>() + "/" + each["reason"].get<std::string>();
  }
  return "absent";
}

FakeCluster Training(JobBuilder job = SmallJob(), Json flavor = {{"spec", Json::object()}}) {
  FakeCluster cluster = InQueue(std::move(job));
  flavor["metadata"]["name"] = "spot";
  cluster.flavors["spot"] = std::move(flavor);
  cluster.Settle();
  Admit(cluster);
  for (int round = 0; round < 3; ++round) {
    cluster.Settle();
    cluster.StartAll();
  }
  for (const std::string& name : cluster.PodNames()) cluster.Connect(name);
  cluster.sample.job.emplace();
  *cluster.sample.job->mutable_abilities() = AllAbilities();
  controller::Say(cluster, {kServing, kServing});
  cluster.Settle();
  return cluster;
}

// What it had is saved, and its pods are gone.
void GiveBack(FakeCluster& cluster) {
  cluster.Settle();
  Write(cluster, 7);
  cluster.Settle();
}

TEST(Queue, AJobThatNamesAQueueAsksForItsPlaceAndHasNoPodsBefore) {
  FakeCluster cluster = InQueue();
  cluster.Settle();
  ASSERT_TRUE(cluster.workload);
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  EXPECT_EQ(kube::StringAt(*cluster.workload, {"spec", "queueName"}), "research");
  EXPECT_TRUE(IsOwnedBy(*cluster.workload, cluster.job()));
  const Json& sets = kube::At(*cluster.workload, {"spec", "podSets"});
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[1]["name"], "worker");
  EXPECT_EQ(sets[1]["count"], 2);
  const Json& worker = kube::At(sets[1], {"template", "spec", "containers"})[0];
  EXPECT_EQ(kube::StringAt(worker, {"resources", "requests", "cpu"}), "500m");
  EXPECT_FALSE(worker.contains("env")) << "nothing that is not needed to find a place";
  EXPECT_THAT(cluster.Condition(api::kSuspended), StartsWith(std::string(kQueued) + "it waits in queue research"));
  EXPECT_EQ(cluster.status().phase, "Suspended");
}

TEST(Queue, WhatKueueSaysOfTheWaitIsInTheCondition) {
  FakeCluster cluster = InQueue();
  cluster.Settle();
  Say(cluster, "QuotaReserved", false, "Pending", "insufficient unused quota for cpu in flavor spot, 1 more needed");
  cluster.Settle();
  EXPECT_THAT(cluster.Condition(api::kSuspended), HasSubstr("research: insufficient unused quota for cpu"));
}

TEST(Queue, OnceAdmittedItTrainsOnTheMachinesOfItsFlavorAndSaysWhenItIsReady) {
  const Json toleration = {{"key", "spot"}, {"operator", "Exists"}, {"effect", "NoSchedule"}};
  FakeCluster cluster = Training(
      SmallJob(), {{"spec", {{"nodeLabels", {{"pool", "spot"}}}, {"tolerations", Json::array({toleration})}}}});
  ASSERT_THAT(cluster.PodNames(), testing::SizeIs(4)) << cluster.Condition(api::kSuspended);
  for (const char* pod : {"a-server-0", "a-worker-1"}) {
    EXPECT_EQ(kube::StringAt(cluster.pod(pod), {"spec", "nodeSelector", "pool"}), "spot");
    EXPECT_THAT(kube::At(cluster.pod(pod), {"spec", "tolerations"}), Contains(toleration));
  }
  EXPECT_EQ(WorkloadCondition(cluster, "PodsReady"), "True/Started");
  EXPECT_EQ(WorkloadCondition(cluster, "Admitted"), "True/Admitted") << "what others say stays";
}

TEST(Queue, NoPodIsMadeBeforeItIsKnownWhichMachinesTheQuotaIsFor) {
  FakeCluster cluster = InQueue();
  cluster.Settle();
  Admit(cluster);
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  EXPECT_THAT(cluster.Condition(api::kSuspended), HasSubstr("ResourceFlavor spot"));
}

TEST(Queue, AnEvictedJobSavesItselfAndGivesItsPlaceBackOnlyWhenItHasNoPods) {
  FakeCluster cluster = Training();
  Evict(cluster);
  cluster.Settle();
  EXPECT_EQ(cluster.PodNames().size(), 4U) << "a checkpoint first";
  EXPECT_EQ(WorkloadCondition(cluster, "QuotaReserved"), "True/QuotaReserved");
  Write(cluster, 7);
  cluster.Reconcile();
  EXPECT_FALSE(cluster.PodNames().empty());
  EXPECT_EQ(WorkloadCondition(cluster, "QuotaReserved"), "True/QuotaReserved") << "its pods are still there";
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  EXPECT_EQ(WorkloadCondition(cluster, "QuotaReserved"), "False/Pending");
  EXPECT_EQ(WorkloadCondition(cluster, "Admitted"), "False/NoReservation");
  EXPECT_EQ(WorkloadCondition(cluster, "Requeued"), "True/Preempted");
  EXPECT_TRUE(kube::At(*cluster.workload, {"status", "admission"}).is_null());
  EXPECT_THAT(
      cluster.Condition(api::kSuspended),
      HasSubstr("takes its place back: Preempted to accommodate a workload; it will continue from checkpoint 7"));
  Admit(cluster);
  cluster.Settle();
  EXPECT_EQ(cluster.status().suspension->attempt, 1);
  EXPECT_FALSE(cluster.PodNames().empty());
  EXPECT_THAT(cluster.Condition(api::kSuspended), StartsWith("False/JobResumed: it continues from checkpoint 7"));
}

TEST(Queue, AWorkloadOfThatNameThatIsAnothersAdmitsNothing) {
  FakeCluster cluster = InQueue();
  cluster.flavors["spot"] = {{"spec", Json::object()}, {"metadata", {{"name", "spot"}}}};
  cluster.Settle();
  Admit(cluster);
  (*cluster.workload)["metadata"]["ownerReferences"][0]["uid"] = "another-job";
  const QueuePlace place = *cluster.Observe().queue;
  EXPECT_FALSE(place.workload);
  EXPECT_THAT(place.hold, HasSubstr("waits for its place"));
}

TEST(Queue, WhatIsEvictedForAnotherReasonIsNotRequeuedByUs) {
  FakeCluster cluster = Training();
  Evict(cluster, "ClusterQueueStopped");
  GiveBack(cluster);
  EXPECT_EQ(WorkloadCondition(cluster, "Requeued"), "False/ClusterQueueStopped") << "Kueue does, when it is started";
}

TEST(Queue, AnEvictionIsObeyedAlsoWhereNoCheckpointOutlastsThePods) {
  FakeCluster cluster = Training(SmallJob().Claim(""));
  Evict(cluster);
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  EXPECT_EQ(WorkloadCondition(cluster, "QuotaReserved"), "False/Pending");
  EXPECT_THAT(cluster.events().front().note, Not(IsEmpty()));
  EXPECT_TRUE(cluster.HasEvent("Suspending"));
}

TEST(Queue, AnEvictionDoesNotWaitForEverForACheckpoint) {
  FakeCluster cluster = Training();
  Evict(cluster);
  cluster.Settle();
  EXPECT_EQ(cluster.PodNames().size(), 4U);
  cluster.Advance(std::chrono::minutes(6));
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  EXPECT_THAT(cluster.Condition(api::kSuspended), HasSubstr("it will continue from its beginning"));
}

TEST(Queue, AnEndedJobSaysSo) {
  FakeCluster cluster = Training();
  cluster.Finish();
  for (const std::string& name : cluster.PodNames()) cluster.Exit(name, 0);
  cluster.Settle();
  ASSERT_TRUE(api::IsTrue(cluster.status(), api::kSucceeded));
  EXPECT_EQ(WorkloadCondition(cluster, "Finished"), "True/Succeeded");
  EXPECT_THAT(cluster.Settle(), IsEmpty());
}

TEST(Queue, AManifestThatWasInvalidMeanwhileKeepsItsPlace) {
  FakeCluster cluster = InQueue();
  cluster.Settle();
  Say(cluster, "QuotaReserved", false, "Pending", "no room");
  cluster.problems = {{.path = "spec.goal", .found = "nothing", .allowed = "a goal"}};
  cluster.Settle();
  ASSERT_TRUE(api::IsTrue(cluster.status(), api::kFailed));
  cluster.problems.clear();
  cluster.Settle();
  EXPECT_EQ(WorkloadCondition(cluster, "Finished"), "absent");
  EXPECT_THAT(cluster.Condition(api::kSuspended), HasSubstr("no room"));
}

TEST(Queue, SuspendedByItsUserItNeedsNoPlaceAndAsksForOneWhenItIsResumed) {
  FakeCluster cluster = Training();
  cluster.job().spec.suspend = true;
  ++cluster.job().generation;
  GiveBack(cluster);
  EXPECT_FALSE(cluster.workload);
  EXPECT_THAT(cluster.Condition(api::kSuspended), StartsWith("True/JobSuspended: spec.suspend is set"));
  cluster.job().spec.suspend = false;
  ++cluster.job().generation;
  cluster.Settle();
  ASSERT_TRUE(cluster.workload);
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  EXPECT_THAT(cluster.Condition(api::kSuspended), StartsWith(kQueued));
}

TEST(Queue, AJobThatWaitsAsksForWhatItsSpecSaysNow) {
  FakeCluster cluster = InQueue();
  cluster.Settle();
  const std::string first(kube::Uid(*cluster.workload));
  cluster.job().spec.workers.replicas = 5;
  ++cluster.job().generation;
  cluster.Settle();
  ASSERT_TRUE(cluster.workload);
  EXPECT_NE(kube::Uid(*cluster.workload), first);
  EXPECT_EQ(kube::At(*cluster.workload, {"spec", "podSets"})[1]["count"], 5);
  cluster.queue = "other";
  cluster.Settle();
  EXPECT_EQ(kube::StringAt(*cluster.workload, {"spec", "queueName"}), "other");
}

TEST(Queue, ASpecThatAsksForMoreThanWasAdmittedWaitsForAPlaceOfThatSize) {
  FakeCluster cluster = Training();
  cluster.job().spec.workers.replicas = 40;  // of half a core
  ++cluster.job().generation;
  GiveBack(cluster);
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  ASSERT_TRUE(cluster.workload);
  EXPECT_EQ(WorkloadCondition(cluster, "Admitted"), "absent") << "another one";
  EXPECT_EQ(kube::At(*cluster.workload, {"spec", "podSets"})[1]["count"], 40);
}

TEST(Queue, WithinWhatWasAdmittedItIsScaledWithoutAWordToTheQueue) {
  FakeCluster cluster = Training();
  const Json before = *cluster.workload;
  cluster.job().spec.workers.replicas = 3;
  ++cluster.job().generation;
  cluster.Settle();
  EXPECT_EQ((*cluster.workload)["metadata"], before["metadata"]);
  EXPECT_TRUE(cluster.Has("a-worker-2"));
}

TEST(Queue, ATunedJobAsksForAsManyPodsAsItsTuningMayChoose) {
  FakeCluster cluster = InQueue(SmallJob().Tuning(api::TuningMode::kAuto));
  cluster.job().spec.tuning.workers.max = 5;
  cluster.job().spec.tuning.servers.max = 1;  // it has two
  cluster.Settle();
  const Json& sets = kube::At(*cluster.workload, {"spec", "podSets"});
  EXPECT_EQ(sets[0]["count"], 2);
  EXPECT_EQ(sets[1]["count"], 5);
}

TEST(Queue, AJobThatTrainsIsNotStoppedByWhatIsMissingOrCannotBeRead) {
  FakeCluster cluster = Training();
  cluster.has_kueue = false;  // uninstalled, or the right is gone
  EXPECT_THAT(cluster.Settle(), IsEmpty());
  EXPECT_EQ(cluster.PodNames().size(), 4U);
  cluster.has_kueue = true;
  cluster.workload.reset();  // deleted by hand: it asks again, and the queue decides
  cluster.Reconcile();
  ASSERT_TRUE(cluster.workload);
  EXPECT_EQ(cluster.PodNames().size(), 4U);
  GiveBack(cluster);
  EXPECT_THAT(cluster.PodNames(), IsEmpty()) << "the new one is not admitted";
}

TEST(Queue, WithoutKueueAJobThatNamesAQueueWaitsAndSaysWhatToDo) {
  FakeCluster cluster = InQueue();
  cluster.has_kueue = false;
  cluster.Settle();
  EXPECT_THAT(cluster.PodNames(), IsEmpty());
  EXPECT_FALSE(cluster.workload);
  EXPECT_THAT(cluster.Condition(api::kSuspended), HasSubstr("install Kueue"));
  EXPECT_LE(cluster.requeue().value_or(std::chrono::hours(1)), std::chrono::seconds(10))
      << "no watch says that it has come";
  cluster.has_kueue = true;
  cluster.Settle();
  EXPECT_TRUE(cluster.workload);
}

TEST(Queue, AJobThatNamesNoQueueAnyMoreGivesItsPlaceUpAndTrains) {
  FakeCluster cluster = InQueue();
  cluster.Settle();
  cluster.queue.clear();
  cluster.Settle();
  EXPECT_FALSE(cluster.workload);
  EXPECT_FALSE(cluster.PodNames().empty());
}

TEST(Queue, HoldsOfEveryKind) {
  const QueuePlace admitted{
      .queue = "q",
      .readable = true,
      .workload =
          ObservedWorkload{
              .name = "w", .queue = "q", .reserved = true, .admitted = true, .millicores = 1000, .bytes = 1 << 20},
      .hold = ""};
  EXPECT_EQ(HoldOf(admitted, true, {1000, 1 << 20}), "");
  EXPECT_THAT(HoldOf(admitted, true, {1001, 0}), HasSubstr("has admitted 1 cpu and 1Mi of memory"));
  EXPECT_THAT(HoldOf(admitted, true, {0, (1 << 20) + 1}), HasSubstr("by its spec now"));
  const auto changed = [&](auto change) {
    QueuePlace place = admitted;
    change(*place.workload);
    return HoldOf(place, true, {1, 1});
  };
  EXPECT_THAT(changed([](ObservedWorkload& w) { w.being_deleted = true; }), HasSubstr("is being deleted"));
  EXPECT_THAT(changed([](ObservedWorkload& w) { w.finished = true; }), HasSubstr("is finished"));
  EXPECT_THAT(changed([](ObservedWorkload& w) { w.active = false; }), HasSubstr("not active"));
  EXPECT_THAT(changed([](ObservedWorkload& w) { w.evicted = true; }), HasSubstr("takes its place back"));
  EXPECT_THAT(changed([](ObservedWorkload& w) { w.admitted = false; }), HasSubstr("it waits in queue q"));
  EXPECT_THAT(changed([](ObservedWorkload& w) { w.queue = "r"; }), HasSubstr("leaves queue r for queue q"));
  EXPECT_EQ(changed([](ObservedWorkload& w) { w.millicores.reset(), w.bytes.reset(); }), "") << "nothing is counted";
}

TEST(Queue, TheTunerHasWhatWasAdmittedAndNoMoreThanPoliciesLeave) {
  const api::TrainingJob job = SmallJob().Build();
  QueuePlace place{.queue = "q",
                   .readable = true,
                   .workload = ObservedWorkload{.name = "w", .queue = "q", .admitted = true, .millicores = 4000},
                   .hold = ""};
  NamespaceRoom room;
  HoldToAdmitted(place, job, room);
  EXPECT_EQ(room.millicores, 4000);
  EXPECT_FALSE(room.bytes);
  EXPECT_EQ(room.pods.worker.millicores, 510) << "with its sidecar";
  room.millicores = 3000;
  HoldToAdmitted(place, job, room);
  EXPECT_EQ(room.millicores, 3000);
}

TEST(Queue, MalformedWorkloadsReadAsNoPlace) {
  for (const char* text : {"{}", R"({"status": 3})", R"({"status": {"conditions": {"type": "Admitted"}}})",
                           R"({"status": {"conditions": [3, {"type": "Admitted", "status": 1}]}})",
                           R"({"spec": {"active": "no"}, "status": {"admission": {"podSetAssignments": [1, {}]}}})"}) {
    const ObservedWorkload seen = ObserveWorkload(Json::parse(text));
    EXPECT_FALSE(seen.admitted) << text;
    EXPECT_TRUE(seen.active) << text;
    EXPECT_FALSE(seen.millicores) << text;
  }
}

}  // namespace
}  // namespace attune::controller::queue_test
