#include "cli/runs/run_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/runs/kept_fields.h"
#include "proto/metric_name.h"

namespace attune::cli {
namespace {

using kube::Json;

constexpr int kHistoryFormat = 1;
constexpr double kCountMost = 9e15;  // as whole numbers a double holds them exactly

std::optional<double> ItemAt(const Json& list, size_t index) {
  return index < list.size() && list[index].is_number() ? std::optional(list[index].get<double>()) : std::nullopt;
}

// Whole numbers: a tenth of a sample per second says nothing and costs bytes.
Json RatesToJson(const std::vector<double>& rates) {
  Json list = Json::array();
  for (const double rate : rates) list.push_back(std::isfinite(rate) ? Json(std::llround(rate)) : Json());
  return list;
}

Json UsageToJson(const std::optional<api::RoleUsage>& usage) {
  if (!usage) return {};
  return Json::array(
      {usage->cpu_cores, usage->cpu_limit_cores, usage->throttled, usage->memory_bytes, usage->memory_limit_bytes});
}

std::optional<api::RoleUsage> UsageFromJson(const Json& row, size_t index) {
  if (index >= row.size() || !row[index].is_array()) return std::nullopt;
  constexpr double kMost = 9e15;
  const auto at = [&](size_t i) { return std::clamp(ItemAt(row[index], i).value_or(0), 0.0, kMost); };
  return api::RoleUsage{.cpu_cores = at(0),
                        .cpu_limit_cores = at(1),
                        .throttled = at(2),
                        .fullest = "",
                        .memory_bytes = static_cast<int64_t>(at(3)),
                        .memory_limit_bytes = static_cast<int64_t>(at(4))};
}

// One row per point keeps the file small; the order is that of `fields`.
Json ToJson(const RunPoint& point) {
  return Json::array({point.time, Number(point.loss), Number(point.rate), Number(point.fraction),
                      Number(point.remaining_seconds), Number(point.moving_rows_per_second),
                      Number(point.moving_bytes_left), point.servers, point.workers, Number(point.memory_bytes),
                      point.pace, point.metrics.empty() ? Json() : Json(point.metrics), Number(point.steps),
                      Number(point.epochs), point.threads, RatesToJson(point.worker_rates),
                      UsageToJson(point.server_usage), UsageToJson(point.worker_usage)});
}

RunPoint PointFromJson(const Json& row) {
  RunPoint point;
  point.time = ItemAt(row, 0).value_or(0);
  point.loss = ItemAt(row, 1);
  point.rate = ItemAt(row, 2);
  point.fraction = ItemAt(row, 3);
  point.remaining_seconds = ItemAt(row, 4);
  point.moving_rows_per_second = ItemAt(row, 5);
  point.moving_bytes_left = ItemAt(row, 6);
  point.servers = static_cast<int32_t>(std::clamp(ItemAt(row, 7).value_or(0), 0.0, 1e6));
  point.workers = static_cast<int32_t>(std::clamp(ItemAt(row, 8).value_or(0), 0.0, 1e6));
  point.memory_bytes = ItemAt(row, 9);
  if (row.size() > 10 && row[10].is_string()) point.pace = row[10].get<std::string>();
  if (row.size() > 11 && row[11].is_object()) {
    for (const auto& [name, value] : row[11].items()) {
      if (value.is_number() && point.metrics.size() < contract::kJobMetricsMax)
        point.metrics[name] = value.get<double>();
    }
  }
  point.steps = ItemAt(row, 12);
  point.epochs = ItemAt(row, 13);
  point.threads = static_cast<int32_t>(std::clamp(ItemAt(row, 14).value_or(0), 0.0, 1e6));
  const Json& rates = row.size() > 15 ? row[15] : Json();
  for (size_t i = 0; rates.is_array() && i < std::min(rates.size(), RunHistory::kWorkersMax); ++i)
    point.worker_rates.push_back(ItemAt(rates, i).value_or(std::numeric_limits<double>::quiet_NaN()));
  point.server_usage = UsageFromJson(row, 16);
  point.worker_usage = UsageFromJson(row, 17);
  return point;
}

double DoubleAt(const Json& object, const char* key) { return NumberAt(object, key).value_or(0); }

}  // namespace

void RunRecorder::Add(const JobView& view, double now) {
  history_.name = view.name;
  history_.name_space = view.name_space;
  history_.phase = view.phase;
  if (!view.sample_unit.empty()) history_.sample_unit = view.sample_unit;
  if (!view.synchronization.empty()) history_.synchronization = view.synchronization;
  if (view.started > 0) history_.started = view.started;
  history_.ended = view.ended;
  if (view.loss) history_.loss = view.loss;
  if (view.rate) history_.rate = view.rate;
  history_.reprocessed_items = view.reprocessed_items;
  history_.recoveries = view.recoveries;
  history_.restored_rows = view.restored_rows;
  if (!view.events.empty()) {
    const size_t kept = std::min(view.events.size(), RunHistory::kEventsMax);
    history_.events.assign(view.events.end() - static_cast<std::ptrdiff_t>(kept), view.events.end());
  }
  if (!view.best_checkpoint.empty()) history_.best_checkpoint = view.best_checkpoint;
  history_.best.clear();
  for (const api::MetricStatus& metric : view.metrics) {
    if (metric.best && metric.best != metric.value)
      history_.best.push_back({metric.name, *metric.best, ToString(metric.best_at)});
  }
  if (view.result) history_.results.assign(view.result->metrics.begin(), view.result->metrics.end());
  AddPoint(view, now);
}

void RunRecorder::AddPoint(const JobView& view, double now) {
  std::vector<RunPoint>& points = history_.points;
  if (view.outcome != JobView::Outcome::kNone) return AddLastMetrics(view, now);
  if (!view.loss && !view.rate && view.servers_ready == 0) return;
  if (!points.empty() && now - points.back().time < spacing_) return;
  RunPoint point;
  point.time = now;
  point.loss = view.loss;
  point.rate = view.rate;
  point.fraction = view.fraction;
  point.remaining_seconds = view.remaining_seconds;
  point.moving_rows_per_second = view.moving_rows_per_second;
  if (view.moving_bytes_left) point.moving_bytes_left = static_cast<double>(*view.moving_bytes_left);
  point.servers = view.servers_ready;
  point.workers = view.workers_ready;
  point.pace = view.synchronization;
  for (const api::MetricStatus& metric : view.metrics) {
    if (metric.value) point.metrics[metric.name] = *metric.value;
  }
  point.steps = view.steps;
  point.epochs = view.epochs_done;
  point.threads = view.threads.value_or(0);
  point.server_usage = view.server_usage;
  point.worker_usage = view.worker_usage;
  AddRates(view, point);
  for (const PodView& pod : view.pods) {
    if (pod.memory_bytes) point.memory_bytes = point.memory_bytes.value_or(0) + static_cast<double>(*pod.memory_bytes);
  }
  points.push_back(point);
  if (points.size() < RunHistory::kPointsMax) return;
  size_t kept = 0;
  for (size_t i = 0; i < points.size(); i += 2) points[kept++] = points[i];
  points.resize(kept);
  spacing_ *= 2;
}

// The last evaluation ends together with the job.
void RunRecorder::AddLastMetrics(const JobView& view, double now) {
  std::vector<RunPoint>& points = history_.points;
  if (points.empty()) return;
  std::map<std::string, double> metrics;
  for (const api::MetricStatus& metric : view.metrics) {
    if (metric.value) metrics[metric.name] = *metric.value;
  }
  if (metrics.empty() || metrics == points.back().metrics) return;
  RunPoint last = points.back();
  last.time = std::max(last.time, view.ended > 0 ? view.ended : now);
  last.metrics = std::move(metrics);
  last.rate.reset();
  last.worker_rates.clear();
  points.push_back(std::move(last));
}

void RunRecorder::AddRates(const JobView& view, RunPoint& point) {
  std::vector<std::string>& workers = history_.workers;
  for (const PodView& pod : view.pods) {
    if (!pod.rate) continue;
    auto at = std::find(workers.begin(), workers.end(), pod.name);
    if (at == workers.end()) {
      if (workers.size() >= RunHistory::kWorkersMax) continue;
      at = workers.insert(at, pod.name);
    }
    const auto index = static_cast<size_t>(at - workers.begin());
    if (point.worker_rates.size() <= index)
      point.worker_rates.resize(index + 1, std::numeric_limits<double>::quiet_NaN());
    point.worker_rates[index] = *pod.rate;
  }
}

std::string SaveHistory(const RunHistory& history) {
  Json points = Json::array(), events = Json::array(), results = Json::object();
  for (const RunPoint& point : history.points) points.push_back(ToJson(point));
  for (const JobEvent& event : history.events) {
    events.push_back({{"time", event.time},
                      {"reason", event.reason},
                      {"note", event.note},
                      {"object", event.object},
                      {"warning", event.warning},
                      {"count", event.count}});
  }
  for (const auto& [name, value] : history.results) results[name] = value;
  Json best = Json::object();
  for (const RunHistory::Best& each : history.best) best[each.name] = {{"value", each.value}, {"where", each.where}};
  Json about = Json::array();
  for (const auto& [name, value] : history.about) about.push_back({name, value});
  const Json object = {{"format", kHistoryFormat},
                       {"job", history.name},
                       {"namespace", history.name_space},
                       {"phase", history.phase},
                       {"sampleUnit", history.sample_unit},
                       {"synchronization", history.synchronization},
                       {"started", history.started},
                       {"ended", history.ended},
                       {"reprocessedItems", history.reprocessed_items},
                       {"recoveries", history.recoveries},
                       {"restoredRows", history.restored_rows},
                       {"results", results},
                       {"best", best},
                       {"bestCheckpoint", history.best_checkpoint},
                       {"fields",
                        {"time", "loss", "rate", "fraction", "remainingSeconds", "movingRowsPerSecond",
                         "movingBytesLeft", "servers", "workers", "memoryBytes", "pace", "metrics", "steps", "epochs",
                         "threads", "workerRates", "serverUsage", "workerUsage"}},
                       {"workers", history.workers},
                       {"loss", Number(history.loss)},
                       {"rate", Number(history.rate)},
                       {"about", about},
                       {"points", points},
                       {"events", events}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<RunHistory> LoadHistory(const std::string& text) {
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || DoubleAt(object, "format") != kHistoryFormat) {
    return Error(StatusCode::kInvalidArgument, "this is no history of a run that this version of attune can read");
  }
  RunHistory history;
  history.name = TextAt(object, "job");
  history.name_space = TextAt(object, "namespace");
  history.phase = TextAt(object, "phase");
  history.sample_unit = TextAt(object, "sampleUnit");
  history.synchronization = TextAt(object, "synchronization");
  history.started = DoubleAt(object, "started");
  history.ended = DoubleAt(object, "ended");
  history.reprocessed_items = CountAt(object, "reprocessedItems", kCountMost);
  history.recoveries = CountAt(object, "recoveries", kCountMost);
  history.restored_rows = CountAt(object, "restoredRows", kCountMost);
  if (const Json& loss = kube::At(object, {"loss"}); loss.is_number()) history.loss = loss.get<double>();
  if (const Json& rate = kube::At(object, {"rate"}); rate.is_number()) history.rate = rate.get<double>();
  const Json& about = kube::At(object, {"about"});
  for (const Json& fact : about.is_array() ? about : Json::array()) {
    if (fact.is_array() && fact.size() == 2 && fact[0].is_string() && fact[1].is_string())
      history.about.emplace_back(fact[0].get<std::string>(), fact[1].get<std::string>());
  }
  if (const Json& results = kube::At(object, {"results"}); results.is_object()) {
    for (const auto& [name, value] : results.items()) {
      if (value.is_number()) history.results.emplace_back(name, value.get<double>());
    }
  }
  if (const Json& best = kube::At(object, {"best"}); best.is_object()) {
    for (const auto& [name, value] : best.items()) {
      if (value.is_object() && kube::At(value, {"value"}).is_number())
        history.best.push_back({name, DoubleAt(value, "value"), TextAt(value, "where")});
    }
  }
  history.best_checkpoint = TextAt(object, "bestCheckpoint");
  const Json& workers = kube::At(object, {"workers"});
  for (size_t i = 0; workers.is_array() && i < std::min(workers.size(), RunHistory::kWorkersMax); ++i)
    history.workers.push_back(workers[i].is_string() ? workers[i].get<std::string>() : "");
  const Json& points = kube::At(object, {"points"});
  for (size_t i = 0; points.is_array() && i < std::min(points.size(), RunHistory::kPointsMax); ++i) {
    if (points[i].is_array()) history.points.push_back(PointFromJson(points[i]));
  }
  const Json& events = kube::At(object, {"events"});
  for (size_t i = 0; events.is_array() && i < std::min(events.size(), RunHistory::kEventsMax); ++i) {
    const Json& event = events[i];
    if (!event.is_object()) continue;
    history.events.push_back({TextAt(event, "time"), TextAt(event, "reason"), TextAt(event, "note"),
                              TextAt(event, "object"), event.value("warning", Json()) == true,
                              static_cast<int64_t>(std::clamp(DoubleAt(event, "count"), 1.0, 1e9))});
  }
  return history;
}

std::string HistoryFile(const std::string& job) { return "history-" + job + ".json"; }

}  // namespace attune::cli
