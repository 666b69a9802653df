#include "cli/display/description.h"

#include <gtest/gtest.h>

#include "cli/display/job/row_text.h"
#include "tests/cli/golden.h"

namespace attune::cli::description_test {
namespace {

TEST(Description, TellsTheStory) {
  const kube::Json job = kube::Json::parse(R"({"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "word2vec", "namespace": "default", "creationTimestamp": "2027-01-15T08:00:00Z"},
    "spec": {"goal": {"epochs": 2, "maxDurationSeconds": 600, "evaluateEvery": {"epochs": 1, "steps": 500},
                      "targetMetric": {"name": "held_out_loss", "value": 3.2},
                      "earlyStopping": {"metric": "recall", "patience": 3, "direction": "Maximize"}},
                       "servers": {"replicas": 2},
             "synchronization": {"mode": "BSP"},
             "workers": {"replicas": 3, "max": 8, "template": {"spec": {"containers": [{"name": "worker"}]}}}},
    "status": {"phase": "Failed", "startTime": "2027-01-15T08:00:01Z", "completionTime": "2027-01-15T08:00:40Z",
      "conditions": [
        {"type": "Ready", "status": "False", "reason": "JobEnded", "message": "",
         "lastTransitionTime": "2027-01-15T08:00:40Z"},
        {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
         "lastTransitionTime": "2027-01-15T08:00:40Z",
         "message": "worker 0 failed 4 times; last lines of its log:\n  no such directory: /corpus"}],
      "servers": {"replicas": 2, "ready": 2}, "workers": {"replicas": 3, "ready": 0, "failed": 4},
       "coordinator": "word2vec-server-1",
      "coordinatorTerm": 3, "synchronization": {"mode": "SSP", "staleness": 4},
      "checkpoint": {"directory": "/c", "number": 7, "step": 412, "time": "2027-01-15T08:00:20Z", "rows": 38100,
       "bytes": 12582912,
                     "message": "no space left on /c", "regularMessage": "worker 1 did not stop"},
      "recovery": {"count": 1, "restoredRows": 1200},
      "metrics": [{"name": "held_out_loss", "reports": 9, "value": 3.214, "at": {"step": 46080, "epoch": 45,
       "items": 11520},
                   "best": 3.187, "bestAt": {"step": 41984, "epoch": 41, "items": 10496}},
                  {"name": "recall", "direction": "Maximize", "leftOut": 2}],
      "progress": {"fraction": 0.1, "epoch": 0, "epochs": 2, "loss": 4.5, "rate": 1000,
                   "sampleUnit": "words", "reprocessedItems": 12,
                   "slowestWorker": "word2vec-worker-1", "movingBytesLeft": 88080384,
                    "movingRowsPerSecond": 250000}}})");
  const kube::Json pod =
      kube::Json::parse(R"({"metadata": {"name": "word2vec-worker-0", "creationTimestamp": "2027-01-15T08:00:30Z"},
    "spec": {"nodeName": "node-1"}, "status": {"phase": "Failed",
      "containerStatuses": [{"restartCount": 0, "state": {"terminated": {"exitCode": 3}}}]}})");
  const std::vector<JobEvent> events = {
      {"2027-01-15T08:00:01Z", "Started", "2 servers and 3 workers", "word2vec", false, 1},
      {"2027-01-15T08:00:38Z", "WorkerFailed", "exit code 3", "word2vec-worker-0", true, 4}};
  ExpectGolden(DescriptionText(job, {pod}, events, 1'800'000'062), "describe.txt");
}

TEST(Description, OfAJobThatHasJustBeenCreated) {
  const kube::Json job = kube::Json::parse(R"({"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "a", "namespace": "default", "creationTimestamp": "2027-01-15T08:01:00Z"},
    "spec": {"workers": {"template": {"spec": {"containers": [{"name": "worker"}]}}}}})");
  ExpectGolden(DescriptionText(job, {}, {}, 1'800'000'062), "describe-new.txt");
}

TEST(Description, ShowsSettingsAndTheLastDecisionsOfTheTuner) {
  const kube::Json job = kube::Json::parse(R"json({"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "a", "namespace": "default", "creationTimestamp": "2027-01-15T08:00:00Z"},
    "spec": {"tuning": {"mode": "Auto"}, "workers": {"template": {"spec": {"containers": [{"name": "worker"}]}}}},
    "status": {"phase": "Running", "tuning": {"stage": "Trying", "message": "trying more workers", "changes": 2,
      "current": {"servers": 1, "workers": 4, "updatesPerSecond": 150.5, "remainingSeconds": 400},
      "best": {"servers": 1, "workers": 2, "slack": 0},
      "decisions": [
        {"number": 1, "kind": "Trial", "time": "2027-01-15T08:00:30Z", "from": "workers=1", "to": "workers=2",
         "why": "a first look", "expected": "+30 % (±20 %)", "measured": "+61 % (±4.0 %)", "outcome": "Kept"},
        {"number": 2, "kind": "Trial", "time": "2027-01-15T08:00:50Z", "from": "workers=2", "to": "workers=4",
         "why": "it may save 2 min", "expected": "+5.0 % (±18 %)", "outcome": "Open"}]}}})json");
  ExpectGolden(DescriptionText(job, {}, {}, 1'800'000'062), "describe-tuned.txt");
}

TEST(Description, ShowsWhatPodsHaveAndWhatBecameOfTheirResize) {
  const kube::Json job = kube::Json::parse(R"({"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "a", "namespace": "default", "creationTimestamp": "2027-01-15T08:01:00Z"},
    "spec": {"servers": {"resources": {"memory": {"max": "8Gi"}}},
             "workers": {"resources": {"cpu": {"min": "250m", "max": "4", "target": "2"}, "memory": {"min": "64Mi"}},
                         "template": {"spec": {"containers": [{"name": "worker"}]}}},
             "placement": {"servers": "WithWorkers"}},
    "status": {"servers": {"usage": {"cpuCores": 0.05, "cpuLimitCores": 0, "throttled": 0, "fullest": "a-server-0",
                                     "memoryBytes": 94371840, "memoryLimitBytes": 0}},
               "workers": {"usage": {"cpuCores": 0.93, "cpuLimitCores": 1.5, "throttled": 0.12,
                                     "fullest": "a-worker-1", "memoryBytes": 325058560,
                                     "memoryLimitBytes": 1073741824}}}})");
  const auto pod = [](const char* role, const char* index, const char* asked, const char* actual,
                      const char* conditions) {
    kube::Json object = {{"metadata",
                          {{"name", "a-" + std::string(role) + "-" + index},
                           {"creationTimestamp", "2027-01-15T08:01:00Z"},
                           {"labels", {{"attune.dev/role", role}, {"attune.dev/index", index}}}}},
                         {"spec", {{"containers", {{{"name", role}, {"resources", kube::Json::parse(asked)}}}}}},
                         {"status",
                          {{"phase", "Running"},
                           {"conditions", kube::Json::parse(conditions)},
                           {"containerStatuses", {{{"name", role}, {"resources", kube::Json::parse(actual)}}}}}}};
    return object;
  };
  ExpectGolden(DescriptionText(job,
                               {pod("server", "0", R"({"requests": {"cpu": "100m"}})", "null", "[]"),
                                pod("worker", "0", R"({"limits": {"cpu": "2", "memory": "1Gi"}})",
                                    R"({"limits": {"cpu": "1", "memory": "1Gi"}})",
                                    R"([{"type": "PodResizePending", "status": "True", "reason": "Deferred",
                    "message": "Node didn't have enough resource: cpu",
                    "lastTransitionTime": "2027-01-15T08:00:50Z"}])"),
                                pod("worker", "1", R"({"limits": {"cpu": "2", "memory": "1Gi"}})",
                                    R"({"limits": {"cpu": "2", "memory": "1Gi"}})", "[]")},
                               {}, 1'800'000'062),
               "describe-sizes.txt");
}

TEST(Description, SaysWhatIsMadeOfAnnouncedRows) {
  const std::pair<api::RowPlaces, const char*> kTable[] = {
      {{}, ""},
      {{.ignored = true}, "ignored"},
      {{.on_trial = true}, "acted on and ignored in turns, to see which is faster"},
      {{.speedup = 1.3}, "acted on; by the last trial the job runs at 1.30 times its rate when they are acted on"},
      {{.ignored = true, .speedup = 0.8},
       "ignored; by the last trial the job runs at 0.80 times its rate when they are acted on"}};
  for (const auto& [places, text] : kTable) EXPECT_EQ(AnnouncementsText(places), text);
}

TEST(Description, SaysWhereWorkersFoundTheirRows) {
  struct Case {
    const char* name;
    api::RowPlaces places;
    const char *rows, *copies;
  };
  const Case cases[] = {
      {"everything of something",
       {.per_second = 181'000,
        .replicated = 0.71,
        .owned = 0.001,
        .fetched = 0.284,
        .waited = 0.002,
        .remote = 0.003,
        .late = 0.004,
        .copies = 41'000,
        .oldest_read_seconds = 0.038,
        .flushed_bytes_per_second = 12 << 20,
        .refreshed_bytes_per_second = 9 << 20},
       "99.5% of 181k/s here (71.0% copies, 0.1% owned, 28.4% fetched ahead), 0.2% waited for, 0.3% remote; 0.4% "
       "announced late",
       "41.0k, oldest read 38 ms; flushed 12.0 MiB/s, refreshed 9.00 MiB/s"},
      {"everything fetched ahead", {.per_second = 10, .fetched = 1}, "100.0% of 10/s here (100.0% fetched ahead)", ""},
      {"everything too late",
       {.per_second = 10, .remote = 1, .late = 1},
       "0.0% of 10/s here, 100.0% remote; 100.0% announced late",
       ""},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(PlacesText(each.places), each.rows) << each.name;
    EXPECT_EQ(CopiesText(each.places), each.copies) << each.name;
  }
}

TEST(Description, SaysWhatIsMadeOfTheRowsOfEachTable) {
  const api::RowPlaces places{.tables = {{.name = "input",
                                          .rows = 31'000,
                                          .row_bytes = 8 << 20,
                                          .announced = 1200,
                                          .copies = 300,
                                          .left_cores = 0.31,
                                          .copied_cores = 0.52,
                                          .decided_cores = 0.22},
                                         {.name = "output", .rows = 10, .row_bytes = 640, .copies = 2}}};
  EXPECT_EQ(TablesText(places),
            "input: 31.0k rows, 8.00 MiB; 1.20k announced for several steps, each counted once for every worker\n"
            "  copied to the workers: 300; left at their homes: 900\n"
            "  processor time of workers and servers: 0.22 cores as decided, 0.31 cores with all left, 0.52 cores with "
            "all copied\n"
            "output: 10 rows, 640 B; no worker asks for copies at present, 2 are left\n");
}

}  // namespace
}  // namespace attune::cli::description_test
