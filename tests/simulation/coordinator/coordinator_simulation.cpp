#include "tests/simulation/coordinator/coordinator_simulation.h"

#include "tests/simulation/coordinator/simulation.h"

namespace attune::ps::simulation {

Suite CoordinatorSuite() {
  return {.name = "coordinator",
          .describe = [](uint64_t seed) { return ToString(CoordinatorParameters::FromSeed(seed)); },
          .run =
              [](uint64_t seed, const Mutations& mutations, bool keep_history) {
                return CoordinatorSimulation(CoordinatorParameters::FromSeed(seed), mutations, keep_history).Simulate();
              },
          .mutants = {{"1", "clock before acknowledged", {.clock_before_acknowledged = true}},
                      {"2", "no step gate", {.no_step_gate = true}},
                      {"3", "floor counts lost workers", {.floor_counts_lost_workers = true}},
                      {"4", "floor counts idle workers", {.floor_counts_idle_workers = true}},
                      {"5", "switch without promises", {.switch_without_promises = true}},
                      {"6", "mark before all stand", {.mark_before_all_stand = true}},
                      {"7", "release before all marks", {.release_before_all_marks = true}},
                      {"8", "done before acknowledged", {.done_before_acknowledged = true}},
                      {"9", "keep leases of lost workers", {.keep_leases_of_lost_workers = true}},
                      {"10", "act before all promises", {.act_before_all_promises = true}},
                      {"11", "old term not refused", {.old_term_not_refused = true}},
                      {"12", "answer before mirror", {.answer_before_mirror = true}},
                      {"13", "mirror ignored", {.mirror_ignored = true}},
                      {"14", "adopted leases granted", {.adopted_leases_granted = true}},
                      {"15", "ends of leases forgotten", {.ends_forgotten = true}},
                      {"16", "silence is death", {.silence_is_death = true}},
                      {"17", "tables numbered again", {.tables_numbered_anew = true}},
                      {"18", "half is a majority", {.half_is_a_majority = true}, "OneLeader"},
                      {"19", "support counts from arrival", {.support_counts_from_arrival = true}, "OneLeader"},
                      {"20", "confirms itself", {.confirms_itself = true}, "OneLeader"},
                      {"21", "grants outlast the lease", {.grants_outlast_the_lease = true}}}};
}

}  // namespace attune::ps::simulation
