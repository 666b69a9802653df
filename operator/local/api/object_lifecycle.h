// What an API server makes of a create, an apply, an update or a delete: defaults and checks, versions and immutable
// fields, finalizers and graceful deletion; and what follows for other objects: garbage collection by owners, the
// content of namespaces, old Events. Pure but for uids, which are drawn where none are given; externally synchronized.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/local/api/object_store.h"

namespace attune::local {

class ObjectLifecycle {
 public:
  struct Options {
    size_t object_bytes_max = 0;
    Duration event_ttl{};  // Events older than this vanish
    bool create_namespaces = true;
    std::function<std::string()> new_uid;  // empty: drawn at random
  };

  // Both outlive it.
  ObjectLifecycle(ObjectStore& store, const TimeSource& time, Options options)
      : store_(store), time_(time), options_(std::move(options)) {}

  StatusOr<kube::Json> Create(StoredKind& kind, kube::Json object);
  StatusOr<kube::Json> Apply(StoredKind& kind, kube::Json config, const kube::ApplyOptions& options);
  // `record_manager`: the fields that change become those of the default field manager.
  StatusOr<kube::Json> Replace(StoredKind& kind, const ObjectPointer& old, kube::Json next,
                               const std::string& subresource, bool record_manager);
  StatusOr<kube::Json> ChangeScale(StoredKind& kind, const ObjectPointer& old, const kube::Json& scale);
  Status Delete(StoredKind& kind, const kube::ObjectKey& key, const kube::DeleteOptions& options);
  // The node of a pod that has none.
  Status Bind(const kube::ObjectKey& pod, const std::string& node);
  // Removes what is too old. A full store loses its oldest Event instead of refusing the newest.
  void ExpireEvents(StoredKind& events);

 private:
  Status CheckNamespace(StoredKind& kind, kube::Json& object);
  Status CheckSize(const kube::Json& object) const;
  static Status CheckReplacement(const KindInfo& info, const kube::Json& old, const kube::Json& next,
                                 const std::string& subresource);
  void Remove(StoredKind& kind, const kube::ObjectKey& key, kube::Json last);
  void RemoveIfFinished(StoredKind& kind, const kube::ObjectKey& key);
  bool AnyIn(const std::string& name_space);
  void DeleteNamespaceContent(const std::string& name_space);
  void CollectDependents(const std::string& uid);
  void OrphanDependents(const std::string& uid);
  void ReleaseForegroundOwners(const kube::Json& removed);

  ObjectStore& store_;
  const TimeSource& time_;
  const Options options_;
};

// Field manager of creates, updates and patches: kube::Api names one for apply only.
inline constexpr char kDefaultFieldManager[] = "attune";

inline constexpr char kForegroundFinalizer[] = "foregroundDeletion";
bool HasFinalizer(const kube::Json& object, std::string_view name);

}  // namespace attune::local
