#include "operator/controller/watches/job_watches.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "operator/api/job_metadata.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/machines.h"
#include "operator/controller/observe/observed.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::CacheChange;
using kube::Json;

// Of all that is known of who has stated what, the one who matters (TrainingJob::replicas_manager).
void KeepReplicasManager(Json& metadata) {
  const auto managed = metadata.find("managedFields");
  if (managed == metadata.end()) return;
  const std::string manager = api::ReplicasManager(*managed);
  metadata.erase(managed);
  if (manager.empty()) return;
  const Json fields = {{"f:spec", {{"f:workers", {{"f:replicas", Json::object()}}}}}};
  metadata["managedFields"] = Json::array({{{"manager", manager}, {"fieldsV1", fields}}});
}

Json ProjectJob(Json job) {
  if (job.contains("metadata") && job["metadata"].is_object()) {
    KeepReplicasManager(job["metadata"]);
    if (job["metadata"].contains("annotations") && job["metadata"]["annotations"].is_object()) {
      job["metadata"]["annotations"].erase("kubectl.kubernetes.io/last-applied-configuration");
    }
  }
  return job;
}

const Json& Either(const CacheChange& change) { return change.after != nullptr ? *change.after : *change.before; }

}  // namespace

JobWatches::JobWatches(std::string name_space, kube::Api& api, const TimeSource& time, OnNews on_news)
    : jobs(JobCacheOptions()),
      pods(PodCacheOptions()),
      services(OwnedCacheOptions()),
      budgets(OwnedCacheOptions({{"spec", "minAvailable"}})),
      nodes(NodeCacheOptions()),
      name_space_(std::move(name_space)),
      api_(api),
      time_(time),
      on_news_(std::move(on_news)),
      cluster_policies_(PolicyCacheOptions()),
      own_policies_(PolicyCacheOptions()),
      namespaces_(NamespaceCacheOptions()),
      policies_({cluster_policies_, own_policies_, namespaces_}),
      workloads_(
          OwnedCacheOptions({{"metadata", "annotations"}, {"spec", "queueName"}, {"spec", "active"}, {"status"}})),
      flavors_(FlavorCacheOptions()),
      queues_({workloads_, flavors_}) {}

Status JobWatches::Begin() {
  // One is enough: the reflectors list them all, in pages.
  const Status installed = api_.List(kube::kTrainingJobs, {.name_space = name_space_, .items_max = 1}).status();
  if (installed.code() == StatusCode::kNotFound) {
    return Error(StatusCode::kFailedPrecondition,
                 "the kind TrainingJob (" + kube::kTrainingJobs.api_version() +
                     ") is not installed; install the chart or apply crds/trainingjob.yaml");
  }
  RETURN_IF_ERROR(installed);
  awaited_ = {&jobs, &pods, &services, &budgets};
  LookForOptionalKinds();
  StartReflectors();
  return OkStatus();
}

// Where there may be policies, or queues, no job is touched before they are known; without them it is said once.
void JobWatches::LookForOptionalKinds() {
  const auto look = [&](const kube::ResourceType& type, const std::string& name_space, kube::WatchCache& cache) {
    const Status status = api_.List(type, {.name_space = name_space, .items_max = 1}).status();
    const bool none = status.code() == StatusCode::kNotFound || status.code() == StatusCode::kPermissionDenied;
    if (none) {
      log::Info("jobs do without this kind until it is installed and may be read",
                {{"kind", type.kind}, {"reason", status}});
    } else {
      awaited_.push_back(&cache);
    }
  };
  look(kube::kTuningPolicies, name_space_, own_policies_);
  look(kube::kClusterTuningPolicies, "", cluster_policies_);
  look(kube::kNamespaces, "", namespaces_);  // otherwise a selector by their labels would select all meanwhile
  look(kWorkloads, name_space_, workloads_);
  look(kResourceFlavors, "", flavors_);
}

void JobWatches::StartReflectors() {
  const kube::ReflectorOptions of_jobs{.name_space = name_space_};
  const kube::ReflectorOptions owned{.name_space = name_space_, .label_selector = contract::kLabelJob};
  const auto start = [&](const kube::ResourceType& type, const kube::ReflectorOptions& options,
                         kube::WatchCache& cache) {
    watches_.push_back({type.plural, cache, std::make_unique<kube::Reflector>(api_, type, options, cache, time_)});
  };
  start(kube::kTrainingJobs, of_jobs, jobs);
  start(kube::kPods, owned, pods);
  start(kube::kServices, owned, services);
  start(kPodDisruptionBudgets, owned, budgets);
  start(kube::kNodes, {}, nodes);  // may be forbidden: it is not waited for
  start(kube::kTuningPolicies, of_jobs, own_policies_);
  start(kube::kClusterTuningPolicies, {}, cluster_policies_);
  start(kube::kNamespaces, {}, namespaces_);
  start(kWorkloads, owned, workloads_);
  start(kResourceFlavors, {}, flavors_);
}

// --- what is kept, and to which job it is news

kube::WatchCacheOptions JobWatches::JobCacheOptions() {
  return {.project = ProjectJob, .index_label = "", .on_change = [this](const CacheChange& change) {
            on_news_(change.key);
          }};
}

kube::WatchCacheOptions JobWatches::PodCacheOptions() {
  return {.project = [](const Json& pod) { return ProjectPod(pod); },
          .index_label = contract::kLabelJob,
          .on_change = [this](const CacheChange& change) { ReportJobOf(Either(change)); }};
}

kube::WatchCacheOptions JobWatches::OwnedCacheOptions(std::vector<std::vector<std::string>> fields) {
  return {.project = kube::KeepFields(std::move(fields)),
          .index_label = "",
          .on_change = [this](const CacheChange& change) { ReportJobOf(Either(change)); }};
}

kube::WatchCacheOptions JobWatches::NodeCacheOptions() {
  return {.project = [](const Json& node) { return ProjectNode(node); },
          .index_label = "",
          .on_change = [this](const CacheChange& change) { ReportJobsOn(change); }};
}

kube::WatchCacheOptions JobWatches::PolicyCacheOptions() {
  return {.project = ProjectJob, .index_label = "", .on_change = [this](const CacheChange& change) {
            ReportJobsUnder(change);
          }};
}

kube::WatchCacheOptions JobWatches::NamespaceCacheOptions() {
  return {.project = kube::KeepFields({}), .index_label = "", .on_change = [this](const CacheChange& change) {
            ReportJobsWithin(change);
          }};
}

kube::WatchCacheOptions JobWatches::FlavorCacheOptions() {
  return {.project = kube::KeepFields({{"spec", "nodeLabels"}, {"spec", "tolerations"}}),
          .index_label = "",
          .on_change = [this](const CacheChange&) { ReportJobsInQueues(); }};
}

void JobWatches::ReportJobOf(const Json& object) const {
  on_news_({std::string(kube::Namespace(object)), std::string(kube::Label(object, contract::kLabelJob))});
}

// A node that comes, goes, fails or is cordoned is news to the jobs that have pods there; its figures are not.
void JobWatches::ReportJobsOn(const CacheChange& change) const {
  if (change.before != nullptr && change.after != nullptr) {
    const ObservedNode before = ObserveNode(*change.before), after = ObserveNode(*change.after);
    if (before.ready == after.ready && before.cordoned == after.cordoned) return;
  }
  for (const kube::Snapshot& pod : pods.All()) {
    if (kube::StringAt(*pod, {"spec", "nodeName"}) == change.key.name) ReportJobOf(*pod);
  }
}

// A policy that is made, changed or deleted is news to the jobs that it selects, or did.
void JobWatches::ReportJobsUnder(const CacheChange& change) const {
  for (const kube::Snapshot& job : jobs.All()) {
    for (const kube::Snapshot& policy : {change.before, change.after}) {
      if (policy != nullptr && policies_.IsAbout(*policy, *job)) on_news_(kube::KeyOf(*job));
    }
  }
}

// Its labels may select another policy.
void JobWatches::ReportJobsWithin(const CacheChange& change) const {
  for (const kube::Snapshot& job : jobs.All()) {
    if (kube::Namespace(*job) == change.key.name) on_news_(kube::KeyOf(*job));
  }
}

void JobWatches::ReportJobsInQueues() const {
  for (const kube::Snapshot& job : jobs.All()) {
    if (!kube::Label(*job, kLabelQueue).empty()) on_news_(kube::KeyOf(*job));
  }
}

void JobWatches::ReportAll() const {
  for (const kube::Snapshot& job : jobs.All()) on_news_(kube::KeyOf(*job));
  for (const kube::WatchCache* cache : {&pods, &services, &budgets}) {
    for (const kube::Snapshot& object : cache->All()) ReportJobOf(*object);
  }
}

// --- whether they are filled, and move

bool JobWatches::HaveSynced() const {
  return std::ranges::all_of(awaited_, [](const kube::WatchCache* cache) { return cache->HasSynced(); });
}

bool JobWatches::WaitForSync(const std::function<bool()>& is_stopping) const {
  constexpr Duration kSlice = std::chrono::milliseconds(200);
  for (const kube::WatchCache* cache : awaited_) {
    while (!cache->WaitForSync(kSlice)) {
      if (is_stopping()) return false;
    }
  }
  return true;
}

std::string JobWatches::NotReady() const {
  std::string missing;
  for (const WatchOfKind& watch : watches_) {
    if (watch.cache.HasSynced() || std::ranges::find(awaited_, &watch.cache) == awaited_.end()) continue;
    const Status failure = watch.reflector->last_failure();
    missing += (missing.empty() ? "the first list is not in: " : "; ") + watch.plural +
               (failure.ok() ? "" : " (" + attune::ToString(failure) + ")");
  }
  return missing;
}

std::vector<JobWatches::Turn> JobWatches::Turns(MonotonicTime now) const {
  std::vector<Turn> turns;
  for (const WatchOfKind& watch : watches_) {
    const kube::Reflector::Turn turn = watch.reflector->turn();
    turns.push_back({watch.plural, turn.number, now <= turn.waits_until});
  }
  return turns;
}

std::vector<JobWatches::Restarts> JobWatches::WatchRestarts() const {
  std::vector<Restarts> restarts;
  for (const WatchOfKind& watch : watches_) restarts.push_back({watch.plural, watch.reflector->counts()});
  return restarts;
}

}  // namespace attune::controller
