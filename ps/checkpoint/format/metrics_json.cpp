#include "ps/checkpoint/format/metrics_json.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "ps/checkpoint/format/table_spec_json.h"

namespace attune::ps {
namespace {

using Json = nlohmann::json;

constexpr size_t kMetricsMax = 1024, kNameBytesMax = 256;  // more than any job has

std::string GetName(const Json& from) {
  auto name = from.get<std::string>();  // what is no name of a metric the coordinator leaves out
  if (name.empty() || name.size() > kNameBytesMax) throw std::invalid_argument("it names a metric that is none");
  return name;
}

double GetFigure(const Json& from) {
  const auto value = from.get<double>();
  if (!std::isfinite(value)) throw std::invalid_argument("a metric has no finite value");
  return value;
}

void PutOptional(Json& to, const char* name, const std::optional<double>& value) {
  if (value) to[name] = *value;
}

std::optional<double> GetOptional(const Json& from, const char* name) {
  return from.contains(name) ? std::optional(GetFigure(from.at(name))) : std::nullopt;
}

Json PutPlace(const MetricPlace& place) {
  return {{"step", place.step}, {"epoch", place.epoch}, {"items", place.items}};
}

MetricPlace GetPlace(const Json& from) {
  return {.step = from.at("step").get<uint64_t>(),
          .epoch = from.at("epoch").get<uint64_t>(),
          .items = from.at("items").get<uint64_t>()};
}

}  // namespace

Json PutMetrics(const std::vector<MetricState>& metrics) {
  Json list = Json::array();
  for (const MetricState& metric : metrics) {
    Json json = {{"name", metric.name},
                 {"maximize", metric.maximize},
                 {"reports", metric.reports},
                 {"leftOut", metric.left_out},
                 {"at", PutPlace(metric.at)},
                 {"bestAt", PutPlace(metric.best_at)},
                 {"withoutGain", metric.without_gain}};
    PutOptional(json, "value", metric.value);
    PutOptional(json, "best", metric.best);
    PutOptional(json, "reference", metric.reference);
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<MetricState> GetMetrics(const Json& from) {
  if (!from.is_array() || from.size() > kMetricsMax) {
    throw std::invalid_argument("it has more metrics than a job");
  }
  std::vector<MetricState> metrics;
  for (const Json& json : from) {
    metrics.push_back({.name = GetName(json.at("name")),
                       .maximize = json.at("maximize").get<bool>(),
                       .reports = json.at("reports").get<uint64_t>(),
                       .left_out = json.at("leftOut").get<uint64_t>(),
                       .value = GetOptional(json, "value"),
                       .best = GetOptional(json, "best"),
                       .at = GetPlace(json.at("at")),
                       .best_at = GetPlace(json.at("bestAt")),
                       .reference = GetOptional(json, "reference"),
                       .without_gain = json.at("withoutGain").get<uint64_t>()});
  }
  return metrics;
}

Json PutBest(const BestCheckpoint& best) {
  Json json = {{"checkpoint", best.checkpoint},
               {"metric", best.metric},
               {"maximize", best.maximize},
               {"value", best.value},
               {"at", PutPlace(best.at)}};
  if (!best.directory.empty()) json["directory"] = EscapeText(best.directory);
  return json;
}

BestCheckpoint GetBest(const Json& from) {
  return {.metric = GetName(from.at("metric")),
          .maximize = from.at("maximize").get<bool>(),
          .value = GetFigure(from.at("value")),
          .at = GetPlace(from.at("at")),
          .directory = UnescapeText(from.value("directory", "")),
          .checkpoint = from.at("checkpoint").get<uint64_t>()};
}

}  // namespace attune::ps
