#include "tests/simulation/rows/rows_simulation.h"

#include "tests/simulation/rows/simulation.h"

namespace attune::ps::simulation {
namespace {

// By RowMutation.
constexpr const char* kNames[] = {
    "none",
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
    "no duplicate filter",
    "a row that is here counts as arrived",
    "a row given back is not kept as a copy",
};
// The next one is about checkpoints, which this simulation takes none of; the whole job's does.
static_assert(std::size(kNames) == static_cast<size_t>(RowMutation::kUnmarkedArrivalNotWritten));
// Of copies at workers. The one before these shows only with a worker's own look-ahead: the whole job's, too.
constexpr const char* kCopyNames[] = {
    "copy without the worker's open pushes",
    "copy of a row that has left not taken back",
};
constexpr auto kFirstOfCopies = static_cast<size_t>(RowMutation::kCopyWithoutOpenPushes);
static_assert(kFirstOfCopies + std::size(kCopyNames) == static_cast<size_t>(RowMutation::kCount));

std::vector<Mutant> Mutants() {
  std::vector<Mutant> mutants;
  for (size_t i = 1; i < std::size(kNames); ++i) {
    mutants.push_back({std::to_string(i), kNames[i], {.row = static_cast<RowMutation>(i)}});
  }
  for (size_t i = 0; i < std::size(kCopyNames); ++i) {
    const size_t number = kFirstOfCopies + i;
    mutants.push_back({std::to_string(number), kCopyNames[i], {.row = static_cast<RowMutation>(number)}});
  }
  mutants.push_back({"L1", "link: no filter", {.link = {.no_filter = true}}});
  mutants.push_back({"L2", "link: gap accepted", {.link = {.accept_gaps = true}}});
  mutants.push_back({"L3", "link: filter lost on reconnect", {.link = {.forget_on_reconnect = true}}});
  mutants.push_back({"L4", "link: acknowledgement of the last sent", {.link = {.acknowledge_last_sent = true}}});
  mutants.push_back({"L5", "link: nothing is sent again", {.link = {.no_resend = true}}});
  return mutants;
}

}  // namespace

Suite RowSuite() {
  return {.name = "rows",
          .describe = [](uint64_t seed) { return ToString(RowParameters::FromSeed(seed)); },
          .run =
              [](uint64_t seed, const Mutations& mutations, bool keep_history) {
                return RowSimulation(RowParameters::FromSeed(seed), mutations, keep_history).Simulate();
              },
          .mutants = Mutants()};
}

}  // namespace attune::ps::simulation
