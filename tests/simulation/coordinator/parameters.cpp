#include "tests/simulation/coordinator/parameters.h"

#include <sstream>

#include "base/random.h"

namespace attune::ps::simulation {

CoordinatorParameters CoordinatorParameters::FromSeed(uint64_t seed) {
  Random random(SplitMix64(seed ^ 0xc00d));
  static constexpr const char* kModes[] = {"async", "bsp", "ssp:1", "ssp:3"};
  CoordinatorParameters p;
  p.seed = seed;
  p.servers = static_cast<uint32_t>(1 + random.Below(3));
  p.workers = static_cast<uint32_t>(1 + random.Below(4));
  p.shards = static_cast<uint32_t>(p.servers + random.Below(24));
  p.backups = static_cast<uint32_t>(random.Below(2));
  p.items = 40 + random.Below(400);
  p.epochs = 1 + random.Below(3);
  p.lease_items = random.Below(31);  // 0: chosen
  p.mode = kModes[random.Below(4)];
  p.delay_milliseconds_max = random.Chance(0.2) ? 50 : 0.2 + random.Uniform() * 5;
  p.slow_worker_factor = random.Chance(0.5) ? 1 : 20;
  p.switches = static_cast<uint32_t>(random.Below(4));
  p.checkpoints = static_cast<uint32_t>(random.Below(4));
  Random machines(SplitMix64(seed ^ 0x3ac41e));
  p.machines = machines.Chance(0.5) ? 1 + static_cast<uint32_t>(machines.Below(3)) : 0;
  p.reports = Random(SplitMix64(seed ^ 0xbe57)).Chance(0.3);
  Random relief(SplitMix64(seed ^ 0x5e11ef));
  p.eager_relief = relief.Chance(0.5);
  if (random.Chance(0.2)) return p;
  p.early_death = random.Chance(0.1);
  p.break_chance = random.Chance(0.5) ? random.Uniform() * 0.02 : 0;
  p.worker_deaths = static_cast<uint32_t>(random.Below(3));
  p.server_deaths = static_cast<uint32_t>(random.Below(3));
  p.worker_joins = static_cast<uint32_t>(random.Below(3));
  p.leaves = static_cast<uint32_t>(random.Below(3));
  p.scalings = static_cast<uint32_t>(random.Below(3));
  if (p.servers == 1 && p.scalings == 0) return p;
  p.coordinator_deaths = static_cast<uint32_t>(random.Below(3));
  p.handovers = static_cast<uint32_t>(random.Below(2));
  p.hears_late = p.handovers > 0 && random.Chance(0.2);
  p.crash_at_table = random.Chance(0.1);
  p.stops = random.Chance(0.4) ? static_cast<uint32_t>(1 + random.Below(2)) : 0;
  p.drift_max = random.Chance(0.3) ? 0.04 : 0;
  return p;
}

std::string ToString(const CoordinatorParameters& p) {
  std::ostringstream text;
  text << "seed=" << p.seed << " servers=" << p.servers << " workers=" << p.workers << " shards=" << p.shards
       << " backups=" << p.backups << " machines=" << p.machines << " items=" << p.items << " epochs=" << p.epochs
       << " lease_items=" << p.lease_items << " mode=" << p.mode
       << " delay_milliseconds_max=" << p.delay_milliseconds_max << " break_chance=" << p.break_chance
       << " slow_worker_factor=" << p.slow_worker_factor << " switches=" << p.switches
       << " worker_deaths=" << p.worker_deaths << " server_deaths=" << p.server_deaths
       << " worker_joins=" << p.worker_joins << " leaves=" << p.leaves << " scalings=" << p.scalings
       << " drains=" << p.drains << " checkpoints=" << p.checkpoints << " coordinator_deaths=" << p.coordinator_deaths
       << " handovers=" << p.handovers << " eager_relief=" << p.eager_relief << " hears_late=" << p.hears_late
       << " crash_at_table=" << p.crash_at_table << " stops=" << p.stops << " drift_max=" << p.drift_max
       << " early_death=" << p.early_death << " reports=" << p.reports;
  return text.str();
}

}  // namespace attune::ps::simulation
