#include "cli/simulation/simulated_job.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attune::cli {
namespace {

constexpr double kShortest = 1e-6;  // seconds that are distinguished
constexpr int kMetricReports = 50;  // until the goal
// The loss begins at three times its target and falls as a power of the steps towards 0.7 of it.
constexpr double kLossFloor = 0.7, kLossDrop = 2.3;

}  // namespace

SimulatedJob::SimulatedJob(const SimulationPlan& plan)
    : plan_(plan), look_(plan.job), actual_(plan.job.wanted), random_(plan.seed) {
  look_.time = look_.age = StartSeconds(plan.model);
  look_.training = look_.settled = true;
  look_.seed = plan.seed;
  if (plan.items_per_step > 0) look_.items_total = static_cast<uint64_t>(plan.total_steps * plan.items_per_step);
  figures_ = FiguresAt(plan.model, actual_, look_.mode);
  ShowPods();
}

void SimulatedJob::Change(const controller::JobSetting& setting) {
  const controller::JobSetting from = actual_;
  look_.wanted = setting;
  // As a patch of the spec does: what it does not name stays.
  if (!setting.threads) look_.wanted.threads = from.threads;
  if (!setting.slack) look_.wanted.slack = from.slack;
  ++look_.generation;
  const bool more = look_.wanted.servers > from.servers || look_.wanted.workers > from.workers;
  const bool rows = look_.wanted.servers != from.servers;
  const bool live = look_.wanted.threads != from.threads || look_.wanted.slack != from.slack ||
                    look_.wanted.worker_millicores != from.worker_millicores ||
                    look_.wanted.server_millicores != from.server_millicores;
  arrives_ = look_.time + (more ? plan_.model.pod_start_seconds : 0);
  moved_ = arrives_ + (rows ? plan_.model.relocation_seconds : 0);
  resumes_ = live ? arrives_ + plan_.model.live_seconds : look_.time;
  Advance(0);
}

double SimulatedJob::Speed() const {
  if (actual_ != look_.wanted) return 1;
  if (look_.time < resumes_ - kShortest) return 0;
  return look_.time < moved_ - kShortest ? JobModel::kRelocationPace : 1;
}

// Seconds until the speed changes.
double SimulatedJob::NextEvent() const {
  double next = std::numeric_limits<double>::infinity();
  for (const double at : {arrives_, moved_, resumes_}) {
    if (at > look_.time + kShortest) next = std::min(next, at - look_.time);
  }
  if (look_.goal.max_duration_seconds)
    next = std::min(next, static_cast<double>(*look_.goal.max_duration_seconds) - look_.trained_seconds);
  return std::max(next, 0.0);
}

void SimulatedJob::Train(double seconds) {
  const auto window = static_cast<double>(look_.policy.window_seconds);
  const double noise = plan_.model.noise / std::sqrt(std::max(seconds / window, 0.2));
  const double luck = std::exp(noise * random_.Normal());
  while (seconds > kShortest && !ended_) {
    const double rate = figures_.steps_per_second * Speed() * luck;
    double part = std::min(seconds, NextEvent());
    const double to_goal = (plan_.total_steps - effective_) / std::max(rate * figures_.worth, 1e-300);
    reached_ = to_goal <= part;
    part = std::min(part, to_goal);
    const double steps = rate * part;
    steps_ += steps;
    effective_ += steps * figures_.worth;
    ShowLoss(steps);
    Advance(part);
    seconds -= part;
  }
  Count();
  ShowPods();
}

void SimulatedJob::Finish() {
  while (!ended_) {
    const double rate = figures_.progress() * std::max(Speed(), kShortest);
    Train(std::min(std::max(1.0, (plan_.total_steps - effective_) / rate), NextEvent() + 1));
  }
}

// Time passes, and what was on its way comes about.
void SimulatedJob::Advance(double seconds) {
  look_.time += seconds;
  look_.trained_seconds += seconds;
  if (actual_ != look_.wanted && look_.time >= arrives_ - kShortest) {
    actual_ = look_.wanted;
    figures_ = FiguresAt(plan_.model, actual_, look_.mode);
  }
  look_.settled = actual_ == look_.wanted && look_.time >= resumes_ - kShortest;
  look_.rows_moving = actual_ == look_.wanted && look_.time < moved_ - kShortest;
  const auto& longest = look_.goal.max_duration_seconds;
  ended_ = reached_ || (longest && look_.trained_seconds >= static_cast<double>(*longest) - kShortest);
}

double SimulatedJob::LossAt(double effective) const {
  const double begun = effective * (kLossDrop / (1 - kLossFloor) - 1) / plan_.total_steps;
  return kLossFloor + kLossDrop / (1 + begun);
}

// Of a goal that is a loss or a metric: how far these are after `steps` more.
void SimulatedJob::ShowLoss(double steps) {
  const api::Goal& goal = look_.goal;
  if (goal.target_loss) {
    const double loss = *goal.target_loss * LossAt(effective_ - steps * figures_.worth / 2);
    look_.loss_sum += loss * steps;
    look_.loss_weight += steps;
  }
  const auto reports = static_cast<uint64_t>(kMetricReports * effective_ / plan_.total_steps);
  if (!goal.target_metric.value || reports <= look_.metric_reports) return;
  look_.metric_reports = reports;
  const double loss = LossAt(effective_);
  const bool falls = goal.target_metric.direction == api::Direction::kMinimize;
  look_.metric = *goal.target_metric.value * (falls ? loss : 1 / loss);
}

void SimulatedJob::Count() {
  look_.steps = look_.job_steps = static_cast<uint64_t>(steps_);
  if (look_.items_total > 0)
    look_.items_done = std::min(look_.items_total, static_cast<uint64_t>(steps_ * plan_.items_per_step));
}

void SimulatedJob::ShowPods() {
  const auto show = [](int pods, controller::NodeFigures figures, std::vector<controller::NodeFigures>& shown) {
    shown.assign(static_cast<size_t>(pods), figures);
    for (int index = 0; index < pods; ++index) shown[static_cast<size_t>(index)].index = index;
  };
  show(actual_.workers,
       {.cpu = figures_.worker_cpu, .throttled = figures_.worker_throttled, .at_work = figures_.worker_compute},
       look_.worker_figures);
  show(actual_.servers,
       {.cpu = figures_.server_cpu, .throttled = figures_.server_throttled, .at_work = figures_.server_busy},
       look_.server_figures);
  look_.staleness = figures_.staleness;
}

}  // namespace attune::cli
