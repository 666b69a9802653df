// What creates, updates and deletes do to the store. What then follows for other objects is in object_collection.cpp.
#include "operator/local/api/object_lifecycle.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "operator/local/api/rules/copy_field.h"
#include "operator/local/api/rules/errors.h"
#include "operator/local/api/rules/field_set.h"
#include "operator/local/api/rules/identity.h"
#include "operator/local/api/rules/pod_rules.h"
#include "operator/local/api/rules/scale.h"

namespace attune::local {

using kube::Json;
using kube::ObjectKey;

namespace {

bool HasFinalizers(const Json& object) { return !kube::At(object, {"metadata", "finalizers"}).empty(); }

bool IsNamespace(const KindInfo& info) { return info.type == kube::kNamespaces; }

// Fields only the server writes, and the part of the object that `subresource` does not reach, stay as they were.
void KeepServerFields(const KindInfo& info, const Json& old, Json& next, const std::string& subresource) {
  if (subresource == "resize") return KeepAllButResources(old, next);
  if (subresource == "status") {
    Json kept = old;
    CopyField(next, kept, "status");
    CopyField(next["metadata"], kept["metadata"], "managedFields");
    next = std::move(kept);
    return;
  }
  if (info.has_status && subresource.empty()) CopyField(old, next, "status");
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation",
                            "generateName", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    CopyField(old["metadata"], next["metadata"], field);
  }
}

// What of an applied configuration a subresource takes note of.
Json PartOf(const Json& config, const std::string& subresource) {
  Json part{{"apiVersion", config["apiVersion"]}, {"kind", config["kind"]}, {"metadata", config["metadata"]}};
  for (const char* field : {"labels", "annotations", "finalizers", "ownerReferences"}) part["metadata"].erase(field);
  if (subresource == "status") {
    CopyField(config, part, "status");
    return part;
  }
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : kube::At(config, {"spec", list})) {
      Json kept = Json::object();
      for (const char* field : {"name", "resources", "resizePolicy"}) CopyField(container, kept, field);
      part["spec"][list].push_back(std::move(kept));
    }
  }
  return part;
}

Json WithoutMetadataAndStatus(Json object) {
  object.erase("metadata");
  object.erase("status");
  return object;
}

// Pods that no node runs, or that have ended, need no grace.
int64_t GraceSeconds(const KindInfo& info, const Json& object, const kube::DeleteOptions& options) {
  if (!(info.type == kube::kPods)) return 0;
  const std::string_view phase = kube::StringAt(object, {"status", "phase"});
  if (kube::StringAt(object, {"spec", "nodeName"}).empty() || phase == "Succeeded" || phase == "Failed") return 0;
  return std::max<int64_t>(
      0, options.grace_period_seconds.value_or(kube::IntegerAt(object, {"spec", "terminationGracePeriodSeconds"}, 30)));
}

}  // namespace

bool HasFinalizer(const Json& object, std::string_view name) {
  const Json& finalizers = kube::At(object, {"metadata", "finalizers"});
  return std::any_of(finalizers.begin(), finalizers.end(), [&](const Json& finalizer) { return finalizer == name; });
}

Status ObjectLifecycle::CheckSize(const Json& object) const {
  if (object.dump(-1, ' ', false, Json::error_handler_t::replace).size() <= options_.object_bytes_max)
    return OkStatus();
  return Error(StatusCode::kResourceExhausted, absl::StrCat("Request entity too large: the object is larger than ",
                                                            options_.object_bytes_max, " bytes; make it smaller"));
}

Status ObjectLifecycle::CheckNamespace(StoredKind& kind, Json& object) {
  if (!kind.info().type.namespaced) {
    object["metadata"].erase("namespace");
    return OkStatus();
  }
  const std::string name_space(kube::Namespace(object));
  if (name_space.empty())
    return Error(StatusCode::kInvalidArgument, "an empty namespace may not be set during creation");
  ASSIGN_OR_RETURN(StoredKind * namespaces, store_.FindKind(kube::kNamespaces));
  const auto found = namespaces->Find({"", name_space});
  if (found == nullptr) {
    if (!options_.create_namespaces) return NotFound(kube::kNamespaces, name_space);
    return Create(*namespaces, Json{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name_space}}}})
        .status();
  }
  if (kube::IsBeingDeleted(*found)) {
    return Error(StatusCode::kPermissionDenied,
                 "unable to create new content in namespace " + name_space + " because it is being terminated");
  }
  return OkStatus();
}

StatusOr<Json> ObjectLifecycle::Create(StoredKind& kind, Json object) {
  const KindInfo& info = kind.info();
  RETURN_IF_ERROR(CheckNamespace(kind, object));
  if (info.set_defaults) info.set_defaults(object);
  RETURN_IF_ERROR(ValidateMetadata(info, object));
  if (info.validate) RETURN_IF_ERROR(info.validate(object));
  RETURN_IF_ERROR(CheckSize(object));
  const ObjectKey key = kube::KeyOf(object);
  if (kind.objects().contains(key)) {
    return Error(StatusCode::kAlreadyExists, ResourceName(info.type) + " \"" + key.name + "\" already exists");
  }
  if (info.type == kube::kEvents) ExpireEvents(kind);
  if (kind.objects().size() >= info.objects_max) {
    return Error(StatusCode::kResourceExhausted, absl::StrCat("there are ", info.objects_max, " ", info.type.plural,
                                                              " already; delete some before creating more"));
  }
  Json& metadata = object["metadata"];
  metadata["uid"] = options_.new_uid ? options_.new_uid() : NewUid();
  metadata["creationTimestamp"] = Rfc3339(time_.WallNow());
  for (const char* field : {"deletionTimestamp", "deletionGracePeriodSeconds", "generation"}) metadata.erase(field);
  if (object.contains("spec") || info.custom) metadata["generation"] = 1;
  if (IsNamespace(info)) object["status"]["phase"] = "Active";
  store_.Commit(kind, kube::WatchSignal::Kind::kAdded, key, object, nullptr);
  Json created = *kind.objects().at(key);
  if (!kube::At(created, {"metadata", "ownerReferences"}).empty() && !store_.AnyOwnerExists(created)) {
    // Its owner is gone already: a garbage collector would remove it in a moment.
    RETURN_IF_ERROR(Delete(kind, key, {}));
  }
  return created;
}

StatusOr<Json> ObjectLifecycle::Apply(StoredKind& kind, Json config, const kube::ApplyOptions& options) {
  const KindInfo& info = kind.info();
  if (options.field_manager.empty()) {
    return Error(StatusCode::kInvalidArgument,
                 "PatchOptions is invalid: fieldManager: Required value: is required for apply patch");
  }
  if (config["metadata"].contains("managedFields"))
    return Error(StatusCode::kInvalidArgument, "metadata.managedFields must be nil");
  if (!info.type.namespaced) config["metadata"].erase("namespace");
  if (!options.subresource.empty()) {
    config = PartOf(config, options.subresource);
  } else if (info.has_status) {
    config.erase("status");
  }
  const Manager manager{options.field_manager, "Apply", options.subresource};
  const std::string now = Rfc3339(time_.WallNow());
  const ObjectPointer old = kind.Find(kube::KeyOf(config));
  if (old == nullptr) {
    if (!options.subresource.empty()) return NotFound(info.type, std::string(kube::Name(config)));
    if (!kube::Uid(config).empty() || !kube::ResourceVersion(config).empty()) {
      return Conflict(info.type, std::string(kube::Name(config)), "the object was expected to exist, but does not");
    }
    const Json identity{{"apiVersion", config["apiVersion"]}, {"kind", config["kind"]}};
    ASSIGN_OR_RETURN(Json created, ServerSideApply(identity, config, manager, true, now));
    return Create(kind, std::move(created));
  }
  const std::string expected_version(kube::ResourceVersion(config));
  const std::string expected_uid(kube::Uid(config));
  for (const char* field : {"resourceVersion", "uid", "creationTimestamp", "generation"})
    config["metadata"].erase(field);
  ASSIGN_OR_RETURN(Json next, ServerSideApply(*old, config, manager, options.force, now));
  if (!expected_version.empty()) next["metadata"]["resourceVersion"] = expected_version;
  if (!expected_uid.empty()) next["metadata"]["uid"] = expected_uid;
  return Replace(kind, old, std::move(next), options.subresource, false);
}

Status ObjectLifecycle::CheckReplacement(const KindInfo& info, const Json& old, const Json& next,
                                         const std::string& subresource) {
  if (kube::IsBeingDeleted(old)) {
    for (const Json& finalizer : kube::At(next, {"metadata", "finalizers"})) {
      if (!finalizer.is_string() || !HasFinalizer(old, finalizer.get<std::string>())) {
        return Error(
            StatusCode::kInvalidArgument,
            absl::StrCat(
                info.type.kind, " \"", std::string(kube::Name(old)),
                "\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is "
                "being deleted, found new finalizers ",
                finalizer.dump()));
      }
    }
  }
  if (subresource == "status") return OkStatus();
  RETURN_IF_ERROR(ValidateMetadata(info, next));
  if (info.type == kube::kPods && subresource.empty()) RETURN_IF_ERROR(CheckPodSpecUpdate(old, next));
  if (info.validate) RETURN_IF_ERROR(info.validate(next));
  return subresource == "resize" ? CheckPodResize(old, next) : OkStatus();
}

StatusOr<Json> ObjectLifecycle::Replace(StoredKind& kind, const ObjectPointer& old, Json next,
                                        const std::string& subresource, bool record_manager) {
  const KindInfo& info = kind.info();
  const std::string name(kube::Name(*old));
  if (!next["metadata"].is_object())
    return Error(StatusCode::kInvalidArgument, "metadata: Invalid value: must be a map");
  if (const std::string_view expected = kube::ResourceVersion(next);
      !expected.empty() && expected != kube::ResourceVersion(*old)) {
    return Conflict(info.type, name,
                    "the object has been modified; please apply your changes to the latest version and try again");
  }
  if (const std::string_view uid = kube::Uid(next); !uid.empty() && uid != kube::Uid(*old)) {
    return Conflict(info.type, name,
                    absl::StrCat("Precondition failed: UID in precondition: ", std::string(uid),
                                 ", UID in object meta: ", std::string(kube::Uid(*old))));
  }
  KeepServerFields(info, *old, next, subresource);
  if (info.set_defaults && subresource != "status") info.set_defaults(next);
  RETURN_IF_ERROR(CheckReplacement(info, *old, next, subresource));
  if (record_manager) {
    CopyField((*old)["metadata"], next["metadata"], "managedFields");
    if (next == *old) return *old;
    RecordUpdate(*old, next, {kDefaultFieldManager, "Update", subresource}, Rfc3339(time_.WallNow()));
  }
  if (next == *old) return *old;
  RETURN_IF_ERROR(CheckSize(next));
  if ((*old)["metadata"].contains("generation") && WithoutMetadataAndStatus(next) != WithoutMetadataAndStatus(*old)) {
    next["metadata"]["generation"] = kube::Generation(*old) + 1;
  }
  const ObjectKey key = kube::KeyOf(*old);
  const bool finished = kube::IsBeingDeleted(next) && !HasFinalizers(next) && HasFinalizers(*old) &&
                        kube::IntegerAt(next, {"metadata", "deletionGracePeriodSeconds"}) == 0 && !IsNamespace(info);
  if (finished) {
    Json last = next;
    Remove(kind, key, std::move(next));
    return last;
  }
  store_.Commit(kind, kube::WatchSignal::Kind::kModified, key, std::move(next), old);
  Json result = *kind.objects().at(key);
  RemoveIfFinished(kind, key);
  return result;
}

void ObjectLifecycle::Remove(StoredKind& kind, const ObjectKey& key, Json last) {
  const ObjectPointer previous = kind.objects().at(key);
  const std::string uid(kube::Uid(last));
  store_.Commit(kind, kube::WatchSignal::Kind::kDeleted, key, std::move(last), previous);
  CollectDependents(uid);
  ReleaseForegroundOwners(*previous);
  if (kind.info().type.namespaced) {
    if (const auto namespaces = store_.FindKind(kube::kNamespaces); namespaces.ok())
      RemoveIfFinished(**namespaces, {"", key.name_space});
  }
}

void ObjectLifecycle::RemoveIfFinished(StoredKind& kind, const ObjectKey& key) {
  const ObjectPointer found = kind.Find(key);
  if (found == nullptr || !kube::IsBeingDeleted(*found) || HasFinalizers(*found)) return;
  if (kube::IntegerAt(*found, {"metadata", "deletionGracePeriodSeconds"}) != 0) return;
  if (IsNamespace(kind.info()) && AnyIn(key.name)) return;
  Remove(kind, key, *found);
}

StatusOr<Json> ObjectLifecycle::ChangeScale(StoredKind& kind, const ObjectPointer& old, const Json& scale) {
  ASSIGN_OR_RETURN(Json next, WithScale(kind.info(), *old, scale));
  ASSIGN_OR_RETURN(const Json changed, Replace(kind, old, std::move(next), "", true));
  return ScaleOf(kind.info(), changed);
}

Status ObjectLifecycle::Delete(StoredKind& kind, const ObjectKey& key, const kube::DeleteOptions& options) {
  const KindInfo& info = kind.info();
  ASSIGN_OR_RETURN(const ObjectPointer old, ObjectStore::Get(kind, key));
  if (!options.uid.empty() && options.uid != kube::Uid(*old)) {
    return Conflict(info.type, key.name,
                    absl::StrCat("Precondition failed: UID in precondition: ", options.uid,
                                 ", UID in object meta: ", std::string(kube::Uid(*old))));
  }
  if (!options.resource_version.empty() && options.resource_version != kube::ResourceVersion(*old)) {
    return Conflict(info.type, key.name,
                    absl::StrCat("Precondition failed: ResourceVersion in precondition: ", options.resource_version,
                                 ", ResourceVersion in object meta: ", std::string(kube::ResourceVersion(*old))));
  }
  int64_t grace = GraceSeconds(info, *old, options);
  const bool deleting = kube::IsBeingDeleted(*old);
  // A second delete may shorten the grace period, never lengthen it.
  if (deleting) grace = std::min(grace, kube::IntegerAt(*old, {"metadata", "deletionGracePeriodSeconds"}));
  if (options.propagation == "Orphan") OrphanDependents(std::string(kube::Uid(*old)));

  Json next = *kind.objects().at(key);
  Json& metadata = next["metadata"];
  const std::string uid(kube::Uid(*old));
  if (options.propagation == "Foreground" && !deleting && store_.HasDependents(uid))
    metadata["finalizers"].push_back(kForegroundFinalizer);
  if (!HasFinalizers(next) && grace == 0 && !IsNamespace(info)) {
    Remove(kind, key, std::move(next));
    return OkStatus();
  }
  if (!deleting || grace < kube::IntegerAt(*old, {"metadata", "deletionGracePeriodSeconds"})) {
    metadata["deletionTimestamp"] = Rfc3339(time_.WallNow() + std::chrono::seconds(grace));
    metadata["deletionGracePeriodSeconds"] = grace;
    if (metadata.contains("generation")) metadata["generation"] = kube::Generation(*old) + 1;
    if (IsNamespace(info)) next["status"]["phase"] = "Terminating";
    store_.Commit(kind, kube::WatchSignal::Kind::kModified, key, next, old);
  }
  if (HasFinalizer(next, kForegroundFinalizer) && !deleting) {
    for (const ObjectStore::Place& place : store_.DependentsOf(uid))
      (void)Delete(*place.kind, place.key, {.propagation = "Foreground"});
  }
  if (IsNamespace(info) && !deleting) DeleteNamespaceContent(key.name);
  RemoveIfFinished(kind, key);
  return OkStatus();
}

Status ObjectLifecycle::Bind(const ObjectKey& key, const std::string& node) {
  ASSIGN_OR_RETURN(StoredKind * pods, store_.FindKind(kube::kPods));
  ASSIGN_OR_RETURN(const ObjectPointer old, ObjectStore::Get(*pods, key));
  if (!kube::StringAt(*old, {"spec", "nodeName"}).empty()) {
    return Conflict(kube::kPods, key.name, "pod " + key.name + " is already assigned to node");
  }
  if (kube::IsBeingDeleted(*old))
    return Conflict(kube::kPods, key.name, "pod " + key.name + " is being deleted, cannot be assigned to a host");
  Json next = *old;
  next["spec"]["nodeName"] = node;
  Json condition{{"type", "PodScheduled"}, {"status", "True"}, {"lastTransitionTime", Rfc3339(time_.WallNow())}};
  next["status"]["conditions"] = Json::array({std::move(condition)});
  store_.Commit(*pods, kube::WatchSignal::Kind::kModified, key, std::move(next), old);
  return OkStatus();
}

}  // namespace attune::local
