#include "tests/simulation/job/parameters.h"

#include <algorithm>
#include <sstream>

#include "base/random.h"

namespace attune::ps::simulation {

// With draws of its own, so that all else of a seed is what it is without; late maps choose more.
void JobParameters::DrawAnnounced(uint64_t seed_of_announced) {
  Random random(SplitMix64(seed_of_announced));
  if (!random.Chance(0.4)) return;
  announce_ahead = 1 + static_cast<uint32_t>(random.Below(6));
  age_milliseconds_max = random.Chance(0.5) ? 20 + random.Below(200) : 1000;
  row_management_changes = random.Chance(0.3) ? 1 + random.Below(4) : 0;
  DrawLateMaps(random);
}

// Homes change while a worker that has copies has yet to learn of it, for longer than copies may be old. It remains
// one that is heard in time, and has items to process meanwhile.
void JobParameters::DrawLateMaps(Random& random) {
  if (delay_milliseconds_max > 100 || !random.Chance(0.3)) return;
  late_map_factor = std::max(1.0, (200 + 1800 * random.Uniform()) / delay_milliseconds_max);
  age_milliseconds_max = 30 + random.Below(120);
  items = 200 + random.Below(200);
  lease_items = 40;
  keys = 4 + random.Below(12);
  mode = "async";
}

void JobParameters::DrawClosing(uint64_t seed_of_closing) {
  Random closing(SplitMix64(seed_of_closing));
  closing_items = closing.Chance(0.4) ? 1 + closing.Below(3) : 0;
  closing_failure_chance = closing_items > 0 && closing.Chance(0.6) ? closing.Uniform() * 0.6 : 0;
}

JobParameters JobParameters::FromSeed(uint64_t seed) {
  Random random(SplitMix64(seed ^ 0x5eed));
  JobParameters p;
  p.seed = seed;
  p.servers = static_cast<uint32_t>(1 + random.Below(4));
  p.workers = static_cast<uint32_t>(1 + random.Below(4));
  p.shards = static_cast<uint32_t>(p.servers + random.Below(32));
  p.items = 20 + random.Below(100);
  p.epochs = 1 + random.Below(2);
  p.lease_items = random.Below(26);  // 0: chosen
  p.keys = 4 + random.Below(60);
  p.pushes_in_flight_max = static_cast<uint32_t>(1 + random.Below(12));
  p.keys_per_message_max = 1 + random.Below(8);
  p.keys_per_call_max = 1 + random.Below(24);
  p.delay_milliseconds_max =
      random.Chance(0.2) ? 400 : 0.5 + random.Uniform() * 20;  // sometimes beyond the re-issue time
  // Every push crosses between servers then: through a network as slow as that no job would end.
  p.backups = p.servers > 1 && p.delay_milliseconds_max < 100 && random.Chance(0.5) ? 1 : 0;
  p.checkpoints = static_cast<uint32_t>(random.Chance(0.4) ? 1 + random.Below(4) : 0);
  p.crash_of_all = p.checkpoints > 0 && random.Chance(0.4);
  static constexpr const char* kModes[] = {"async", "bsp", "ssp:1", "ssp:3"};
  p.mode = random.Chance(0.4) ? kModes[random.Below(4)] : "async";
  Random rows(SplitMix64(seed ^ 0x10ca1));
  p.localize_chance = p.delay_milliseconds_max < 100 && rows.Chance(0.4) ? rows.Uniform() * 0.6 : 0;
  p.rows_per_worker_max = rows.Chance(0.2) ? 1 + rows.Below(20) : 0;
  p.DrawClosing(seed ^ 0xc105e);
  p.DrawAnnounced(seed ^ 0xa77);
  if (random.Chance(0.3)) return p;  // a calm network and no changes
  p.duplicate_chance = random.Chance(0.5) ? random.Uniform() * 0.2 : 0;
  p.break_chance = random.Chance(0.6) ? random.Uniform() * 0.02 : 0;
  p.late_copy_chance = random.Chance(0.5) ? random.Uniform() : 0;
  p.short_deadline_chance = random.Chance(0.4) ? random.Uniform() * 0.2 : 0;
  p.deaths = static_cast<uint32_t>(random.Chance(0.5) ? random.Below(3) : 0);
  p.isolations = static_cast<uint32_t>(random.Chance(0.2) ? 1 : 0);
  p.joins = static_cast<uint32_t>(random.Below(3));
  p.leaves = static_cast<uint32_t>(random.Below(3));
  p.save_chance = random.Chance(0.3) ? 0.5 : 0;
  p.full_disk_chance = p.save_chance + p.checkpoints > 0 && random.Chance(0.3) ? 0.3 : 0;
  if (p.backups > 0 && p.servers > 2 && random.Chance(0.5))
    p.server_deaths = 1 + static_cast<uint32_t>(random.Below(2));
  Random leaders(SplitMix64(seed ^ 0x1ead));
  p.coordinator_deaths = p.backups > 0 && p.servers > 2 && leaders.Chance(0.4) ? 1 : 0;
  p.handovers = p.servers > 1 && leaders.Chance(0.3) ? 1 + static_cast<uint32_t>(leaders.Below(3)) : 0;
  p.loss_chance = random.Chance(0.3) ? random.Uniform() * 0.05 : 0;
  p.slow_process_factor = random.Chance(0.3) ? 2 + random.Uniform() * 10 : 1;
  // Slower than this, a connection or two that break silence a process for a liveness lease, and it is lost by right:
  // that is what isolations are for.
  constexpr double kSlowestMilliseconds = 1000;
  p.slow_process_factor =
      std::max(1.0, std::min(p.slow_process_factor, kSlowestMilliseconds / p.delay_milliseconds_max));
  p.scalings = static_cast<uint32_t>(random.Chance(0.5) ? random.Below(4) : 0);
  if (p.late_map_factor > 1) p.scalings += 4;
  p.switches = static_cast<uint32_t>(random.Chance(0.5) ? random.Below(4) : 0);
  p.partitions = static_cast<uint32_t>(random.Chance(0.2) ? 1 + random.Below(2) : 0);
  Random links(SplitMix64(seed ^ 0x1147));
  // A worker that is cut off from the only server it knows, before it has learned of others, hears of no coordinator
  // that takes over: it is lost by right.
  p.links_cut = p.delay_milliseconds_max < 100 && p.late_map_factor == 1 &&
                        p.server_deaths + p.coordinator_deaths == 0 && links.Chance(0.3)
                    ? 1
                    : 0;
  Random machines(SplitMix64(seed ^ 0x3ac41e));
  p.machines = p.backups > 0 && machines.Chance(0.6) ? 2 + static_cast<uint32_t>(machines.Below(2)) : 0;
  p.machine_losses =
      p.machines > 0 && p.server_deaths + p.coordinator_deaths + p.links_cut == 0 && machines.Chance(0.7) ? 1 : 0;
  p.lost_amid_change = p.machine_losses > 0 && machines.Chance(0.5);
  Random relief(SplitMix64(seed ^ 0x5e11ef));
  p.eager_relief = p.servers > 1 && relief.Chance(0.5);
  // Two losses at one time, or one without copies, lose rows of right.
  const bool worker_lost = p.deaths + p.isolations > 0;
  const bool server_lost = p.server_deaths + p.coordinator_deaths + p.links_cut + p.machine_losses > 0;
  if ((p.backups == 0 && (worker_lost || server_lost)) || (worker_lost && server_lost)) p.localize_chance = 0;
  return p;
}

std::string ToString(const JobParameters& p) {
  std::ostringstream text;
  text << "seed=" << p.seed << " servers=" << p.servers << " workers=" << p.workers << " shards=" << p.shards
       << " backups=" << p.backups << " items=" << p.items << " epochs=" << p.epochs << " lease_items=" << p.lease_items
       << " keys=" << p.keys << " mode=" << p.mode << " pushes_in_flight_max=" << p.pushes_in_flight_max
       << " keys_per_message_max=" << p.keys_per_message_max << " keys_per_call_max=" << p.keys_per_call_max
       << " delay_milliseconds_max=" << p.delay_milliseconds_max << " duplicate_chance=" << p.duplicate_chance
       << " loss_chance=" << p.loss_chance << " break_chance=" << p.break_chance
       << " late_copy_chance=" << p.late_copy_chance << " short_deadline_chance=" << p.short_deadline_chance
       << " slow_process_factor=" << p.slow_process_factor << " late_map_factor=" << p.late_map_factor
       << " deaths=" << p.deaths << " isolations=" << p.isolations << " joins=" << p.joins << " leaves=" << p.leaves
       << " server_deaths=" << p.server_deaths << " machines=" << p.machines << " machine_losses=" << p.machine_losses
       << " lost_amid_change=" << p.lost_amid_change << " coordinator_deaths=" << p.coordinator_deaths
       << " handovers=" << p.handovers << " scalings=" << p.scalings << " switches=" << p.switches
       << " partitions=" << p.partitions << " links_cut=" << p.links_cut << " eager_relief=" << p.eager_relief
       << " checkpoints=" << p.checkpoints << " crash_of_all=" << p.crash_of_all
       << " localize_chance=" << p.localize_chance << " rows_per_worker_max=" << p.rows_per_worker_max
       << " save_chance=" << p.save_chance << " full_disk_chance=" << p.full_disk_chance
       << " announce_ahead=" << p.announce_ahead << " age_milliseconds_max=" << p.age_milliseconds_max
       << " row_management_changes=" << p.row_management_changes << " closing_items=" << p.closing_items
       << " closing_failure_chance=" << p.closing_failure_chance;
  return text.str();
}

}  // namespace attune::ps::simulation
