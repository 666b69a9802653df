#include "operator/api/status/row_trace_status.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>

#include "operator/api/field_binding.h"

namespace attune::api {
namespace {

// The number that all of `text` is.
template <typename Number>
std::optional<Number> NumberIn(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "name=value" at the beginning of `text` up to the next space, which is taken away; empty: it does not begin so.
std::string_view TakeValue(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name)) return {};
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view value = text.substr(name.size(), end - name.size());
  text.remove_prefix(std::min(end + 1, text.size()));
  return value;
}

Status BadRequest(const std::string& text) {
  return Error(StatusCode::kInvalidArgument, "'" + text +
                                                 "' asks for no row; write id=ID seconds=SECONDS row=TABLE:KEY, for "
                                                 "more than 0 and at most 60 seconds");
}

}  // namespace

std::string ToString(const RowTraceRequest& request) {
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%g", request.seconds);
  return "id=" + request.id + " seconds=" + seconds.data() + " row=" + request.table + ":" +
         std::to_string(request.key);
}

Status ParseRow(const std::string& text, std::string& table, uint64_t& key) {
  const size_t colon = text.rfind(':');
  const auto number =
      colon == std::string::npos ? std::nullopt : NumberIn<uint64_t>(std::string_view(text).substr(colon + 1));
  if (!number || colon == 0) {
    return Error(StatusCode::kInvalidArgument,
                 "'" + text + "' is no row; write the table's name and the row's key: input:17");
  }
  table = text.substr(0, colon);
  key = *number;
  return OkStatus();
}

StatusOr<RowTraceRequest> ParseRowTraceRequest(const std::string& text) {
  std::string_view left(text);
  RowTraceRequest request;
  request.id = TakeValue(left, "id=");
  const auto seconds = NumberIn<double>(TakeValue(left, "seconds="));
  constexpr std::string_view kRow = "row=";
  const bool in_time = seconds && std::isfinite(*seconds) && *seconds > 0 && *seconds <= RowTraceRequest::kSecondsMax;
  if (request.id.empty() || !in_time || !left.starts_with(kRow)) return BadRequest(text);
  request.seconds = *seconds;
  RETURN_IF_ERROR(ParseRow(std::string(left.substr(kRow.size())), request.table, request.key));
  return request;
}

// {"pod": "word2vec-worker-0", "events": ["0.012 s  read by the program", ...]}
void Binding<std::vector<PodRowTrace>>::Set(std::vector<PodRowTrace>& target, const Json& value) {
  for (const Json& each : value) {
    if (!each.is_object() || TextAt(each, "pod").empty()) continue;
    PodRowTrace& pod = target.emplace_back();
    pod.pod = TextAt(each, "pod");
    pod.message = TextAt(each, "message");
    const auto events = each.find("events");
    if (events == each.end() || !events->is_array()) continue;
    for (const Json& event : *events) {
      if (event.is_string()) pod.events.push_back(event.get<std::string>());
    }
  }
}

Json Binding<std::vector<PodRowTrace>>::Get(const std::vector<PodRowTrace>& source) {
  if (source.empty()) return {};
  Json list = Json::array();
  for (const PodRowTrace& pod : source) {
    Json& each = list.emplace_back(Json{{"pod", pod.pod}});
    if (!pod.message.empty()) each["message"] = pod.message;
    if (!pod.events.empty()) each["events"] = pod.events;
  }
  return list;
}

}  // namespace attune::api
