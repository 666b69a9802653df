#include "cli/requests/scale_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/requests/job_words.h"
#include "cli/requests/workers/rows_request.h"
#include "cli/requests/workers/sync_request.h"

namespace attune::cli::scale_request_test {
namespace {

using ::testing::HasSubstr;

api::TrainingJob Running() {
  api::TrainingJob job;
  job.name = "a";
  job.spec.workers = {.replicas = 2, .min = 2, .max = 4, .pod_template = {}};
  job.spec.servers = {.replicas = 2, .min = 1, .max = 4, .pod_template = {}};
  job.status.abilities = api::Abilities{.elastic_servers = true, .synchronization_modes = true};
  return job;
}

std::string Refusal(const api::TrainingJob& job, const ScaleRequest& request) {
  return std::string(Message(CheckScale(job, request)));
}

TEST(JobWords, TheJobMayStandAnywhere) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"a", "workers=3", "servers=2"},
                                                {"workers=3", "servers=2", "a"},
                                                {"workers=3", "a", "servers=2"}}) {
    const auto sorted = SortJobWords(words, "write it so");
    ASSERT_TRUE(sorted.ok()) << Message(sorted.status());
    EXPECT_EQ(sorted->job, "a");
    EXPECT_EQ(sorted->changes, (std::vector<std::string>{"workers=3", "servers=2"}));
  }
  EXPECT_EQ(SortJobWords({"workers=3", "servers=2"}, "write it so")->job, "") << "the only one";
  EXPECT_THAT(std::string(Message(SortJobWords({"a"}, "write it so").status())),
              HasSubstr("no change is named; write it so"));
  EXPECT_THAT(std::string(Message(SortJobWords({"a", "b"}, "write it so").status())),
              HasSubstr("the job is a already"));
}

TEST(SyncWords, TheModeMayStandFirst) {
  EXPECT_EQ(SortSyncWords("bsp", "a").job, "a");
  EXPECT_EQ(SortSyncWords("bsp", "a").mode, "bsp");
  EXPECT_EQ(SortSyncWords("a", "ssp:4").job, "a");
  EXPECT_EQ(SortSyncWords("bsp", "async").job, "bsp") << "a job may be called so";
  EXPECT_EQ(SortSyncWords("a", "sometimes").mode, "sometimes") << "the mistake is named by the word that is one";
}

TEST(SyncWords, OneWordAloneIsTheMode) {
  EXPECT_EQ(SortSyncWords("bsp", "").job, "");
  EXPECT_EQ(SortSyncWords("bsp", "").mode, "bsp");
  EXPECT_EQ(SortSyncWords("", "").mode, "");
}

TEST(RowsWords, TheManagementMayStandFirstOrAlone) {
  EXPECT_EQ(SortRowsWords("static", "a").job, "a");
  EXPECT_EQ(SortRowsWords("static", "a").mode, "static");
  EXPECT_EQ(SortRowsWords("a", "Always").job, "a");
  EXPECT_EQ(SortRowsWords("a", "sometimes").mode, "sometimes");
  EXPECT_EQ(SortRowsWords("adaptive", "").job, "");
  EXPECT_EQ(ParseRowManagement("ADAPTIVE").value(), RowManagement::kAdaptive);
  EXPECT_THAT(std::string(Message(ParseRowManagement("sometimes").status())), HasSubstr("static (never) or always"));
}

TEST(RowsRequest, JobsThatHaveEndedOrCannotChangeItAreRefused) {
  api::TrainingJob job;
  job.name = "a";
  EXPECT_TRUE(CheckRowManagement(job).ok()) << "it does not run yet";
  job.status.abilities.emplace();
  EXPECT_THAT(std::string(Message(CheckRowManagement(job))), HasSubstr("status.abilities.rowManagement is false"));
  job.status.abilities->row_management = true;
  EXPECT_TRUE(CheckRowManagement(job).ok());
  job.status.conditions.push_back({.type = api::kSucceeded, .status = "True"});
  EXPECT_THAT(std::string(Message(CheckRowManagement(job))), HasSubstr("job a has ended"));
  EXPECT_EQ(RowManagementPatch(RowManagement::kStatic).dump(), R"({"spec":{"rowManagement":"Static"}})");
}

TEST(LogsWords, ARoleAloneIsOfTheOnlyJob) {
  const auto sorted = [](const std::vector<std::string>& words) {
    const auto found = SortLogsWords(words);
    if (!found.ok()) return std::string(Message(found.status()));
    return found->job + "|" + found->role + "|" + (found->index ? std::to_string(*found->index) : "");
  };
  EXPECT_EQ(sorted({}), "||");
  EXPECT_EQ(sorted({"a"}), "a||");
  EXPECT_EQ(sorted({"a", "worker"}), "a|worker|");
  EXPECT_EQ(sorted({"a", "server", "2"}), "a|server|2");
  EXPECT_EQ(sorted({"worker"}), "|worker|");
  EXPECT_EQ(sorted({"worker", "0"}), "|worker|0");
  EXPECT_EQ(sorted({"worker", "worker"}), "worker|worker|") << "a job may be called so";
  EXPECT_EQ(sorted({"server", "worker", "1"}), "server|worker|1");
  EXPECT_EQ(sorted({"a", "wroker"}), "ROLE: \"wroker\" is not one of: server, worker");
  EXPECT_EQ(sorted({"a", "worker", "x"}), "INDEX: \"x\" is not a whole number from 0 to 1023");
  EXPECT_EQ(sorted({"worker", "1024"}), "INDEX: \"1024\" is not a whole number from 0 to 1023");
  EXPECT_THAT(sorted({"worker", "0", "1"}), HasSubstr("not expected: 1"));
}

TEST(ScaleRequest, WorkersAndServersEachOnce) {
  EXPECT_EQ(ParseScaleChanges({"workers=3"})->workers, 3);
  EXPECT_FALSE(ParseScaleChanges({"workers=3"})->servers.has_value());
  EXPECT_EQ(ParseScaleChanges({"servers=2", "workers=3"})->servers, 2);
  const std::pair<std::vector<std::string>, const char*> kTable[] = {
      {{"workers"}, "write workers=N, servers=N, or"},
      {{"workers="}, "no number of workers"},
      {{"servers=-1"}, "no number of servers"},
      {{"workers=3x"}, "no number of workers"},
      {{"workers=99999999999"}, "no number of workers"},
      {{"pods=3"}, "cannot be scaled"},
      {{"workers=3", "worker=4"}, "workers is given twice"},
      {{}, "nothing to change"}};
  for (const auto& [changes, want] : kTable) {
    const auto parsed = ParseScaleChanges(changes);
    ASSERT_FALSE(parsed.ok()) << want;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Message(parsed.status())), HasSubstr(want));
  }
}

TEST(ScaleRequest, SizesOfPods) {
  const auto request = ParseScaleChanges({"worker-cpu=2", "server-memory=1.5Gi", "workers=3"});
  ASSERT_TRUE(request.ok()) << Message(request.status());
  EXPECT_EQ(request->worker.cpu, 2000);
  EXPECT_EQ(request->server.memory, 3LL << 29);
  EXPECT_FALSE(request->worker.memory || request->server.cpu);
  EXPECT_EQ(ScalePatch(*request), kube::Json::parse(R"({"spec": {
      "workers": {"replicas": 3, "resources": {"cpu": {"target": "2"}}},
      "servers": {"resources": {"memory": {"target": "1536Mi"}}}}})"));
  api::TrainingJob job = Running();
  job.spec.workers.resources.cpu.target = 500;
  EXPECT_EQ(SizeChanges(job, *request),
            (std::vector<std::string>{"a: worker cpu 500m -> 2", "a: server memory not stated -> 1536Mi"}));
  job.spec.servers.pod_template = kube::Json::parse(
      R"({"spec": {"containers": [{"name": "server", "resources": {"limits": {"memory": "1Gi"}}}]}})");
  EXPECT_EQ(SizeChanges(job, *request)[1], "a: server memory 1Gi -> 1536Mi");
  const std::pair<std::vector<std::string>, const char*> kTable[] = {
      {{"worker-cpu=two"},
       "\"two\" is no amount of cpu; write it as in a pod's resources, for example worker-cpu=500m"},
      {{"server-memory="}, "\"\" is no amount of memory"},
      {{"server-memory=-1"}, "is no amount of memory"},
      {{"worker-cpu=1", "worker-cpu=2"}, "worker-cpu is given twice"},
      {{"worker-gpu=1"}, "\"worker-gpu\" cannot be scaled"}};
  for (const auto& [changes, want] : kTable) {
    EXPECT_THAT(std::string(Message(ParseScaleChanges(changes).status())), HasSubstr(want));
  }
}

TEST(ScaleRequest, SizesWithinTheBoundsOfTheJob) {
  api::TrainingJob job = Running();
  const auto refusal = [&](const std::string& change) { return Refusal(job, *ParseScaleChanges({change})); };
  EXPECT_EQ(refusal("worker-cpu=64"), "") << "no bounds";
  EXPECT_THAT(refusal("worker-cpu=5m"), HasSubstr("worker-cpu=5m is outside what job a allows, 10m or more"));
  EXPECT_THAT(refusal("server-memory=1Mi"), HasSubstr("16Mi or more (spec.servers.resources.memory.min and max)"));
  job.spec.workers.resources.cpu = {.min = 250, .max = 4000, .target = {}};
  EXPECT_EQ(refusal("worker-cpu=4"), "");
  EXPECT_THAT(refusal("worker-cpu=5"), HasSubstr("worker-cpu=5 is outside what job a allows, 250m to 4"));
  EXPECT_THAT(refusal("worker-cpu=200m"), HasSubstr("250m to 4"));
}

TEST(ScaleRequest, WithinTheBoundsOfALivingJob) {
  api::TrainingJob job = Running();
  EXPECT_TRUE(CheckScale(job, {.workers = 2}).ok());
  EXPECT_TRUE(CheckScale(job, {.workers = 4, .servers = 4}).ok());
  EXPECT_THAT(Refusal(job, {.workers = 5}), HasSubstr("workers=5 is outside what job a allows, 2 to 4"));
  EXPECT_THAT(Refusal(job, {.servers = 5}), HasSubstr("servers=5 is outside what job a allows, 1 to 4"));
  EXPECT_EQ(CheckScale(job, {.workers = 1}).code(), StatusCode::kInvalidArgument);
  job.status.conditions = {{api::kSucceeded, "True", "", "", "", 0}};
  EXPECT_EQ(CheckScale(job, {.workers = 3}).code(), StatusCode::kFailedPrecondition);
}

TEST(ScaleRequest, ServersOnlyWhereTheyCanJoinAndLeave) {
  api::TrainingJob job = Running();
  job.spec.backups = 1;
  EXPECT_THAT(Refusal(job, {.servers = 1}), HasSubstr("which needs at least 2 servers"));
  job.status.abilities->elastic_servers = false;
  EXPECT_THAT(Refusal(job, {.servers = 3}), HasSubstr("cannot join or leave a running job"));
  EXPECT_TRUE(CheckScale(job, {.servers = 2}).ok()) << "as it is";
  job.status.abilities.reset();
  job.status.phase = "Starting";
  EXPECT_THAT(Refusal(job, {.servers = 3}), HasSubstr("do not serve yet (Starting)"));
}

TEST(SyncRequest, APatchLeavesNoStalenessBehind) {
  EXPECT_EQ(SynchronizationPatch(SyncMode::Bsp()),
            kube::Json::parse(R"({"spec": {"synchronization": {"mode": "BSP", "staleness": null}}})"));
  EXPECT_EQ(SynchronizationPatch(SyncMode::Ssp(4))["spec"]["synchronization"]["staleness"], 4);
}

TEST(SyncRequest, OnlyWhereItCanBe) {
  api::TrainingJob job = Running();
  EXPECT_TRUE(CheckSynchronization(job, SyncMode::Bsp()).ok());
  job.status.abilities->synchronization_modes = false;
  EXPECT_EQ(CheckSynchronization(job, SyncMode::Bsp()).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(CheckSynchronization(job, SyncMode::Async()).ok());
  job.status.abilities.reset();
  EXPECT_TRUE(CheckSynchronization(job, SyncMode::Bsp()).ok()) << "it has not begun";
}

}  // namespace
}  // namespace attune::cli::scale_request_test
