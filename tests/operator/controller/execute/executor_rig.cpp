#include "tests/operator/controller/execute/executor_rig.h"

#include <gtest/gtest.h>

#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/timestamp.h"
#include "proto/contract.h"
#include "tests/operator/controller/plan/abilities.h"

namespace attune::controller {

using kube::Json;

namespace {

Json JobManifest(int servers, int workers, int backups) {
  Json container = {{"name", "worker"}, {"image", "x"}, {"command", Json::array({"train"})}};
  return {
      {"apiVersion", "attune.dev/v1alpha1"},
      {"kind", "TrainingJob"},
      {"metadata", {{"name", "j"}, {"namespace", "default"}}},
      {"spec",
       {{"goal", {{"epochs", 1}}},
        {"servers", {{"replicas", servers}, {"backups", backups}}},
        {"workers", {{"replicas", workers}, {"template", {{"spec", {{"containers", Json::array({container})}}}}}}}}}};
}

}  // namespace

ExecutorRig::ExecutorRig(int servers, int workers)
    : real(clock, {.own_thread = false}),
      api(real, [this](Duration time) { clock.Advance(time); }),
      view_(real),
      events_(real, clock, "test") {
  EXPECT_TRUE(real.Create(kube::kTrainingJobs, JobManifest(servers, workers, servers > 1 ? 1 : 0)).ok());
  RestartOperator();
  SyncCaches();
}

ExecutorRig::~ExecutorRig() { executor_.reset(); }

void ExecutorRig::RestartOperator() {
  executor_ = std::make_unique<Executor>(api, clock, view_.caches(), store, service, events_, options);
  again_.reset();
}

void ExecutorRig::SyncCache(size_t which) { view_.Show(which, view_.Look(which)); }

void ExecutorRig::SyncCaches() {
  for (size_t i = 0; i < kCaches; ++i) SyncCache(i);
}

void ExecutorRig::Round() {
  try {
    const auto again = executor_->Reconcile(key_);
    again_ = again.ok() ? *again : std::optional<Duration>(std::chrono::milliseconds(100));
  } catch (const OperatorDied&) {
    ++deaths_;
    store.sample = {};  // it was kept in memory
    RestartOperator();
    SyncCaches();  // a new operator lists everything first
  }
}

void ExecutorRig::Report() {
  for (telemetry::PodSample& sample : store.sample.pods) {
    if (!sample.connected || sample.pod == silent_) continue;
    sample.heard_at = sample.reported_at = clock.Now();
    if (sample.role != contract::kRoleServer) continue;
    sample.window.mutable_server()->set_coordinator_silent_seconds(silent_.empty() ? 0 : 4);
    sample.window.mutable_server()->set_map_version(1);  // it has joined
  }
}

void ExecutorRig::ReportLease(const std::string& pod, const v1::LeaderLease& lease) {
  for (telemetry::PodSample& sample : store.sample.pods) {
    if (sample.pod == pod) *sample.window.mutable_leader_lease() = lease;
  }
}

void ExecutorRig::Run(Duration time) {
  constexpr Duration kEvery = std::chrono::seconds(1);
  const MonotonicTime end = clock.Now() + time;
  while (clock.Now() < end) {
    SyncCaches();
    Report();
    Round();
    ConfirmDeletions();
    clock.Advance(std::min(again_.value_or(kEvery), kEvery));
  }
}

void ExecutorRig::Start(const std::string& name) {
  const auto pod = Pod(name);
  ASSERT_TRUE(pod) << name;
  if (kube::StringAt(*pod, {"spec", "nodeName"}).empty()) {
    const std::string node = "node-of-" + name;
    const Json object = {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", node}}}};
    if (!real.Get(kube::kNodes, {"", node}).ok()) {
      ASSERT_TRUE(real.Create(kube::kNodes, object).ok());
    }
    ASSERT_TRUE(real.Bind({"default", name}, node).ok());
  }
  const std::string role(kube::Label(*pod, contract::kLabelRole));
  Json container = {{"name", role}, {"state", {{"running", Json::object()}}}, {"resources", Json::object()}};
  for (const Json& each : (*pod)["spec"]["containers"]) {
    if (each["name"] == role && each.contains("resources")) container["resources"] = each["resources"];
  }
  const Json status = {{"phase", "Running"},
                       {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
                       {"containerStatuses", Json::array({container})}};
  ASSERT_TRUE(real.Patch(kube::kPods, {"default", name}, kube::PatchType::kMerge, {{"status", status}}, "status").ok());
  Connect(name, true);
}

void ExecutorRig::StartAll() {
  for (const std::string& name : PodNames()) {
    const std::string phase(kube::StringAt(*Pod(name), {"status", "phase"}));
    if ((phase.empty() || phase == "Pending") && !kube::IsBeingDeleted(*Pod(name))) Start(name);
  }
}

void ExecutorRig::Exit(const std::string& name, int code) {
  const auto pod = Pod(name);
  ASSERT_TRUE(pod) << name;
  const std::string role(kube::Label(*pod, contract::kLabelRole));
  const Json end = {{"exitCode", code}, {"finishedAt", ToRfc3339(clock.WallNow())}};
  const Json status = {
      {"phase", code == 0 ? "Succeeded" : "Failed"},
      {"conditions", Json::array({{{"type", "Ready"}, {"status", "False"}}})},
      {"containerStatuses", Json::array({{{"name", role}, {"state", {{"running", nullptr}, {"terminated", end}}}}})}};
  ASSERT_TRUE(real.Patch(kube::kPods, {"default", name}, kube::PatchType::kMerge, {{"status", status}}, "status").ok());
  Connect(name, false);
}

void ExecutorRig::DeleteFromOutside(const std::string& name) {
  ASSERT_TRUE(real.Delete(kube::kPods, {"default", name}).ok());
}

void ExecutorRig::ConfirmDeletions() {
  for (const std::string& name : PodNames()) {
    const auto pod = Pod(name);
    if (!pod || !kube::IsBeingDeleted(*pod)) continue;
    Connect(name, false);
    (void)real.Delete(kube::kPods, {"default", name}, {.uid = std::string(kube::Uid(*pod)), .grace_period_seconds = 0});
  }
}

void ExecutorRig::Connect(const std::string& name, bool connected) {
  const auto pod = Pod(name);
  std::erase_if(store.sample.pods, [&](const auto& sample) { return sample.pod == name; });
  if (!pod) return;
  telemetry::PodSample sample;
  sample.pod = name;
  sample.role = kube::Label(*pod, contract::kLabelRole);
  sample.pod_uid = kube::Uid(*pod);
  sample.connected = connected;
  sample.heard_at = sample.reported_at = clock.Now();
  sample.window.set_sequence(1);
  store.sample.pods.push_back(sample);
}

void ExecutorRig::Scale(int workers) {
  ASSERT_TRUE(
      real.Patch(kube::kTrainingJobs, key_, kube::PatchType::kMerge, {{"spec", {{"workers", {{"replicas", workers}}}}}})
          .ok());
}

void ExecutorRig::DeleteJob() { ASSERT_TRUE(real.Delete(kube::kTrainingJobs, key_).ok()); }

void ExecutorRig::BringUp() {
  const Json job = Job();
  for (int round = 0; round < 4; ++round) {
    Run(std::chrono::seconds(1));
    StartAll();
  }
  Say(static_cast<int>(kube::IntegerAt(job, {"spec", "servers", "replicas"})));
  Run(std::chrono::seconds(2));
  ASSERT_EQ(Condition(api::kReady).substr(0, 5), "True/") << Condition(api::kReady);
}

void ExecutorRig::Say(int servers, uint64_t term) {
  v1::JobWindow window;
  for (int i = 0; i < servers; ++i) {
    window.add_server_states()->set_index(static_cast<uint32_t>(i));
    window.mutable_server_states(i)->set_state(v1::ServerState::SERVING);
  }
  window.set_servers(static_cast<uint32_t>(servers));
  window.set_term(term);
  *window.mutable_abilities() = AllAbilities();
  store.sample.job = window;
}

void ExecutorRig::SayFinished() {
  v1::JobWindow& window = store.sample.job ? *store.sample.job : store.sample.job.emplace();
  window.set_goal_reached(true);
  window.mutable_closing()->set_declared(true);
  window.mutable_closing()->set_done(true);
}

void ExecutorRig::AnswerAll(telemetry::DirectiveAnswer::Outcome outcome) {
  for (const TestService::Sent& each : service.sent) {
    if (!each.key.empty()) store.sample.answers[each.key] = {outcome, "", clock.Now() + Duration(1), 0};
  }
}

Json ExecutorRig::Job() {
  auto job = real.Get(kube::kTrainingJobs, key_);
  return job.ok() ? *job : Json();
}

api::TrainingJobStatus ExecutorRig::Status() { return api::ParseTrainingJob(Job()).job.status; }

std::string ExecutorRig::Condition(const char* type) {
  const api::TrainingJobStatus status = Status();
  const api::Condition* condition = api::FindCondition(status, type);
  return condition == nullptr ? "absent" : condition->status + "/" + condition->reason + ": " + condition->message;
}

std::optional<Json> ExecutorRig::Pod(const std::string& name) {
  auto pod = real.Get(kube::kPods, {"default", name});
  return pod.ok() ? std::optional<Json>(*pod) : std::nullopt;
}

std::vector<std::string> ExecutorRig::PodNames() {
  std::vector<std::string> names;
  const auto pods = real.List(kube::kPods, {.name_space = "default"});
  for (const Json& pod : pods->items) names.emplace_back(kube::Name(pod));
  return names;
}

std::vector<std::string> ExecutorRig::EventReasons() {
  EXPECT_TRUE(events_.Flush(std::chrono::seconds(20)));
  std::vector<std::string> reasons;
  const auto events = real.List(kube::kEvents, {.name_space = "default"});
  for (const Json& event : events->items) reasons.emplace_back(kube::StringAt(event, {"reason"}));
  return reasons;
}

bool ExecutorRig::WasTold(const std::string& pod_uid, const std::string& key_begin) const {
  return std::ranges::any_of(
      service.sent, [&](const auto& each) { return each.pod_uid == pod_uid && each.key.starts_with(key_begin); });
}

}  // namespace attune::controller
