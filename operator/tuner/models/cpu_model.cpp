#include "operator/tuner/models/cpu_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "operator/tuner/models/recent_readings.h"

namespace attune::tuner {
namespace {

constexpr double kThrottledMin = 0.02;  // less is a stray period
constexpr double kThrottledMax = 0.95;
constexpr size_t kShown = 4;                             // settings whose readings become differences: the last ones
constexpr double kRoom = 1.25;                           // above the mean use: no less can be enough
constexpr double kSpare = 1.5;                           // above the mean use: what is more than that is idle
constexpr double kIdleUse = 0.6;                         // of a limit, where throttling is not reported
constexpr double kEqual = 0.015;                         // deviation where a limit is not expected to matter
constexpr double kPeaks = 0.04, kPeaksDeviation = 0.15;  // loss for each fold of cores less: the mean hides peaks
constexpr size_t kEqualsMax = 6;                         // such levels of one limit

double CoresOf(const SearchSpace& space, int setting, std::string_view knob) {
  return space.KnobIndex(knob) ? std::max(1e-3, 1e-3 * space.Value(setting, knob, 1000)) : 1;
}

// One side of a job: its knobs, and which settings differ in its cores alone.
struct Role {
  std::string_view replicas, cores;
};
constexpr Role kWorkers{"workers", "worker_millicores"}, kServers{"servers", "server_millicores"};

struct Level {
  double cores = 0;
  int setting = 0;
};

std::vector<Level> LevelsAt(const SearchSpace& space, int setting, std::string_view cores) {
  std::vector<Level> levels;
  const auto knob = space.KnobIndex(cores);
  if (!knob) return levels;
  Setting other = space.setting(setting);
  int& value = other[static_cast<size_t>(*knob)];
  for (const int level : space.levels(*knob)) {
    value = level;
    if (const auto id = space.Find(other)) levels.push_back({1e-3 * level, *id});
  }
  return levels;  // levels of a knob rise
}

class Differencing {
 public:
  Differencing(const SearchSpace& space, const std::vector<double>& windows, std::vector<Difference>& differences)
      : space_(space), windows_(windows), differences_(differences) {}

  void Add(const CpuModel::Entry& entry, const Role& role, const CpuModel::Side& mine, const CpuModel::Side& other) {
    const std::vector<Level> levels = LevelsAt(space_, entry.setting, role.cores);
    if (levels.size() < 2 || (mine.use < 0 && mine.throttled < 0)) return;
    const double cores = CoresOf(space_, entry.setting, role.cores);
    const double used = mine.use < 0 ? cores : mine.use * cores;  // all of it, for what is known
    const bool throttled = mine.throttled >= kThrottledMin;
    if (throttled) {
      Raise(entry.setting, levels, cores, used, mine, other);
    } else if (mine.throttled >= 0 || mine.use < kIdleUse) {
      Spare(entry.setting, levels, cores, used);
    }
    const Level& bottom = levels.front();
    if (mine.use >= 0 && bottom.cores < 0.9 * std::min(used, cores)) {
      // As much CPU time for each update as now, and less of it.
      const double slower = std::log(std::min(used, cores) / bottom.cores);
      Push(entry.setting, bottom.setting, slower, 0.1 + 0.15 * slower);
    }
  }

 private:
  // The quota binds: without it a step takes the throttled share less, unless the other side has no more to give.
  void Raise(int setting, const std::vector<Level>& levels, double cores, double used, const CpuModel::Side& mine,
             const CpuModel::Side& other) {
    const Level& top = levels.back();
    if (top.cores <= cores) return;
    const double throttled = std::min(mine.throttled, kThrottledMax);
    double gain = -std::log(std::max(1 - throttled, cores / top.cores));
    if (other.use > 0) gain = std::min(gain, std::max(0.02, -std::log(std::min(other.use, 1.0))));
    Push(setting, top.setting, -gain, 0.05 + 0.3 * gain);
    const double needed = kRoom * used / (1 - throttled);
    size_t equals = 0;
    for (const Level& level : levels) {
      if (level.cores >= needed && level.cores < top.cores && equals++ < kEqualsMax)
        Lower(top.setting, top.cores, level);
    }
  }

  // The limit does not bind: neither does a higher one, nor, but for peaks of the use, a lower one above it.
  void Spare(int setting, const std::vector<Level>& levels, double cores, double used) {
    size_t equals = 0;
    for (auto level = levels.rbegin(); level != levels.rend() && equals < kEqualsMax; ++level) {
      if (level->cores > cores) {
        Push(setting, level->setting, 0, kEqual);
      } else if (level->cores < cores && level->cores >= kRoom * used) {
        Lower(setting, cores, *level);
      } else {
        continue;
      }
      ++equals;
    }
  }

  void Lower(int from, double cores, const Level& to) {
    const double folds = std::log(cores / to.cores);
    Push(from, to.setting, kPeaks * folds, 2 * kEqual + kPeaksDeviation * folds);
  }

  // What was measured at both is known better.
  void Push(int from, int to, double log_ratio, double deviation) {
    const bool measured = windows_[static_cast<size_t>(from)] > 0 && windows_[static_cast<size_t>(to)] > 0;
    if (from != to && !measured) differences_.push_back({from, to, log_ratio, deviation * deviation});
  }

  const SearchSpace& space_;
  const std::vector<double>& windows_;
  std::vector<Difference>& differences_;
};

}  // namespace

void CpuModel::Absorb(const SearchSpace& space, int setting, const CpuReading& worker, const CpuReading& server,
                      double updates, double seconds, double windows) {
  if (!worker.use && !worker.throttled && !server.use && !server.throttled) return;
  Entry& entry = Renew(entries_, setting, windows, kEntriesMax);
  const double weight = std::max(0.2, std::min(1.0, windows / entry.windows));
  const auto absorb = [&](Side& side, const CpuReading& reading, const Role& role) {
    Smooth(side.throttled, reading.throttled, weight);
    Smooth(side.use, reading.use, weight);
    if (reading.use && updates > 0) {
      const double pods = std::max(1, space.Value(setting, role.replicas, 1));
      Smooth(side.per_update, *reading.use * CoresOf(space, setting, role.cores) * pods * seconds / updates, weight);
    }
  };
  absorb(entry.worker, worker, kWorkers);
  absorb(entry.server, server, kServers);
}

std::vector<Difference> CpuModel::Differences(const SearchSpace& space, const std::vector<double>& windows) const {
  std::vector<Difference> differences;
  Differencing differencing(space, windows, differences);
  for (size_t i = entries_.size() - std::min(kShown, entries_.size()); i < entries_.size(); ++i) {
    differencing.Add(entries_[i], kWorkers, entries_[i].worker, entries_[i].server);
    differencing.Add(entries_[i], kServers, entries_[i].server, entries_[i].worker);
  }
  return differences;
}

bool CpuModel::LeavesRoom(const SearchSpace& space, int at, int other) const {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.setting == at; });
  if (entry == entries_.end()) return false;
  const auto fits = [&](const Side& side, const Role& role) {
    const double now = CoresOf(space, at, role.cores), then = CoresOf(space, other, role.cores);
    if (then >= now) return true;
    return side.use >= 0 && side.throttled < kThrottledMin && then >= kSpare * side.use * now;
  };
  return fits(entry->worker, kWorkers) && fits(entry->server, kServers);
}

std::vector<double> CpuModel::LeastLogSeconds(const SearchSpace& space) const {
  constexpr double kSlack = 0.85;  // the share of CPU time that an update takes at least, elsewhere
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double worker = kNone, server = kNone;  // least seen: what waits in a loop uses more
  for (const Entry& entry : entries_) {
    if (entry.worker.per_update > 0) worker = std::min(worker, entry.worker.per_update);
    if (entry.server.per_update > 0) server = std::min(server, entry.server.per_update);
  }
  std::vector<double> least;
  if (worker == kNone && server == kNone) return least;
  const auto of = [&](int id, const Role& role, double per_update) {
    if (per_update == kNone) return 0.0;
    return kSlack * per_update / (std::max(1, space.Value(id, role.replicas, 1)) * CoresOf(space, id, role.cores));
  };
  for (int id = 0; id < space.size(); ++id)
    least.push_back(std::log(std::max({of(id, kWorkers, worker), of(id, kServers, server), 1e-12})));
  return least;
}

}  // namespace attune::tuner
