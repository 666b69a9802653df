// What the jobs of a namespace request and change together, and what is left to one of them.
#include "operator/controller/policies/namespace_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "operator/controller/policies/bounds.h"
#include "tests/base/seeds.h"

namespace attune::controller::namespace_ledger_test {
namespace {

using kube::Json;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr int64_t kMebibyte = 1 << 20;
constexpr MonotonicTime kStart{seconds(1000)};
// Of the sidecar that every pod has.
constexpr int64_t kSidecarMillicores = 10, kSidecarBytes = 24 * kMebibyte;

// Servers of 500m and 256Mi, workers of 1 core and 1Gi; the limit of the workers' cpu is the tuner's to choose.
Json JobObject(const std::string& name, int servers, int workers, int64_t version = 1) {
  const auto pod_template = [](const char* container, const char* cpu, const char* memory) {
    const Json amounts = {{"cpu", cpu}, {"memory", memory}};
    return Json{{"spec",
                 {{"containers", Json::array({{{"name", container},
                                               {"image", "x"},
                                               {"resources", {{"requests", amounts}, {"limits", amounts}}}}})}}}};
  };
  return {{"apiVersion", "attune.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata",
           {{"name", name},
            {"namespace", "team"},
            {"uid", "uid-" + name},
            {"generation", version},
            {"resourceVersion", std::to_string(version)}}},
          {"spec",
           {{"goal", {{"epochs", 1}}},
            {"servers", {{"replicas", servers}, {"template", pod_template("server", "500m", "256Mi")}}},
            {"workers",
             {{"replicas", workers},
              {"template", pod_template("worker", "1", "1Gi")},
              {"resources", {{"cpu", {{"target", "1"}, {"max", "4"}}}}}}}}}};
}
api::TrainingJob Parsed(const Json& object) { return api::ParseTrainingJob(object).job; }

class NamespaceLedgerTest : public testing::Test {
 protected:
  NamespaceLedgerTest() { rules_.millicores_per_namespace = 20'000; }
  void Show(const std::vector<Json>& jobs) { cache_.Take({kube::WatchEvent::Kind::kReplaced, jobs}); }
  NamespaceRoom RoomOf(const Json& job, MonotonicTime now = kStart) { return ledger_.RoomOf(Parsed(job), rules_, now); }

  policy::Effective rules_;
  kube::WatchCache cache_{{}};
  NamespaceLedger ledger_{cache_};
};

TEST_F(NamespaceLedgerTest, APodClaimsWhatAllItsContainersRequest) {
  const PodClaims pods = PodClaimsOf(Parsed(JobObject("a", 1, 1)));
  EXPECT_EQ(pods.server.millicores, 500 + kSidecarMillicores);
  EXPECT_EQ(pods.server.bytes, 256 * kMebibyte + kSidecarBytes);
  EXPECT_FALSE(pods.server.limit) << "no knob of the job";
  EXPECT_EQ(pods.worker.millicores, kSidecarMillicores);
  EXPECT_EQ(pods.worker.limit, 1000);
  EXPECT_EQ(ClaimAt(pods, {.servers = 2, .workers = 3, .worker_millicores = 2000}).millicores,
            2 * 510 + 3 * (2000 + 10));
  EXPECT_EQ(ClaimAt(pods, {.servers = 0, .workers = 3}).millicores, 3 * 1010) << "as it is now";
}

TEST_F(NamespaceLedgerTest, WhatOtherJobsAskForIsNotLeft) {
  Json elsewhere = JobObject("c", 4, 4);
  elsewhere["metadata"]["namespace"] = "another-team";
  const Json mine = JobObject("a", 1, 1);
  Show({mine, JobObject("b", 2, 3), elsewhere});
  EXPECT_EQ(RoomOf(mine).millicores, 20'000 - (2 * 510 + 3 * 1010));
  EXPECT_FALSE(RoomOf(mine).bytes) << "no policy bounds memory";
}

TEST_F(NamespaceLedgerTest, JobsThatHaveEndedOrAreSuspendedClaimNothing) {
  const Json mine = JobObject("a", 1, 1);
  for (const char* condition : {"Succeeded", "Failed", "Suspended"}) {
    Json other = JobObject("b", 2, 3);
    other["status"]["conditions"] = Json::array({{{"type", condition}, {"status", "True"}}});
    Show({mine, other});
    NamespaceLedger ledger(cache_);
    EXPECT_EQ(ledger.RoomOf(Parsed(mine), rules_, kStart).millicores, 20'000) << condition;
  }
}

TEST_F(NamespaceLedgerTest, WhatIsDecidedCountsBeforeTheSpecShowsIt) {
  const Json mine = JobObject("a", 1, 1), other = JobObject("b", 2, 3);
  Show({mine, other});
  ledger_.Note(Parsed(other), JobSetting{.servers = 2, .workers = 8, .worker_millicores = 2000}, true, kStart);
  const int64_t decided = 2 * 510 + 8 * 2010;
  EXPECT_EQ(RoomOf(mine).millicores, 20'000 - decided);
  EXPECT_EQ(RoomOf(mine).others_changing, 1);
  EXPECT_EQ(RoomOf(mine, kStart + NamespaceLedger::kDecisionCounts).millicores, 20'000 - (2 * 510 + 3 * 1010))
      << "it was never written";
}

TEST_F(NamespaceLedgerTest, ADecisionIsOverOnceTheSpecIsAnotherOne) {
  const Json mine = JobObject("a", 1, 1), other = JobObject("b", 2, 3);
  Show({mine, other});
  ledger_.Note(Parsed(other), JobSetting{.servers = 2, .workers = 8, .worker_millicores = 2000}, true, kStart);
  Show({mine, JobObject("b", 2, 1, 2)});  // a user was faster
  EXPECT_EQ(RoomOf(mine).millicores, 20'000 - (2 * 510 + 1010));
}

TEST_F(NamespaceLedgerTest, AJobThatIsMadeAgainInheritsNoDecision) {
  const Json mine = JobObject("a", 1, 1), other = JobObject("b", 2, 3);
  Show({mine, other});
  ledger_.Note(Parsed(other), JobSetting{.servers = 2, .workers = 8, .worker_millicores = 2000}, true, kStart);
  Json again = JobObject("b", 1, 1);
  again["metadata"]["uid"] = "uid-again";
  again["metadata"]["resourceVersion"] = "9";
  Show({mine, again});
  EXPECT_EQ(RoomOf(mine).millicores, 20'000 - (510 + 1010));
  EXPECT_EQ(RoomOf(mine).others_changing, 0);
}

TEST_F(NamespaceLedgerTest, WithoutADecisionOfThisProcessTheObjectSaysWhetherSomethingChanges) {
  rules_.concurrent_changes_per_namespace = 1;
  const Json mine = JobObject("a", 1, 1);
  Json other = JobObject("b", 2, 3);
  other["status"]["conditions"] = Json::array({{{"type", "Reconfiguring"}, {"status", "True"}}});
  Show({mine, other});
  EXPECT_EQ(RoomOf(mine).others_changing, 1);
  ledger_.Note(Parsed(other), std::nullopt, false, kStart);
  EXPECT_EQ(RoomOf(mine).others_changing, 0) << "its tuner says that it has come about";
}

TEST_F(NamespaceLedgerTest, WithoutSuchARuleThereIsNoBound) {
  rules_ = {};
  Show({JobObject("a", 1, 1), JobObject("b", 2, 3)});
  EXPECT_EQ(RoomOf(JobObject("a", 1, 1)), NamespaceRoom());
}

TEST_F(NamespaceLedgerTest, AChangeThatRequestsMoreThanIsLeftHasNoRoomAndOneThatRequestsLessAlwaysHas) {
  NamespaceRoom room;
  room.pods = PodClaimsOf(Parsed(JobObject("a", 1, 1)));
  room.millicores = 4000;
  const JobSetting present{.servers = 1, .workers = 1, .worker_millicores = 1000};
  EXPECT_EQ(WhyNoRoom(room, present, {.servers = 1, .workers = 3, .worker_millicores = 1000}), "");
  EXPECT_THAT(WhyNoRoom(room, present, {.servers = 1, .workers = 1, .worker_millicores = 4000}),
              HasSubstr("its pods would request 4520m of cpu, and policies and its queue leave this job 4"));
  const JobSetting outside{.servers = 4, .workers = 4, .worker_millicores = 2000};
  EXPECT_EQ(WhyNoRoom(room, outside, {.servers = 3, .workers = 4, .worker_millicores = 2000}), "") << "nearer to it";
}

TEST_F(NamespaceLedgerTest, MemoryIsRaisedByAShareOfWhatIsLeft) {
  Json object = JobObject("a", 1, 3);
  object["spec"]["workers"]["resources"]["memory"] = {{"max", "8Gi"}};
  api::TrainingJob job = Parsed(object);
  NamespaceRoom room;
  room.pods = PodClaimsOf(job);
  room.bytes = ClaimAt(room.pods, SettingOf(job)).bytes + 4 * 512 * kMebibyte;
  HoldMemory(room, job);
  EXPECT_EQ(job.spec.workers.resources.memory.max, (1024 + 512) * kMebibyte);
  EXPECT_FALSE(job.spec.servers.resources.memory.max) << "what may not be raised stays so";
  room.bytes = 0;
  HoldMemory(room, job);
  EXPECT_EQ(job.spec.workers.resources.memory.max, 1024 * kMebibyte) << "never below what it has";
}

// Tuners of several jobs decide one after the other, whenever they like, and ask for anything; what they decide reaches
// their specs late or never, and this process sees a spec later still.
TEST(NamespaceLedgerProperty, WhatTunersDecideNeverRequestsMoreThanPoliciesAllow) {
  ForSeeds(20, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
    struct Job {
      Json written, shown;
      std::optional<JobSetting> decided;  // until the spec is seen that says so
      bool wrote = false;
    };
    const int64_t allowed = pick(8, 24) * 1000;
    policy::Effective rules;
    rules.millicores_per_namespace = allowed;
    std::vector<Job> jobs;
    for (int i = 0; i < pick(2, 5); ++i) {
      const Json object = JobObject("job-" + std::to_string(i), 1, 1);
      jobs.push_back({object, object, {}, false});
    }
    kube::WatchCache cache;
    NamespaceLedger ledger(cache);
    MonotonicTime now = kStart;
    for (int turn = 0; turn < 100; ++turn) {
      now += std::chrono::milliseconds(pick(0, 300));
      Job& job = jobs[static_cast<size_t>(pick(0, static_cast<int>(jobs.size()) - 1))];
      switch (pick(0, 2)) {
        case 0: {  // a look: what is decided and not seen is decided again
          kube::WatchEvent event{kube::WatchEvent::Kind::kReplaced, {}};
          for (const Job& each : jobs) event.objects.push_back(each.shown);
          cache.Take(event);
          if (job.wrote && job.shown == job.written) {
            job.decided.reset();
            job.wrote = false;
          }
          const api::TrainingJob seen = Parsed(job.shown);
          const NamespaceRoom room = ledger.RoomOf(seen, rules, now);
          if (!job.decided) {
            const int cores = pick(1, 4);
            const JobSetting asked{.servers = pick(1, 4), .workers = pick(1, 8), .worker_millicores = cores * 1000};
            if (WhyNoRoom(room, SettingOf(seen), asked).empty()) job.decided = asked;
          }
          ledger.Note(seen, job.decided, job.decided.has_value(), now);
          break;
        }
        case 1:  // the write
          if (!job.decided || job.wrote) break;
          job.wrote = true;
          job.written = JobObject(std::string(kube::Name(job.shown)), job.decided->servers, job.decided->workers,
                                  kube::IntegerAt(job.written, {"metadata", "generation"}) + 1);
          job.written["spec"]["workers"]["resources"]["cpu"]["target"] =
              std::to_string(*job.decided->worker_millicores) + "m";
          break;
        default:
          job.shown = job.written;
      }
      int64_t claimed = 0;
      for (const Job& each : jobs) {
        const api::TrainingJob parsed = Parsed(each.written);
        claimed += ClaimAt(PodClaimsOf(parsed), SettingOf(parsed)).millicores;
      }
      ASSERT_LE(claimed, std::max<int64_t>(allowed, static_cast<int64_t>(jobs.size()) * (510 + 1010))) << turn;
    }
  });
}

}  // namespace
}  // namespace attune::controller::namespace_ledger_test
