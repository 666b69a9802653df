// Two operators on one cluster: the second one stands by with its caches filled, and takes over from the first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "operator/controller/execute/operator.h"
#include "operator/leadership/fenced_api.h"
#include "operator/local/api/memory_api.h"
#include "proto/contract.h"

namespace attune::controller::standby_test {
namespace {

using kube::Json;
using kube::ObjectKey;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

Json JobManifest() {
  const Json container = {{"name", "worker"}, {"image", "x"}, {"command", Json::array({"train"})}};
  return {{"apiVersion", "attune.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", "j"}, {"namespace", "default"}}},
          {"spec",
           {{"goal", {{"epochs", 1}}},
            {"servers", {{"replicas", 1}}},
            {"workers", {{"replicas", 1}, {"template", {{"spec", {{"containers", Json::array({container})}}}}}}}}}};
}

// One replica, as the operator program puts it together.
struct ReplicaUnderTest {
  ReplicaUnderTest(kube::Api& real, const TimeSource& time) : fence(time), api(real, fence, "system/attune-operator") {
    OperatorOptions options;
    options.telemetry_listen = "127.0.0.1:0";
    options.status_interval = milliseconds(100);
    options.begin_unheard_after = Duration::zero();
    options.may_direct = [this] { return fence.IsOpen(); };
    auto started = Operator::Start(options, api, time);
    EXPECT_TRUE(started.ok()) << started.status();
    if (started.ok()) job_operator = *std::move(started);
  }
  leadership::Fence fence;
  leadership::FencedApi api;
  std::unique_ptr<Operator> job_operator;
};

class StandbyTest : public testing::Test {
 protected:
  testing::AssertionResult Eventually(const std::function<bool()>& condition) {
    const MonotonicTime deadline = time_.Now() + seconds(20);
    while (!condition()) {
      if (time_.Now() > deadline) return testing::AssertionFailure() << "not within 20 s";
      std::this_thread::yield();
    }
    return testing::AssertionSuccess();
  }
  bool Exists(const std::string& pod) { return api_.Get(kube::kPods, ObjectKey{"default", pod}).ok(); }
  void Run(const std::string& pod) {
    ASSERT_TRUE(Eventually([&] { return Exists(pod); })) << pod;
    const Json object = *api_.Get(kube::kPods, ObjectKey{"default", pod});
    const std::string role(kube::Label(object, contract::kLabelRole));
    const Json running = Json::array({{{"name", role}, {"state", {{"running", Json::object()}}}}});
    const Json status = {{"phase", "Running"},
                         {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
                         {"containerStatuses", running}};
    ASSERT_TRUE(
        api_.Patch(kube::kPods, {"default", pod}, kube::PatchType::kMerge, {{"status", status}}, "status").ok());
  }
  void Scale(int workers) {
    ASSERT_TRUE(api_.Patch(kube::kTrainingJobs, {"default", "j"}, kube::PatchType::kMerge,
                           {{"spec", {{"workers", {{"replicas", workers}}}}}})
                    .ok());
  }
  void Lead(ReplicaUnderTest& replica) {
    replica.fence.OpenUntil(time_.Now() + hours(1));
    const Status leads = replica.job_operator->Lead();
    ASSERT_TRUE(leads.ok()) << leads;
  }

  SystemTime time_;
  local::MemoryApi api_{time_};
};

TEST_F(StandbyTest, ItHasFilledCachesWritesNothingAndListensForNoSidecar) {
  ReplicaUnderTest leader(api_, time_), standby(api_, time_);
  Lead(leader);
  ASSERT_TRUE(api_.Create(kube::kTrainingJobs, JobManifest()).ok());
  for (const char* pod : {"j-server-0", "j-worker-0"}) Run(pod);
  EXPECT_TRUE(Eventually([&] { return standby.job_operator->NotReady().empty(); }));
  Scale(2);
  Run("j-worker-1");
  EXPECT_EQ(standby.job_operator->telemetry_address(), "");
  EXPECT_EQ(standby.job_operator->Stuck(), "");
  EXPECT_THAT(leader.job_operator->MetricsText(), HasSubstr("job=\"j\""));
  EXPECT_THAT(standby.job_operator->MetricsText(), Not(HasSubstr("job=\"j\""))) << "it would be there twice";
  standby.job_operator.reset();
  EXPECT_EQ(standby.api.refused(), 0U) << "it does not even try";
}

TEST_F(StandbyTest, ItActsAsSoonAsItLeadsAndTheOneBeforeWritesNothingMore) {
  ReplicaUnderTest before(api_, time_), after(api_, time_);
  Lead(before);
  ASSERT_TRUE(api_.Create(kube::kTrainingJobs, JobManifest()).ok());
  for (const char* pod : {"j-server-0", "j-worker-0"}) Run(pod);
  ASSERT_TRUE(Eventually([&] { return after.job_operator->NotReady().empty(); }));

  before.fence.OpenUntil(time_.Now());  // its Lease has run out; it was stopped, and does not know yet
  Scale(2);
  ASSERT_TRUE(Eventually([&] { return before.api.refused() > 0; }));
  EXPECT_FALSE(Exists("j-worker-1"));
  Lead(after);
  Run("j-worker-1");
  EXPECT_EQ(after.api.refused(), 0U);
}

TEST_F(StandbyTest, OneThatBeginsToLeadLooksAtWhatChangedBefore) {
  ReplicaUnderTest standby(api_, time_);
  ASSERT_TRUE(Eventually([&] { return standby.job_operator->NotReady().empty(); }));
  ASSERT_TRUE(api_.Create(kube::kTrainingJobs, JobManifest()).ok());
  Lead(standby);
  EXPECT_TRUE(Eventually([&] { return Exists("j-server-0"); }));
}

}  // namespace
}  // namespace attune::controller::standby_test
