// A job that exists only as a formula, for tests of the tuner's control loop.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "operator/controller/tuning/tuning_loop.h"

namespace attune::controller {

// One prior for all tests: it takes a moment to make.
inline tuner::PriorCache& Priors() {
  static tuner::PriorCache cache;
  return cache;
}

// The share of the time that a worker has cores, when it wants one and a half.
inline constexpr double kCoresWanted = 1.5;
inline double CoreShare(const JobSetting& at) {
  return at.worker_millicores ? std::min(1.0, *at.worker_millicores / 1000.0 / kCoresWanted) : 1;
}

// Steps per second of the whole job: servers starve workers, workers help until they do; threads share the computing;
// one worker is three times as slow as the others, and with a bound on the lead so are all. A limit of CPU stretches
// the computing.
inline double Rate(const JobSetting& at) {
  const double compute =
      (0.01 + 0.04 / std::min(at.threads.value_or(1), 4) * (1 + 0.05 * at.threads.value_or(1))) / CoreShare(at);
  const double seconds_per_step = compute + 0.02 * at.workers / at.servers;
  const double slowed = at.slack.value_or(tuner::kSlackAsync) < tuner::kSlackAsync ? 3 : 1;
  return at.workers / seconds_per_step / (1 + 0.01 * at.servers * at.workers) / slowed;
}

class FormulaJob {
 public:
  explicit FormulaJob(api::TuningMode mode) {
    input.policy.mode = mode;
    input.policy.window_seconds = 5;
    input.goal.steps = 300'000;
    input.wanted = {1, 1};
    input.low = {1, 1};
    input.high = {4, 8};
    input.elastic_servers = true;
    input.training = true;
    input.generation = 1;
    actual = input.wanted;
  }

  // One second of training, then one look.
  TuningOutput Tick() {
    input.time += 1;
    if (actual != input.wanted && !stuck && --change_left <= 0) actual = input.wanted;
    std::normal_distribution<double> noise(0, 0.03);
    const auto made = input.training ? static_cast<uint64_t>(Rate(actual) * std::exp(noise(random))) : 0;
    input.steps += made;
    input.job_steps += made;
    // As leases are reported: many items at once.
    if (input.items_total > 0) input.items_done = input.job_steps * kItemsPerStep / lease_items * lease_items;
    if (input.training) input.trained_seconds += 1;
    input.settled = actual == input.wanted && !flicker;
    if (actual.worker_millicores) {
      const double share = CoreShare(actual), limit = *actual.worker_millicores / 1000.0;
      const NodeFigures worker{.cpu = std::min(1.0, kCoresWanted / limit), .throttled = 1 - share};
      input.worker_figures.assign(static_cast<size_t>(actual.workers), worker);
    }
    if (!input.wanted.threads && input.threads_max > 0) input.wanted.threads = actual.threads = 1;
    TuningOutput output = loop.Step(input, Priors());
    if (output.change && !user_overrides) Write(*output.change);
    for (const auto& event : output.events) events += event.reason + ": " + event.note + "\n";
    return last = output;
  }
  // As SpecPatch does: what a change does not name stays.
  void Write(JobSetting change) {
    if (!change.threads) change.threads = input.wanted.threads;
    if (!change.slack) change.slack = input.wanted.slack;
    if (!change.worker_millicores) change.worker_millicores = input.wanted.worker_millicores;
    if (input.wanted == change) return;
    input.wanted = change;
    ++input.generation;
    ++writes;
    change_left = lead;
  }
  void Run(int seconds) {
    for (int i = 0; i < seconds; ++i) Tick();
  }
  void Restart() { loop = TuningLoop(last.state); }
  // Where it is true: as long as the job lasts at the present speed.
  double RemainingOff() const {
    const double left = (static_cast<double>(input.items_total) / kItemsPerStep - static_cast<double>(input.job_steps));
    return *last.status.remaining_seconds / (left / Rate(actual)) - 1;
  }

  static constexpr uint64_t kItemsPerStep = 20;
  uint64_t lease_items = 1;
  TuningInput input;
  TuningLoop loop;
  TuningOutput last;
  JobSetting actual;
  int writes = 0, lead = 3, change_left = 0;  // lead: seconds until a change has come about
  bool stuck = false, user_overrides = false, flicker = false;
  std::string events;
  std::mt19937_64 random{7};
};

}  // namespace attune::controller
