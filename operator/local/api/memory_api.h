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
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/local/api/object_lifecycle.h"
#include "operator/local/api/object_store.h"
#include "operator/local/api/rules/kinds.h"
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
  struct WatchState;
  class WatchHandle;

  ServiceTokens::Exists UidExists() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // for calls under this lock
  void DropEndedWatches() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeDeliverer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DeliverLoop();
  bool DeliverAll();
  bool DeliverNext(const std::shared_ptr<WatchState>& watch);

  const TimeSource& time_;
  const MemoryApiOptions options_;
  const std::vector<KindInfo> kinds_;

  mutable Mutex mutex_;
  CondVar changed_;
  ObjectStore objects_ ABSL_GUARDED_BY(mutex_);
  ObjectLifecycle lifecycle_ ABSL_GUARDED_BY(mutex_);
  ServiceTokens tokens_ ABSL_GUARDED_BY(mutex_);
  LogSource log_source_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<WatchState>> watches_ ABSL_GUARDED_BY(mutex_);
  bool undelivered_ ABSL_GUARDED_BY(mutex_) = false;  // something changed since the deliverer last looked
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread deliverer_;
};

}  // namespace attune::local
