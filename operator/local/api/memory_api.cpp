// The calls of the API: their form, and the lock. Watches are in memory_api_watch.cpp.
#include "operator/local/api/memory_api.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/local/api/rules/errors.h"
#include "operator/local/api/rules/field_set.h"
#include "operator/local/api/rules/identity.h"
#include "operator/local/api/rules/patch.h"
#include "operator/local/api/rules/scale.h"
#include "operator/local/api/rules/selectors.h"

namespace attune::local {

using kube::Json;
using kube::ObjectKey;
using kube::ResourceType;

namespace {

std::vector<KindInfo> WithStandardKinds(std::vector<KindInfo> kinds) {
  std::vector<KindInfo> standard = BuiltInKinds();
  standard.push_back(TrainingJobKind());
  for (KindInfo& kind : standard) {
    const auto same = [&](const KindInfo& given) {
      return given.type.group == kind.type.group && given.type.plural == kind.type.plural;
    };
    if (std::none_of(kinds.begin(), kinds.end(), same)) kinds.push_back(std::move(kind));
  }
  return kinds;
}

Status WrongKind(const ResourceType& type, const Json& object) {
  return Error(StatusCode::kInvalidArgument,
               absl::StrCat("the object provided is a ", object.value("apiVersion", Json()).dump(), " ",
                            object.value("kind", Json()).dump(), ", expected ", type.api_version(), " ", type.kind));
}

// Fills apiVersion and kind, refuses others and anything that is not an object with a metadata map.
Status CheckForm(const ResourceType& type, Json& object) {
  if (!object.is_object())
    return Error(StatusCode::kInvalidArgument, "an object is a JSON map; got " + std::string(object.type_name()));
  if (!object.contains("apiVersion")) object["apiVersion"] = type.api_version();
  if (!object.contains("kind")) object["kind"] = type.kind;
  if (object["apiVersion"] != type.api_version() || object["kind"] != type.kind) return WrongKind(type, object);
  if (!object.contains("metadata")) object["metadata"] = Json::object();
  if (!object["metadata"].is_object())
    return Error(StatusCode::kInvalidArgument, "metadata: Invalid value: must be a map");
  return OkStatus();
}

Status UnknownSubresource(const KindInfo& info, const std::string& subresource) {
  return Error(StatusCode::kNotFound, absl::StrCat("the server could not find the requested resource (",
                                                   info.type.plural, " have no ", subresource, ")"));
}

// Whether `subresource` of this kind can be written.
Status CheckSubresource(const KindInfo& info, const std::string& subresource) {
  if (subresource.empty() || (subresource == "status" && info.has_status) ||
      (subresource == "scale" && info.scale.has_value()) || (subresource == "resize" && info.type == kube::kPods)) {
    return OkStatus();
  }
  return UnknownSubresource(info, subresource);
}

}  // namespace

MemoryApi::MemoryApi(const TimeSource& time, MemoryApiOptions options)
    : time_(time),
      options_(std::move(options)),
      kinds_(WithStandardKinds(options_.kinds)),
      objects_(kinds_, options_.history_max, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { WakeDeliverer(); }),
      lifecycle_(objects_, time,
                 {.object_bytes_max = options_.object_bytes_max,
                  .event_ttl = options_.event_ttl,
                  .create_namespaces = options_.create_namespaces,
                  .new_uid = options_.new_uid}) {
  for (const char* name : {"default", "kube-system"}) {
    (void)Create(kube::kNamespaces, Json{{"metadata", {{"name", name}}}});
  }
  if (options_.own_thread) deliverer_ = std::thread([this] { DeliverLoop(); });
}

MemoryApi::~MemoryApi() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (deliverer_.joinable()) deliverer_.join();
}

StatusOr<Json> MemoryApi::Get(const ResourceType& type, const ObjectKey& key, const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(StoredKind * kind, objects_.FindKind(type));
  ASSIGN_OR_RETURN(const ObjectPointer object, ObjectStore::Get(*kind, key));
  return *object;
}

StatusOr<kube::ListResult> MemoryApi::List(const ResourceType& type, const kube::ListOptions& options,
                                           const kube::CallOptions&) {
  ASSIGN_OR_RETURN(const Selection selection,
                   Selection::Parse(options.name_space, options.label_selector, options.field_selector));
  std::vector<ObjectPointer> chosen;
  kube::ListResult result;
  {
    const MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(StoredKind * kind, objects_.FindKind(type));
    if (type == kube::kEvents) lifecycle_.ExpireEvents(*kind);
    for (const auto& [key, object] : kind->objects()) {
      if (options.items_max > 0 && chosen.size() >= options.items_max) break;
      if (selection.Matches(*object)) chosen.push_back(object);
    }
    result.resource_version = std::to_string(objects_.version());
  }
  for (const ObjectPointer& object : chosen) result.items.push_back(*object);
  return result;
}

StatusOr<Json> MemoryApi::Create(const ResourceType& type, const Json& object, const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(StoredKind * kind, objects_.FindKind(type));
  Json created = object;
  RETURN_IF_ERROR(CheckForm(type, created));
  if (type == kube::kTokenReviews) return tokens_.Review(created, time_.WallNow(), UidExists());
  if (!kube::ResourceVersion(created).empty()) {
    return Error(StatusCode::kInvalidArgument, "resourceVersion should not be set on objects to be created");
  }
  if (const std::string prefix(kube::StringAt(created, {"metadata", "generateName"}));
      kube::Name(created).empty() && !prefix.empty()) {
    created["metadata"]["name"] = prefix + RandomHex(3);
  }
  created["metadata"].erase("managedFields");
  if (kind->info().has_status) created.erase("status");
  RecordUpdate(Json::object(), created, {kDefaultFieldManager, "Update", ""}, Rfc3339(time_.WallNow()));
  return lifecycle_.Create(*kind, std::move(created));
}

StatusOr<Json> MemoryApi::Update(const ResourceType& type, const Json& object, const std::string& subresource,
                                 const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(StoredKind * kind, objects_.FindKind(type));
  RETURN_IF_ERROR(CheckSubresource(kind->info(), subresource));
  Json next = object;
  const ResourceType form = subresource == "scale" ? ResourceType{"autoscaling", "v1", "", "Scale"} : type;
  RETURN_IF_ERROR(CheckForm(form, next));
  if (!type.namespaced) next["metadata"].erase("namespace");
  ASSIGN_OR_RETURN(const ObjectPointer old, ObjectStore::Get(*kind, kube::KeyOf(next)));
  if (subresource == "scale") return lifecycle_.ChangeScale(*kind, old, next);
  if (kind->info().custom && kube::ResourceVersion(next).empty()) {
    return Error(
        StatusCode::kInvalidArgument,
        absl::StrCat(ResourceName(type), " \"", std::string(kube::Name(next)),
                     "\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"));
  }
  return lifecycle_.Replace(*kind, old, std::move(next), subresource, true);
}

StatusOr<Json> MemoryApi::Patch(const ResourceType& type, const ObjectKey& key, kube::PatchType patch_type,
                                const Json& patch, const std::string& subresource, const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(StoredKind * kind, objects_.FindKind(type));
  RETURN_IF_ERROR(CheckSubresource(kind->info(), subresource));
  if (kind->info().custom && patch_type == kube::PatchType::kStrategicMerge) {
    return Error(StatusCode::kInvalidArgument,
                 "the body of the request was in an unknown format - custom resources take merge and JSON patches, not "
                 "strategic ones");
  }
  ASSIGN_OR_RETURN(const ObjectPointer old, ObjectStore::Get(*kind, key));
  if (subresource == "scale") {
    ASSIGN_OR_RETURN(const Json scale, ApplyPatch(ScaleOf(kind->info(), *old), patch_type, patch));
    return lifecycle_.ChangeScale(*kind, old, scale);
  }
  ASSIGN_OR_RETURN(Json next, ApplyPatch(*old, patch_type, patch));
  RETURN_IF_ERROR(CheckForm(type, next));
  if (kube::KeyOf(next) != key)
    return Error(StatusCode::kInvalidArgument, "metadata.name: Invalid value: field is immutable");
  return lifecycle_.Replace(*kind, old, std::move(next), subresource, true);
}

StatusOr<Json> MemoryApi::Apply(const ResourceType& type, const Json& object, const kube::ApplyOptions& options,
                                const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(StoredKind * kind, objects_.FindKind(type));
  if (options.subresource == "scale") return UnknownSubresource(kind->info(), "apply on scale");
  RETURN_IF_ERROR(CheckSubresource(kind->info(), options.subresource));
  Json config = object;
  RETURN_IF_ERROR(CheckForm(type, config));
  return lifecycle_.Apply(*kind, std::move(config), options);
}

Status MemoryApi::Delete(const ResourceType& type, const ObjectKey& key, const kube::DeleteOptions& options,
                         const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(StoredKind * kind, objects_.FindKind(type));
  return lifecycle_.Delete(*kind, key, options);
}

StatusOr<Json> MemoryApi::GetSubresource(const ResourceType& type, const ObjectKey& key, const std::string& subresource,
                                         const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(StoredKind * kind, objects_.FindKind(type));
  RETURN_IF_ERROR(CheckSubresource(kind->info(), subresource));
  ASSIGN_OR_RETURN(const ObjectPointer object, ObjectStore::Get(*kind, key));
  if (subresource == "scale") return ScaleOf(kind->info(), *object);
  return *object;
}

Status MemoryApi::ReadLog(const ObjectKey& pod, const kube::LogOptions& options,
                          const std::function<bool(std::string_view)>& on_text, const kube::CallOptions& call) {
  LogSource source;
  Json object;
  {
    const MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(StoredKind * kind, objects_.FindKind(kube::kPods));
    ASSIGN_OR_RETURN(const ObjectPointer found, ObjectStore::Get(*kind, pod));
    object = *found;
    source = log_source_;
  }
  if (!source)
    return Error(StatusCode::kUnavailable, "no node runs pods here, so there are no logs of pod " + pod.ToString());
  return source(object, options, on_text, call);
}

void MemoryApi::SetLogSource(LogSource source) {
  const MutexLock lock(mutex_);
  log_source_ = std::move(source);
}

StatusOr<std::string> MemoryApi::IssueToken(const ObjectKey& pod, const std::vector<std::string>& audiences,
                                            WallTime expires) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(StoredKind * kind, objects_.FindKind(kube::kPods));
  ASSIGN_OR_RETURN(const ObjectPointer object, ObjectStore::Get(*kind, pod));
  return tokens_.Issue(*object, audiences, expires, time_.WallNow(), UidExists());
}

Status MemoryApi::Bind(const ObjectKey& pod, const std::string& node) {
  const MutexLock lock(mutex_);
  return lifecycle_.Bind(pod, node);
}

ServiceTokens::Exists MemoryApi::UidExists() const {
  return [this](std::string_view uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return objects_.HasUid(uid); };
}

}  // namespace attune::local
