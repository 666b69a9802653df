#include "operator/local/rest/core_events.h"

#include <algorithm>

namespace attune::local {
namespace {

using kube::Json;

Json ToCoreEvent(const Json& event) {
  const Json& created = kube::At(event, {"metadata", "creationTimestamp"});
  const Json& series = kube::At(event, {"series"});
  const std::string_view last = kube::StringAt(series, {"lastObservedTime"});
  Json core = {{"apiVersion", "v1"},
               {"kind", "Event"},
               {"metadata", kube::At(event, {"metadata"})},
               {"involvedObject", kube::At(event, {"regarding"})},
               {"message", kube::StringAt(event, {"note"})},
               {"source", {{"component", kube::StringAt(event, {"reportingController"})}}},
               {"reportingComponent", kube::StringAt(event, {"reportingController"})},
               {"count", std::max<int64_t>(1, kube::IntegerAt(series, {"count"}))},
               {"firstTimestamp", created},
               {"lastTimestamp", created}};
  // Seconds are all that these fields carry.
  constexpr size_t kSecondsEnd = sizeof("2026-01-02T03:04:05") - 1;
  if (last.size() > kSecondsEnd) core["lastTimestamp"] = std::string(last.substr(0, kSecondsEnd)) + "Z";
  for (const char* field : {"reason", "type", "action", "eventTime", "reportingInstance", "series"}) {
    if (const Json& value = kube::At(event, {field}); !value.is_null()) core[field] = value;
  }
  return core;
}

}  // namespace

std::optional<std::string> CoreEventsNamespace(const RestTarget& target) {
  const std::vector<std::string>& path = target.segments;
  if (path.size() < 3 || path[0] != "api" || path[1] != "v1" || path.back() != "events") return std::nullopt;
  if (path.size() == 3) return "";
  if (path.size() == 5 && path[2] == "namespaces") return path[3];
  return std::nullopt;
}

std::string ToRegardingSelector(const std::string& field_selector) {
  constexpr std::string_view kCore = "involvedObject.";
  std::string text = field_selector;
  for (size_t at = text.find(kCore); at != std::string::npos; at = text.find(kCore, at + 1)) {
    const bool begins = at == 0 || text[at - 1] == ',';
    if (begins) text.replace(at, kCore.size(), "regarding.");
  }
  return text;
}

Json CoreEventList(const kube::ListResult& events) {
  Json items = Json::array();
  for (const Json& event : events.items) items.push_back(ToCoreEvent(event));
  return {{"apiVersion", "v1"},
          {"kind", "EventList"},
          {"metadata", {{"resourceVersion", events.resource_version}}},
          {"items", std::move(items)}};
}

}  // namespace attune::local
