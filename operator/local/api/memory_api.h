// kube::Api in this process, with the semantics of a real API server: the embedded platform's store and the fake for
// reconcile tests. The conformance suite of tests/operator/kube runs against it and against a real server; a difference
// is a bug here.
//
//   local::MemoryApi api(time);                       // built-in kinds and TrainingJob
//   api.Create(kube::kPods, pod);
//
// What it does like the server: resource versions and conflicts, generation, uid, selectors, the three patches,
// server-side apply with managedFields, status and scale subresources, finalizers, graceful deletion of pods that run
// on a node, garbage collection by ownerReferences (at once instead of "soon"), watches with history, bookmarks and
// expired versions. What differs: namespaces come into being when first used (option), no admission, no quota, no
// paging of lists.
//
// Thread-safe. Bounded: objects per kind (KindInfo::objects_max), bytes per object, history per kind, watches, tokens.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/local/api/kinds.h"
#include "operator/local/api/selectors.h"
#include "operator/local/api/service_tokens.h"

namespace attune::local {

struct MemoryApiOptions {
  std::vector<KindInfo> kinds;  // beside BuiltInKinds() and TrainingJobKind(), replacing those of the same type
  size_t history_max = 2048;    // changes kept per kind for watches that resume; older versions are expired
  size_t object_bytes_max = 1536 << 10;
  size_t watches_max = 1024;
  Duration event_ttl = std::chrono::hours(1);  // Events older than this vanish, as on a cluster
  Duration bookmark_interval = std::chrono::seconds(60);
  bool create_namespaces = true;  // a namespace exists from its first object on; false: NotFound as on a cluster
  // Where uids come from; empty: drawn at random. Tests that repeat themselves give their own.
  std::function<std::string()> new_uid = {};
  // With a thread of its own, signals of watches arrive by themselves (and `time` is read from that thread). Without,
  // they arrive inside DeliverSignals(): deterministic tests.
  bool own_thread = true;
};

// Field manager of creates, updates and patches: kube::Api names one for apply only.
inline constexpr char kDefaultFieldManager[] = "attune";

class MemoryApi final : public kube::Api {
 public:
  // `time` must outlive the API.
  explicit MemoryApi(const TimeSource& time, MemoryApiOptions options = {});
  // Cancels what is left of watches; no thread may be inside a call.
  ~MemoryApi() override;
  MemoryApi(const MemoryApi&) = delete;
  MemoryApi& operator=(const MemoryApi&) = delete;

  StatusOr<kube::Json> Get(const kube::ResourceType& type, const kube::ObjectKey& key,
                           const kube::CallOptions& call = {}) override;
  StatusOr<kube::ListResult> List(const kube::ResourceType& type, const kube::ListOptions& options,
                                  const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> Create(const kube::ResourceType& type, const kube::Json& object,
                              const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> Update(const kube::ResourceType& type, const kube::Json& object,
                              const std::string& subresource = "", const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> Patch(const kube::ResourceType& type, const kube::ObjectKey& key, kube::PatchType patch_type,
                             const kube::Json& patch, const std::string& subresource = "",
                             const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> Apply(const kube::ResourceType& type, const kube::Json& object,
                             const kube::ApplyOptions& options, const kube::CallOptions& call = {}) override;
  Status Delete(const kube::ResourceType& type, const kube::ObjectKey& key, const kube::DeleteOptions& options = {},
                const kube::CallOptions& call = {}) override;
  StatusOr<kube::Json> GetSubresource(const kube::ResourceType& type, const kube::ObjectKey& key,
                                      const std::string& subresource, const kube::CallOptions& call = {}) override;
  StatusOr<std::unique_ptr<kube::Watch>> StartWatch(const kube::ResourceType& type, const kube::WatchOptions& options,
                                                    std::function<void(kube::WatchSignal)> on_signal) override;
  // Answered by the log source (the node agent); Unavailable without one.
  Status ReadLog(const kube::ObjectKey& pod, const kube::LogOptions& options,
                 const std::function<bool(std::string_view)>& on_text, const kube::CallOptions& call = {}) override;

  // --- What only the embedded platform uses ---

  // Scheduling: sets spec.nodeName of a pod that has none (the server's "binding"), and the PodScheduled condition.
  Status Bind(const kube::ObjectKey& pod, const std::string& node);
  // A service-account token for a pod; reviews of it succeed for these audiences until `expires` or until the pod is
  // gone.
  StatusOr<std::string> IssueToken(const kube::ObjectKey& pod, const std::vector<std::string>& audiences,
                                   WallTime expires);
  using LogSource =
      std::function<Status(const kube::Json& pod, const kube::LogOptions&,
                           const std::function<bool(std::string_view)>& on_text, const kube::CallOptions&)>;
  void SetLogSource(LogSource source);
  // Sends every signal that is due. Only with own_thread = false; from one thread at a time.
  void DeliverSignals();
  // Forgets the history of all kinds, as a compaction of the server's store does: earlier versions are expired.
  void ExpireHistory();

  const std::vector<KindInfo>& kinds() const { return kinds_; }

 private:
  using ObjectPointer = std::shared_ptr<const kube::Json>;
  struct Change {
    uint64_t version;
    kube::WatchSignal::Kind kind;
    ObjectPointer object;    // after; for kDeleted the last state
    ObjectPointer previous;  // before; null for kAdded
  };
  struct Store {
    const KindInfo* info;
    std::map<kube::ObjectKey, ObjectPointer> objects;
    std::set<std::pair<std::string, kube::ObjectKey>> by_age;  // of Events, by creationTimestamp
    std::deque<Change> history;
    uint64_t expired_version = 0;  // changes up to it are no longer in `history`
  };
  struct WatchState;
  class WatchHandle;
  struct PendingSignal {
    kube::WatchSignal::Kind kind;
    ObjectPointer object;
    Status status;
  };
  struct Place {
    Store* store;
    kube::ObjectKey key;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  StatusOr<Store*> FindStore(const kube::ResourceType& type) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<ObjectPointer> Find(Store& store, const kube::ObjectKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckNamespace(Store& store, kube::Json& object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<kube::Json> CreateObject(Store& store, kube::Json object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<kube::Json> ApplyObject(Store& store, kube::Json config, const kube::ApplyOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<kube::Json> Replace(Store& store, const ObjectPointer& old, kube::Json next, const std::string& subresource,
                               bool record_manager) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<kube::Json> ChangeScale(Store& store, const ObjectPointer& old, const kube::Json& scale)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckReplacement(const Store& store, const kube::Json& old, const kube::Json& next,
                          const std::string& subresource) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status CheckSize(const kube::Json& object) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Commit(Store& store, kube::WatchSignal::Kind kind, const kube::ObjectKey& key, kube::Json object,
              ObjectPointer previous) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Index(Store& store, const kube::ObjectKey& key, const kube::Json& object, bool add)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(Store& store, const kube::ObjectKey& key, kube::Json last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveIfFinished(Store& store, const kube::ObjectKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status DeleteObject(Store& store, const kube::ObjectKey& key, const kube::DeleteOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DeleteNamespaceContent(const std::string& name_space) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectDependents(const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OrphanDependents(const std::string& uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReleaseForegroundOwners(const kube::Json& removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AnyOwnerExists(const kube::Json& object) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ExpireEvents(Store& store) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ServiceTokens::Exists UidExists() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // for calls under this lock
  bool NextSignal(WatchState& watch, PendingSignal& signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void DeliverLoop();
  bool DeliverAll();
  bool DeliverNext(const std::shared_ptr<WatchState>& watch);

  // Constant after construction.
  const TimeSource& time_;
  const MemoryApiOptions options_;
  std::vector<KindInfo> kinds_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Store> stores_ ABSL_GUARDED_BY(mutex_);  // by "group/plural"
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<std::string, Place, std::less<>> by_uid_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::set<Place>, std::less<>> dependents_ ABSL_GUARDED_BY(mutex_);  // by the owner's uid
  ServiceTokens tokens_ ABSL_GUARDED_BY(mutex_);
  LogSource log_source_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<WatchState>> watches_ ABSL_GUARDED_BY(mutex_);
  bool undelivered_ ABSL_GUARDED_BY(mutex_) = false;  // something changed since the deliverer last looked
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread deliverer_;
};

// "2026-11-21T12:13:06Z", the form of creationTimestamp.
std::string Rfc3339(WallTime time);

}  // namespace attune::local
