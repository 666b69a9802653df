// Metrics of a job as its status keeps them: {"name": "held_out_loss", "value": 3.2, "at": {"epoch": 41, ...}, ...}.
#include <algorithm>
#include <cmath>

#include "operator/api/field_binding.h"

namespace attune::api {
namespace {

uint64_t CountAt(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_unsigned() ? at->get<uint64_t>() : 0;
}

std::optional<double> NumberAt(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

MetricPlace PlaceAt(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_object()) return {};
  return {.step = CountAt(*at, "step"), .epoch = CountAt(*at, "epoch"), .items = CountAt(*at, "items")};
}

Json PlaceToJson(const MetricPlace& place) {
  return {{"step", place.step}, {"epoch", place.epoch}, {"items", place.items}};
}

}  // namespace

std::string ToString(const MetricPlace& place) {
  return place.epoch > 0 ? "at epoch " + std::to_string(place.epoch) : "at step " + std::to_string(place.step);
}

void Binding<std::vector<MetricStatus>>::Set(std::vector<MetricStatus>& target, const Json& value) {
  for (const Json& each : value) {
    if (!each.is_object() || TextAt(each, "name").empty()) continue;
    target.push_back(
        {.name = TextAt(each, "name"),
         .reports = CountAt(each, "reports"),
         .value = NumberAt(each, "value"),
         .at = PlaceAt(each, "at"),
         .best = NumberAt(each, "best"),
         .best_at = PlaceAt(each, "bestAt"),
         .direction = TextAt(each, "direction") == "Maximize" ? Direction::kMaximize : Direction::kMinimize,
         .left_out = CountAt(each, "leftOut")});
  }
}

Json Binding<std::vector<MetricStatus>>::Get(const std::vector<MetricStatus>& source) {
  if (source.empty()) return {};
  Json list = Json::array();
  for (const MetricStatus& metric : source) {
    Json each = {{"name", metric.name},
                 {"reports", metric.reports},
                 {"direction", Names(metric.direction).at(static_cast<size_t>(metric.direction))}};
    if (metric.value) each["value"] = *metric.value, each["at"] = PlaceToJson(metric.at);
    if (metric.best) each["best"] = *metric.best, each["bestAt"] = PlaceToJson(metric.best_at);
    if (metric.left_out > 0) each["leftOut"] = metric.left_out;
    list.push_back(std::move(each));
  }
  return list;
}

}  // namespace attune::api
