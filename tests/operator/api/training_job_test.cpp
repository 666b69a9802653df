#include "operator/api/training_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/names.h"

namespace attune::api::training_job_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json MinimalJob() {
  return Json::parse(R"({
    "apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "word2vec"},
    "spec": {"workers": {"template": {"spec": {"containers": [{"name": "worker", "image": "w"}]}}}}})");
}

std::vector<std::string> Texts(const Json& object) {
  std::vector<std::string> texts;
  for (const FieldProblem& problem : ParseTrainingJob(object).problems) texts.push_back(ToString(problem));
  return texts;
}

TEST(TrainingJob, AMinimalJobGetsAllDefaults) {
  const ParsedJob parsed = ParseTrainingJob(MinimalJob());
  EXPECT_THAT(Texts(MinimalJob()), IsEmpty());
  const TrainingJobSpec& spec = parsed.job.spec;
  EXPECT_EQ(spec.goal.epochs, 1U);
  EXPECT_FALSE(spec.goal.steps || spec.goal.target_loss || spec.goal.max_duration_seconds);
  EXPECT_EQ(spec.servers.replicas, 1);
  EXPECT_TRUE(spec.servers.pod_template.is_null());
  EXPECT_EQ(spec.workers.max, 64);
  EXPECT_EQ(spec.workers.pod_template["spec"]["containers"][0]["image"], "w");
  EXPECT_EQ(spec.run_policy.clean_pods, CleanPods::kRunning);
  EXPECT_EQ(spec.run_policy.drain_seconds, 60);
  EXPECT_EQ(spec.run_policy.progress_deadline_seconds, 600);
}

TEST(TrainingJob, EveryFieldArrivesInItsMember) {
  Json job = MinimalJob();
  job["spec"].merge_patch(Json::parse(R"({
    "goal": {"epochs": 3, "steps": 5000000000, "targetLoss": 2, "maxDurationSeconds": 90},
    "data": {"items": 7, "leaseItems": 8}, "synchronization": {"mode": "SSP", "staleness": 4},
    "rowManagement": "Static",
    "servers": {"replicas": 2, "min": 2, "max": 4, "backups": 1,
    "resources": {"cpu": {"max": "1500m"}}}, "workers": {"replicas": 5, "min": 1, "max": 9, "threads": 2,
    "resources": {"cpu": {"min": "250m", "max": "4", "target": "2"}, "memory": {"max": "4Gi", "target": "1536Mi"}}},
    "model": {"claim": "models"},
    "security": {"tlsSecret": "word2vec-tls", "tokenSecret": "word2vec.token", "transport": "Encrypted"},
    "tuning": {"mode": "Auto", "paused": true, "windowSeconds": 10, "writeTo": "Status",
               "servers": {"min": 1, "max": 4},
               "workers": {"pinned": 3}, "threads": {"max": 6}, "slack": {"min": 0, "max": 1000000},
               "workerCpu": {"min": "250m", "max": "4"}, "serverCpu": {"pinned": "2"},
               "objective": {"kind": "TimeUnderBudget", "coreHour": 0.04, "gibHour": 0.005, "budget": 20},
               "findings": {"memory": "Act", "straggler": "Report", "network": "Report", "hotServer": "Off"}},
    "placement": {"servers": "WithWorkers", "workers": "Pack", "topologyKey": "topology.kubernetes.io/zone"},
    "checkpoint": {"directory": "/shared/c", "intervalSeconds": 600, "keep": 2, "resumeFrom": "/shared/old/7",
                   "resumeAt": "Best", "best": {"metric": "recall", "direction": "Maximize"}},
    "runPolicy": {"backoffLimit": 0, "ttlSecondsAfterFinished": 0, "drainSeconds": 5, "cleanPods": "All",
                  "progressDeadlineSeconds": 90, "restartToResize": true, "successPolicy": "GoalReached"},
    "startPolicy": {"gangTimeoutSeconds": 120},
    "suspend": true})"));
  EXPECT_THAT(Texts(job), IsEmpty());
  const TrainingJobSpec spec = ParseTrainingJob(job).job.spec;
  EXPECT_EQ(spec.goal.epochs, 3U);
  EXPECT_EQ(spec.goal.steps, 5'000'000'000U);
  EXPECT_EQ(spec.goal.target_loss, 2.0);
  EXPECT_EQ(spec.goal.max_duration_seconds, 90);
  EXPECT_EQ(spec.data.items, 7U);
  EXPECT_EQ(spec.data.lease_items, 8U);
  EXPECT_EQ(spec.row_management, RowManagement::kStatic);
  EXPECT_EQ(spec.servers.replicas, 2);
  EXPECT_EQ(spec.run_policy.success_policy, SuccessPolicy::kGoalReached);
  EXPECT_EQ(spec.start_policy.gang_timeout_seconds, 120);
  EXPECT_EQ(spec.tuning.write_to, WriteTo::kStatus);
  EXPECT_EQ(spec.servers.max, 4);
  EXPECT_EQ(spec.workers.replicas, 5);
  EXPECT_EQ(spec.worker_threads, 2);
  EXPECT_EQ(spec.servers.resources.cpu.max, 1500);
  EXPECT_FALSE(spec.servers.resources.cpu.target || spec.servers.resources.memory.any());
  EXPECT_EQ(spec.workers.resources.cpu.min, 250);
  EXPECT_EQ(spec.workers.resources.cpu.target, 2000);
  EXPECT_EQ(spec.workers.resources.memory.max, 4LL << 30);
  EXPECT_EQ(spec.workers.resources.memory.target, 1536LL << 20);
  EXPECT_EQ(spec.tuning.threads.max, 6);
  EXPECT_EQ(spec.tuning.slack.min, 0);
  EXPECT_EQ(spec.tuning.findings.memory, FindingPolicy::kAct);
  EXPECT_EQ(spec.tuning.findings.straggler, FindingPolicy::kReport);
  EXPECT_EQ(spec.tuning.worker_cpu.min, 250);
  EXPECT_EQ(spec.tuning.worker_cpu.max, 4000);
  EXPECT_EQ(spec.tuning.server_cpu.pinned, 2000);
  EXPECT_EQ(spec.tuning.objective.kind, ObjectiveKind::kTimeUnderBudget);
  EXPECT_EQ(spec.tuning.objective.core_hour, 0.04);
  EXPECT_EQ(spec.tuning.objective.gib_hour, 0.005);
  EXPECT_EQ(spec.tuning.objective.budget, 20);
  EXPECT_EQ(spec.tuning.findings.network, FindingPolicy::kReport);
  EXPECT_EQ(spec.tuning.findings.hot_server, FindingPolicy::kOff);
  EXPECT_EQ(spec.placement.servers, ServerPlacement::kWithWorkers);
  EXPECT_EQ(spec.placement.workers, WorkerPlacement::kPack);
  EXPECT_EQ(spec.placement.topology_key, "topology.kubernetes.io/zone");
  EXPECT_EQ(ParseTrainingJob(MinimalJob()).job.spec.placement.servers, ServerPlacement::kAny);
  EXPECT_EQ(ParseTrainingJob(MinimalJob()).job.spec.tuning.findings.memory, FindingPolicy::kByMode);
  EXPECT_EQ(FromManifest(spec.synchronization), SyncMode::Ssp(4));
  for (const SyncMode mode : {SyncMode::Async(), SyncMode::Bsp(), SyncMode::Ssp(4)}) {
    EXPECT_EQ(FromManifest(ToManifest(mode)), mode);
  }
  EXPECT_EQ(spec.security.tls_secret, "word2vec-tls");
  EXPECT_EQ(spec.security.token_secret, "word2vec.token");
  EXPECT_EQ(spec.security.transport, Transport::kEncrypted);
  EXPECT_EQ(ParseTrainingJob(MinimalJob()).job.spec.security.transport, Transport::kAuthenticated);
  EXPECT_EQ(spec.model.claim, "models");
  EXPECT_EQ(spec.synchronization, (Synchronization{Synchronization::Mode::kSsp, 4}));
  EXPECT_EQ(spec.backups, 1);
  EXPECT_EQ(spec.checkpoint.directory, "/shared/c");
  EXPECT_EQ(spec.checkpoint.interval_seconds, 600);
  EXPECT_EQ(spec.checkpoint.keep, 2);
  EXPECT_EQ(spec.checkpoint.resume_from, "/shared/old/7");
  EXPECT_EQ(spec.checkpoint.resume_at, ResumeAt::kBest);
  EXPECT_EQ(spec.checkpoint.best.metric, "recall");
  EXPECT_EQ(spec.checkpoint.best.direction, Direction::kMaximize);
  EXPECT_EQ(spec.run_policy.backoff_limit, 0);
  EXPECT_EQ(spec.run_policy.ttl_seconds_after_finished, 0);
  EXPECT_EQ(spec.run_policy.progress_deadline_seconds, 90);
  EXPECT_EQ(spec.run_policy.clean_pods, CleanPods::kAll);
  EXPECT_TRUE(spec.run_policy.restart_to_resize);
  EXPECT_TRUE(spec.suspend);
  EXPECT_EQ(ToJson(spec), job["spec"]);
}

TEST(TrainingJob, AmountsMayBeWholeNumbersAndAreWrittenTheShortestWay) {
  Json job = MinimalJob();
  job["spec"]["workers"]["resources"] = {{"cpu", {{"target", 2}, {"max", "4000m"}}},
                                         {"memory", {{"target", 1 << 30}, {"max", "+2048Mi"}}}};
  EXPECT_THAT(Texts(job), IsEmpty());
  const Json written = ToJson(ParseTrainingJob(job).job.spec)["workers"]["resources"];
  EXPECT_EQ(written, Json::parse(R"({"cpu": {"max": "4", "target": "2"}, "memory": {"max": "2Gi", "target": "1Gi"}})"));
}

TEST(TrainingJob, AllProblemsAtOnce) {
  Json job = MinimalJob();
  job["metadata"]["name"] = "Word.2vec";
  job["spec"]["workers"]["replicas"] = 0;
  job["spec"]["worker"] = 1;
  job["spec"]["synchronization"]["mode"] = "PartialExchange";
  job["spec"]["runPolicy"]["cleanPods"] = "running";
  EXPECT_THAT(
      Texts(job),
      ElementsAre(
          HasSubstr("metadata.name: found \"Word.2vec\"; allowed: a DNS label"),
          HasSubstr("spec.worker: found an unknown field; allowed: workers (nearest); all: goal, data"),
          HasSubstr("spec.synchronization.mode: found \"PartialExchange\"; allowed: Async, BSP, SSP; the other"),
          "spec.workers.replicas: found 0; allowed: a whole number from 1 to 1024",
          "spec.runPolicy.cleanPods: found \"running\"; allowed: Running (nearest); all: None, Running, All"));
}

struct Case {
  const char* story;
  const char* patch;  // merged into the spec
  const char* want;   // part of the only problem
};

class OneProblem : public ::testing::TestWithParam<Case> {};

TEST_P(OneProblem, IsTold) {
  Json job = MinimalJob();
  job["spec"].merge_patch(Json::parse(GetParam().patch));
  EXPECT_THAT(Texts(job), ElementsAre(HasSubstr(GetParam().want))) << GetParam().story;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, OneProblem,
    ::testing::Values(
        Case{"an empty goal", R"({"goal": {}})", "spec.goal: found no goal; allowed: at least one of epochs, steps"},
        Case{"min above max", R"({"workers": {"min": 5, "max": 4, "replicas": 5}})",
             "spec.workers.min: found 5; allowed: at most spec.workers.max (4)"},
        Case{"too many replicas", R"({"workers": {"replicas": 65}})",
             "spec.workers.replicas: found 65; allowed: from spec.workers.min (1) to spec.workers.max (64)"},
        Case{"an amount that is none", R"({"workers": {"resources": {"cpu": {"max": "two"}}}})",
             "spec.workers.resources.cpu.max: found \"two\"; allowed: an amount of cpu as in a pod's resources, such "
             "as 500m or \"2\""},
        Case{"a fraction without quotes", R"({"workers": {"resources": {"cpu": {"max": 0.5}}}})",
             "spec.workers.resources.cpu.max: found 0.5; allowed: an amount of cpu"},
        Case{"a negative amount", R"({"workers": {"resources": {"memory": {"max": -1}}}})",
             "spec.workers.resources.memory.max: found -1; allowed: an amount of memory"},
        Case{"an amount beyond any machine", R"({"servers": {"resources": {"memory": {"max": "1E"}}}})",
             "spec.servers.resources.memory.max: found \"1E\""},
        Case{"less cpu than a kernel grants", R"({"workers": {"resources": {"cpu": {"target": "5m", "max": "1"}}}})",
             "spec.workers.resources.cpu.target: found 5m; allowed: at least 10m"},
        Case{"less memory than a process needs", R"({"servers": {"resources": {"memory": {"min": "1Mi"}}}})",
             "spec.servers.resources.memory.min: found 1Mi; allowed: at least 16Mi"},
        Case{"bounds of memory the wrong way round",
             R"({"servers": {"resources": {"memory": {"min": "2Gi", "max": "1Gi", "target": "3Gi"}}}})",
             "spec.servers.resources.memory.min: found 2Gi; allowed: at most spec.servers.resources.memory.max (1Gi)"},
        Case{"a target above its bound", R"({"workers": {"resources": {"cpu": {"max": "1", "target": "1500m"}}}})",
             "spec.workers.resources.cpu.target: found 1500m; allowed: at most spec.workers.resources.cpu.max (1)"},
        Case{"a target below its bound", R"({"workers": {"resources": {"cpu": {"min": "1", "target": "500m"}}}})",
             "spec.workers.resources.cpu.target: found 500m; allowed: at least spec.workers.resources.cpu.min (1)"},
        Case{"another resource", R"({"workers": {"resources": {"gpu": {"max": 1}}}})",
             "spec.workers.resources.gpu: found an unknown field"},
        Case{"a transport that does not exist", R"({"security": {"transport": "Plain"}})",
             "spec.security.transport: found \"Plain\"; allowed: Authenticated, Encrypted"},
        Case{"a shortened name", R"({"goal": {"maxDuration": 5, "epochs": 1}})",
             "spec.goal.maxDuration: found an unknown field; allowed: maxDurationSeconds (nearest)"},
        Case{"a field at the wrong place", R"({"epochs": 3})",
             "spec.epochs: found an unknown field; allowed: the field at spec.goal.epochs"},
        Case{"a string for a number", R"({"goal": {"epochs": "3"}})",
             "spec.goal.epochs: found \"3\"; allowed: a whole number from 1"},
        Case{"a list for a mapping", R"({"data": [1]})",
             "spec.data: found a list; allowed: a mapping with items, leaseItems"},
        Case{"a fraction for a count", R"({"data": {"items": 1.5}})", "spec.data.items: found 1.5"},
        Case{"a number beyond 64 bits", R"({"data": {"items": 18446744073709551615}})",
             "spec.data.items: found 18446744073709551615"},
        Case{"no container of the role", R"({"workers": {"template": {"spec": {"containers": [{"name": "main"}]}}}})",
             "spec.workers.template.spec.containers: found containers named main; allowed: one container named worker"},
        Case{"no containers", R"({"workers": {"template": {"spec": {"containers": null}}}})",
             "spec.workers.template.spec.containers: found nothing; allowed: a list with one container named worker"},
        Case{"the sidecar's name",
             R"({"workers": {"template": {"spec": {"containers": [{"name": "worker"}, {"name": "attune-sidecar"}]}}}})",
             "containers[1].name: found attune-sidecar"},
        Case{"no program",
             R"({"workers": {"template": {"spec": {"containers": [{"name": "worker", "command": [""]}]}}}})",
             "spec.workers.template.spec.containers[0].command[0]: found \"\"; allowed: the name or the path of a "
             "program"},
        Case{"restarts by the kubelet", R"({"workers": {"template": {"spec": {"restartPolicy": "Always"}}}})",
             "restartPolicy: found \"Always\"; allowed: Never"},
        Case{"an unquoted label", R"({"workers": {"template": {"metadata": {"labels": {"v": 1}}}}})",
             "labels.v: found 1; allowed: a string"},
        Case{"a label of ours", R"({"workers": {"template": {"metadata": {"labels": {"attune.dev/job": "x"}}}}})",
             "a name the operator sets"},
        Case{"a volume of ours", R"({"workers": {"template": {"spec": {"volumes": [{"name": "attune-run"}]}}}})",
             "volumes[0].name"},
        Case{"SSP without its bound", R"({"synchronization": {"mode": "SSP"}})",
             "spec.synchronization.staleness: found nothing; allowed: with mode SSP a whole number from 1"},
        Case{"a bound without SSP", R"({"synchronization": {"mode": "BSP", "staleness": 4}})",
             "spec.synchronization.staleness: found 4; allowed: nothing with mode BSP; it belongs to mode SSP"},
        Case{"a bound and no mode", R"({"synchronization": {"staleness": 4}})",
             "spec.synchronization.staleness: found 4; allowed: nothing with mode Async"},
        Case{"a bound of no step", R"({"synchronization": {"mode": "SSP", "staleness": 0}})",
             "spec.synchronization.staleness: found 0; allowed: a whole number from 1 to 1000000"},
        Case{"a backup with nowhere to live", R"({"servers": {"backups": 1}})",
             "spec.servers.backups: found 1; allowed: 0 with one server; 1 needs spec.servers.replicas of at least 2"},
        Case{"more backups than there are", R"({"servers": {"replicas": 3, "backups": 2}})",
             "spec.servers.backups: found 2; allowed: a whole number from 0 to 1"},
        Case{"checkpoints beside nowhere", R"({"checkpoint": {"directory": "checkpoints"}})",
             "spec.checkpoint.directory: found \"checkpoints\"; allowed: an absolute path"},
        Case{"a path with a line break", R"({"checkpoint": {"resumeFrom": "/a\nb"}})",
             "spec.checkpoint.resumeFrom: found"},
        Case{"no checkpoint kept", R"({"checkpoint": {"keep": 0}})",
             "spec.checkpoint.keep: found 0; allowed: a whole number from 1 to 1000"},
        Case{"a claim that is no name", R"({"model": {"claim": "My Models"}})",
             "spec.model.claim: found \"My Models\""}));

TEST(TrainingJob, WhatIsBetweenTheUserAndKubernetesPasses) {
  Json job = MinimalJob();
  job["spec"]["workers"]["template"]["spec"]["hostNetwork"] = true;
  job["spec"]["workers"]["template"]["spec"]["noSuchField"] = {1, "2"};
  EXPECT_THAT(Texts(job), IsEmpty());
  EXPECT_EQ(ParseTrainingJob(job).job.spec.workers.pod_template, job["spec"]["workers"]["template"]);
}

TEST(TrainingJob, OtherKindsAreToldWhatIsUnderstoodAndNothingElse) {
  EXPECT_THAT(Texts({{"apiVersion", "v1"}, {"kind", "Pod"}, {"spec", {{"x", 1}}}}),
              ElementsAre("apiVersion: found \"v1\"; allowed: attune.dev/v1alpha1, the one version understood",
                          "kind: found \"Pod\"; allowed: TrainingJob, the one kind understood"));
  EXPECT_THAT(Texts(Json(3)), ElementsAre(HasSubstr("(document): found 3")));
  EXPECT_THAT(Texts(Json::object()),
              ElementsAre(HasSubstr("apiVersion: found nothing"), HasSubstr("kind: found nothing")));
}

TEST(TrainingJob, MetadataOfAnApiServerIsRead) {
  Json job = MinimalJob();
  job["metadata"].merge_patch(Json::parse(R"({"namespace": "n", "uid": "u", "resourceVersion": "12", "generation": 4,
    "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:05:05Z", "managedFields": []})"));
  const TrainingJob parsed = ParseTrainingJob(job).job;
  EXPECT_EQ(parsed.name_space, "n");
  EXPECT_EQ(parsed.uid, "u");
  EXPECT_EQ(parsed.generation, 4);
  EXPECT_TRUE(parsed.being_deleted);
}

TrainingJobStatus FullStatus() {
  TrainingJobStatus status;
  status.observed_generation = 3;
  status.conditions = {{"Ready", "True", "AllReady", "fine", "2026-01-02T03:04:05Z", 3}};
  status.phase = "Running";
  status.start_time = "2026-01-02T03:04:05Z";
  status.servers = {2, 2, 0};
  status.workers = {3, 2, 1};
  status.worker_selector = "attune.dev/job=a,attune.dev/role=worker";
  status.progress = Progress{.fraction = 0.425,
                             .epoch = 1,
                             .epochs = 3,
                             .items_done = 10,
                             .items_total = 30,
                             .reprocessed_items = 1,
                             .loss = 3.1172,
                             .rate = 181400.0,
                             .sample_unit = "words",
                             .remaining_seconds = 80.0,
                             .slowest_worker = "a-worker-1",
                             .moving_bytes_left = 1 << 20,
                             .moving_rows_per_second = 250'000.0};
  status.result = JobResult{{{"held_out_loss", 3.2}}, "mutex: lock", "/models/a", "1 metric"};
  status.coordinator = "a-server-0";
  status.coordinator_term = 2;
  status.begun = true;
  status.synchronization = Synchronization{Synchronization::Mode::kSsp, 4};
  status.row_management = RowManagement::kAlways;
  status.abilities = Abilities{.elastic_servers = true, .checkpoints = true};
  status.checkpoint = CheckpointStatus{.directory = "/shared/c",
                                       .number = 7,
                                       .step = 412,
                                       .time = "2026-01-02T03:05:05Z",
                                       .bytes = 4096,
                                       .rows = 12,
                                       .seconds = 1.5,
                                       .interval_seconds = 300,
                                       .request = "now",
                                       .message = "disk full",
                                       .regular_message = "worker 1 did not stop"};
  status.standstill = StandstillStatus{.restarts = 2, .restarted_at = "2026-01-02T03:06:05Z", .pods = {7, 9}};
  status.recovery = RecoveryStatus{1, 3, 2, 7, 412, 30};
  status.relief = ReliefStatus{2, 3, "server-1 answered 1.8 times the mean's keys: 9 shards moved to server-0"};
  status.tuning = TuningStatus{.stage = "Trying",
                               .message = "trying 2 servers",
                               .servers = 2,
                               .workers = 4,
                               .since = "2026-01-02T03:05:05Z",
                               .recommended_servers = 3,
                               .remaining_low = 50.0,
                               .remaining_seconds = 80.0,
                               .remaining_high = 120.0,
                               .changes = 5,
                               .state = "{}"};
  return status;
}

TEST(TrainingJob, KnobsOfTheTunerHaveTheRangesOfTheirRecords) {
  Json job = MinimalJob();
  job["spec"]["tuning"] = Json::parse(R"({"mode": "Auto", "windowSeconds": 10, "paused": true,
                                          "servers": {"min": 1, "max": 4}, "workers": {"pinned": 3}})");
  EXPECT_THAT(Texts(job), IsEmpty());
  const Tuning tuning = ParseTrainingJob(job).job.spec.tuning;
  EXPECT_EQ(tuning.mode, TuningMode::kAuto);
  EXPECT_TRUE(tuning.paused);
  EXPECT_EQ(tuning.servers.max, 4);
  EXPECT_EQ(tuning.workers.pinned, 3);
  EXPECT_EQ(ParseTrainingJob(MinimalJob()).job.spec.tuning.mode, TuningMode::kOff);
  job["spec"]["tuning"]["servers"] = Json::parse(R"({"min": 5, "max": 4})");
  EXPECT_THAT(Texts(job),
              ElementsAre("spec.tuning.servers.min: found 5; allowed: at most spec.tuning.servers.max (4)"));
  job["spec"]["tuning"] = Json::parse(R"({"mode": "auto", "workers": {"pinned": 1025}})");
  EXPECT_THAT(Texts(job),
              ElementsAre(HasSubstr("spec.tuning.mode: found \"auto\"; allowed: Auto (nearest)"),
                          HasSubstr("spec.tuning.workers.pinned: found 1025; allowed: a whole number from 1 to 1024")));
}

TEST(TrainingJobStatus, SurvivesJson) {
  Json job = MinimalJob();
  job["status"] = ToJson(FullStatus());
  EXPECT_EQ(ToJson(ParseTrainingJob(job).job.status), job["status"]);
  EXPECT_EQ(job["status"]["progress"]["itemsTotal"], 30);
  EXPECT_EQ(job["status"]["synchronization"], Json::parse(R"({"mode": "SSP", "staleness": 4})"));
  EXPECT_EQ(job["status"]["abilities"]["elasticServers"], true);
  EXPECT_EQ(job["status"]["checkpoint"]["directory"], "/shared/c");
  EXPECT_EQ(job["status"]["conditions"][0]["lastTransitionTime"], "2026-01-02T03:04:05Z");
}

TEST(TrainingJobStatus, DisplayIsReadyMade) {
  const Json display = ToJson(FullStatus())["display"];
  EXPECT_EQ(display, Json::parse(R"({"servers": "2/2", "workers": "2/3", "progress": "42%", "loss": "3.117",
                                     "rate": "181k words/s", "remaining": "1m20s"})"));
  EXPECT_EQ(ToJson(TrainingJobStatus{})["display"], Json::parse(R"({"servers": "0/0", "workers": "0/0"})"));
}

TEST(TrainingJobStatus, AnOddStatusFromOutsideIsReadAsFarAsItGoes) {
  Json job = MinimalJob();
  job["status"] = Json::parse(R"({"phase": 3, "conditions": [1, {"type": "Ready", "status": "True"}], "workers": "x",
                                  "progress": {"epoch": -1, "fraction": 0.5}, "other": {}})");
  const ParsedJob parsed = ParseTrainingJob(job);
  EXPECT_TRUE(parsed.problems.empty());
  EXPECT_TRUE(IsTrue(parsed.job.status, kReady));
  EXPECT_EQ(parsed.job.status.progress->fraction, 0.5);
}

TEST(NearestName, SwapsInsertsDropsAndCase) {
  const std::vector<std::string> known = {"replicas", "min", "max", "template"};
  EXPECT_EQ(NearestName("replcias", known), "replicas");
  EXPECT_EQ(NearestName("Replicas", known), "replicas");
  EXPECT_EQ(NearestName("replica", known), "replicas");
  EXPECT_EQ(NearestName("templat", known), "template");
  EXPECT_EQ(NearestName("image", known), std::nullopt);
  EXPECT_EQ(NearestName("zz", known), std::nullopt);
}

}  // namespace
}  // namespace attune::api::training_job_test
