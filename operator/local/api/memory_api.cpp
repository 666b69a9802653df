// The calls of the API. What a change does to the store is in memory_api_store.cpp, watches are in
// memory_api_watch.cpp.
#include "operator/local/api/memory_api.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/local/api/field_set.h"
#include "operator/local/api/memory_api_internal.h"
#include "operator/local/api/patch.h"
#include "operator/local/api/scale.h"

namespace attune::local {

using kube::Json;
using kube::ObjectKey;
using kube::ResourceType;

namespace {

std::string StoreName(const ResourceType& type) { return type.group + "/" + type.plural; }

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

MemoryApi::MemoryApi(const TimeSource& time, MemoryApiOptions options) : time_(time), options_(std::move(options)) {
  kinds_ = options_.kinds;
  std::vector<KindInfo> standard = BuiltInKinds();
  standard.push_back(TrainingJobKind());
  for (KindInfo& kind : standard) {
    const auto same = [&](const KindInfo& other) { return StoreName(other.type) == StoreName(kind.type); };
    if (std::none_of(kinds_.begin(), kinds_.end(), same)) kinds_.push_back(std::move(kind));
  }
  for (const KindInfo& kind : kinds_) stores_[StoreName(kind.type)].info = &kind;
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

StatusOr<MemoryApi::Store*> MemoryApi::FindStore(const ResourceType& type) {
  const auto found = stores_.find(StoreName(type));
  if (found == stores_.end() || found->second.info->type.version != type.version) {
    return Error(StatusCode::kNotFound,
                 "the server could not find the requested resource (" + ResourceName(type) + "/" + type.version + ")");
  }
  return &found->second;
}

StatusOr<MemoryApi::ObjectPointer> MemoryApi::Find(Store& store, const ObjectKey& key) {
  if (store.info->type.namespaced && key.name_space.empty()) {
    return Error(StatusCode::kInvalidArgument, "an empty namespace may not be set when a resource name is provided");
  }
  const auto found = store.objects.find(key);
  if (found == store.objects.end()) return NotFound(store.info->type, key.name);
  return found->second;
}

StatusOr<Json> MemoryApi::Get(const ResourceType& type, const ObjectKey& key, const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(Store * store, FindStore(type));
  ASSIGN_OR_RETURN(const ObjectPointer object, Find(*store, key));
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
    ASSIGN_OR_RETURN(Store * store, FindStore(type));
    if (type == kube::kEvents) ExpireEvents(*store);
    for (const auto& [key, object] : store->objects) {
      if (options.items_max > 0 && chosen.size() >= options.items_max) break;
      if (selection.Matches(*object)) chosen.push_back(object);
    }
    result.resource_version = std::to_string(version_);
  }
  for (const ObjectPointer& object : chosen) result.items.push_back(*object);
  return result;
}

Status MemoryApi::CheckNamespace(Store& store, Json& object) {
  if (!store.info->type.namespaced) {
    object["metadata"].erase("namespace");
    return OkStatus();
  }
  const std::string name_space(kube::Namespace(object));
  if (name_space.empty())
    return Error(StatusCode::kInvalidArgument, "an empty namespace may not be set during creation");
  ASSIGN_OR_RETURN(Store * namespaces, FindStore(kube::kNamespaces));
  const auto found = namespaces->objects.find({"", name_space});
  if (found == namespaces->objects.end()) {
    if (!options_.create_namespaces) return NotFound(kube::kNamespaces, name_space);
    return CreateObject(*namespaces,
                        Json{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name_space}}}})
        .status();
  }
  if (kube::IsBeingDeleted(*found->second)) {
    return Error(StatusCode::kPermissionDenied,
                 "unable to create new content in namespace " + name_space + " because it is being terminated");
  }
  return OkStatus();
}

StatusOr<Json> MemoryApi::Create(const ResourceType& type, const Json& object, const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(Store * store, FindStore(type));
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
  if (store->info->has_status) created.erase("status");
  RecordUpdate(Json::object(), created, {kDefaultFieldManager, "Update", ""}, Rfc3339(time_.WallNow()));
  return CreateObject(*store, std::move(created));
}

StatusOr<Json> MemoryApi::Update(const ResourceType& type, const Json& object, const std::string& subresource,
                                 const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(Store * store, FindStore(type));
  RETURN_IF_ERROR(CheckSubresource(*store->info, subresource));
  Json next = object;
  const ResourceType form = subresource == "scale" ? ResourceType{"autoscaling", "v1", "", "Scale"} : type;
  RETURN_IF_ERROR(CheckForm(form, next));
  if (!type.namespaced) next["metadata"].erase("namespace");
  ASSIGN_OR_RETURN(const ObjectPointer old, Find(*store, kube::KeyOf(next)));
  if (subresource == "scale") return ChangeScale(*store, old, next);
  if (store->info->custom && kube::ResourceVersion(next).empty()) {
    return Error(
        StatusCode::kInvalidArgument,
        absl::StrCat(ResourceName(type), " \"", std::string(kube::Name(next)),
                     "\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"));
  }
  return Replace(*store, old, std::move(next), subresource, true);
}

StatusOr<Json> MemoryApi::Patch(const ResourceType& type, const ObjectKey& key, kube::PatchType patch_type,
                                const Json& patch, const std::string& subresource, const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(Store * store, FindStore(type));
  RETURN_IF_ERROR(CheckSubresource(*store->info, subresource));
  if (store->info->custom && patch_type == kube::PatchType::kStrategicMerge) {
    return Error(StatusCode::kInvalidArgument,
                 "the body of the request was in an unknown format - custom resources take merge and JSON patches, not "
                 "strategic ones");
  }
  ASSIGN_OR_RETURN(const ObjectPointer old, Find(*store, key));
  if (subresource == "scale") {
    ASSIGN_OR_RETURN(const Json scale, ApplyPatch(ScaleOf(*store->info, *old), patch_type, patch));
    return ChangeScale(*store, old, scale);
  }
  ASSIGN_OR_RETURN(Json next, ApplyPatch(*old, patch_type, patch));
  RETURN_IF_ERROR(CheckForm(type, next));
  if (kube::KeyOf(next) != key)
    return Error(StatusCode::kInvalidArgument, "metadata.name: Invalid value: field is immutable");
  return Replace(*store, old, std::move(next), subresource, true);
}

StatusOr<Json> MemoryApi::Apply(const ResourceType& type, const Json& object, const kube::ApplyOptions& options,
                                const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(Store * store, FindStore(type));
  if (options.subresource == "scale") return UnknownSubresource(*store->info, "apply on scale");
  RETURN_IF_ERROR(CheckSubresource(*store->info, options.subresource));
  Json config = object;
  RETURN_IF_ERROR(CheckForm(type, config));
  return ApplyObject(*store, std::move(config), options);
}

StatusOr<Json> MemoryApi::ChangeScale(Store& store, const ObjectPointer& old, const Json& scale) {
  ASSIGN_OR_RETURN(Json next, WithScale(*store.info, *old, scale));
  ASSIGN_OR_RETURN(const Json changed, Replace(store, old, std::move(next), "", true));
  return ScaleOf(*store.info, changed);
}

Status MemoryApi::Delete(const ResourceType& type, const ObjectKey& key, const kube::DeleteOptions& options,
                         const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(Store * store, FindStore(type));
  return DeleteObject(*store, key, options);
}

StatusOr<Json> MemoryApi::GetSubresource(const ResourceType& type, const ObjectKey& key, const std::string& subresource,
                                         const kube::CallOptions&) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(Store * store, FindStore(type));
  RETURN_IF_ERROR(CheckSubresource(*store->info, subresource));
  ASSIGN_OR_RETURN(const ObjectPointer object, Find(*store, key));
  if (subresource == "scale") return ScaleOf(*store->info, *object);
  return *object;
}

Status MemoryApi::ReadLog(const ObjectKey& pod, const kube::LogOptions& options,
                          const std::function<bool(std::string_view)>& on_text, const kube::CallOptions& call) {
  LogSource source;
  Json object;
  {
    const MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(Store * store, FindStore(kube::kPods));
    ASSIGN_OR_RETURN(const ObjectPointer found, Find(*store, pod));
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
  ASSIGN_OR_RETURN(Store * store, FindStore(kube::kPods));
  ASSIGN_OR_RETURN(const ObjectPointer object, Find(*store, pod));
  return tokens_.Issue(*object, audiences, expires, time_.WallNow(), UidExists());
}

ServiceTokens::Exists MemoryApi::UidExists() const {
  return [this](std::string_view uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return by_uid_.contains(uid); };
}

}  // namespace attune::local
