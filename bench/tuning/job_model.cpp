#include "bench/tuning/job_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace attune::bench {

double LossTruth::At(double steps) const {
  switch (kind) {
    case Kind::kPower:
      return floor + drop * std::pow(1 + steps / tau, -power);
    case Kind::kExponential:
      return floor + drop * std::exp(-std::pow(steps / tau, power));
    case Kind::kRecorded:
      return recorded.At(steps / tau);
    case Kind::kStepped:
      break;
  }
  // Each level is approached quickly after the schedule's step before it.
  double loss = floor + drop, begin = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const double begins = i == 0 ? 0 : steps_at[i - 1];
    if (steps < begins) break;
    begin = begins;
    const double from = i == 0 ? floor + drop : levels[i - 1];
    loss = levels[i] + (from - levels[i]) * std::exp(-(steps - begin) / tau);
  }
  return loss;
}

double JobModel::UpdateSeconds(const Point& point, double time_seconds) const {
  return scale_ * seconds_per_update(point, time_seconds / window_seconds);
}

// Completion time of one setting without noise, under the same drift.
double JobModel::StaticSeconds(const Point& point) const {
  double time = 0, steps = 0;
  const double quality = Quality(point);
  if (cpu) return total_effective * UpdateSeconds(point, 0) / quality;
  const double chunk = 4 * window_seconds;
  for (int i = 0; i < 200'000; ++i) {
    const double rate = quality / UpdateSeconds(point, time + chunk / 2);
    if (steps + rate * chunk >= total_effective) return time + (total_effective - steps) / rate;
    steps += rate * chunk;
    time += chunk;
    if (i > 2000) return time + (total_effective - steps) / rate;  // far beyond any best setting
  }
  return time;
}

double JobModel::Price(const Point& point) const {
  if (objective.kind == tuner::ObjectiveKind::kTime) return 1;
  const double worker = worker_cores.high > 0 ? 1e-3 * point.worker_millicores : 1;
  const double server = server_cores.high > 0 ? 1e-3 * point.server_millicores : 1;
  return point.workers * worker + point.servers * server;
}

std::vector<tuner::KnobRange> JobModel::Knobs() const {
  std::vector<tuner::KnobRange> knobs = {{"servers", 1, servers_max}, {"workers", 1, workers_max}};
  if (threads_max > 1) knobs.push_back({"threads", 1, threads_max});
  for (const tuner::KnobRange& cores : {worker_cores, server_cores}) {
    if (cores.high > 0) knobs.push_back(cores);
  }
  return knobs;
}

tuner::Setting JobModel::ToSetting(const Point& point) const {
  tuner::Setting setting = {point.servers, point.workers};
  if (threads_max > 1) setting.push_back(point.threads);
  if (worker_cores.high > 0) setting.push_back(point.worker_millicores);
  if (server_cores.high > 0) setting.push_back(point.server_millicores);
  return setting;
}

Point JobModel::ToPoint(const tuner::Setting& setting) const {
  Point point{setting[0], setting[1]};
  size_t k = 2;
  if (threads_max > 1) point.threads = setting[k++];
  if (worker_cores.high > 0) point.worker_millicores = setting[k++];
  if (server_cores.high > 0) point.server_millicores = setting[k];
  return point;
}

// Every allowed setting, limits on levels as the tuner has them where a space is small.
void JobModel::ListSettings() {
  const auto levels = [](const tuner::KnobRange& cores) {
    if (cores.high <= 0) return std::vector<int>{0};
    const auto space = tuner::SearchSpace::Create({.knobs = {cores}});
    ATTUNE_CHECK(space.ok()) << space.status().ToString();
    return space->levels(0);
  };
  settings.clear();
  const std::vector<int> worker_levels = levels(worker_cores), server_levels = levels(server_cores);
  for (int p = 1; p <= servers_max; ++p) {
    for (int w = 1; w <= workers_max; ++w) {
      for (int t = 1; t <= threads_max; ++t) {
        for (const int worker : worker_levels) {
          for (const int server : server_levels) {
            const Point point{p, w, t, worker, server};
            if (allowed(point)) settings.push_back(point);
          }
        }
      }
    }
  }
}

namespace {

double Octaves(double a, double b) { return a > 0 && b > 0 ? std::abs(std::log2(a / b)) : 0; }

}  // namespace

void JobModel::Finish() {
  ListSettings();
  // The best setting makes 100 updates in a window at the beginning.
  const auto pace = [&](const Point& p) { return seconds_per_update(p, 0) / Quality(p); };
  const Point* fastest = nullptr;
  for (const Point& point : settings) {
    if (!Crashes(point) && (fastest == nullptr || pace(point) < pace(*fastest))) fastest = &point;
  }
  scale_ = window_seconds / (100 * seconds_per_update(*fastest, 0));
  total_effective = length_windows * 100 * Quality(*fastest);

  // The target is where the curve stands then; tau follows the length.
  loss.tau *= total_effective;
  for (double& at : loss.steps_at) at *= total_effective;
  target = loss_goal ? loss.At(total_effective) : total_effective;
  if (unreachable && loss_goal) target = loss.floor * 0.9;

  double plain = 0;
  int count = 0;
  best_seconds = std::numeric_limits<double>::infinity();
  expert = settings.front();
  double nearest = std::numeric_limits<double>::infinity();
  for (const Point& point : settings) {
    const double distance = std::abs(std::log2(point.servers / 4.0)) + std::abs(std::log2(point.workers / 4.0)) +
                            (threads_max > 1 ? std::abs(std::log2(point.threads / 2.0)) : 0) +
                            Octaves(point.worker_millicores, 1000) + Octaves(point.server_millicores, 1000) +
                            (Crashes(point) ? 100 : 0);
    if (distance < nearest) {
      nearest = distance;
      expert = point;
    }
    if (Crashes(point)) continue;
    const double seconds = StaticSeconds(point) * Price(point);
    plain += seconds;
    ++count;
    worst_seconds = std::max(worst_seconds, seconds);
    if (seconds < best_seconds) {
      best_seconds = seconds;
      best = point;
    }
  }
  // As a user who picks at random would meet it.
  mean_seconds = plain / count;
  expert_seconds = StaticSeconds(expert) * Price(expert);
  if (Crashes(start)) start = expert;
}

}  // namespace attune::bench
