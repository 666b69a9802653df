#include "operator/local/rest/rest_request.h"

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/version.h"

namespace attune::local {
namespace {

using kube::Json;

constexpr int kDepthMax = 100;  // of JSON in requests: deeper values could exhaust the stack

StatusOr<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      result += ' ';
    } else if (text[i] == '%') {
      int byte = 0;
      if (i + 2 >= text.size() || !absl::SimpleHexAtoi(absl::string_view(text.data() + i + 1, 2), &byte) || byte == 0) {
        return Error(StatusCode::kInvalidArgument, "the request's path has a bad escape: " + std::string(text));
      }
      result += static_cast<char>(byte);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

Status NoSuchPath() { return Error(StatusCode::kNotFound, "the server could not find the requested resource"); }

const KindInfo* FindKind(const std::vector<KindInfo>& kinds, std::string_view group, std::string_view version,
                         std::string_view plural) {
  for (const KindInfo& kind : kinds) {
    if (kind.type.group == group && kind.type.version == version && kind.type.plural == plural) return &kind;
  }
  return nullptr;
}

Json ResourceList(const std::vector<KindInfo>& kinds, const std::string& group, const std::string& version) {
  Json resources = Json::array();
  for (const KindInfo& kind : kinds) {
    if (kind.type.group != group || kind.type.version != version) continue;
    const bool review = kind.type == kube::kTokenReviews;
    Json verbs =
        review ? Json::array({"create"}) : Json::array({"create", "delete", "get", "list", "patch", "update", "watch"});
    resources.push_back({{"name", kind.type.plural},
                         {"singularName", kind.singular},
                         {"namespaced", kind.type.namespaced},
                         {"kind", kind.type.kind},
                         {"verbs", verbs},
                         {"shortNames", kind.short_names}});
    const auto add = [&](const char* name, Json fields, Json allowed) {
      fields.update({{"name", kind.type.plural + "/" + name},
                     {"singularName", ""},
                     {"namespaced", kind.type.namespaced},
                     {"verbs", std::move(allowed)}});
      resources.push_back(std::move(fields));
    };
    if (kind.has_status && !review) add("status", {{"kind", kind.type.kind}}, Json::array({"get", "patch", "update"}));
    if (kind.scale)
      add("scale", {{"kind", "Scale"}, {"group", "autoscaling"}, {"version", "v1"}},
          Json::array({"get", "patch", "update"}));
    if (kind.type == kube::kPods) add("log", {{"kind", "Pod"}}, Json::array({"get"}));
  }
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", group.empty() ? version : group + "/" + version},
          {"resources", resources}};
}

Json Group(const std::string& group, const std::string& version) {
  const Json entry{{"groupVersion", group + "/" + version}, {"version", version}};
  return {{"kind", "APIGroup"},
          {"apiVersion", "v1"},
          {"name", group},
          {"versions", Json::array({entry})},
          {"preferredVersion", entry}};
}

std::string Ago(std::string_view timestamp, WallTime now) {
  absl::Time then;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, absl::string_view(timestamp.data(), timestamp.size()), &then, &error))
    return "<unknown>";
  const int64_t seconds =
      std::max<int64_t>(0, absl::ToInt64Seconds(absl::FromUnixNanos(now.time_since_epoch().count()) - then));
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 7200) return std::to_string(seconds / 60) + "m";
  if (seconds < 172800) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86400) + "d";
}

Json Cell(const PrinterColumn& column, const Json& object, WallTime now) {
  const Json* at = &object;
  for (const std::string& field : column.path) {
    if (!at->is_object() || !at->contains(field)) return "";
    at = &(*at)[field];
  }
  if (column.type == "date") return Ago(at->is_string() ? at->get_ref<const std::string&>() : "", now);
  return *at;
}

struct ErrorForm {
  int code;
  const char* reason;
};

ErrorForm FormOf(const Status& status) {
  const std::string_view message = Message(status);
  switch (status.code()) {
    case StatusCode::kNotFound:
      return {404, "NotFound"};
    case StatusCode::kAlreadyExists:
      return {409, "AlreadyExists"};
    case StatusCode::kAborted:
      return {409, "Conflict"};
    case StatusCode::kPermissionDenied:
      return {403, "Forbidden"};
    case StatusCode::kUnauthenticated:
      return {401, "Unauthorized"};
    case StatusCode::kOutOfRange:
      return {410, "Expired"};
    case StatusCode::kResourceExhausted:
      return {429, "TooManyRequests"};
    case StatusCode::kUnavailable:
      return {503, "ServiceUnavailable"};
    case StatusCode::kDeadlineExceeded:
      return {504, "Timeout"};
    case StatusCode::kUnimplemented:
      return {405, "MethodNotAllowed"};
    case StatusCode::kInvalidArgument:
      if (message.find("unknown format") != std::string_view::npos) return {415, "UnsupportedMediaType"};
      if (message.find("too large") != std::string_view::npos) return {413, "RequestEntityTooLarge"};
      return message.find("nvalid: ") != std::string_view::npos ||
                     message.find("Invalid value") != std::string_view::npos
                 ? ErrorForm{422, "Invalid"}
                 : ErrorForm{400, "BadRequest"};
    default:
      return {500, "InternalError"};
  }
}

}  // namespace

StatusOr<RestTarget> ParseTarget(std::string_view text) {
  RestTarget target;
  const size_t question = text.find('?');
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(text.data(), std::min(question, text.size())), '/', absl::SkipEmpty())) {
    ASSIGN_OR_RETURN(std::string segment, Decode({part.data(), part.size()}, false));
    target.segments.push_back(std::move(segment));
  }
  if (question == std::string_view::npos) return target;
  const std::string_view query = text.substr(question + 1);
  for (const absl::string_view part :
       absl::StrSplit(absl::string_view(query.data(), query.size()), '&', absl::SkipEmpty())) {
    const size_t equals = part.find('=');
    const std::string_view piece(part.data(), part.size());
    ASSIGN_OR_RETURN(const std::string name, Decode(piece.substr(0, equals), true));
    ASSIGN_OR_RETURN(target.query[name],
                     Decode(equals == absl::string_view::npos ? std::string_view{} : piece.substr(equals + 1), true));
  }
  return target;
}

StatusOr<ResourcePath> ParseResourcePath(const RestTarget& target, const std::vector<KindInfo>& kinds) {
  const std::vector<std::string>& segments = target.segments;
  std::string group;
  size_t at = 0;
  if (segments.size() >= 3 && segments[0] == "api") {
    at = 1;
  } else if (segments.size() >= 4 && segments[0] == "apis") {
    group = segments[1];
    at = 2;
  } else {
    return NoSuchPath();
  }
  const std::string& version = segments[at++];
  ResourcePath path;
  // /namespaces/<name>/<plural> unless what follows is a subresource of the namespace itself.
  if (segments[at] == "namespaces" && segments.size() >= at + 3 && segments[at + 2] != "status") {
    path.key.name_space = segments[at + 1];
    at += 2;
  }
  path.kind = FindKind(kinds, group, version, segments[at]);
  if (path.kind == nullptr || (!path.key.name_space.empty() && !path.kind->type.namespaced)) return NoSuchPath();
  if (++at < segments.size()) path.key.name = segments[at++];
  if (at < segments.size()) path.subresource = segments[at++];
  if (at < segments.size()) return NoSuchPath();
  return path;
}

std::optional<Json> Discovery(const RestTarget& target, const std::vector<KindInfo>& kinds) {
  const std::vector<std::string>& segments = target.segments;
  if (segments == std::vector<std::string>{"version"}) {
    return Json{{"major", "1"},
                {"minor", "34"},
                {"gitVersion", std::string("v1.34.0-attune.") + kVersion},
                {"platform", "linux/amd64"}};
  }
  if (segments == std::vector<std::string>{"api"})
    return Json{{"kind", "APIVersions"}, {"versions", Json::array({"v1"})}};
  if (segments == std::vector<std::string>{"api", "v1"}) return ResourceList(kinds, "", "v1");
  if (segments.empty() || segments[0] != "apis" || segments.size() > 3) return std::nullopt;
  std::set<std::pair<std::string, std::string>> groups;
  for (const KindInfo& kind : kinds) {
    if (!kind.type.group.empty()) groups.emplace(kind.type.group, kind.type.version);
  }
  Json list = Json::array();
  for (const auto& [group, version] : groups) {
    if (segments.size() == 2 && segments[1] == group) return Group(group, version);
    if (segments.size() == 3 && segments[1] == group && segments[2] == version)
      return ResourceList(kinds, group, version);
    list.push_back(Group(group, version));
  }
  if (segments.size() > 1) return std::nullopt;
  return Json{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", list}};
}

int HttpCode(const Status& status) { return FormOf(status).code; }

Json StatusObject(const Status& status) {
  const ErrorForm form = FormOf(status);
  Json object{{"kind", "Status"},
              {"apiVersion", "v1"},
              {"metadata", Json::object()},
              {"status", status.ok() ? "Success" : "Failure"}};
  if (status.ok()) return object;
  object.update({{"message", Message(status)}, {"reason", form.reason}, {"code", form.code}});
  if (form.code == 429 || form.code == 503) object["details"]["retryAfterSeconds"] = 1;
  return object;
}

Json ListObject(const KindInfo& kind, kube::ListResult list) {
  return {{"kind", kind.type.kind + "List"},
          {"apiVersion", kind.type.api_version()},
          {"metadata", {{"resourceVersion", list.resource_version}}},
          {"items", std::move(list.items)}};
}

bool WantsTable(std::string_view accept) { return accept.find("as=Table") != std::string_view::npos; }

Json TableObject(const KindInfo& kind, const std::vector<Json>& items, const std::string& resource_version,
                 WallTime now) {
  static const std::vector<PrinterColumn> kAge{{"Age", "date", {"metadata", "creationTimestamp"}}};
  const std::vector<PrinterColumn>& columns = kind.columns.empty() ? kAge : kind.columns;
  Json definitions =
      Json::array({{{"name", "Name"}, {"type", "string"}, {"format", "name"}, {"description", ""}, {"priority", 0}}});
  for (const PrinterColumn& column : columns) {
    // Ages are texts already; a date would be turned into one a second time.
    definitions.push_back({{"name", column.name},
                           {"type", column.type == "date" ? "string" : column.type},
                           {"format", ""},
                           {"description", ""},
                           {"priority", 0}});
  }
  Json rows = Json::array();
  for (const Json& object : items) {
    Json cells = Json::array({kube::Name(object)});
    for (const PrinterColumn& column : columns) cells.push_back(Cell(column, object, now));
    Json partial{{"kind", "PartialObjectMetadata"},
                 {"apiVersion", "meta.k8s.io/v1"},
                 {"metadata", object.value("metadata", Json::object())}};
    rows.push_back({{"cells", std::move(cells)}, {"object", std::move(partial)}});
  }
  return {{"kind", "Table"},
          {"apiVersion", "meta.k8s.io/v1"},
          {"metadata", {{"resourceVersion", resource_version}}},
          {"columnDefinitions", std::move(definitions)},
          {"rows", std::move(rows)}};
}

std::string WatchLine(const KindInfo& kind, const kube::WatchSignal& signal, bool as_table, WallTime now) {
  using Kind = kube::WatchSignal::Kind;
  const char* type = nullptr;
  switch (signal.kind) {
    case Kind::kAdded:
      type = "ADDED";
      break;
    case Kind::kModified:
      type = "MODIFIED";
      break;
    case Kind::kDeleted:
      type = "DELETED";
      break;
    case Kind::kBookmark:
      type = "BOOKMARK";
      break;
    case Kind::kError:
      return Json{{"type", "ERROR"}, {"object", StatusObject(signal.status)}}.dump() + "\n";
    case Kind::kEnded:
    case Kind::kBroken:
      return "";
  }
  const bool table = as_table && signal.kind != Kind::kBookmark;
  const Json line{
      {"type", type},
      {"object", table ? TableObject(kind, {signal.object}, std::string(kube::ResourceVersion(signal.object)), now)
                       : signal.object}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<Json> ParseBody(std::string_view body) {
  if (body.empty()) return Json::object();
  bool too_deep = false;
  const auto check = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDepthMax;
    return !too_deep;
  };
  Json json = Json::parse(body.begin(), body.end(), check, false);
  if (too_deep)
    return Error(StatusCode::kInvalidArgument,
                 "the body is nested deeper than " + std::to_string(kDepthMax) + " levels");
  if (json.is_discarded())
    return Error(StatusCode::kInvalidArgument, "the body is not JSON; this server reads JSON only");
  return json;
}

}  // namespace attune::local
