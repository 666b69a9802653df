#include "operator/controller/tuning/memory_forecast.h"

#include <algorithm>
#include <cmath>

namespace attune::controller {
namespace {

double UpperMedian(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

void MemoryForecast::Look(double time, double window_seconds, const std::vector<PodMemory>& pods) {
  if (window_at_ && time - *window_at_ < 0.98 * window_seconds) return;
  window_at_ = time;
  window_seconds_ = window_seconds;
  for (const PodMemory& pod : pods) {
    if (pod.limit <= 0 || (traces_.size() >= kPodsMax && !traces_.contains(pod.uid))) continue;
    Trace& trace = traces_[pod.uid];
    trace.at_limit = trace.now.limit == pod.limit ? trace.at_limit + 1 : 1;
    if (trace.readings.empty()) trace.at_limit = kWindowsAtLimit;
    trace.now = pod;
    trace.seen_at = time;
    trace.readings.push_back({.time = time, .used = static_cast<double>(pod.used)});
    if (trace.readings.size() > kWindowsKept) trace.readings.erase(trace.readings.begin());
  }
  constexpr double kForgetWindows = 12;
  std::erase_if(traces_,
                [&](const auto& entry) { return time - entry.second.seen_at > kForgetWindows * window_seconds; });
}

std::vector<MemoryAlarm> MemoryForecast::Alarms() const {
  std::vector<MemoryAlarm> alarms;
  for (const auto& [uid, trace] : traces_) {
    if (window_at_ && trace.seen_at < *window_at_) continue;  // it is not known what it uses now
    if (auto alarm = Judge(trace)) alarms.push_back(*std::move(alarm));
  }
  std::ranges::sort(alarms, {}, [](const MemoryAlarm& alarm) { return alarm.memory.pod; });
  return alarms;
}

std::optional<MemoryAlarm> MemoryForecast::Judge(const Trace& trace) const {
  const auto limit = static_cast<double>(trace.now.limit);
  const double bound = kShare * limit, used = trace.readings.back().used;
  const size_t count = trace.readings.size();
  MemoryAlarm alarm{.memory = trace.now};
  // One reading may be a peak that passes.
  if (count >= 2 && used >= bound && trace.readings[count - 2].used >= bound) return alarm;
  if (trace.at_limit < kWindowsAtLimit || count < kWindowsLeast) return std::nullopt;
  alarm.bytes_per_second = SteadySlope(trace);
  std::optional<double> seconds;
  if (alarm.bytes_per_second > 0) seconds = std::max(0.0, bound - used) / alarm.bytes_per_second;
  if (const auto jump = SecondsToJump(trace, bound); jump && (!seconds || *jump < *seconds)) {
    seconds = *jump;
    alarm.by_jumps = true;
  }
  if (!seconds || *seconds > horizon()) return std::nullopt;
  if (used < limit / 2 && !alarm.by_jumps && *seconds > kUrgentWindows * window_seconds_) return std::nullopt;
  alarm.seconds = *seconds;
  return alarm;
}

double MemoryForecast::LeastJump(const Trace& trace) {
  constexpr double kUsual = 4;  // times the median change
  std::vector<double> changes;
  for (size_t i = 1; i < trace.readings.size(); ++i) {
    changes.push_back(std::abs(trace.readings[i].used - trace.readings[i - 1].used));
  }
  return std::max(kJump * static_cast<double>(trace.now.limit), kUsual * UpperMedian(changes));
}

double MemoryForecast::SteadySlope(const Trace& trace) {
  const double jump = LeastJump(trace);
  std::vector<Reading> steady{trace.readings.front()};
  for (size_t i = 1; i < trace.readings.size(); ++i) {
    const double change = trace.readings[i].used - trace.readings[i - 1].used;
    const double level = steady.back().used + (std::abs(change) < jump ? change : 0);
    steady.push_back({.time = trace.readings[i].time, .used = level});
  }
  const auto median_slope = [](const std::vector<Reading>& readings, size_t count) {
    std::vector<double> slopes;
    for (size_t i = readings.size() - count; i < readings.size(); ++i) {
      for (size_t j = i + 1; j < readings.size(); ++j) {
        const double time = readings[j].time - readings[i].time;
        if (time > 0) slopes.push_back((readings[j].used - readings[i].used) / time);
      }
    }
    return UpperMedian(slopes);
  };
  // Leaving out one of two changes that cancel each other would make growth of noise.
  const auto slope = [&](size_t count) {
    return std::min(median_slope(trace.readings, count), median_slope(steady, count));
  };
  const auto grows = [&](double by, size_t count) {
    const double grown = by * (steady.back().time - steady[steady.size() - count].time);
    return grown > kNoise * static_cast<double>(trace.now.limit);
  };
  const size_t newest = std::min(steady.size(), kNewest);
  const double now = slope(newest), all = slope(steady.size());
  const double of_newest = grows(now, newest) ? now : 0;
  const double of_all = grows(all, steady.size()) && now > all / 2 ? all : 0;
  return std::max(of_newest, of_all);
}

std::optional<double> MemoryForecast::SecondsToJump(const Trace& trace, double bound) {
  const double least = LeastJump(trace);
  struct Jump {
    size_t before = 0, after = 0;  // readings
    double size = 0;
  };
  std::vector<Jump> jumps;
  const auto& all = trace.readings;
  for (size_t i = 1; i < all.size(); ++i) {
    const double size = all[i].used - all[i - 1].used;
    if (size < least) continue;
    if (!jumps.empty() && jumps.back().after + 1 == i) {  // one that was in progress when a reading was taken
      jumps.back().after = i;
      jumps.back().size += size;
    } else {
      jumps.push_back({.before = i - 1, .after = i, .size = size});
    }
  }
  if (jumps.size() < 2) return std::nullopt;
  const Jump &earlier = jumps[jumps.size() - 2], &last = jumps.back();
  const auto lowest = [&](size_t begin, size_t end) {
    double low = all[begin].used;
    for (size_t i = begin; i < end; ++i) low = std::min(low, all[i].used);
    return low;
  };
  // What rises and falls again, such as the buffers of a checkpoint, does not grow.
  const double level = lowest(earlier.after, last.before + 1), level_now = lowest(last.after, all.size());
  const double level_before = lowest(0, earlier.before + 1);
  if (level < level_before + earlier.size / 2 || level_now < level + last.size / 2) return std::nullopt;
  const double factor = std::clamp(last.size / earlier.size, 1.0, 2.0);
  if (all.back().used + factor * last.size < bound) return std::nullopt;
  const double due = all[last.after].time + (all[last.after].time - all[earlier.after].time);
  return std::max(0.0, due - all.back().time);
}

}  // namespace attune::controller
