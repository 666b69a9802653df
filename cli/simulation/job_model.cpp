#include "cli/simulation/job_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "operator/tuner/space/knob.h"

namespace attune::cli {
namespace {

constexpr double kChanceDelay = 0.15;  // deviation of a worker's step
constexpr double kTurnCost = 0.01;     // of speed, for each process beyond the cores of the machine

double CoresOf(const std::optional<int32_t>& millicores) {
  return millicores ? *millicores / 1000.0 : std::numeric_limits<double>::infinity();
}

// How much longer a step is because the lead over the slowest worker is bounded. The expected maximum of n normal
// values grows with sqrt(2 ln n).
double WaitForSlowest(int workers, int slack) {
  if (slack >= tuner::kSlackAsync || workers < 2) return 1;
  return 1 + kChanceDelay * std::sqrt(2 * std::log(workers)) / (1 + slack);
}

// Steps per second of a closed network: each worker is away for `away` seconds, then asks a station that serves one of
// them at a time in `service` seconds. Exact mean value analysis (Reiser and Lavenberg, 1980).
double ClosedNetwork(int workers, double away, double service) {
  double rate = 0, queue = 0;
  for (int n = 1; n <= workers; ++n) {
    const double answer = service * (1 + queue);
    rate = n / (away + answer);
    queue = rate * answer;
  }
  return rate;
}

// What the machine leaves of the speed at which its processes would train with cores of their own.
double SpeedOnMachine(const JobModel& model, double wanted, double cpu_per_step, int processes) {
  if (model.machine_cores <= 0) return wanted;
  const double most = model.machine_cores / cpu_per_step;
  return std::min(wanted, most) / (1 + kTurnCost * std::max(0.0, processes - model.machine_cores));
}

}  // namespace

ModelFigures FiguresAt(const JobModel& model, const controller::JobSetting& setting, SyncMode mode) {
  const double step = model.StepSeconds();
  const int threads = setting.threads.value_or(1);
  const double worker_cores = CoresOf(setting.worker_millicores), server_cores = CoresOf(setting.server_millicores);
  const double compute = step * ((1 - model.memory_bound) / std::min<double>(threads, worker_cores) +
                                 model.memory_bound / std::min(1.0, worker_cores));
  const double pace = WaitForSlowest(setting.workers, setting.slack.value_or(tuner::SlackOf(mode)));
  const double messages = step * (model.link_share + JobModel::kLinkSharePerServer * setting.servers);
  const double served = step * model.server_share / setting.servers;  // CPU time of each server
  const double service = served / std::min(1.0, server_cores);

  ModelFigures figures;
  const double wanted = ClosedNetwork(setting.workers, compute * pace + messages, service);
  const double cpu = step * (1 + model.server_share);
  figures.steps_per_second = SpeedOnMachine(model, wanted, cpu, setting.workers * threads + setting.servers);
  figures.staleness = setting.workers - 1;
  figures.worth = 1 / (1 + model.staleness_cost * figures.staleness);
  // Where the machine is full everything takes longer alike, so that a worker's shares stay what they are.
  figures.worker_compute = std::min(1.0, wanted * compute / setting.workers);
  figures.server_busy = std::min(1.0, figures.steps_per_second * service);
  if (setting.worker_millicores) {
    figures.worker_cpu = std::min(1.0, figures.steps_per_second / setting.workers * step / worker_cores);
    figures.worker_throttled = figures.worker_compute * std::max(0.0, 1 - worker_cores / threads);
  }
  if (setting.server_millicores) {
    figures.server_cpu = std::min(1.0, figures.steps_per_second * served / server_cores);
    figures.server_throttled = figures.server_busy * std::max(0.0, 1 - server_cores);
  }
  return figures;
}

}  // namespace attune::cli
