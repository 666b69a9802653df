#include "operator/tuner/models/random/random_model.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "operator/tuner/models/random/draws.h"

namespace attune::tuner {
namespace {

int Most(const SearchSpace& space, std::string_view name) {
  const auto knob = space.KnobIndex(name);
  return knob ? std::max(1, space.description().knobs[static_cast<size_t>(*knob)].high) : 1;
}

double Cores(const SearchSpace& space, bool known, int id, std::string_view knob) {
  constexpr double kLeast = 0.01, kUnlimited = 1e9;
  return known ? std::max(kLeast, 1e-3 * space.Value(id, knob, 1000)) : kUnlimited;
}

}  // namespace

RandomModel::RandomModel(const SearchSpace& space, SyncMode mode, Random& random)
    : space_(space),
      mode_(mode),
      cycle_(random, Most(space, "threads")),
      service_(random),
      fixed_(random, Most(space, "workers")),
      norm_(DrawLogUniform(random, 1, 10)),
      delays_(random),
      host_cores_(random.Chance(0.35)
                      ? DrawLogUniform(random, 2,
                                       1.5 * (Most(space, "servers") + Most(space, "workers") * Most(space, "threads")))
                      : 1e9),
      slow_workers_(random, Most(space, "workers")),
      overload_(random, Most(space, "workers")),
      unknown_(space, random) {
  // Drawn last: spaces without these knobs keep their models.
  if (space.KnobIndex("worker_millicores"))
    cycle_.SetCoreUse(CoreUse(random, Most(space, "worker_millicores")), !space.KnobIndex("threads"));
  if (space.KnobIndex("server_millicores")) service_.SetCoreUse(CoreUse(random, Most(space, "server_millicores")));
}

RandomModel::Stages RandomModel::StagesAt(int id) const {
  const double w = space_.Value(id, "workers", 1), p = space_.Value(id, "servers", 1);
  const double threads = cycle_.EffectiveThreads(space_.Value(id, "threads", 1));
  const double worker_cores = Cores(space_, cycle_.knows_cores(), id, "worker_millicores");
  const double server_cores = Cores(space_, service_.knows_cores(), id, "server_millicores");
  const double busy = p * std::min(1.0, server_cores) + w * std::min(threads, worker_cores);
  const double crowd = std::max(1.0, busy / host_cores_);
  const int slack = space_.Value(id, "slack", mode_ == SyncMode::Bsp() ? 0 : kSlackAsync);
  Stages stages;
  stages.compute = cycle_.Compute(threads, worker_cores) * crowd;
  stages.messages = cycle_.Messages(worker_cores);
  const auto [alone, workers] = slow_workers_.PaceOf(stages.compute + stages.messages + cycle_.FanOut(p), w, slack);
  const double cycle = delays_.Cycle(alone, w, slack);
  stages.server = service_.Seconds(p, server_cores, crowd) * overload_.Factor(p, w);
  const double overlapped = std::pow(
      std::pow(cycle / workers, norm_) + std::pow(stages.server, norm_) + std::pow(fixed_.link(), norm_), 1 / norm_);
  stages.seconds = fixed_.AddTo(overlapped, p, w);
  return stages;
}

double RandomModel::LogSeconds(int id) const { return unknown_.AddTo(std::log(StagesAt(id).seconds), space_, id); }

TimeShares RandomModel::Shares(int id) const {
  const Stages stages = StagesAt(id);
  const double turn = stages.seconds * space_.Value(id, "workers", 1);  // of one worker, its waits included
  const auto share = [](double part, double whole) { return std::min(1.0, part / whole); };
  return {.compute = share(stages.compute, turn),
          .compute_and_messages = share(stages.compute + stages.messages, turn),
          .busy = share(stages.server, stages.seconds)};
}

}  // namespace attune::tuner
