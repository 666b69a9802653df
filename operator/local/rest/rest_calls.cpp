#include "operator/local/rest/rest_calls.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "operator/local/rest/core_events.h"

namespace attune::local {
namespace {

using kube::Json;

constexpr int kWatchSecondsMax = 3600;

RestAnswer JsonAnswer(const Json& json, int code = 200) {
  return {code, "application/json", json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}
RestAnswer ObjectAnswer(const StatusOr<Json>& object, int code = 200) {
  return object.ok() ? JsonAnswer(*object, code) : ErrorAnswer(object.status());
}

RestAnswer NotAllowed() {
  return ErrorAnswer(
      Error(StatusCode::kUnimplemented, "the server does not allow this method on the requested resource"));
}

std::string Query(const RestTarget& target, const char* name) {
  const auto found = target.query.find(name);
  return found == target.query.end() ? "" : found->second;
}
bool Flag(const RestTarget& target, const char* name) {
  const std::string value = Query(target, name);
  return value == "true" || value == "1";
}
std::optional<int64_t> Number(const RestTarget& target, const char* name) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(Query(target, name), &value) || value < 0) return std::nullopt;
  return value;
}

// The object of a request, with the namespace and name of the path where it leaves them out.
StatusOr<Json> ObjectFor(const RestRequest& request, const ResourcePath& path) {
  ASSIGN_OR_RETURN(Json object, ParseBody(request.body));
  if (!object.is_object()) return Error(StatusCode::kInvalidArgument, "the body is not an object");
  Json& metadata = object["metadata"];
  if (metadata.is_null()) metadata = Json::object();
  if (!metadata.is_object()) return Error(StatusCode::kInvalidArgument, "metadata: Invalid value: must be a map");
  for (const auto& [field, value] : {std::pair{"namespace", path.key.name_space}, std::pair{"name", path.key.name}}) {
    if (value.empty()) continue;
    if (!metadata.contains(field)) metadata[field] = value;
    if (metadata[field] != value) {
      return Error(
          StatusCode::kInvalidArgument,
          std::string("the ") + field + " of the object does not match the one of the request (" + value + ")");
    }
  }
  return object;
}

WatchRequest WatchOf(const RestTarget& target, const ResourcePath& path, bool as_table) {
  kube::WatchOptions options;
  options.name_space = path.key.name_space;
  options.label_selector = Query(target, "labelSelector");
  options.field_selector = Query(target, "fieldSelector");
  options.resource_version = Query(target, "resourceVersion");
  if (const auto seconds = Number(target, "timeoutSeconds"); seconds.has_value() && *seconds > 0) {
    options.server_timeout = std::chrono::seconds(std::min<int64_t>(*seconds, kWatchSecondsMax));
  }
  return {path.kind, options, as_table, Flag(target, "allowWatchBookmarks")};
}

}  // namespace

RestAnswer ErrorAnswer(const Status& status) {
  return {HttpCode(status), "application/json",
          StatusObject(status).dump(-1, ' ', false, Json::error_handler_t::replace)};
}

RestReply RestCalls::Handle(const RestRequest& request, WallTime now) const {
  const RestTarget& target = request.target;
  if (!target.segments.empty() &&
      (target.segments[0] == "healthz" || target.segments[0] == "readyz" || target.segments[0] == "livez")) {
    return RestAnswer{200, "text/plain", "ok"};
  }
  if (request.method == RestMethod::kGet) {
    if (const auto name_space = CoreEventsNamespace(target)) return ListCoreEvents(target, *name_space);
    if (const std::optional<Json> document = Discovery(target, kinds_)) return JsonAnswer(*document);
  }
  const StatusOr<ResourcePath> path = ParseResourcePath(target, kinds_);
  if (!path.ok()) return ErrorAnswer(path.status());
  switch (request.method) {
    case RestMethod::kGet:
      return Get(request, *path, now);
    case RestMethod::kPost:
      return Post(request, *path);
    case RestMethod::kPut:
      return Put(request, *path);
    case RestMethod::kPatch:
      return Patch(request, *path);
    case RestMethod::kDelete:
      return Delete(request, *path);
    case RestMethod::kOther:
      break;
  }
  return NotAllowed();
}

RestAnswer RestCalls::ListCoreEvents(const RestTarget& target, const std::string& name_space) const {
  if (Flag(target, "watch")) {
    return ErrorAnswer(Error(StatusCode::kUnimplemented, "core/v1 events are listed only; watch events.k8s.io/v1"));
  }
  const StatusOr<kube::ListResult> list = api_.List(
      kube::kEvents, {name_space, Query(target, "labelSelector"), ToRegardingSelector(Query(target, "fieldSelector"))});
  return list.ok() ? JsonAnswer(CoreEventList(*list)) : ErrorAnswer(list.status());
}

RestReply RestCalls::Get(const RestRequest& request, const ResourcePath& path, WallTime now) const {
  const RestTarget& target = request.target;
  const KindInfo& kind = *path.kind;
  const bool as_table = WantsTable(request.accept);
  if (path.key.name.empty()) {
    if (Flag(target, "watch") && Flag(target, "sendInitialEvents")) {
      // To ignore it would let clients wait for the end of what has no end mark.
      return ErrorAnswer(Error(StatusCode::kInvalidArgument, "sendInitialEvents: Forbidden: list, then watch"));
    }
    if (Flag(target, "watch")) return WatchOf(target, path, as_table);
    StatusOr<kube::ListResult> list =
        api_.List(kind.type, {path.key.name_space, Query(target, "labelSelector"), Query(target, "fieldSelector")});
    if (!list.ok()) return ErrorAnswer(list.status());
    if (as_table) return JsonAnswer(TableObject(kind, list->items, list->resource_version, now));
    return JsonAnswer(ListObject(kind, std::move(*list)));
  }
  if (path.subresource == "log" && kind.type == kube::kPods) return ReadLog(target, path);
  if (!path.subresource.empty()) return ObjectAnswer(api_.GetSubresource(kind.type, path.key, path.subresource));
  const StatusOr<Json> object = api_.Get(kind.type, path.key);
  if (object.ok() && as_table)
    return JsonAnswer(TableObject(kind, {*object}, std::string(kube::ResourceVersion(*object)), now));
  return ObjectAnswer(object);
}

RestReply RestCalls::ReadLog(const RestTarget& target, const ResourcePath& path) const {
  kube::LogOptions options;
  options.container = Query(target, "container");
  options.tail_lines = Number(target, "tailLines");
  options.previous = Flag(target, "previous");
  options.follow = Flag(target, "follow");
  if (const auto bytes = Number(target, "limitBytes"))
    options.bytes_max = std::min<uint64_t>(static_cast<uint64_t>(*bytes), options.bytes_max);
  if (options.follow) return FollowRequest{path.key, options};
  RestAnswer answer{200, "text/plain", ""};
  const Status read = api_.ReadLog(path.key, options, [&](std::string_view text) {
    answer.body += text;
    return true;
  });
  if (!read.ok()) return ErrorAnswer(read);
  return answer;
}

RestAnswer RestCalls::Post(const RestRequest& request, const ResourcePath& path) const {
  if (!path.key.name.empty()) return NotAllowed();
  const StatusOr<Json> object = ObjectFor(request, path);
  return object.ok() ? ObjectAnswer(api_.Create(path.kind->type, *object), 201) : ErrorAnswer(object.status());
}

RestAnswer RestCalls::Put(const RestRequest& request, const ResourcePath& path) const {
  const StatusOr<Json> object = ObjectFor(request, path);
  return object.ok() ? ObjectAnswer(api_.Update(path.kind->type, *object, path.subresource))
                     : ErrorAnswer(object.status());
}

RestAnswer RestCalls::Patch(const RestRequest& request, const ResourcePath& path) const {
  const std::string content_type = request.content_type.substr(0, request.content_type.find(';'));
  if (content_type == "application/apply-patch+yaml" || content_type == "application/apply-patch+cbor")
    return Apply(request, path);
  const StatusOr<Json> patch = ParseBody(request.body);
  if (!patch.ok()) return ErrorAnswer(patch.status());
  kube::PatchType type;
  if (content_type == "application/merge-patch+json") {
    type = kube::PatchType::kMerge;
  } else if (content_type == "application/json-patch+json") {
    type = kube::PatchType::kJson;
  } else if (content_type == "application/strategic-merge-patch+json") {
    type = kube::PatchType::kStrategicMerge;
  } else {
    return ErrorAnswer(
        Error(StatusCode::kInvalidArgument,
              "the body of the request was in an unknown format - accepted media types include: "
              "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"));
  }
  return ObjectAnswer(api_.Patch(path.kind->type, path.key, type, *patch, path.subresource));
}

RestAnswer RestCalls::Apply(const RestRequest& request, const ResourcePath& path) const {
  const StatusOr<Json> object = ObjectFor(request, path);
  if (!object.ok()) return ErrorAnswer(object.status());
  return ObjectAnswer(
      api_.Apply(path.kind->type, *object,
                 {Query(request.target, "fieldManager"), Flag(request.target, "force"), path.subresource}));
}

RestAnswer RestCalls::Delete(const RestRequest& request, const ResourcePath& path) const {
  const RestTarget& target = request.target;
  const StatusOr<Json> body = ParseBody(request.body);
  if (!body.ok()) return ErrorAnswer(body.status());
  kube::DeleteOptions options;
  options.uid = kube::StringAt(*body, {"preconditions", "uid"});
  options.resource_version = kube::StringAt(*body, {"preconditions", "resourceVersion"});
  options.grace_period_seconds = Number(target, "gracePeriodSeconds");
  if (kube::At(*body, {"gracePeriodSeconds"}).is_number_integer())
    options.grace_period_seconds = kube::IntegerAt(*body, {"gracePeriodSeconds"});
  std::string propagation(kube::StringAt(*body, {"propagationPolicy"}));
  if (propagation.empty()) propagation = Query(target, "propagationPolicy");
  if (!propagation.empty()) options.propagation = propagation;
  if (!path.key.name.empty()) return DeleteOne(path.kind->type, path.key, options);
  return DeleteAll(target, path, options);
}

RestAnswer RestCalls::DeleteAll(const RestTarget& target, const ResourcePath& path,
                                const kube::DeleteOptions& options) const {
  StatusOr<kube::ListResult> list =
      api_.List(path.kind->type, {path.key.name_space, Query(target, "labelSelector"), Query(target, "fieldSelector")});
  if (!list.ok()) return ErrorAnswer(list.status());
  for (const Json& item : list->items) {
    const Status deleted = api_.Delete(path.kind->type, kube::KeyOf(item), options);
    if (!deleted.ok() && deleted.code() != StatusCode::kNotFound) return ErrorAnswer(deleted);
  }
  return JsonAnswer(ListObject(*path.kind, std::move(*list)));
}

RestAnswer RestCalls::DeleteOne(const kube::ResourceType& type, const kube::ObjectKey& key,
                                const kube::DeleteOptions& options) const {
  if (const Status deleted = api_.Delete(type, key, options); !deleted.ok()) return ErrorAnswer(deleted);
  // An object on its way out is the answer; of one that is gone there is only the word.
  if (const StatusOr<Json> left = api_.Get(type, key); left.ok()) return JsonAnswer(*left);
  return JsonAnswer(StatusObject(OkStatus()));
}

}  // namespace attune::local
