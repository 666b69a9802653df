// One job in a cluster that exists only as values: Kubernetes' side (kubelet, deletion with grace and finalizers) and
// an executor that carries plans out, whole or up to a crash. Pods are real JSON, so observation is tested on the way.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/controller/plan.h"
#include "operator/controller/plan/requests/requests.h"

namespace attune::controller {

class JobBuilder {
 public:
  explicit JobBuilder(const std::string& name);
  JobBuilder& Servers(int32_t n) { return job_.spec.servers.replicas = n, *this; }
  JobBuilder& Backups(int32_t n) { return job_.spec.backups = n, *this; }
  JobBuilder& Workers(int32_t n) { return job_.spec.workers.replicas = n, *this; }
  JobBuilder& BackoffLimit(int32_t n) { return job_.spec.run_policy.backoff_limit = n, *this; }
  JobBuilder& DrainSeconds(int64_t n) { return job_.spec.run_policy.drain_seconds = n, *this; }
  JobBuilder& TimeToLive(int64_t n) { return job_.spec.run_policy.ttl_seconds_after_finished = n, *this; }
  JobBuilder& Clean(api::CleanPods clean) { return job_.spec.run_policy.clean_pods = clean, *this; }
  JobBuilder& Goal(api::Goal goal) { return job_.spec.goal = goal, *this; }
  JobBuilder& Claim(const std::string& claim) { return job_.spec.model.claim = claim, *this; }
  JobBuilder& Security(const std::string& tls, const std::string& token) {
    job_.spec.security = {tls, token};
    return *this;
  }
  JobBuilder& Transport(api::Transport transport) { return job_.spec.security.transport = transport, *this; }
  JobBuilder& Tuning(api::TuningMode mode) { return job_.spec.tuning.mode = mode, *this; }
  JobBuilder& WorkerTemplate(kube::Json pod_template) {
    return job_.spec.workers.pod_template = std::move(pod_template), *this;
  }
  api::TrainingJob Build() const { return job_; }

 private:
  api::TrainingJob job_;
};
inline JobBuilder MakeTrainingJob(const std::string& name) { return JobBuilder(name); }

class FakeCluster {
 public:
  explicit FakeCluster(api::TrainingJob job) : job_(std::move(job)) {}

  // --- Kubernetes' side
  void Start(const std::string& pod);  // scheduled, running, ready
  void StartAll();
  void Unschedulable(const std::string& pod, const std::string& message);
  void Waiting(const std::string& pod, const std::string& reason, const std::string& message);
  void Exit(const std::string& pod, int code, const std::string& log = "");
  // The session of this worker has left the job in order; then its program ends.
  void ExitAfterLeaving(const std::string& pod, int code);
  void ExitAfterWriting(const std::string& pod, int code, const std::string& line);  // to its termination message
  void Evict(const std::string& pod);
  void DeleteFromOutside(const std::string& pod, int grace_seconds = 30);
  void ConfirmDeletions();  // kubelets end what is being deleted, except on lost nodes
  // Ended by the platform: the pod's condition says so, its container was killed.
  void Disrupt(const std::string& pod, const std::string& reason);
  void LoseNodeOf(const std::string& pod) { lost_.insert(pod); }
  void Connect(const std::string& pod, bool connected = true);
  // The kubelet: the container has what its pod asks for; or a condition that says how far it has come.
  void GiveResources(const std::string& pod);
  void SayOfResize(const std::string& pod, const std::string& type, const std::string& reason,
                   const std::string& message);
  void Vanish(const std::string& pod) { pods_.erase(pod); }
  void Put(const kube::Json& pod) { pods_[std::string(kube::Name(pod))] = pod; }
  // The coordinator's word: the goal is reached, then that the job is finished. No worker is a member any more.
  void ReachGoal(const std::string& open_data_set = "");
  void Finish(bool declared = true);

  // --- the operator's side
  Observed Observe() const;
  // One plan, carried out up to `actions_max` actions; what was done, described. Requeues are not listed.
  std::vector<std::string> Reconcile(size_t actions_max = SIZE_MAX);
  // Until nothing is planned any more (at most 50 rounds, which is a failure of the test).
  std::vector<std::string> Settle();
  void RestartOperator();
  // An operator that has only just begun waits for the coordinator to report before it judges a server.
  void ListenForLong();
  void Advance(Duration by) { now_.monotonic += by, now_.wall += by; }

  api::TrainingJob& job() { return job_; }
  const api::TrainingJobStatus& status() const { return job_.status; }
  std::string Condition(const char* type) const;  // "True/Ready: message"
  bool Has(const std::string& pod) const { return pods_.contains(pod); }
  kube::Json& pod(const std::string& name) { return pods_.at(name); }
  std::vector<std::string> PodNames() const;
  const std::vector<EmitEvent>& events() const { return events_; }
  const std::set<std::string>& secrets() const { return secrets_; }
  bool HasEvent(const std::string& reason) const;
  const std::vector<std::string>& drained() const { return drained_; }
  // Directives sent: "a-server-0 servers=3".
  const std::vector<std::string>& sent_texts() const { return sent_texts_; }
  const std::vector<SendDirective>& directives() const { return directives_; }
  // Answers all directives sent whose key begins so.
  void Answer(const std::string& key_begin, telemetry::DirectiveAnswer::Outcome outcome,
              const std::string& message = "");
  bool policy() const { return policy_; }
  void DeletePolicy() { policy_ = false; }
  int32_t budget() const { return budget_min_available_; }
  std::optional<Duration> requeue() const { return requeue_; }
  bool job_deleted() const { return job_deleted_; }
  Now now() const { return now_; }

  PlanOptions options{.begin_unheard_after = Duration::zero()};  // a coordinator that says nothing is not waited for
  telemetry::JobSample sample;
  std::optional<TuningOutput> tuning;
  std::optional<std::string> tuning_state;  // that is kept
  std::optional<std::map<std::string, ObservedNode>> nodes;
  std::vector<api::FieldProblem> problems;
  std::optional<std::vector<scheduler::Machine>> machines;
  std::vector<BlockedAct> blocked;
  std::string queue;                   // that the job names
  bool has_kueue = true;               // and Workloads can be read
  std::optional<kube::Json> workload;  // of the job; Kueue's side of it is the test's
  std::map<std::string, kube::Json> flavors;

 private:
  std::optional<QueuePlace> PlaceInQueue(api::TrainingJob& job) const;
  void Carry(const Action& action);
  void Resize(const ResizePod& action);
  void RemoveIfFree(const std::string& name);
  void RememberFailures();

  api::TrainingJob job_;
  Now now_{MonotonicTime{} + std::chrono::hours(1), WallTime{} + std::chrono::seconds(1'700'000'000)};
  std::map<std::string, kube::Json> pods_;
  std::map<std::string, std::string> logs_;  // by uid
  std::set<std::string> lost_;
  bool service_ = false, budget_ = false, job_deleted_ = false;
  bool policy_ = false;
  std::optional<MonotonicTime> policy_seen_at_;    // by this process of the operator
  std::set<std::string> secrets_, secrets_known_;  // all; to the operator of now
  mutable uint64_t secrets_drawn_ = 0;
  std::set<std::string> drain_sent_;
  std::map<std::string, int32_t> failures_in_a_row_;
  MonotonicTime listening_since_ = now_.monotonic;
  mutable CheckpointClock checkpoints_;
  std::optional<MonotonicTime> status_written_at_;
  std::vector<EmitEvent> events_;
  std::vector<std::string> drained_, sent_texts_;
  std::vector<SendDirective> directives_;
  std::map<std::string, MonotonicTime> sent_;
  int32_t budget_min_available_ = 0;
  std::optional<Duration> requeue_;
  int next_uid_ = 1;
};

}  // namespace attune::controller
