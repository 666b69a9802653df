// What the home's decisions cost on made-up traces (ps/core/intent/row_decision.h), beside simple rules, AdaPM's rule,
// and, for up to four nodes, the best in hindsight. No row is moved here: costs are those of decision 0070, of all rows
// together, paid as in tests/ps/core/intent/managed_row.h. Then what deciding itself takes at the home
// (ps/core/intent/interest_table.h).
//   adaptive_policy_bench [--seed N] [--slots N] [--look-ahead N]

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include "base/random.h"
#include "bench/cpu_seconds.h"
#include "ps/core/intent/interest_table.h"
#include "ps/core/intent/row_decision.h"
#include "ps/core/protocol/limits.h"
#include "tests/ps/core/intent/managed_row.h"

namespace attune::ps {
namespace {

constexpr uint32_t kStepsPerSlot = 4;
constexpr uint32_t kKeysPerStep = 32;
constexpr uint32_t kKeys = 20'000;

// Ranks of Zipf's law with exponent 1.1, by inversion of the continuous law.
uint32_t ZipfRank(Random& random, uint32_t keys) {
  constexpr double kExponent = 1 - 1.1;
  const double end = std::pow(keys + 1.0, kExponent);
  const double x = std::pow(1 + random.Uniform() * (end - 1), 1 / kExponent);
  return std::min(keys - 1, static_cast<uint32_t>(x) - 1);
}

struct Workload {
  const char* name;
  bool is_written;
  // The key that a node's step draws.
  std::function<uint32_t(Random& random, uint32_t node, uint32_t slot)> draw;
};

std::vector<Workload> Workloads() {
  const auto uniform = [](Random& random, uint32_t, uint32_t) { return static_cast<uint32_t>(random.Below(kKeys)); };
  const auto zipf = [](Random& random, uint32_t, uint32_t) { return ZipfRank(random, kKeys); };
  // What is hot moves on by a key each slot, for all nodes alike.
  const auto drifting = [](Random& random, uint32_t, uint32_t slot) {
    return (ZipfRank(random, kKeys) + slot) % kKeys;
  };
  // Each node works through parts of its own, 20 slots each, and takes a third from what all share.
  const auto parts = [](Random& random, uint32_t node, uint32_t slot) {
    if (random.Chance(1.0 / 3)) return ZipfRank(random, kKeys / 10);
    const uint32_t part = SplitMix64((uint64_t{node} << 32) | slot / 20) % (kKeys / 100);
    return static_cast<uint32_t>(part * 100 + random.Below(100));
  };
  return {{"uniform", true, uniform},
          {"Zipf 1.1", true, zipf},
          {"Zipf 1.1, drifting", true, drifting},
          {"parts of nodes", true, parts},
          {"uniform, read only", false, uniform},
          {"Zipf 1.1, read only", false, zipf}};
}

// One trace per key.
std::vector<UseTrace> TracesOf(const Workload& workload, const ManagedJob& job, uint32_t slots, uint64_t seed) {
  Random random(seed);
  std::vector<UseTrace> traces(kKeys);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    for (uint32_t node = 0; node < job.nodes; ++node) {
      for (uint32_t i = 0; i < kStepsPerSlot * kKeysPerStep; ++i) {
        UseTrace& trace = traces[workload.draw(random, node, slot)];
        if (trace.empty() || trace.back().slot != slot || trace.back().node != node)
          trace.push_back({slot, node, 0, 0});
        SlotUse& use = trace.back();
        use.reads = std::min(use.reads + 1, kStepsPerSlot);
        if (workload.is_written) use.writes = use.reads;
      }
    }
  }
  return traces;
}

struct Rule {
  const char* name;
  ManagementRule rule;
  bool is_guarded = true;
};
// The last one as in AdaPM itself, where a row is lost with the node that owns it.
constexpr Rule kRules[] = {{"leave", LeaveAlone},
                           {"replicate", ReplicateAnnounced},
                           {"move", MoveAnnounced},
                           {"AdaPM's", MoveOrReplicate},
                           {"unguarded", MoveOrReplicate, false}};

void Compare(const Workload& workload, const ManagedJob& job, uint32_t slots, uint64_t seed) {
  const std::vector<UseTrace> traces = TracesOf(workload, job, slots, seed);
  const auto total = [&](auto&& cost_of) {
    double sum = 0;
    for (const UseTrace& trace : traces) sum += cost_of(trace);
    return sum;
  };
  const double decided = total([&](const UseTrace& trace) { return CostOf(job, trace, DecideByCost); });
  std::printf("%-20s %3u nodes  %8.3f ms/slot ", workload.name, job.nodes, 1e3 * decided / slots);
  for (const Rule& rule : kRules) {
    ManagedJob ruled = job;
    ruled.is_guarded = rule.is_guarded;
    const double cost = total([&](const UseTrace& trace) { return CostOf(ruled, trace, rule.rule); });
    std::printf("  %s %.2f", rule.name, decided / cost);
  }
  if (job.nodes <= 4) {
    std::printf("  best %.2f", decided / total([&](const UseTrace& trace) { return LeastCost(job, trace); }));
  }
  std::printf("\n");
  std::fflush(stdout);
}

// A million interests: announced, each row decided for all its nodes, withdrawn. Time of one thread on the processor.
void MeasureHome() {
  constexpr uint32_t kNodes = 16;
  constexpr uint32_t kRows = 1 << 16;
  constexpr double kMillions = kNodes * kRows / 1e6;
  const MonotonicTime now{};
  InterestTable table(kInterestsMax);
  const auto for_all = [&](auto&& act) {
    const double start = ThreadCpuSeconds();
    for (Key key = 0; key < kRows; ++key) {
      for (uint32_t node = 1; node <= kNodes; ++node) act(TableKey{TableId(1), key * 7919}, NodeId(node));
    }
    return kMillions / (ThreadCpuSeconds() - start);
  };
  const InterestTable::Announcement announced{.use = {.reads = 8, .writes = 8}, .until = now + std::chrono::seconds(1)};
  const double announce = for_all([&](TableKey row, NodeId node) { table.Announce(row, node, announced, now); });
  const double bytes = static_cast<double>(table.memory_bytes()) / static_cast<double>(table.size());
  std::vector<RowInterest> interests;
  const double start = ThreadCpuSeconds();
  for (Key key = 0; key < kRows; ++key) {
    const TableKey row{TableId(1), key * 7919};
    table.Collect(row, now, interests);
    DecideRow(interests, {.values = 256, .state = 256}, {}, {});
    table.Place(row, interests);
  }
  const double decide = kMillions / (ThreadCpuSeconds() - start);
  const double withdraw = for_all([&](TableKey row, NodeId node) { table.Withdraw(row, node); });
  std::printf("interests, %u nodes a row: %.1f M/s announced, %.1f decided, %.1f withdrawn; %.1f bytes each\n", kNodes,
              announce, decide, withdraw, bytes);
}

int Main(int argc, char** argv) {
  uint64_t seed = 1;
  uint32_t slots = 400;
  uint32_t look_ahead = 8;
  CLI::App app("The home's decisions about rows on made-up traces: their cost in ratio to other rules.");
  app.add_option("--seed", seed, "of the traces");
  app.add_option("--slots", slots, "of 10 ms; each node takes 4 steps of 32 keys in one");
  app.add_option("--look-ahead", look_ahead, "slots")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  std::printf("seed %llu. Ratios: cost of the decisions to that of each rule; below 1 is better\n",
              static_cast<unsigned long long>(seed));
  for (const Workload& workload : Workloads()) {
    for (const uint32_t nodes : {2U, 4U, 16U, 64U}) {
      Compare(workload, {.nodes = nodes, .look_ahead = look_ahead}, slots, seed);
    }
  }
  MeasureHome();
  return 0;
}

}  // namespace
}  // namespace attune::ps

int main(int argc, char** argv) { return attune::ps::Main(argc, argv); }
