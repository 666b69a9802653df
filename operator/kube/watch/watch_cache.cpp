#include "operator/kube/watch/watch_cache.h"

#include <algorithm>

namespace attune::kube {
namespace {

std::vector<std::string> OwnerUids(const Json& object) {
  std::vector<std::string> uids;
  const Json& owners = At(object, {"metadata", "ownerReferences"});
  if (!owners.is_array()) return uids;
  for (const Json& owner : owners) {
    if (std::string_view uid = StringAt(owner, {"uid"}); !uid.empty()) uids.emplace_back(uid);
  }
  return uids;
}

// Copies the field at path[depth...] of `from` into `to`, moving the value.
void MoveField(Json& from, Json& to, const std::vector<std::string>& path, size_t depth) {
  if (!from.is_object()) return;
  auto found = from.find(path[depth]);
  if (found == from.end()) return;
  if (depth + 1 == path.size()) {
    to[path[depth]] = std::move(*found);
    from.erase(found);
    return;
  }
  if (!found->is_object()) return;
  Json& below = to[path[depth]];
  MoveField(*found, below, path, depth + 1);
  if (below.is_null()) to.erase(path[depth]);
}

}  // namespace

void WatchCache::Take(WatchEvent event) {
  std::vector<CacheChange> changes;
  if (event.kind == WatchEvent::Kind::kReplaced) return Replace(std::move(event.objects));
  {
    std::unique_lock lock(mutex_);
    for (Json& object : event.objects) {
      newest_version_ = std::max(newest_version_, VersionNumber(object));
      if (event.kind == WatchEvent::Kind::kApplied)
        Put(std::move(object), changes);
      else
        Remove(KeyOf(object), changes);
    }
  }
  if (!options_.on_change) return;
  for (const CacheChange& change : changes) options_.on_change(change);
}

void WatchCache::Replace(std::vector<Json> objects) {
  std::vector<CacheChange> changes;
  {
    std::unique_lock lock(mutex_);
    Keys listed;
    for (const Json& object : objects) {
      listed.insert(KeyOf(object));
      newest_version_ = std::max(newest_version_, VersionNumber(object));
    }
    std::vector<ObjectKey> missing;
    for (const auto& [key, object] : objects_) {
      if (!listed.contains(key)) missing.push_back(key);
    }
    for (const ObjectKey& key : missing) Remove(key, changes);
    for (Json& object : objects) Put(std::move(object), changes);
    synced_ = true;
    synced_changed_.notify_all();
  }
  if (!options_.on_change) return;
  for (const CacheChange& change : changes) options_.on_change(change);
}

void WatchCache::Put(Json object, std::vector<CacheChange>& changes) {
  ObjectKey key = KeyOf(object);
  auto found = objects_.find(key);
  if (found != objects_.end()) {
    // A relist repeats what is known.
    if (ResourceVersion(*found->second) == ResourceVersion(object) && Uid(*found->second) == Uid(object)) return;
    if (Uid(*found->second) != Uid(object)) {
      Remove(key, changes);
      found = objects_.end();
    }
  }
  auto after = std::make_shared<const Json>(options_.project ? options_.project(std::move(object)) : std::move(object));
  Snapshot before = found == objects_.end() ? nullptr : found->second;
  if (before != nullptr) Index(key, *before, /*add=*/false);
  Index(key, *after, /*add=*/true);
  objects_[key] = after;
  changes.push_back({key, std::move(before), std::move(after)});
}

void WatchCache::Remove(const ObjectKey& key, std::vector<CacheChange>& changes) {
  auto found = objects_.find(key);
  if (found == objects_.end()) return;
  Index(key, *found->second, /*add=*/false);
  changes.push_back({key, std::move(found->second), nullptr});
  objects_.erase(found);
}

void WatchCache::Index(const ObjectKey& key, const Json& object, bool add) {
  auto change = [&](std::map<std::string, Keys, std::less<>>& index, std::string_view value) {
    if (value.empty()) return;
    auto place = index.try_emplace(std::string(value)).first;
    if (add)
      place->second.insert(key);
    else
      place->second.erase(key);
    if (place->second.empty()) index.erase(place);
  };
  if (!options_.index_label.empty()) change(by_label_, Label(object, options_.index_label));
  for (const std::string& uid : OwnerUids(object)) change(by_owner_, uid);
}

bool WatchCache::HasSynced() const {
  std::shared_lock lock(mutex_);
  return synced_;
}

bool WatchCache::WaitForSync(Duration timeout) const {
  std::unique_lock lock(mutex_);
  return synced_changed_.wait_for(lock, timeout, [&] { return synced_; });
}

Snapshot WatchCache::Get(const ObjectKey& key) const {
  std::shared_lock lock(mutex_);
  auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

uint64_t WatchCache::newest_version() const {
  std::shared_lock lock(mutex_);
  return newest_version_;
}

std::vector<Snapshot> WatchCache::All() const {
  std::shared_lock lock(mutex_);
  std::vector<Snapshot> all;
  all.reserve(objects_.size());
  for (const auto& [key, object] : objects_) all.push_back(object);
  return all;
}

std::vector<Snapshot> WatchCache::Objects(const std::map<std::string, Keys, std::less<>>& index,
                                          std::string_view value) const {
  std::shared_lock lock(mutex_);
  std::vector<Snapshot> found;
  auto keys = index.find(value);
  if (keys == index.end()) return found;
  for (const ObjectKey& key : keys->second) found.push_back(objects_.at(key));
  return found;
}

std::vector<Snapshot> WatchCache::ByLabel(std::string_view value) const { return Objects(by_label_, value); }
std::vector<Snapshot> WatchCache::ByOwner(std::string_view uid) const { return Objects(by_owner_, uid); }

size_t WatchCache::size() const {
  std::shared_lock lock(mutex_);
  return objects_.size();
}

std::function<Json(Json)> KeepFields(std::vector<std::vector<std::string>> paths) {
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "generation", "labels", "ownerReferences",
                            "finalizers", "creationTimestamp", "deletionTimestamp"}) {
    paths.push_back({"metadata", field});
  }
  paths.push_back({"apiVersion"});
  paths.push_back({"kind"});
  return [paths = std::move(paths)](Json object) {
    Json kept = Json::object();
    for (const std::vector<std::string>& path : paths) MoveField(object, kept, path, 0);
    return kept;
  };
}

}  // namespace attune::kube
