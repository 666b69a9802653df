#include "operator/local/api/object_store.h"

#include <algorithm>

#include "operator/local/api/rules/errors.h"

namespace attune::local {

using kube::Json;
using kube::ObjectKey;
using kube::ResourceType;

namespace {

std::string StoredName(const ResourceType& type) { return type.group + "/" + type.plural; }

}  // namespace

// --- a kind

ObjectPointer StoredKind::Find(const ObjectKey& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<ObjectKey> StoredKind::KeysIn(const std::string& name_space) const {
  std::vector<ObjectKey> keys;
  for (auto at = objects_.lower_bound({name_space, ""}); at != objects_.end() && at->first.name_space == name_space;
       ++at) {
    keys.push_back(at->first);
  }
  return keys;
}

bool StoredKind::AnyIn(const std::string& name_space) const {
  const auto first = objects_.lower_bound({name_space, ""});
  return first != objects_.end() && first->first.name_space == name_space;
}

const ObjectKey* StoredKind::EventBefore(const std::string& created) const {
  return !by_age_.empty() && by_age_.begin()->first < created ? OldestEvent() : nullptr;
}

// --- all of them

ObjectStore::ObjectStore(const std::vector<KindInfo>& kinds, size_t history_max, std::function<void()> on_change)
    : kinds_(kinds), history_max_(history_max), on_change_(std::move(on_change)) {
  for (const KindInfo& info : kinds_) stored_.emplace(StoredName(info.type), StoredKind(info));
}

StatusOr<StoredKind*> ObjectStore::FindKind(const ResourceType& type) {
  const auto found = stored_.find(StoredName(type));
  if (found == stored_.end() || found->second.info().type.version != type.version) {
    return Error(StatusCode::kNotFound,
                 "the server could not find the requested resource (" + ResourceName(type) + "/" + type.version + ")");
  }
  return &found->second;
}

StatusOr<ObjectPointer> ObjectStore::Get(const StoredKind& kind, const ObjectKey& key) {
  if (kind.info().type.namespaced && key.name_space.empty()) {
    return Error(StatusCode::kInvalidArgument, "an empty namespace may not be set when a resource name is provided");
  }
  ObjectPointer found = kind.Find(key);
  if (found == nullptr) return NotFound(kind.info().type, key.name);
  return found;
}

void ObjectStore::Commit(StoredKind& kind, kube::WatchSignal::Kind change, const ObjectKey& key, Json object,
                         ObjectPointer previous) {
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  auto now = std::make_shared<const Json>(std::move(object));
  if (previous != nullptr) Index(kind, key, *previous, false);
  if (change == kube::WatchSignal::Kind::kDeleted) {
    kind.objects_.erase(key);
  } else {
    kind.objects_[key] = now;
    Index(kind, key, *now, true);
  }
  kind.history_.push_back({version_, change, std::move(now), std::move(previous)});
  while (kind.history_.size() > history_max_) {
    kind.expired_version_ = kind.history_.front().version;
    kind.history_.pop_front();
  }
  on_change_();
}

void ObjectStore::ExpireHistory() {
  for (auto& [name, kind] : stored_) {
    kind.expired_version_ = version_;
    kind.history_.clear();
  }
  on_change_();
}

void ObjectStore::Index(StoredKind& kind, const ObjectKey& key, const Json& object, bool add) {
  const Place place{&kind, key};
  const std::string uid(kube::Uid(object));
  if (add) {
    by_uid_.insert_or_assign(uid, place);
  } else {
    by_uid_.erase(uid);
  }
  if (kind.info().type == kube::kEvents) {
    const std::pair age(std::string(kube::StringAt(object, {"metadata", "creationTimestamp"})), key);
    if (add) {
      kind.by_age_.insert(age);
    } else {
      kind.by_age_.erase(age);
    }
  }
  for (const Json& owner : kube::At(object, {"metadata", "ownerReferences"})) {
    const std::string owner_uid(kube::StringAt(owner, {"uid"}));
    if (add) {
      dependents_[owner_uid].insert(place);
    } else if (const auto found = dependents_.find(owner_uid); found != dependents_.end()) {
      found->second.erase(place);
      if (found->second.empty()) dependents_.erase(found);
    }
  }
}

// --- uids and owners

const ObjectStore::Place* ObjectStore::PlaceOf(std::string_view uid) const {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : &found->second;
}

std::vector<ObjectStore::Place> ObjectStore::DependentsOf(std::string_view uid) const {
  const auto found = dependents_.find(uid);
  return found == dependents_.end() ? std::vector<Place>()
                                    : std::vector<Place>(found->second.begin(), found->second.end());
}

bool ObjectStore::AnyOwnerExists(const Json& object) const {
  for (const Json& owner : kube::At(object, {"metadata", "ownerReferences"})) {
    const std::string_view kind = kube::StringAt(owner, {"kind"});
    const bool known =
        std::any_of(kinds_.begin(), kinds_.end(), [&](const KindInfo& info) { return info.type.kind == kind; });
    if (!known || HasUid(kube::StringAt(owner, {"uid"}))) return true;
  }
  return false;
}

}  // namespace attune::local
