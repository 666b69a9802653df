#include "tests/simulation/rows/parameters.h"

#include <sstream>

#include "base/random.h"

namespace attune::ps::simulation {

namespace {

// Few nodes and one coincidence that a mistake needs to show; everything else stays kind.
void BadLuck(Random& random, RowParameters& p) {
  const auto below = [&](uint64_t bound) { return static_cast<uint32_t>(random.Below(bound)); };
  p.servers = 3;
  p.workers = 2 + below(2);
  p.shards = p.tables = 1;
  p.keys = 1 + below(2);
  p.backups = true;
  p.pushes = 3 + below(8);
  p.pulls = 2 + below(8);
  p.reissues = below(3);
  p.localizes = below(6);
  p.home_moves = p.suspicions = p.drains = 0;
  p.joins = 0;
  p.crashes = 1;
  p.call_back = random.Chance(0.15);
  p.delay_max = 1;
  p.rows_per_message = 4096;
  p.slow_link = 8 + random.Uniform() * 40;
  p.slow_map = random.Chance(0.5) ? 3 + random.Uniform() * 10 : 0;
  p.span = 5 + random.Uniform() * 30;
  const uint32_t kind = below(8);
  p.detour = kind == 5;
  p.stale_marker = kind == 6;
  p.comes_back = kind == 7;
  if (p.detour || p.stale_marker || p.comes_back) {
    p.backups = !p.comes_back;
    p.servers = p.stale_marker ? 4 : 3;
    p.workers = 3;
    p.keys = 1;
    p.pushes = 3 + below(12);
    p.localizes = p.crashes = 0;
    p.slow_link = p.stale_marker ? 100 + random.Uniform() * 150 : 20 + random.Uniform() * 60;
    p.slow_map = 0;
    return;
  }
  p.chain = kind == 0;
  p.slow_backup = kind == 1 || kind == 2;
  p.slow_spare = kind >= 3;
  if (kind >= 2) {
    p.joins = 3 + below(3);
    p.span *= 2;
  }
  if (kind == 2) {  // many rows are begun
    p.keys = 8;
    p.key_share = 0.12;
    p.pushes = 10 + below(20);
  }
  if (p.slow_spare) {
    p.workers = 3;
    p.localizes = 4 + below(16);
    p.slow_link = 20 + random.Uniform() * 60;
  }
}

}  // namespace

namespace {

// A coincidence that needs everything else to be kind.
bool IsPlanned(const RowParameters& p) {
  return p.chain || p.slow_backup || p.slow_spare || p.detour || p.stale_marker || p.comes_back;
}

// Processes that do not run for a while, nodes that do not reach each other or the coordinator, queues that are full:
// on top of what else the seed has chosen, and drawn on their own so that they change nothing of that.
void Silence(uint64_t seed, RowParameters& p) {
  Random random(SplitMix64(seed ^ 0x51e9ce));
  if (IsPlanned(p)) return;
  if (random.Chance(0.25)) {
    p.pauses = static_cast<uint32_t>(1 + random.Below(3));
    p.pause = p.delay_max * (random.Chance(0.5) ? 10 : 60);
  }
  if (random.Chance(0.2)) p.partitions = static_cast<uint32_t>(1 + random.Below(2));
  if (random.Chance(0.25)) p.queue = static_cast<uint32_t>(2 + random.Below(8));
}

// Homes that move to the machine of their copies, which may be lost then; drawn on its own, too.
void Machines(uint64_t seed, RowParameters& p) {
  Random random(SplitMix64(seed ^ 0x7ade));
  if (!p.backups || p.servers < 3 || p.home_moves == 0) return;
  p.trades = random.Chance(0.6);
  p.call_back = p.call_back || p.trades;
  p.machine = p.trades && random.Chance(0.6);
}

// A backup that joins faster than a row travels; drawn on its own, too.
void Outrun(uint64_t seed, RowParameters& p) {
  Random random(SplitMix64(seed ^ 0x72a7e1));
  if (IsPlanned(p) || !p.backups || p.servers < 3 || p.shards > 1 || !random.Chance(0.25)) return;
  p.outrun = true;
  p.slow_link = 20 + random.Uniform() * 60;
}

// Workers that have copies; drawn on its own, too.
void Holders(uint64_t seed, RowParameters& p) {
  Random random(SplitMix64(seed ^ 0x401de5));
  if (IsPlanned(p) || !random.Chance(0.35)) return;
  p.rounds = static_cast<uint32_t>(4 + random.Below(24));
}

}  // namespace

RowParameters RowParameters::FromSeed(uint64_t seed) {
  RowParameters p = Drawn(seed);
  Silence(seed, p);
  Machines(seed, p);
  Outrun(seed, p);
  Holders(seed, p);
  return p;
}

RowParameters RowParameters::Drawn(uint64_t seed) {
  Random random(SplitMix64(seed ^ 0x0905));
  const auto below = [&](uint64_t bound) { return static_cast<uint32_t>(random.Below(bound)); };
  RowParameters p;
  p.seed = seed;
  p.servers = 2 + below(3);
  p.workers = 1 + below(3);
  p.shards = random.Chance(0.6) ? 1 : 1 + below(4);
  p.keys = 1 + below(random.Chance(0.7) ? 2 : 6);
  p.tables = random.Chance(0.85) ? 1 : 2;
  p.backups = random.Chance(0.75);
  p.pushes = 2 + below(random.Chance(0.5) ? 8 : 24);
  p.pulls = below(8);
  p.reissues = below(5);
  p.localizes = below(random.Chance(0.5) ? 6 : 16);
  p.home_moves = random.Chance(0.4) ? 1 + below(2) : 0;
  p.joins = random.Chance(0.5) ? 1 + below(2) : 0;
  p.crashes = random.Chance(0.55) ? 1 + below(2) : 0;
  p.suspicions = random.Chance(0.2) ? 1 : 0;
  p.drains = random.Chance(0.15) ? 1 : 0;
  p.call_back = random.Chance(0.3);
  p.delay_max = random.Chance(0.5) ? 1.0 : 0.2 + random.Uniform() * 3;
  p.span = 4 + random.Uniform() * 30;
  p.rows_per_message = random.Chance(0.7) ? 4096 : 1 + below(2);
  p.slow_link = random.Chance(0.5) ? 5 + random.Uniform() * 30 : 0;
  p.slow_map = random.Chance(0.5) ? 4 + random.Uniform() * 20 : 0;
  if (random.Chance(0.5)) {  // little happens, but at once: what the protocol's own checker looked at
    p.servers = 2 + below(3);
    p.workers = 2 + below(2);
    p.shards = 1;
    p.keys = 1 + below(2);
    p.tables = 1;
    p.pushes = 3 + below(6);
    p.pulls = below(2) * (2 + below(8));
    p.reissues = below(6);
    p.localizes = 2 + below(8);
    p.drains = 0;
    const uint32_t kind = below(5);  // crash; homes move; both and joins; two crashes and joins; dead or not
    p.backups = kind != 1 && random.Chance(0.85);
    p.crashes = kind == 3 ? 2 : kind == 0 || kind == 2 ? 1 : 0;
    p.suspicions = kind == 4 ? 1 : 0;
    p.home_moves = kind == 1 ? 2 + below(2) : kind == 2 ? below(3) : 0;
    p.joins = kind >= 2 ? 1 + below(3) : 0;
    p.call_back = random.Chance(0.15);
    p.span = 3 + random.Uniform() * 12 * (1 + p.joins / 2.0);
    p.slow_link = random.Chance(0.6) ? 3 + random.Uniform() * 12 : 0;
    p.slow_map = random.Chance(0.5) ? 3 + random.Uniform() * 10 : 0;
    return p;
  }
  if (random.Chance(0.4)) {
    BadLuck(random, p);
    return p;
  }
  if (random.Chance(0.3)) return p;  // a network in good order
  p.loss = random.Chance(0.6) ? random.Uniform() * 0.15 : 0;
  p.duplicate = random.Chance(0.6) ? random.Uniform() * 0.2 : 0;
  p.break_chance = random.Chance(0.6) ? random.Uniform() * 0.05 : 0;
  p.late_copy = random.Chance(0.5) ? random.Uniform() : 0;
  return p;
}

std::string ToString(const RowParameters& p) {
  std::ostringstream text;
  text << "seed=" << p.seed << " servers=" << p.servers << " workers=" << p.workers << " shards=" << p.shards
       << " keys=" << p.keys << " tables=" << p.tables << " backups=" << p.backups << " pushes=" << p.pushes
       << " pulls=" << p.pulls << " reissues=" << p.reissues << " localizes=" << p.localizes
       << " home_moves=" << p.home_moves << " joins=" << p.joins << " crashes=" << p.crashes
       << " suspicions=" << p.suspicions << " drains=" << p.drains << " call_back=" << p.call_back
       << " chain=" << p.chain << " slow_backup=" << p.slow_backup << " slow_spare=" << p.slow_spare
       << " detour=" << p.detour << " stale_marker=" << p.stale_marker << " comes_back=" << p.comes_back
       << " trades=" << p.trades << " machine=" << p.machine << " outrun=" << p.outrun << " rounds=" << p.rounds
       << " key_share=" << p.key_share << " delay_max=" << p.delay_max << " span=" << p.span << " loss=" << p.loss
       << " duplicate=" << p.duplicate << " break_chance=" << p.break_chance << " late_copy=" << p.late_copy
       << " slow_link=" << p.slow_link << " pauses=" << p.pauses << " pause=" << p.pause
       << " partitions=" << p.partitions << " queue=" << p.queue << " slow_map=" << p.slow_map
       << " rows_per_message=" << p.rows_per_message;
  return text.str();
}

}  // namespace attune::ps::simulation
