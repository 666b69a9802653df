#include "bench/tuning/job_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

void JobModel::Finish() {
  settings.clear();
  double least = std::numeric_limits<double>::infinity();
  for (int p = 1; p <= kServersMax; ++p) {
    for (int w = 1; w <= kWorkersMax; ++w) {
      for (int t = 1; t <= kThreadsMax; ++t) {
        const Point point{p, w, t};
        if (!allowed(point)) continue;
        settings.push_back(point);
        if (Crashes(point)) continue;
        least = std::min(least, seconds_per_update(point, 0) / Quality(point));
      }
    }
  }
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

  double sum = 0;
  int count = 0;
  best_seconds = std::numeric_limits<double>::infinity();
  expert = {4, 4, 2};
  double nearest = std::numeric_limits<double>::infinity();
  for (const Point& point : settings) {
    const double distance = std::abs(std::log2(point.servers / 4.0)) + std::abs(std::log2(point.workers / 4.0)) +
                            std::abs(std::log2(point.threads / 2.0)) + (Crashes(point) ? 100 : 0);
    if (distance < nearest) {
      nearest = distance;
      expert = point;
    }
    if (Crashes(point)) continue;
    const double seconds = StaticSeconds(point);
    sum += std::log(seconds);
    ++count;
    worst_seconds = std::max(worst_seconds, seconds);
    if (seconds < best_seconds) {
      best_seconds = seconds;
      best = point;
    }
  }
  // The plain mean over settings, as a user who picks at random would meet it.
  double plain = 0;
  for (const Point& point : settings) plain += Crashes(point) ? 0 : StaticSeconds(point);
  mean_seconds = plain / count;
  expert_seconds = StaticSeconds(expert);
  if (Crashes(start)) start = expert;
}

}  // namespace attune::bench
