// The objects of an API server, by kind: with one version for all of them that rises with every change, with a bounded
// history of changes for watches, and found by key, by uid and by owner, Events by age as well. What a change means,
// and whether it may be made, is the business of others (object_lifecycle.h). Pure; externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "operator/kube/api.h"
#include "operator/local/api/rules/kinds.h"

namespace attune::local {

using ObjectPointer = std::shared_ptr<const kube::Json>;

struct ObjectChange {
  uint64_t version;
  kube::WatchSignal::Kind kind;
  ObjectPointer object;    // after; for kDeleted the last state
  ObjectPointer previous;  // before; null for kAdded
};

// The objects of one kind. Only its store changes it.
class StoredKind {
 public:
  using Objects = std::map<kube::ObjectKey, ObjectPointer>;

  explicit StoredKind(const KindInfo& info) : info_(&info) {}

  const KindInfo& info() const { return *info_; }
  const Objects& objects() const { return objects_; }
  // nullptr: there is none.
  ObjectPointer Find(const kube::ObjectKey& key) const;
  std::vector<kube::ObjectKey> KeysIn(const std::string& name_space) const;
  bool AnyIn(const std::string& name_space) const;
  // The Event that is older than this text of a time says, or than all others; nullptr: there is none.
  const kube::ObjectKey* EventBefore(const std::string& created) const;
  const kube::ObjectKey* OldestEvent() const { return by_age_.empty() ? nullptr : &by_age_.begin()->second; }

  const std::deque<ObjectChange>& history() const { return history_; }
  // Changes up to this version are in the history no longer.
  uint64_t expired_version() const { return expired_version_; }

 private:
  friend class ObjectStore;

  const KindInfo* info_;
  Objects objects_;
  std::set<std::pair<std::string, kube::ObjectKey>> by_age_;  // of Events, by creationTimestamp
  std::deque<ObjectChange> history_;
  uint64_t expired_version_ = 0;
};

class ObjectStore {
 public:
  // Where an object is.
  struct Place {
    StoredKind* kind;
    kube::ObjectKey key;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  // `kinds` outlive it. `history_max`: changes kept of each. `on_change` is called after each change.
  ObjectStore(const std::vector<KindInfo>& kinds, size_t history_max, std::function<void()> on_change);
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  // NotFound: there is no such kind, or not in this version.
  StatusOr<StoredKind*> FindKind(const kube::ResourceType& type);
  // InvalidArgument without a namespace where one is needed, NotFound.
  static StatusOr<ObjectPointer> Get(const StoredKind& kind, const kube::ObjectKey& key);
  template <typename Visit>  // void(StoredKind&)
  void ForEachKind(Visit visit) {
    for (auto& [name, kind] : stored_) visit(kind);
  }
  // The newest version of anything.
  uint64_t version() const { return version_; }

  // Stores the object under the next version, or removes it (kDeleted; `object` is its last state). `previous`: what is
  // stored there now.
  void Commit(StoredKind& kind, kube::WatchSignal::Kind change, const kube::ObjectKey& key, kube::Json object,
              ObjectPointer previous);
  // Earlier versions than the newest are expired for everybody.
  void ExpireHistory();

  // --- uids and owners

  bool HasUid(std::string_view uid) const { return by_uid_.contains(uid); }
  const Place* PlaceOf(std::string_view uid) const;
  // Those that name this owner.
  bool HasDependents(std::string_view uid) const { return dependents_.contains(uid); }
  std::vector<Place> DependentsOf(std::string_view uid) const;
  // Or it may exist: of kinds that are not stored here nothing can be said.
  bool AnyOwnerExists(const kube::Json& object) const;

 private:
  void Index(StoredKind& kind, const kube::ObjectKey& key, const kube::Json& object, bool add);

  const std::vector<KindInfo>& kinds_;
  const size_t history_max_;
  const std::function<void()> on_change_;
  std::map<std::string, StoredKind> stored_;  // by "group/plural"
  uint64_t version_ = 1;
  std::map<std::string, Place, std::less<>> by_uid_;
  std::map<std::string, std::set<Place>, std::less<>> dependents_;  // by the owner's uid
};

}  // namespace attune::local
