// Two processes of the operator program before one API server, each by a door of its own, so that it is seen which of
// them writes. The lease is five seconds; times are printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "base/mutex.h"
#include "operator/leadership/election/lease_record.h"
#include "operator/leadership/leader_label.h"
#include "operator/local/api/memory_api.h"
#include "operator/local/rest/api_server.h"
#include "tests/local/ps/child_process.h"

namespace attune::replicas_test {
namespace {

using kube::CallOptions;
using kube::Json;
using kube::ResourceType;
using leadership::kLeases;
using std::chrono::milliseconds;
using std::chrono::seconds;

const kube::ObjectKey kLease{"system", "attune-operator"};
constexpr int kLeaseSeconds = 5;

// Counts what is written through it.
class Door final : public kube::Api {
 public:
  explicit Door(kube::Api& api) : api_(api) {}
  int writes() const { return writes_; }

  StatusOr<Json> Get(const ResourceType& type, const kube::ObjectKey& key, const CallOptions& call) override {
    return api_.Get(type, key, call);
  }
  StatusOr<kube::ListResult> List(const ResourceType& type, const kube::ListOptions& options,
                                  const CallOptions& call) override {
    return api_.List(type, options, call);
  }
  StatusOr<Json> Create(const ResourceType& type, const Json& object, const CallOptions& call) override {
    ++writes_;
    return api_.Create(type, object, call);
  }
  StatusOr<Json> Update(const ResourceType& type, const Json& object, const std::string& subresource,
                        const CallOptions& call) override {
    ++writes_;
    return api_.Update(type, object, subresource, call);
  }
  StatusOr<Json> Patch(const ResourceType& type, const kube::ObjectKey& key, kube::PatchType patch_type,
                       const Json& patch, const std::string& subresource, const CallOptions& call) override {
    ++writes_;
    return api_.Patch(type, key, patch_type, patch, subresource, call);
  }
  StatusOr<Json> Apply(const ResourceType& type, const Json& object, const kube::ApplyOptions& options,
                       const CallOptions& call) override {
    ++writes_;
    return api_.Apply(type, object, options, call);
  }
  Status Delete(const ResourceType& type, const kube::ObjectKey& key, const kube::DeleteOptions& options,
                const CallOptions& call) override {
    ++writes_;
    return api_.Delete(type, key, options, call);
  }
  StatusOr<Json> GetSubresource(const ResourceType& type, const kube::ObjectKey& key, const std::string& subresource,
                                const CallOptions& call) override {
    return api_.GetSubresource(type, key, subresource, call);
  }
  StatusOr<std::unique_ptr<kube::Watch>> StartWatch(const ResourceType& type, const kube::WatchOptions& options,
                                                    std::function<void(kube::WatchSignal)> on_signal) override {
    return api_.StartWatch(type, options, std::move(on_signal));
  }
  Status ReadLog(const kube::ObjectKey& pod, const kube::LogOptions& options,
                 const std::function<bool(std::string_view)>& on_text, const CallOptions& call) override {
    return api_.ReadLog(pod, options, on_text, call);
  }

 private:
  kube::Api& api_;
  std::atomic<int> writes_ = 0;
};

// One replica: its pod, its door and its process.
class Replica {
 public:
  Replica(const std::string& name, local::MemoryApi& api, const std::filesystem::path& directory)
      : name(name), door(api), server_(local::ApiServer::Start({.token = "t", .kinds = api.kinds()}, door).value()) {
    const Json container = {{"name", "operator"}, {"image", "x"}};
    const Json pod = {{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata", {{"name", name}, {"namespace", "system"}}},
                      {"spec", {{"containers", Json::array({container})}}}};
    EXPECT_TRUE(api.Create(kube::kPods, pod).ok());
    const std::string file = directory / (name + ".yaml");
    std::ofstream(file) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                        << "clusters: [{name: c, cluster: {server: \"" << server_->url() << "\"}}]\n"
                        << "users: [{name: u, user: {token: t}}]\n"
                        << "contexts: [{name: c, context: {cluster: c, user: u}}]\n";
    process = std::make_unique<ChildProcess>(
        std::vector<std::string>{ATTUNE_OPERATOR, "--kubeconfig", file, "--leader-elect",
                                 "--leader-elect-lease-seconds", std::to_string(kLeaseSeconds), "--telemetry-listen",
                                 "127.0.0.1:0", "--metrics-host", "127.0.0.1", "--metrics-port", "0", "--health-port",
                                 "0"},
        std::map<std::string, std::string>{{"POD_NAME", name}, {"POD_NAMESPACE", "system"}});
  }

  const std::string name;
  Door door;

 private:
  std::unique_ptr<local::ApiServer> server_;

 public:
  std::unique_ptr<ChildProcess> process;  // ends before its server
};

class ReplicasTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "replicas-" + std::to_string(getpid());
    std::filesystem::create_directories(directory_);
    // As an operator that ended in order leaves it; otherwise the first one would wait for a lease.
    const Json released = {{"apiVersion", kLeases.api_version()},
                           {"kind", kLeases.kind},
                           {"metadata",
                            {{"name", kLease.name},
                             {"namespace", kLease.name_space},
                             {"annotations", {{leadership::kAnnotationReleasedBy, "one before"}}}}},
                           {"spec", {{"leaseTransitions", 7}, {"leaseDurationSeconds", 5}}}};
    ASSERT_TRUE(api_.Create(kLeases, released).ok());
    first_ = std::make_unique<Replica>("operator-a", api_, directory_);
    ASSERT_TRUE(first_->process->AwaitOutput("operator leads")) << first_->process->output();
    second_ = std::make_unique<Replica>("operator-b", api_, directory_);
    ASSERT_TRUE(second_->process->AwaitOutput("stands by")) << second_->process->output();
    ASSERT_TRUE(Within(seconds(10), [&] { return Labelled() == std::vector<std::string>{"operator-a"}; }));
    CreateJob("before");
    ASSERT_TRUE(Within(seconds(10), [&] { return Exists("before-server-0"); }));
    EXPECT_EQ(second_->door.writes(), 0) << "a standby writes nothing";
  }
  void TearDown() override {
    first_.reset();
    second_.reset();
    std::filesystem::remove_all(directory_);
  }

  bool Within(Duration limit, const std::function<bool()>& condition) {
    const MonotonicTime end = time_.Now() + limit;
    while (!condition()) {
      if (time_.Now() > end) return false;
      Pass(milliseconds(10));
    }
    return true;
  }
  void Pass(Duration time) {
    Mutex mutex;
    CondVar never;
    const MutexLock lock(mutex);
    never.WaitFor(mutex, time, [] { return false; });
  }
  void CreateJob(const std::string& name) {
    const Json container = {{"name", "worker"}, {"image", "x"}, {"command", Json::array({"train"})}};
    const Json job = {
        {"apiVersion", "attune.dev/v1alpha1"},
        {"kind", "TrainingJob"},
        {"metadata", {{"name", name}, {"namespace", "default"}}},
        {"spec",
         {{"goal", {{"epochs", 1}}},
          {"servers", {{"replicas", 1}}},
          {"workers", {{"replicas", 1}, {"template", {{"spec", {{"containers", Json::array({container})}}}}}}}}}};
    const auto created = api_.Create(kube::kTrainingJobs, job);
    ASSERT_TRUE(created.ok()) << created.status();
  }
  bool Exists(const std::string& pod) { return api_.Get(kube::kPods, {"default", pod}).ok(); }
  std::string Holder() { return std::string(kube::StringAt(*api_.Get(kLeases, kLease), {"spec", "holderIdentity"})); }
  std::vector<std::string> Labelled() {
    std::vector<std::string> names;
    const auto pods = api_.List(kube::kPods, {.label_selector = leadership::kLabelLeader});
    if (!pods.ok()) return names;
    for (const Json& pod : pods->items) names.emplace_back(kube::Name(pod));
    return names;
  }
  // From `begin` until the other replica has made the first pod of this job; asked for while no process acts.
  Duration UntilItActs(const std::string& job, MonotonicTime begin) {
    CreateJob(job);
    EXPECT_TRUE(Within(seconds(kLeaseSeconds + 20), [&] { return Exists(job + "-server-0"); }));
    const Duration took = time_.Now() - begin;
    std::cout << "the next act came after " << Seconds(took) << " s" << std::endl;
    return took;
  }

  SystemTime time_;
  local::MemoryApi api_{time_};
  std::filesystem::path directory_;
  std::unique_ptr<Replica> first_, second_;
};

TEST_F(ReplicasTest, AKilledLeaderIsFollowedThreeSecondsAfterItsLeaseAtTheLatest) {
  const MonotonicTime killed = time_.Now();
  first_->process->Signal(SIGKILL);
  const Duration took = UntilItActs("after", killed);
  EXPECT_GE(took, seconds(kLeaseSeconds) - milliseconds(1500)) << "sooner than the last renewal allows";
  EXPECT_LE(took, seconds(kLeaseSeconds + 3));
  EXPECT_TRUE(Within(seconds(5), [&] { return Labelled() == std::vector<std::string>{"operator-b"}; }));
  EXPECT_EQ(kube::IntegerAt(*api_.Get(kLeases, kLease), {"spec", "leaseTransitions"}), 9);
}

TEST_F(ReplicasTest, AStoppedLeaderWritesNothingWhenItContinuesAndEnds) {
  const MonotonicTime stopped = time_.Now();
  first_->process->Signal(SIGSTOP);
  Pass(milliseconds(200));  // what was on its way has arrived
  const int writes = first_->door.writes();
  EXPECT_LE(UntilItActs("after", stopped), seconds(kLeaseSeconds + 3));
  EXPECT_TRUE(Within(seconds(5), [&] { return Labelled() == std::vector<std::string>{"operator-b"}; }));
  CreateJob("still-later");
  const MonotonicTime continued = time_.Now();
  first_->process->Signal(SIGCONT);
  EXPECT_EQ(first_->process->Wait(seconds(20)), 1) << first_->process->output();
  std::cout << "it ended " << Seconds(time_.Now() - continued) << " s after it continued" << std::endl;
  EXPECT_THAT(first_->process->output(), testing::HasSubstr("the Lease is lost"));
  EXPECT_EQ(first_->door.writes(), writes);
  EXPECT_TRUE(Within(seconds(10), [&] { return Exists("still-later-server-0"); }));
}

TEST_F(ReplicasTest, ALeaderThatIsAskedToEndIsFollowedWithinASecond) {
  first_->process->Signal(SIGTERM);
  ASSERT_TRUE(Within(seconds(20), [&] { return !Holder().starts_with("operator-a"); }));
  const MonotonicTime released = time_.Now();
  EXPECT_LE(UntilItActs("after", released), seconds(1));
  EXPECT_TRUE(Holder().starts_with("operator-b_")) << Holder();
  EXPECT_EQ(first_->process->Wait(seconds(20)), 0) << first_->process->output();
}

TEST_F(ReplicasTest, AStandbyThatIsAskedToEndDisturbsNothing) {
  second_->process->Signal(SIGTERM);
  EXPECT_EQ(second_->process->Wait(seconds(20)), 0) << second_->process->output();
  EXPECT_EQ(second_->door.writes(), 0);
  CreateJob("after");
  EXPECT_TRUE(Within(seconds(10), [&] { return Exists("after-server-0"); }));
  EXPECT_TRUE(Holder().starts_with("operator-a_")) << Holder();
}

TEST(ReplicaFlagsTest, AnElectionWithoutANamespaceIsRefusedWithAWayOut) {
  ChildProcess process({ATTUNE_OPERATOR, "--leader-elect"}, {});
  EXPECT_EQ(process.Wait(), 2);
  EXPECT_THAT(process.output(), testing::HasSubstr("--leader-elect-namespace, or POD_NAMESPACE"));
}

}  // namespace
}  // namespace attune::replicas_test
