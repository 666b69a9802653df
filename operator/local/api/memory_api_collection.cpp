// What the deletion of an object means for others: garbage collection by owners, the content of namespaces, old Events.
#include <algorithm>

#include "operator/local/api/memory_api.h"
#include "operator/local/api/memory_api_internal.h"

namespace attune::local {

using kube::Json;
using kube::ObjectKey;

void MemoryApi::DeleteNamespaceContent(const std::string& name_space) {
  for (auto& [name, store] : stores_) {
    if (!store.info->type.namespaced) continue;
    std::vector<ObjectKey> keys;
    for (auto at = store.objects.lower_bound({name_space, ""});
         at != store.objects.end() && at->first.name_space == name_space; ++at) {
      keys.push_back(at->first);
    }
    for (const ObjectKey& key : keys)
      (void)DeleteObject(store, key, {});  // gone already: a dependent of an earlier one
  }
}

bool MemoryApi::AnyOwnerExists(const Json& object) const {
  for (const Json& owner : kube::At(object, {"metadata", "ownerReferences"})) {
    const std::string_view kind = kube::StringAt(owner, {"kind"});
    const bool known =
        std::any_of(kinds_.begin(), kinds_.end(), [&](const KindInfo& info) { return info.type.kind == kind; });
    if (!known || by_uid_.contains(kube::StringAt(owner, {"uid"})))
      return true;  // of unknown kinds nothing can be said
  }
  return false;
}

void MemoryApi::CollectDependents(const std::string& uid) {
  const auto found = dependents_.find(uid);
  if (found == dependents_.end()) return;
  const std::set<Place> places = found->second;
  for (const Place& place : places) {
    const auto object = place.store->objects.find(place.key);
    if (object == place.store->objects.end() || AnyOwnerExists(*object->second)) continue;
    (void)DeleteObject(*place.store, place.key, {});
  }
}

void MemoryApi::OrphanDependents(const std::string& uid) {
  const auto found = dependents_.find(uid);
  if (found == dependents_.end()) return;
  const std::set<Place> places = found->second;
  for (const Place& place : places) {
    const ObjectPointer old = place.store->objects.at(place.key);
    Json next = *old;
    Json& owners = next["metadata"]["ownerReferences"];
    owners.erase(std::remove_if(owners.begin(), owners.end(),
                                [&](const Json& owner) { return kube::StringAt(owner, {"uid"}) == uid; }),
                 owners.end());
    if (owners.empty()) next["metadata"].erase("ownerReferences");
    Commit(*place.store, kube::WatchSignal::Kind::kModified, place.key, std::move(next), old);
  }
}

void MemoryApi::ReleaseForegroundOwners(const Json& removed) {
  for (const Json& owner : kube::At(removed, {"metadata", "ownerReferences"})) {
    const std::string_view uid = kube::StringAt(owner, {"uid"});
    const auto place = by_uid_.find(uid);
    if (place == by_uid_.end() || dependents_.contains(uid)) continue;
    const Place at = place->second;
    const ObjectPointer old = at.store->objects.at(at.key);
    if (!HasFinalizer(*old, kForegroundFinalizer)) continue;
    Json next = *old;
    Json& finalizers = next["metadata"]["finalizers"];
    finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), Json(kForegroundFinalizer)), finalizers.end());
    Commit(*at.store, kube::WatchSignal::Kind::kModified, at.key, std::move(next), old);
    RemoveIfFinished(*at.store, at.key);
  }
}

void MemoryApi::ExpireEvents(Store& store) {
  const std::string oldest = Rfc3339(time_.WallNow() - options_.event_ttl);
  const auto remove_first = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const ObjectKey key = store.by_age.begin()->second;
    Remove(store, key, *store.objects.at(key));
  };
  bool any_expired = false;
  while (!store.by_age.empty() && store.by_age.begin()->first < oldest) {
    remove_first();
    any_expired = true;
  }
  // A burst of Events drops the oldest one instead of refusing the newest.
  if (!any_expired && !store.by_age.empty() && store.objects.size() >= store.info->objects_max) remove_first();
}

}  // namespace attune::local
