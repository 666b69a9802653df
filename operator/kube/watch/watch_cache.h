// The last known state of the objects of one kind: what a Reflector fills and reconcilers read instead of asking the
// server. Thread-safe. Objects read are immutable snapshots and stay valid while held.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "operator/kube/watch/watcher.h"

namespace attune::kube {

using Snapshot = std::shared_ptr<const Json>;

// `before` is null for a new object, `after` for one that is gone; an object replaced under the same name by another
// one (different uid) is reported as gone and then as new.
struct CacheChange {
  ObjectKey key;
  Snapshot before, after;
};

struct WatchCacheOptions {
  // What to keep of each object; empty keeps all. Names, labels, owners and versions are always kept (see KeepFields).
  std::function<Json(Json)> project;
  // The label whose values are indexed for ByLabel; "" = none.
  std::string index_label;
  // Called in order, after the change can be read, from the reflector's thread. Must not block for long.
  std::function<void(const CacheChange&)> on_change;
};

class WatchCache {
 public:
  explicit WatchCache(WatchCacheOptions options = {}) : options_(std::move(options)) {}

  // By the reflector, from one thread.
  void Take(WatchEvent event);

  // True once the first list is in: before that, absence means nothing.
  bool HasSynced() const;
  // The same, waiting; false at the timeout.
  bool WaitForSync(Duration timeout) const;

  Snapshot Get(const ObjectKey& key) const;  // null when unknown
  std::vector<Snapshot> All() const;         // by key
  std::vector<Snapshot> ByLabel(std::string_view value) const;
  std::vector<Snapshot> ByOwner(std::string_view uid) const;  // metadata.ownerReferences[].uid
  size_t size() const;
  // The newest version of any object so far, also of those that are gone: every earlier write can be seen here, for a
  // kind's changes come in the order of their versions.
  uint64_t newest_version() const;

 private:
  using Keys = std::set<ObjectKey>;
  void Replace(std::vector<Json> objects);
  void Put(Json object, std::vector<CacheChange>& changes);
  void Remove(const ObjectKey& key, std::vector<CacheChange>& changes);
  void Index(const ObjectKey& key, const Json& object, bool add);
  std::vector<Snapshot> Objects(const std::map<std::string, Keys, std::less<>>& index, std::string_view value) const;

  const WatchCacheOptions options_;
  // Not annotated: the thread-safety analysis does not see the shared locks of the standard library.
  mutable std::shared_mutex mutex_;
  mutable std::condition_variable_any synced_changed_;
  // Guarded by mutex_.
  std::map<ObjectKey, Snapshot> objects_;
  std::map<std::string, Keys, std::less<>> by_label_, by_owner_;
  bool synced_ = false;
  uint64_t newest_version_ = 0;
};

// A projection that keeps apiVersion, kind, the metadata every controller needs (without managedFields and annotations)
// and the fields at `paths`: KeepFields({{"spec", "nodeName"}, {"status", "phase"}}).
std::function<Json(Json)> KeepFields(std::vector<std::vector<std::string>> paths);

}  // namespace attune::kube
