// A simulated training job for the tuner: what speed, efficiency, memory and loss really are, and what a change costs.
// The formulas differ on purpose from the tuner's own prior: several families are queues, caches, throttles.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/sync_mode.h"
#include "bench/tuning/recorded_loss.h"
#include "operator/tuner/models/change_cost.h"
#include "operator/tuner/models/structural_prior.h"
#include "operator/tuner/tuner.h"

namespace attune::bench {

inline constexpr int kServersMax = 8, kWorkersMax = 16, kThreadsMax = 4;

struct Point {  // a setting of the simulated job
  int servers = 1, workers = 1, threads = 1;
  int worker_millicores = 0, server_millicores = 0;  // 0: no limit, and no knob
};

// What a job's pods show of CPU at a setting: share of the time throttled, use as a share of the limit.
struct CpuTruth {
  double worker_throttled = 0, worker_use = 0, server_throttled = 0, server_use = 0;
};

// What its processes do with their time at a setting, as shares: workers compute, servers serve.
struct TimeTruth {
  double compute = 0, messages = 0, busy = 0;
};

// Loss over effective steps.
struct LossTruth {
  enum class Kind { kPower, kExponential, kStepped, kRecorded };
  Kind kind = Kind::kPower;
  double floor = 0.2, drop = 2, tau = 1000, power = 1;
  std::vector<double> steps_at, levels;  // kStepped: after steps_at[i] the floor is levels[i]
  RecordedLoss recorded;                 // kRecorded: tau of its steps are one step here
  double At(double steps) const;
};

struct JobModel {
  std::string family;
  SyncMode mode;
  std::function<double(const Point&, double time)> seconds_per_update;  // time in windows of the best setting
  std::function<double(double staleness)> efficiency = [](double) { return 1.0; };
  std::function<double(const Point&)> server_memory = [](const Point&) { return 0.3; };
  std::function<double(const Point&)> worker_memory = [](const Point&) { return 0.3; };
  std::function<bool(const Point&)> allowed = [](const Point&) { return true; };
  // Of jobs whose limits of CPU are knobs; their speed does not drift.
  std::function<CpuTruth(const Point&)> cpu;
  // Of jobs that say it; programs count a part of what they do for messages as computing, and the use of CPU by a
  // server is not quite the time in which it serves.
  std::function<TimeTruth(const Point&)> times;
  double messages_counted = 0.5, busy_bias = 1;
  int servers_max = kServersMax, workers_max = kWorkersMax, threads_max = kThreadsMax;  // 1 thread: no knob
  tuner::KnobRange worker_cores{"worker_millicores", 0, 0}, server_cores{"server_millicores", 0, 0};  // 0: no knob
  std::vector<tuner::Limit> limits;
  tuner::Objective objective;
  double speed_noise = 0.04, loss_noise = 0.05;
  double heavy_share = 0, heavy_depth = 0;  // share of windows that lose up to this share of speed
  double noise_memory = 0;                  // autocorrelation of speed noise between windows
  LossTruth loss;
  bool loss_goal = true;
  bool unreachable = false;     // the target lies below the floor; max_steps ends the job
  double length_windows = 500;  // of the best static setting
  double window_seconds = 5;
  tuner::ChangeCosts costs;
  double restart_seconds = 0;  // > 0: every change is a restart from a checkpoint and costs this
  Point start{4, 4, 2};
  uint64_t seed = 1;

  // Filled by Finish().
  std::vector<Point> settings;  // allowed ones
  double total_effective = 0;   // effective steps to the end
  double target = 0;            // loss, or steps
  // Static completion times, or what they cost where that is the objective.
  double best_seconds = 0, mean_seconds = 0, expert_seconds = 0, worst_seconds = 0;
  Point best, expert;
  double UpdateSeconds(const Point& point, double time_seconds) const;
  bool Crashes(const Point& point) const { return server_memory(point) > 1 || worker_memory(point) > 1; }
  double Staleness(const Point& point) const { return point.workers - 1; }
  double Quality(const Point& point) const { return loss_goal ? efficiency(Staleness(point)) : 1; }
  double StaticSeconds(const Point& point) const;
  // Price of a second at a setting, by the objective; 1 where it is time.
  double Price(const Point& point) const;
  // The knobs of the job's space, and a setting of it.
  std::vector<tuner::KnobRange> Knobs() const;
  tuner::Setting ToSetting(const Point& point) const;
  Point ToPoint(const tuner::Setting& setting) const;
  Point Smallest() const { return {1, 1, 1, worker_cores.low, server_cores.low}; }
  // Scales time so that a window has about 100 updates at the best setting and the job its length; finds the
  // references.
  void Finish();

 private:
  void ListSettings();

  double scale_ = 1;
};

// Families looked at while developing, and validation families; both by name.
std::vector<std::string> DevelopmentFamilies();
std::vector<std::string> HoldOutFamilies();
std::vector<std::string> ResourceFamilyNames();
std::vector<std::string> ResourceHoldOutFamilyNames();
// `windows` > 0 fixes the length; otherwise it is part of the draw.
struct JobOptions {
  double windows = 0;
  bool steps_goal = false;
  tuner::ObjectiveKind objective = tuner::ObjectiveKind::kTime;
};
JobModel MakeJob(const std::string& family, uint64_t seed, const JobOptions& options = {});

}  // namespace attune::bench
