#include <algorithm>
#include <sstream>

#include "base/random.h"
#include "tests/simulation/job/operated.h"

namespace attune::ps::simulation {
namespace {

JobParameters DrawJob(uint64_t seed, Random& random) {
  JobParameters p;
  p.seed = seed;
  p.servers = static_cast<uint32_t>(1 + random.Below(4));
  p.workers = static_cast<uint32_t>(1 + random.Below(3));
  p.shards = static_cast<uint32_t>(p.servers + random.Below(16));
  p.backups = p.servers > 1 && random.Chance(0.8) ? 1 : 0;
  p.items = 20 + random.Below(60);
  p.epochs = 1 + random.Below(2);
  p.lease_items = random.Below(13);  // 0: chosen
  p.keys = 4 + random.Below(30);
  p.pushes_in_flight_max = static_cast<uint32_t>(1 + random.Below(12));
  p.keys_per_message_max = 1 + random.Below(8);
  p.keys_per_call_max = 1 + random.Below(24);
  static constexpr const char* kModes[] = {"async", "bsp", "ssp:1", "ssp:3"};
  p.mode = random.Chance(0.4) ? kModes[random.Below(4)] : "async";
  p.delay_milliseconds_max = 0.5 + random.Uniform() * 15;
  p.handovers = 1;  // the coordinator is of a server, and may move
  p.scalings = 1;   // their number changes
  p.DrawClosing(seed ^ 0xc105e);
  if (random.Chance(0.4)) return p;
  p.duplicate_chance = random.Chance(0.5) ? random.Uniform() * 0.1 : 0;
  p.break_chance = random.Chance(0.5) ? random.Uniform() * 0.005 : 0;
  p.late_copy_chance = random.Chance(0.5) ? random.Uniform() : 0;
  p.loss_chance = random.Chance(0.3) ? random.Uniform() * 0.02 : 0;
  return p;
}

}  // namespace

OperatedParameters OperatedParameters::FromSeed(uint64_t seed) {
  Random random(SplitMix64(seed ^ 0x09e2a7ed));
  OperatedParameters p;
  p.job = DrawJob(seed, random);
  const auto some = [&](double chance, uint64_t most) {
    return static_cast<uint32_t>(random.Chance(chance) ? 1 + random.Below(most) : 0);
  };
  p.span_seconds = 5 + random.Uniform() * 40;
  const double batches = static_cast<double>(p.job.items * p.job.epochs) / 2.5 / p.job.workers;
  p.compute_milliseconds = std::clamp(2000 * p.span_seconds / batches, 20.0, 4000.0);
  if (random.Chance(0.75)) {
    p.platform.faults = {.refused = random.Uniform() * 0.15,
                         .times_out = random.Chance(0.5) ? random.Uniform() * 0.04 : 0,
                         .dies = random.Chance(0.6) ? random.Uniform() * 0.02 : 0};
  }
  p.platform.watch_delay_milliseconds = random.Chance(0.2) ? 1500 : 5 + random.Uniform() * 100;
  p.platform.start_milliseconds = random.Chance(0.2) ? 8000 : 200 + random.Uniform() * 1500;
  p.platform.late_report_chance = random.Chance(0.3) ? 0.5 : 0.05;
  p.early_ends = some(0.2, 2);
  p.server_ends = p.job.backups > 0 ? some(0.6, 2) : 0;
  p.worker_ends = some(0.4, 2);
  p.cuts = some(0.4, 2);
  p.deletions = some(0.3, 2);
  p.false_signs = some(0.3, 3);
  p.server_edits = some(0.35, 3);
  p.worker_edits = some(0.35, 3);
  p.late_ends = some(0.4, 3);
  p.operator_ends = some(0.4, 2);
  p.operator_pauses = some(0.25, 2);
  p.api_outages = some(0.25, 2);
  p.stale_times = some(0.3, 2);
  p.suspensions = some(0.3, 2);
  p.restarts = some(0.3, 2);
  return p;
}

std::string ToString(const OperatedParameters& p) {
  std::ostringstream text;
  text << ToString(p.job) << " compute_milliseconds=" << p.compute_milliseconds << " span_seconds=" << p.span_seconds
       << " refused=" << p.platform.faults.refused << " times_out=" << p.platform.faults.times_out
       << " dies=" << p.platform.faults.dies << " watch_delay_milliseconds=" << p.platform.watch_delay_milliseconds
       << " start_milliseconds=" << p.platform.start_milliseconds
       << " late_report_chance=" << p.platform.late_report_chance << " early_ends=" << p.early_ends
       << " server_ends=" << p.server_ends << " worker_ends=" << p.worker_ends << " cuts=" << p.cuts
       << " deletions=" << p.deletions << " false_signs=" << p.false_signs << " server_edits=" << p.server_edits
       << " worker_edits=" << p.worker_edits << " late_ends=" << p.late_ends << " operator_ends=" << p.operator_ends
       << " operator_pauses=" << p.operator_pauses << " api_outages=" << p.api_outages
       << " stale_times=" << p.stale_times << " second_operators=" << p.second_operators
       << " suspensions=" << p.suspensions << " restarts=" << p.restarts;
  return text.str();
}

}  // namespace attune::ps::simulation
