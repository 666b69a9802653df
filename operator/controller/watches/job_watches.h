// What reconciles read instead of asking the API server: a cache of each kind that concerns jobs, the reflectors that
// fill them, and which job a change is news to. Filled from Begin() on, whether this process acts or stands by, so that
// one that begins to act knows everything already.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/controller/policies/policy_book.h"
#include "operator/controller/queue/queue_book.h"
#include "operator/kube/api.h"
#include "operator/kube/watch/reflector.h"
#include "operator/kube/watch/watch_cache.h"

namespace attune::controller {

// Thread-safe after Begin().
class JobWatches {
 public:
  using OnNews = std::function<void(const kube::ObjectKey& job)>;

  // `name_space`: "" = all. `on_news` is called from the reflectors' threads and must not block for long. `api` and
  // `time` must outlive it.
  JobWatches(std::string name_space, kube::Api& api, const TimeSource& time, OnNews on_news);

  // FailedPrecondition when the TrainingJob kind is not installed.
  Status Begin();
  // Ends all watches; the caches stay as they are.
  void End() { watches_.clear(); }

  // Calls `on_news` for every job that there is, or that anything is left of.
  void ReportAll() const;

  // Absence means nothing before the first lists: no process acts until all are in.
  bool HaveSynced() const;
  // Waits until they are, or until `is_stopping` says so: false then.
  bool WaitForSync(const std::function<bool()>& is_stopping) const;
  // Which first list is not in, and why; "" when all are.
  std::string NotReady() const;

  // The loops of the reflectors, for health.
  struct Turn {
    std::string plural;
    uint64_t number = 0;  // rises with every step
    bool waits = false;   // it is to stand still now
  };
  std::vector<Turn> Turns(MonotonicTime now) const;
  // Why watches began again, for metrics.
  struct Restarts {
    std::string plural;
    kube::WatcherCounts counts;
  };
  std::vector<Restarts> WatchRestarts() const;

  kube::WatchCache jobs, pods, services, budgets, nodes;

  const PolicyBook& policies() const { return policies_; }
  const QueueBook& queues() const { return queues_; }

 private:
  kube::WatchCacheOptions JobCacheOptions();
  kube::WatchCacheOptions PodCacheOptions();
  kube::WatchCacheOptions OwnedCacheOptions(std::vector<std::vector<std::string>> fields = {});
  kube::WatchCacheOptions NodeCacheOptions();
  kube::WatchCacheOptions PolicyCacheOptions();
  kube::WatchCacheOptions NamespaceCacheOptions();
  kube::WatchCacheOptions FlavorCacheOptions();
  void ReportJobOf(const kube::Json& object) const;
  void ReportJobsOn(const kube::CacheChange& change) const;
  void ReportJobsUnder(const kube::CacheChange& change) const;
  void ReportJobsWithin(const kube::CacheChange& change) const;
  void ReportJobsInQueues() const;
  void LookForOptionalKinds();
  void StartReflectors();

  const std::string name_space_;
  kube::Api& api_;
  const TimeSource& time_;
  const OnNews on_news_;
  kube::WatchCache cluster_policies_, own_policies_, namespaces_;
  const PolicyBook policies_;
  kube::WatchCache workloads_, flavors_;
  const QueueBook queues_;
  std::vector<const kube::WatchCache*> awaited_;  // does not change after Begin()
  struct WatchOfKind {
    std::string plural;
    kube::WatchCache& cache;
    std::unique_ptr<kube::Reflector> reflector;
  };
  std::vector<WatchOfKind> watches_;  // does not change after Begin(), until End()
};

}  // namespace attune::controller
