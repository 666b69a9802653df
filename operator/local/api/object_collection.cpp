// What the deletion of an object means for others: garbage collection by owners, the content of namespaces, old Events.
#include <algorithm>

#include "operator/local/api/object_lifecycle.h"
#include "operator/local/api/rules/identity.h"

namespace attune::local {

using kube::Json;
using kube::ObjectKey;

bool ObjectLifecycle::AnyIn(const std::string& name_space) {
  bool any = false;
  store_.ForEachKind([&](StoredKind& kind) { any = any || (kind.info().type.namespaced && kind.AnyIn(name_space)); });
  return any;
}

void ObjectLifecycle::DeleteNamespaceContent(const std::string& name_space) {
  store_.ForEachKind([&](StoredKind& kind) {
    if (!kind.info().type.namespaced) return;
    // One may be gone already: a dependent of an earlier one.
    for (const ObjectKey& key : kind.KeysIn(name_space)) (void)Delete(kind, key, {});
  });
}

void ObjectLifecycle::CollectDependents(const std::string& uid) {
  for (const ObjectStore::Place& place : store_.DependentsOf(uid)) {
    const ObjectPointer object = place.kind->Find(place.key);
    if (object == nullptr || store_.AnyOwnerExists(*object)) continue;
    (void)Delete(*place.kind, place.key, {});
  }
}

void ObjectLifecycle::OrphanDependents(const std::string& uid) {
  for (const ObjectStore::Place& place : store_.DependentsOf(uid)) {
    const ObjectPointer old = place.kind->objects().at(place.key);
    Json next = *old;
    Json& owners = next["metadata"]["ownerReferences"];
    owners.erase(std::remove_if(owners.begin(), owners.end(),
                                [&](const Json& owner) { return kube::StringAt(owner, {"uid"}) == uid; }),
                 owners.end());
    if (owners.empty()) next["metadata"].erase("ownerReferences");
    store_.Commit(*place.kind, kube::WatchSignal::Kind::kModified, place.key, std::move(next), old);
  }
}

void ObjectLifecycle::ReleaseForegroundOwners(const Json& removed) {
  for (const Json& owner : kube::At(removed, {"metadata", "ownerReferences"})) {
    const std::string_view uid = kube::StringAt(owner, {"uid"});
    const ObjectStore::Place* place = store_.PlaceOf(uid);
    if (place == nullptr || store_.HasDependents(uid)) continue;
    const ObjectStore::Place at = *place;
    const ObjectPointer old = at.kind->objects().at(at.key);
    if (!HasFinalizer(*old, kForegroundFinalizer)) continue;
    Json next = *old;
    Json& finalizers = next["metadata"]["finalizers"];
    finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), Json(kForegroundFinalizer)), finalizers.end());
    store_.Commit(*at.kind, kube::WatchSignal::Kind::kModified, at.key, std::move(next), old);
    RemoveIfFinished(*at.kind, at.key);
  }
}

void ObjectLifecycle::ExpireEvents(StoredKind& events) {
  const std::string oldest = Rfc3339(time_.WallNow() - options_.event_ttl);
  const auto remove = [&](const ObjectKey& key) { Remove(events, key, *events.objects().at(key)); };
  bool any_expired = false;
  while (const ObjectKey* expired = events.EventBefore(oldest)) {
    remove(ObjectKey(*expired));
    any_expired = true;
  }
  if (any_expired || events.objects().size() < events.info().objects_max) return;
  if (const ObjectKey* first = events.OldestEvent()) remove(ObjectKey(*first));
}

}  // namespace attune::local
