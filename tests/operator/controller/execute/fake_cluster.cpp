#include "tests/operator/controller/execute/fake_cluster.h"

#include <gtest/gtest.h>

#include "operator/controller/objects/job_secret.h"
#include "operator/controller/observe/attempts.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/failure.h"
#include "operator/controller/queue/queue_book.h"
#include "proto/contract.h"
#include "tests/operator/controller/status/condition_rules.h"

namespace attune::controller {

using kube::Json;

JobBuilder::JobBuilder(const std::string& name) {
  job_.name = name;
  job_.name_space = "default";
  job_.uid = "uid-of-" + name;
  job_.generation = 1;
  job_.spec.workers.replicas = 2;
  job_.spec.servers.replicas = 2;
  job_.spec.workers.pod_template = {
      {"spec",
       {{"containers",
         Json::array({{{"name", "worker"}, {"image", "example"}, {"command", Json::array({"train"})}}})}}}};
}

void FakeCluster::Start(const std::string& name) {
  Json& pod = pods_.at(name);
  if (kube::StringAt(pod, {"spec", "nodeName"}).empty()) pod["spec"]["nodeName"] = "node-1";
  const std::string before(kube::StringAt(pod, {"status", "startTime"}));
  const std::string started = before.empty() ? ToRfc3339(now_.wall) : before;
  pod["status"] = {{"phase", "Running"},
                   {"startTime", started},
                   {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
                   {"containerStatuses", Json::array({{{"name", kube::Label(pod, contract::kLabelRole)},
                                                       {"state", {{"running", {{"startedAt", started}}}}}}})}};
}

void FakeCluster::StartAll() {
  for (auto& [name, pod] : pods_) {
    if (!pod.contains("status") || pod["status"]["phase"] == "Pending") Start(name);
  }
}

void FakeCluster::Unschedulable(const std::string& name, const std::string& message) {
  Json condition = {{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}, {"message", message}};
  pods_.at(name)["status"] = {{"phase", "Pending"}, {"conditions", Json::array({condition})}};
}

void FakeCluster::Waiting(const std::string& name, const std::string& reason, const std::string& message) {
  Json& pod = pods_.at(name);
  pod["spec"]["nodeName"] = "node-1";
  Json state = {{"waiting", {{"reason", reason}, {"message", message}}}};
  Json container = {{"name", kube::Label(pod, contract::kLabelRole)}, {"state", state}};
  pod["status"] = {{"phase", "Pending"}, {"containerStatuses", Json::array({container})}};
}

void FakeCluster::Exit(const std::string& name, int code, const std::string& log) {
  Start(name);
  Json& pod = pods_.at(name);
  logs_[std::string(kube::Uid(pod))] = log;
  pod["status"]["phase"] = code == 0 ? "Succeeded" : "Failed";
  pod["status"]["conditions"][0]["status"] = "False";
  pod["status"]["containerStatuses"][0]["state"] = {{"terminated",
                                                     {{"exitCode", code},
                                                      {"reason", code == 0 ? "Completed" : "Error"},
                                                      {"startedAt", kube::StringAt(pod, {"status", "startTime"})},
                                                      {"finishedAt", ToRfc3339(now_.wall)}}}};
}

void FakeCluster::ExitAfterLeaving(const std::string& name, int code) {
  ExitAfterWriting(name, code, contract::kLeftInOrder);
}

void FakeCluster::ExitAfterWriting(const std::string& name, int code, const std::string& line) {
  Exit(name, code);
  pods_.at(name)["status"]["containerStatuses"][0]["state"]["terminated"]["message"] = "\n" + line + "\n";
}

void FakeCluster::Evict(const std::string& name) {
  pods_.at(name)["status"] = {
      {"phase", "Failed"}, {"reason", "Evicted"}, {"message", "The node was low on resource: memory."}};
}

void FakeCluster::Disrupt(const std::string& name, const std::string& reason) {
  Exit(name, 137);
  Json& status = pods_.at(name)["status"];
  status["reason"] = reason;
  status["conditions"].push_back({{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", reason}});
}

void FakeCluster::DeleteFromOutside(const std::string& name, int grace_seconds) {
  Json& metadata = pods_.at(name)["metadata"];
  const std::string end = ToRfc3339(now_.wall + std::chrono::seconds(grace_seconds));
  // A second one may shorten the time, never lengthen it.
  if (!metadata.contains("deletionTimestamp") || end < metadata["deletionTimestamp"])
    metadata["deletionTimestamp"] = end;
}

void FakeCluster::RemoveIfFree(const std::string& name) {
  const Json& metadata = pods_.at(name)["metadata"];
  const bool free = !metadata.contains("finalizers") || metadata["finalizers"].empty();
  if (metadata.contains("deletionTimestamp") && free) pods_.erase(name);
}

void FakeCluster::ConfirmDeletions() {
  for (const std::string& name : PodNames()) {
    if (!lost_.contains(name)) RemoveIfFree(name);
  }
}

void FakeCluster::Connect(const std::string& name, bool connected) {
  std::erase_if(sample.pods, [&](const auto& pod) { return pod.pod == name; });
  telemetry::PodSample pod;
  pod.pod = name;
  pod.role = kube::Label(pods_.at(name), contract::kLabelRole);
  pod.connected = connected;
  pod.heard_at = pod.reported_at = now_.monotonic;
  pod.window.set_sequence(1);
  sample.pods.push_back(pod);
}

void FakeCluster::ReachGoal(const std::string& open_data_set) {
  v1::JobWindow& window = sample.job ? *sample.job : sample.job.emplace();
  window.set_goal_reached(true);
  window.mutable_closing()->set_declared(!open_data_set.empty());
  window.mutable_closing()->set_data_set(open_data_set);
  window.mutable_closing()->set_items_left(open_data_set.empty() ? 0 : 1);
}

void FakeCluster::Finish(bool declared) {
  ReachGoal();
  sample.job->set_workers(0);
  sample.job->mutable_closing()->set_declared(declared);
  sample.job->mutable_closing()->set_done(true);
}

std::optional<QueuePlace> FakeCluster::PlaceInQueue(api::TrainingJob& job) const {
  kube::WatchCache workloads, of_flavors;
  if (has_kueue) {
    kube::WatchEvent list{.kind = kube::WatchEvent::Kind::kReplaced, .objects = {}};
    if (workload) list.objects.push_back(*workload);
    workloads.Take(std::move(list));
    kube::WatchEvent all{.kind = kube::WatchEvent::Kind::kReplaced, .objects = {}};
    for (const auto& [name, flavor] : flavors) all.objects.push_back(flavor);
    of_flavors.Take(std::move(all));
  }
  Json object = {{"metadata", {{"name", job.name}, {"namespace", job.name_space}}}};
  if (!queue.empty()) object["metadata"]["labels"][kLabelQueue] = queue;
  return QueueBook({workloads, of_flavors}).PlaceOf(object, job);
}

Observed FakeCluster::Observe() const {
  Observed observed;
  observed.job = job_;
  observed.problems = problems;
  observed.queue = PlaceInQueue(observed.job);
  for (const auto& [name, pod] : pods_) observed.pods.push_back(ObservePod(ProjectPod(pod)));
  observed.service_exists = service_;
  observed.budget_exists = budget_;
  observed.secret_exists = secrets_known_.contains(job_.status.secret);
  observed.policy_seen_at = policy_seen_at_;
  observed.fresh_secret = SecretName(job_.name, ++secrets_drawn_);
  observed.sample = sample;
  observed.tuning = tuning;
  observed.tuning_state = tuning_state;
  observed.drain_sent = drain_sent_;
  observed.nodes = nodes;
  observed.listening_since = listening_since_;
  observed.failures_in_a_row = failures_in_a_row_;
  observed.checkpoint_since = checkpoints_.Since(job_, now_);
  observed.sent = sent_;
  if (budget_) observed.budget_min_available = budget_min_available_;
  observed.machines = machines;
  observed.blocked = blocked;
  observed.status_written_at = status_written_at_;
  SetOtherAttemptsApart(observed, now_);
  for (const ObservedPod* pod : PodsWhoseLogIsNeeded(observed)) {
    if (const auto log = logs_.find(pod->uid); log != logs_.end()) observed.log_tails[pod->uid] = log->second;
  }
  return observed;
}

std::vector<std::string> FakeCluster::Reconcile(size_t actions_max) {
  std::vector<std::string> done;
  requeue_.reset();
  RememberFailures();
  for (const auto& [action, needs] : Plan(Observe(), options, now_)) {
    if (done.size() >= actions_max) break;
    if (const auto* requeue = std::get_if<RequeueAfter>(&action)) {
      requeue_ = requeue->delay;
      continue;
    }
    Carry(action);
    done.push_back(Describe(action));
  }
  return done;
}

std::vector<std::string> FakeCluster::Settle() {
  constexpr int kRoundsMax = 50;
  std::vector<std::string> all;
  for (int round = 0; round < kRoundsMax; ++round) {
    std::vector<std::string> done = Reconcile();
    if (done.empty()) return all;
    all.insert(all.end(), done.begin(), done.end());
    ConfirmDeletions();
  }
  ADD_FAILURE() << "plans never end; the last: " << all.back();
  return all;
}

void FakeCluster::ListenForLong() { listening_since_ = now_.monotonic - options.servers_ended_grace; }

void FakeCluster::RestartOperator() {
  drain_sent_.clear();
  secrets_known_.clear();
  policy_seen_at_.reset();
  sent_.clear();
  status_written_at_.reset();
  failures_in_a_row_.clear();
  listening_since_ = now_.monotonic;
  checkpoints_ = {};
  sample = {};
}

void FakeCluster::RememberFailures() {
  for (const auto& [name, pod] : pods_) {
    const ObservedPod seen = ObservePod(pod);
    if (seen.failure_number) failures_in_a_row_[name] = seen.failures_in_a_row;
  }
}

void FakeCluster::Carry(const Action& action) {
  if (const auto* create = std::get_if<CreatePod>(&action)) {
    const std::string name(kube::Name(create->pod));
    ASSERT_FALSE(pods_.contains(name)) << "created twice: " << name;
    if (const std::string token = TokenSecret(job_); token == job_.status.secret && !token.empty()) {
      ASSERT_TRUE(secrets_.contains(token)) << "created before the Secret that it mounts: " << name;
    }
    pods_[name] = create->pod;
    pods_[name]["metadata"]["uid"] = "pod-uid-" + std::to_string(next_uid_++);
  } else if (std::holds_alternative<CreateService>(action)) {
    ASSERT_FALSE(service_);
    service_ = true;
  } else if (std::holds_alternative<CreatePodDisruptionBudget>(action)) {
    ASSERT_FALSE(budget_);
    budget_ = true;
    budget_min_available_ = static_cast<int32_t>(
        kube::IntegerAt(std::get<CreatePodDisruptionBudget>(action).budget, {"spec", "minAvailable"}));
  } else if (const auto* secret = std::get_if<CreateSecret>(&action)) {
    ASSERT_EQ(secret->name, job_.status.secret) << "the name is on record first";
    secrets_.insert(secret->name);  // there already: done before
    secrets_known_.insert(secret->name);
  } else if (std::holds_alternative<CreateNetworkPolicy>(action)) {
    policy_ = true;  // there already: done before
    policy_seen_at_ = now_.monotonic;
  } else if (const auto* ask = std::get_if<CreateWorkload>(&action)) {
    ASSERT_FALSE(workload);
    workload = ask->workload;
    (*workload)["metadata"].update({{"uid", "workload-" + std::to_string(next_uid_++)}, {"resourceVersion", "1"}});
  } else if (const auto* say = std::get_if<PatchWorkload>(&action)) {
    ASSERT_TRUE(workload);
    workload->merge_patch(say->patch);
  } else if (const auto* give_up = std::get_if<DeleteWorkload>(&action)) {
    ASSERT_TRUE(workload);
    ASSERT_EQ(give_up->uid, kube::Uid(*workload));
    workload.reset();
  } else if (const auto* record = std::get_if<WriteTuningRecord>(&action)) {
    tuning_state = record->state;
  } else if (const auto* patch = std::get_if<PatchPod>(&action)) {
    ASSERT_TRUE(pods_.contains(patch->name));
    ASSERT_EQ(patch->uid, kube::Uid(pods_[patch->name])) << "patch of a successor";
    pods_[patch->name].merge_patch(patch->patch);
  } else if (const auto* resize = std::get_if<ResizePod>(&action)) {
    Resize(*resize);
  } else if (const auto* change = std::get_if<PatchJob>(&action)) {
    if (!change->patch.contains("spec")) {
      const Json& asked = change->patch.at("metadata").at("annotations");
      job_.move_request = asked.value(api::kAnnotationMove, job_.move_request);
      job_.restart_request = asked.value(api::kAnnotationRestart, job_.restart_request);
      return;
    }
    Json object = {{"apiVersion", kube::kTrainingJobs.api_version()},
                   {"kind", kube::kTrainingJobs.kind},
                   {"metadata", {{"name", job_.name}}},
                   {"spec", api::ToJson(job_.spec)}};
    object["spec"].merge_patch(change->patch.at("spec"));
    job_.spec = api::ParseTrainingJob(object).job.spec;
    ++job_.generation;
    if (tuning) tuning->change.reset();
  } else if (const auto* remove = std::get_if<DeletePod>(&action)) {
    if (!pods_.contains(remove->name)) return;
    ASSERT_EQ(remove->uid, kube::Uid(pods_[remove->name])) << "deletion of a successor";
    DeleteFromOutside(remove->name, static_cast<int>(remove->grace_period_seconds.value_or(30)));
    if (remove->grace_period_seconds == 0) RemoveIfFree(remove->name);
  } else if (const auto* drain = std::get_if<SendDrain>(&action)) {
    drained_.push_back(drain->name);
    drain_sent_.insert(drain->uid);
  } else if (const auto* send = std::get_if<SendDirective>(&action)) {
    sent_texts_.push_back(send->name + " " + send->key.substr(0, send->key.find(" of generation")));
    directives_.push_back(*send);
    sent_[send->key] = now_.monotonic;
  } else if (const auto* budget = std::get_if<PatchPodDisruptionBudget>(&action)) {
    ASSERT_TRUE(budget_);
    budget_min_available_ = budget->min_available;
  } else if (const auto* write = std::get_if<WriteStatus>(&action)) {
    for (const std::string& wrong : Contradictions(job_.status, write->status, job_.generation))
      ADD_FAILURE() << "the status contradicts itself: " << wrong << "\n" << api::ToJson(write->status).dump(1);
    job_.status = write->status;
    status_written_at_ = now_.monotonic;
  } else if (const auto* event = std::get_if<EmitEvent>(&action)) {
    EXPECT_LE(event->note.size(), 1024U);
    events_.push_back(*event);
  } else if (std::holds_alternative<DeleteJob>(action)) {
    job_deleted_ = true;
  }
}

void FakeCluster::Resize(const ResizePod& action) {
  ASSERT_TRUE(pods_.contains(action.name));
  ASSERT_EQ(action.uid, action.patch["metadata"]["uid"]);
  ASSERT_EQ(action.uid, kube::Uid(pods_[action.name])) << "resize of a successor";
  for (const Json& change : action.patch["spec"]["containers"]) {
    for (Json& container : pods_[action.name]["spec"]["containers"]) {
      if (container["name"] == change["name"]) container["resources"].merge_patch(change["resources"]);
    }
  }
}

void FakeCluster::GiveResources(const std::string& name) {
  Json& pod = pods_.at(name);
  Json& status = pod["status"];
  std::erase_if(status["conditions"].get_ref<Json::array_t&>(),
                [](const Json& condition) { return kube::StringAt(condition, {"type"}).starts_with("PodResize"); });
  for (const Json& container : pod["spec"]["containers"]) {
    if (container["name"] == kube::Label(pod, contract::kLabelRole)) {
      status["containerStatuses"][0]["resources"] = kube::At(container, {"resources"});
    }
  }
}

void FakeCluster::SayOfResize(const std::string& name, const std::string& type, const std::string& reason,
                              const std::string& message) {
  pods_.at(name)["status"]["conditions"].push_back({{"type", type},
                                                    {"status", "True"},
                                                    {"reason", reason},
                                                    {"message", message},
                                                    {"lastTransitionTime", ToRfc3339(now_.wall)}});
}

void FakeCluster::Answer(const std::string& key_begin, telemetry::DirectiveAnswer::Outcome outcome,
                         const std::string& message) {
  for (const auto& [key, at] : sent_) {
    if (!key.starts_with(key_begin)) continue;
    const bool refused = outcome == telemetry::DirectiveAnswer::Outcome::kRefused;
    telemetry::DirectiveAnswer& answer = sample.answers[key];
    const uint32_t refusals = refused ? answer.refusals + 1 : 0;
    answer = {outcome, message, std::max(now_.monotonic, at + Duration(1)), refusals};
  }
}

std::string FakeCluster::Condition(const char* type) const {
  const api::Condition* condition = api::FindCondition(job_.status, type);
  return condition == nullptr ? "absent" : condition->status + "/" + condition->reason + ": " + condition->message;
}

std::vector<std::string> FakeCluster::PodNames() const {
  std::vector<std::string> names;
  for (const auto& [name, pod] : pods_) names.push_back(name);
  return names;
}

bool FakeCluster::HasEvent(const std::string& reason) const {
  for (const EmitEvent& event : events_) {
    if (event.event_reason == reason) return true;
  }
  return false;
}

}  // namespace attune::controller
