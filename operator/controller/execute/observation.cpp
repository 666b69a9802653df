#include "operator/controller/execute/observation.h"

#include <map>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/os/random_seed.h"
#include "operator/api/status/chosen_settings.h"
#include "operator/controller/execute/carrier.h"
#include "operator/controller/members/placement_moves.h"
#include "operator/controller/members/resize_moves.h"
#include "operator/controller/objects/job_secret.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/attempts.h"
#include "operator/controller/observe/machines.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/plan/failure.h"
#include "operator/controller/plan/resizes.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr Duration kLogTimeout = std::chrono::seconds(2);
constexpr Duration kLogsTimeout = std::chrono::seconds(3);
constexpr size_t kPodsRemembered = 4096;

void AddPod(const Json& pod, std::vector<ObservedPod>& pods) {
  if (ObservedPod seen = ObservePod(pod); seen.index >= 0) pods.push_back(std::move(seen));
}

}  // namespace

std::vector<ObservedPod> ObservePods(const kube::WatchCache& cache, const kube::ObjectKey& job) {
  std::vector<ObservedPod> pods;
  for (const kube::Snapshot& pod : cache.ByLabel(job.name)) {
    if (kube::Namespace(*pod) == job.name_space) AddPod(*pod, pods);
  }
  return pods;
}

void Observation::Gather(MonotonicTime listening_since) {
  ObserveJob(job_object_);
  observed_.pods = ObservePods(from_.caches.pods, key_);
  ObserveObjects();
  observed_.fresh_secret = SecretName(key_.name, RandomSeed());
  observed_.secret_exists = memory_.done.secret_exists;
  observed_.policy_seen_at = memory_.done.policy_seen_at;
  observed_.sent = memory_.done.sent;
  observed_.listening_since = listening_since;
  ObserveNodes();
  ObserveMachines();
  ObserveFailuresInARow();
  observed_.sample = from_.store.Sample({key_.name_space, key_.name, observed_.job.uid}, from_.time.Now());
  SetOtherAttemptsApart(observed_, {from_.time.Now(), from_.time.WallNow()});
  observed_.drain_sent = memory_.done.drain_sent;
  observed_.blocked = memory_.failures.Blocked();
  observed_.status_written_at = memory_.done.status_written_at;
  ObserveLogs();
}

Status Observation::ReadAgain() {
  constexpr kube::CallOptions kCall{.timeout = Carrier::kCallTimeout};
  ASSIGN_OR_RETURN(const Json job, from_.api.Get(kube::kTrainingJobs, key_, kCall));
  if (kube::Uid(job) != observed_.job.uid) return Error(StatusCode::kAborted, "it is another job by now");
  ASSIGN_OR_RETURN(const kube::ListResult pods,
                   from_.api.List(kube::kPods,
                                  {.name_space = key_.name_space,
                                   .label_selector = std::string(contract::kLabelJob) + "=" + key_.name},
                                  kCall));
  ObserveJob(job);
  observed_.pods.clear();
  for (const Json& pod : pods.items) AddPod(pod, observed_.pods);
  SetOtherAttemptsApart(observed_, {from_.time.Now(), from_.time.WallNow()});
  ObserveNodes();
  ObserveFailuresInARow();
  ObserveLogs();
  return OkStatus();
}

void Observation::ObserveJob(const Json& job) {
  api::ParsedJob parsed = api::ParseInForce(job);
  observed_.job = std::move(parsed.job);
  observed_.problems = std::move(parsed.problems);
  if (from_.caches.queues != nullptr) observed_.queue = from_.caches.queues->PlaceOf(job, observed_.job);
  if (from_.caches.policies == nullptr) return;
  observed_.policy = from_.caches.policies->InForce(job, observed_.job, from_.time.WallNow());
  if (observed_.policy) observed_.job.spec.tuning = policy::Restricted(observed_.job.spec.tuning, *observed_.policy);
}

void Observation::ObserveObjects() {
  observed_.service_exists = Exists(from_.caches.services, ServiceName(key_.name));
  observed_.budget_exists = Exists(from_.caches.budgets, BudgetName(key_.name));
  if (const kube::Snapshot budget = from_.caches.budgets.Get({key_.name_space, BudgetName(key_.name)})) {
    const Json& least = kube::At(*budget, {"spec", "minAvailable"});
    if (least.is_number_integer()) observed_.budget_min_available = least.get<int32_t>();
  }
}

void Observation::ObserveNodes() {
  if (!from_.caches.nodes.HasSynced()) return;  // without the right to read nodes it never does
  observed_.nodes.emplace();
  for (const ObservedPod& pod : observed_.pods) {
    if (pod.node.empty()) continue;
    if (const kube::Snapshot node = from_.caches.nodes.Get({"", pod.node})) {
      observed_.nodes->emplace(pod.node, ObserveNode(*node));
    }
  }
}

// The mark, and the limit at which it was killed, go with the pod; its successor is made a moment later.
void Observation::ObserveFailuresInARow() {
  for (const ObservedPod& pod : observed_.pods) {
    const bool counts = pod.failure_number && pod.job_uid == observed_.job.uid;
    if (counts) memory_.failures_in_a_row[pod.name] = pod.failures_in_a_row;
  }
  while (memory_.failures_in_a_row.size() > kPodsRemembered)
    memory_.failures_in_a_row.erase(memory_.failures_in_a_row.begin());
  observed_.failures_in_a_row = memory_.failures_in_a_row;
  observed_.memory_needs = memory_.memory_needs = MemoryNeeds(observed_, memory_.memory_needs);
}

void Observation::ObserveMachines() {
  // Without the right to read nodes the cache never does.
  const bool needed =
      NeedsMachines(observed_) || AsksForPlacement(observed_.job.spec.placement) || AsksForRoom(observed_);
  if (!needed || !from_.caches.nodes.HasSynced()) return;
  std::vector<ObservedPod> all;
  for (const kube::Snapshot& pod : from_.caches.pods.All()) all.push_back(ObservePod(*pod));
  observed_.machines = FreeMachines(from_.caches.nodes.All(), all);
}

bool Observation::Exists(const kube::WatchCache& cache, const std::string& name) const {
  const kube::Snapshot object = cache.Get({key_.name_space, name});
  return object != nullptr && IsOwnedBy(*object, observed_.job);
}

// Each log is read once. A machine that does not answer must not hold up what is urgent: what cannot be read within
// a few seconds, all logs together, is done without.
void Observation::ObserveLogs() {
  std::map<std::string, std::string> known;
  known.swap(memory_.log_tails);
  const MonotonicTime end = from_.time.Now() + kLogsTimeout;
  for (const ObservedPod* pod : PodsWhoseLogIsNeeded(observed_)) {
    const auto found = known.find(pod->uid);
    const bool late = from_.time.Now() >= end;
    memory_.log_tails[pod->uid] = found != known.end() ? found->second : late ? "" : ReadLogTail(*pod);
  }
  observed_.log_tails = memory_.log_tails;
}

// Best effort: a job's failure is reported without its log when the log cannot be read.
std::string Observation::ReadLogTail(const ObservedPod& pod) {
  std::string text;
  kube::LogOptions options;
  options.container = ToString(pod.role);
  options.tail_lines = kLogTailLines;
  options.bytes_max = 64 << 10;
  const Status status = from_.api.ReadLog({key_.name_space, pod.name}, options,
                                          [&](std::string_view piece) {
                                            text.append(piece);
                                            return text.size() < (1 << 20);
                                          },
                                          {.timeout = kLogTimeout});
  if (!status.ok()) log::Warn("log of an ended pod cannot be read", {{"pod", pod.name}, {"reason", status}});
  return LastLines(text, kLogTailLines, kLogTailBytesMax);
}

}  // namespace attune::controller
