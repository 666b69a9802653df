#include <cstdio>

#include "tests/simulation/rows/rows_simulation.h"

namespace attune::ps::simulation {

const char* NameOf(RowMutation mutation) {
  static constexpr const char* kNames[] = {"none",
                                           "handover without records",
                                           "records stay at the source",
                                           "handover without settled numbers",
                                           "acknowledged before the backup has it",
                                           "no era fence at the backup",
                                           "order without exact move number",
                                           "no re-issue at recovery",
                                           "newer message handled under an old map",
                                           "report without awaiting handover acks",
                                           "report without claims",
                                           "old orders survive a recovery",
                                           "old by_home forward trusted",
                                           "home resolves before all reports",
                                           "pull ignores own pushes",
                                           "high-water mark instead of records",
                                           "retired backup acknowledges",
                                           "removed node's messages accepted",
                                           "duplicate acknowledged without a probe",
                                           "backup ignores a version gap",
                                           "era not raised on promotion",
                                           "install overwrites a newer copy",
                                           "handoff without directory",
                                           "arrival during a join not installed",
                                           "waiting operations kept at recovery",
                                           "filter per message, not per key",
                                           "row moved to its backup",
                                           "acked_below counts the first key",
                                           "old home still serves Localize",
                                           "removed node's handover accepted",
                                           "join done despite open handovers",
                                           "no InstallWanted",
                                           "no ReplicateRefused",
                                           "after holds the last push only",
                                           "handover ack dated when sent",
                                           "next backup keeps rows",
                                           "planned change before recovery is done",
                                           "failure keeps the next backup",
                                           "dual write, old backup acknowledges",
                                           "dead origin's push accepted",
                                           "unrelayed Replicate taken by the next backup",
                                           "earlier join counts",
                                           "optimizer state stays at the source",
                                           "acknowledged, then applied",
                                           "stale copy promoted",
                                           "promoted copy without records",
                                           "no duplicate filter"};
  static_assert(std::size(kNames) == static_cast<size_t>(RowMutation::kCount));
  return kNames[static_cast<size_t>(mutation)];
}

namespace {

bool Hunt(const char* number, const char* name, const Mutations& mutations, uint64_t first_seed, uint64_t seeds_max) {
  for (uint64_t seed = first_seed; seed < first_seed + seeds_max; ++seed) {
    const RowResult result = SimulateRows(RowParameters::FromSeed(seed), mutations);
    if (result.violations.empty()) continue;
    std::printf("caught   %3s %-46s %6llu seeds  %s\n", number, name,
                static_cast<unsigned long long>(seed - first_seed + 1), result.violations.front().c_str());
    std::fflush(stdout);
    return true;
  }
  std::printf("ESCAPED  %3s %-46s %6llu seeds\n", number, name, static_cast<unsigned long long>(seeds_max));
  std::fflush(stdout);
  return false;
}

}  // namespace

int RunRowMutants(uint64_t first_seed, uint64_t seeds_max) {
  int escaped = 0;
  for (int i = 1; i < static_cast<int>(RowMutation::kCount); ++i) {
    const auto mutation = static_cast<RowMutation>(i);
    escaped += Hunt(std::to_string(i).c_str(), NameOf(mutation), {.row = mutation}, first_seed, seeds_max) ? 0 : 1;
  }
  escaped += Hunt("L1", "link: no filter", {.link = {.no_filter = true}}, first_seed, seeds_max) ? 0 : 1;
  escaped += Hunt("L2", "link: gap accepted", {.link = {.accept_gaps = true}}, first_seed, seeds_max) ? 0 : 1;
  escaped +=
      Hunt("L3", "link: filter lost on reconnect", {.link = {.forget_on_reconnect = true}}, first_seed, seeds_max) ? 0
                                                                                                                   : 1;
  escaped += Hunt("L4", "link: acknowledgement of the last sent", {.link = {.acknowledge_last_sent = true}}, first_seed,
                  seeds_max)
                 ? 0
                 : 1;
  return escaped;
}

}  // namespace attune::ps::simulation
