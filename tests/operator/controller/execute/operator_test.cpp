// The running operator against the in-memory API: reflectors, queue, executor, Events and status end to end. The test
// plays the kubelet; every wait has a deadline.
#include "operator/controller/execute/operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "operator/api/training_job.h"
#include "operator/controller/objects/job_policy.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/local/api/memory_api.h"
#include "proto/contract.h"

namespace attune::controller::operator_test {
namespace {

using kube::Json;
using kube::ObjectKey;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

Json JobManifest(int servers, int workers) {
  return {{"apiVersion", "attune.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", "j"}, {"namespace", "default"}}},
          {"spec",
           {{"goal", {{"epochs", 1}}},
            {"servers", {{"replicas", servers}}},
            {"workers",
             {{"replicas", workers},
              {"template",
               {{"spec",
                 {{"containers",
                   Json::array({{{"name", "worker"}, {"image", "x"}, {"command", Json::array({"train"})}}})}}}}}}}}}};
}

class OperatorTest : public testing::Test {
 protected:
  void SetUp() override {
    api_.SetLogSource([](const Json&, const kube::LogOptions&, const auto& on_text, const kube::CallOptions&) {
      on_text("line one\nno such file: corpus.txt\n");
      return OkStatus();
    });
    StartOperator();
  }
  void TearDown() override { operator_.reset(); }

  void StartOperator() {
    OperatorOptions options;
    options.telemetry_listen = "127.0.0.1:0";
    options.status_interval = milliseconds(100);
    options.job_policies = true;
    options.begin_unheard_after = Duration::zero();  // these servers have no sidecars
    auto started = Operator::Start(options, api_, time_);
    ASSERT_TRUE(started.ok()) << started.status();
    operator_ = *std::move(started);
    const Status leads = operator_->Lead();
    ASSERT_TRUE(leads.ok()) << leads;
  }

  // Polls: the API has no way to wait for several objects at once.
  testing::AssertionResult Eventually(const std::function<bool()>& condition) {
    const MonotonicTime deadline = time_.Now() + seconds(20);
    while (!condition()) {
      if (time_.Now() > deadline)
        return testing::AssertionFailure() << "not within 20 s; the job: " << Get(kube::kTrainingJobs, "j").dump(1);
      std::this_thread::yield();
    }
    return testing::AssertionSuccess();
  }

  Json Get(const kube::ResourceType& type, const std::string& name) {
    auto object = api_.Get(type, ObjectKey{"default", name});
    return object.ok() ? *object : Json();
  }
  bool Exists(const std::string& pod) { return !Get(kube::kPods, pod).is_null(); }
  std::string Phase() { return std::string(kube::StringAt(Get(kube::kTrainingJobs, "j"), {"status", "phase"})); }
  std::string Condition(const std::string& type) {
    const Json job = Get(kube::kTrainingJobs, "j");
    const Json& conditions = kube::At(job, {"status", "conditions"});
    if (!conditions.is_array()) return "absent";
    for (const Json& condition : conditions) {
      if (condition["type"] == type) {
        return condition["status"].get<std::string>() + "/" + condition["reason"].get<std::string>() + ": " +
               condition["message"].get<std::string>();
      }
    }
    return "absent";
  }

  void SetPodStatus(const std::string& pod, const Json& status) {
    const auto patched =
        api_.Patch(kube::kPods, {"default", pod}, kube::PatchType::kMerge, {{"status", status}}, "status");
    ASSERT_TRUE(patched.ok()) << patched.status();
  }
  void Run(const std::string& pod) {
    ASSERT_TRUE(Eventually([&] { return Exists(pod); })) << pod;
    const std::string role(kube::Label(Get(kube::kPods, pod), contract::kLabelRole));
    SetPodStatus(pod,
                 {{"phase", "Running"},
                  {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
                  {"containerStatuses", Json::array({{{"name", role}, {"state", {{"running", Json::object()}}}}})}});
  }
  void Exit(const std::string& pod, int code) {
    const std::string role(kube::Label(Get(kube::kPods, pod), contract::kLabelRole));
    const Json end = {{"exitCode", code}, {"finishedAt", ToRfc3339(time_.WallNow())}};
    SetPodStatus(pod, {{"phase", code == 0 ? "Succeeded" : "Failed"},
                       {"conditions", Json::array({{{"type", "Ready"}, {"status", "False"}}})},
                       {"containerStatuses",
                        Json::array({{{"name", role}, {"state", {{"running", nullptr}, {"terminated", end}}}}})}});
  }
  void CreateRunningJob(int servers, int workers) {
    const auto created = api_.Create(kube::kTrainingJobs, JobManifest(servers, workers));
    ASSERT_TRUE(created.ok()) << created.status();
    for (int i = 0; i < servers; ++i) Run("j-server-" + std::to_string(i));
    for (int i = 0; i < workers; ++i) Run("j-worker-" + std::to_string(i));
    ASSERT_TRUE(Eventually([&] { return Condition("Ready").starts_with("True/"); }));
  }
  void Scale(int workers) {
    const auto patched = api_.Patch(kube::kTrainingJobs, {"default", "j"}, kube::PatchType::kMerge,
                                    {{"spec", {{"workers", {{"replicas", workers}}}}}});
    ASSERT_TRUE(patched.ok()) << patched.status();
  }
  std::vector<std::string> EventReasons() {
    std::vector<std::string> reasons;
    const auto events = api_.List(kube::kEvents, {.name_space = "default"});
    if (events.ok()) {
      for (const Json& event : events->items) reasons.push_back(std::string(kube::StringAt(event, {"reason"})));
    }
    return reasons;
  }

  SystemTime time_;
  local::MemoryApi api_{time_};
  std::unique_ptr<Operator> operator_;
};

Json PolicyOf(const kube::ResourceType& type, Json spec) {
  Json policy = {{"apiVersion", type.api_version()}, {"kind", type.kind}, {"metadata", {{"name", "a"}}}};
  if (type.namespaced) policy["metadata"]["namespace"] = "default";
  policy["spec"] = std::move(spec);
  return policy;
}

TEST_F(OperatorTest, APolicyThatIsMadeWhileAJobRunsIsInForceAtOnceAndIsNamedByTheStatus) {
  CreateRunningJob(1, 6);
  const Json policy =
      PolicyOf(kube::kTuningPolicies, {{"knobs", {{"workers", {{"max", 2}}}}}, {"onViolation", "ShrinkNow"}});
  ASSERT_TRUE(api_.Create(kube::kTuningPolicies, policy).ok());
  const auto workers = [&] { return kube::IntegerAt(Get(kube::kTrainingJobs, "j"), {"spec", "workers", "replicas"}); };
  EXPECT_TRUE(Eventually([&] { return workers() == 2; }));
  const auto in_force = [&] {
    return std::string(kube::StringAt(Get(kube::kTrainingJobs, "j"), {"status", "policy", "policies"}));
  };
  EXPECT_TRUE(Eventually([&] { return in_force() == "TuningPolicy default/a"; }));
  ASSERT_TRUE(api_.Delete(kube::kTuningPolicies, ObjectKey{"default", "a"}).ok());
  EXPECT_TRUE(Eventually([&] { return in_force().empty(); }));
  EXPECT_EQ(workers(), 2);
}

TEST_F(OperatorTest, TheStatusOfAPolicyCountsItsJobs) {
  CreateRunningJob(1, 2);
  ASSERT_TRUE(
      api_.Create(kube::kTuningPolicies, PolicyOf(kube::kTuningPolicies, {{"limits", {{"movesPerHour", 1}}}})).ok());
  const auto status = [&] { return kube::At(Get(kube::kTuningPolicies, "a"), {"status"}); };
  EXPECT_TRUE(Eventually([&] { return kube::IntegerAt(status(), {"jobs"}) == 1; })) << status();
  EXPECT_EQ(kube::IntegerAt(status(), {"conflicts"}, -1), 0);
  ASSERT_TRUE(api_.Delete(kube::kTrainingJobs, ObjectKey{"default", "j"}).ok());
  EXPECT_TRUE(Eventually([&] { return kube::IntegerAt(status(), {"jobs"}, -1) == 0; })) << status();
}

TEST_F(OperatorTest, PoliciesThatLeaveAnEmptyRangeAreAConditionThatNamesBoth) {
  ASSERT_TRUE(api_.Create(kube::kTrainingJobs, JobManifest(1, 1)).ok());
  ASSERT_TRUE(
      api_.Create(kube::kTuningPolicies, PolicyOf(kube::kTuningPolicies, {{"knobs", {{"workers", {{"max", 2}}}}}}))
          .ok());
  ASSERT_TRUE(api_.Create(kube::kClusterTuningPolicies,
                          PolicyOf(kube::kClusterTuningPolicies, {{"knobs", {{"workers", {{"min", 4}}}}}}))
                  .ok());
  EXPECT_TRUE(Eventually([&] { return Condition("PolicyConflict").starts_with("True/EmptyRange"); }));
  EXPECT_THAT(Condition("PolicyConflict"), HasSubstr("ClusterTuningPolicy a asks for at least 4"));
  EXPECT_THAT(Condition("PolicyConflict"), HasSubstr("TuningPolicy default/a for at most 2"));
}

TEST_F(OperatorTest, AJobRunsFromManifestToSuccess) {
  CreateRunningJob(2, 2);
  EXPECT_EQ(operator_->NotReady(), "");
  EXPECT_EQ(operator_->Stuck(), "");
  EXPECT_EQ(Phase(), "Running");
  EXPECT_FALSE(Get(kube::kServices, "j").is_null());
  EXPECT_FALSE(Get({"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"}, "j-servers").is_null());
  const auto policies = api_.List(kNetworkPolicies, {.name_space = "default"});
  ASSERT_TRUE(policies.ok()) << policies.status();
  EXPECT_EQ(policies->items.size(), 1U);
  Exit("j-worker-0", 0);
  Exit("j-worker-1", 0);
  for (const char* server : {"j-server-0", "j-server-1"}) Exit(server, 0);  // as they do when the job is finished
  EXPECT_TRUE(Eventually([&] { return Phase() == "Succeeded"; }));
  EXPECT_TRUE(Eventually([&] {
    const auto reasons = EventReasons();
    return std::find(reasons.begin(), reasons.end(), "Succeeded") != reasons.end();
  }));
  EXPECT_THAT(EventReasons(), Contains("TrainingStarted"));
}

TEST_F(OperatorTest, AFailedWorkerIsReplacedAndCountedOnce) {
  CreateRunningJob(1, 1);
  const std::string first(kube::Uid(Get(kube::kPods, "j-worker-0")));
  Exit("j-worker-0", 7);
  EXPECT_TRUE(Eventually([&] {
    const Json pod = Get(kube::kPods, "j-worker-0");
    return !pod.is_null() && kube::Uid(pod) != first;
  }));
  Run("j-worker-0");
  EXPECT_TRUE(Eventually([&] { return Condition("Ready").starts_with("True/"); }));
  EXPECT_EQ(kube::IntegerAt(Get(kube::kTrainingJobs, "j"), {"status", "workers", "failed"}), 1);
}

TEST_F(OperatorTest, AServerThatDiesFailsTheJobWithTheEndOfItsLog) {
  CreateRunningJob(1, 1);
  Exit("j-server-0", 1);
  EXPECT_TRUE(Eventually([&] { return Phase() == "Failed"; }));
  EXPECT_THAT(Condition("Failed"), HasSubstr("no such file: corpus.txt"));
}

TEST_F(OperatorTest, ANewOperatorCarriesOnADrain) {
  CreateRunningJob(1, 2);
  Scale(1);
  ASSERT_TRUE(Eventually(
      [&] { return !kube::Annotation(Get(kube::kPods, "j-worker-1"), contract::kAnnotationDrainDeadline).empty(); }));
  operator_.reset();
  StartOperator();
  Exit("j-worker-1", 0);
  EXPECT_TRUE(Eventually([&] { return !Exists("j-worker-1"); }));
  EXPECT_TRUE(Eventually([&] { return Condition("Reconfiguring").starts_with("False/Settled"); }));
  EXPECT_EQ(Phase(), "Running");
}

TEST_F(OperatorTest, ADeletedJobLeavesNothing) {
  CreateRunningJob(1, 2);
  ASSERT_TRUE(api_.Delete(kube::kTrainingJobs, {"default", "j"}).ok());
  EXPECT_TRUE(Eventually([&] { return api_.List(kube::kPods, {.name_space = "default"})->items.empty(); }));
  EXPECT_TRUE(Eventually([&] { return Get(kube::kServices, "j").is_null(); }));
}

TEST_F(OperatorTest, AManifestThatDoesNotParseIsToldNotFatal) {
  Json broken = JobManifest(1, 1);
  broken["spec"]["workers"]["replicas"] = "two";
  broken["spec"]["gaol"] = 1;
  ASSERT_TRUE(api_.Create(kube::kTrainingJobs, broken).ok());
  EXPECT_TRUE(Eventually([&] { return Condition("Failed").starts_with("True/Invalid"); }));
  EXPECT_THAT(Condition("Failed"), testing::AllOf(HasSubstr("replicas"), HasSubstr("gaol")));
}

TEST_F(OperatorTest, AnObjectOfSomebodyElseIsLeftAloneAndTold) {
  const Json service = {{"apiVersion", "v1"},
                        {"kind", "Service"},
                        {"metadata", {{"name", "j"}, {"namespace", "default"}}},
                        {"spec", {{"ports", Json::array({{{"port", 80}}})}}}};
  ASSERT_TRUE(api_.Create(kube::kServices, service).ok());
  ASSERT_TRUE(api_.Create(kube::kTrainingJobs, JobManifest(1, 1)).ok());
  EXPECT_TRUE(Eventually([&] { return Condition("Ready").starts_with("False/NameTaken"); }));
  ASSERT_TRUE(api_.Delete(kube::kServices, {"default", "j"}).ok());
  EXPECT_TRUE(Eventually([&] { return Exists("j-server-0"); })) << "tried again by itself";
}

TEST_F(OperatorTest, MetricsNameTheJobAsLongAsItExists) {
  CreateRunningJob(1, 1);
  EXPECT_THAT(operator_->MetricsText(), HasSubstr("attune_job_progress_ratio{job=\"j\",namespace=\"default\"} 0\n"));
  ASSERT_TRUE(api_.Delete(kube::kTrainingJobs, {"default", "j"}).ok());
  EXPECT_TRUE(Eventually([&] { return operator_->MetricsText().find("job=\"j\"") == std::string::npos; }));
}

}  // namespace
}  // namespace attune::controller::operator_test
