#include "tests/simulation/job/job_simulation.h"

#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {

// At least one for each promise of the header.
Suite JobSuite() {
  return {.name = "job",
          .describe = [](uint64_t seed) { return ToString(JobParameters::FromSeed(seed)); },
          .run =
              [](uint64_t seed, const Mutations& mutations, bool keep_history) {
                return JobSimulation(JobParameters::FromSeed(seed), mutations, keep_history).Simulate();
              },
          .mutants = {{"1", "no duplicate filter", {.row = RowMutation::kNoDuplicateFilter}},
                      {"2", "filter per message", {.row = RowMutation::kFilterPerMessage}},
                      {"3", "pull without after", {.pull_without_after = true}},
                      {"4", "acknowledged, then applied", {.row = RowMutation::kAcknowledgeBeforeApplying}},
                      {"5", "keep leases of lost workers", {.keep_leases_of_lost_workers = true}},
                      {"6", "done before acknowledged", {.done_before_acknowledged = true}},
                      {"7", "acked_below skips open", {.acked_below_skips_open = true}},
                      {"8", "no reissue", {.no_reissue = true}},
                      {"9", "ignore pull deadline", {.ignore_pull_deadline = true}},
                      {"10", "optimizer state stays at the source", {.row = RowMutation::kStateStaysAtSource}},
                      {"11", "no step gate", {.no_step_gate = true}},
                      {"12", "clock before acknowledged", {.clock_before_acknowledged = true}},
                      {"13", "switch without promises", {.switch_without_promises = true}},
                      {"14", "handover without records", {.row = RowMutation::kHandoverWithoutRecords}},
                      {"15", "handoff without directory", {.row = RowMutation::kHandoffWithoutDirectory}},
                      {"16", "acknowledged before the backup has it", {.row = RowMutation::kAcknowledgeBeforeBackup}},
                      {"17", "unmarked arrival not written", {.row = RowMutation::kUnmarkedArrivalNotWritten}},
                      {"18", "mark before all stand", {.mark_before_all_stand = true}},
                      {"19", "release before all marks", {.release_before_all_marks = true}},
                      {"20",
                       "handoff without directory, as readers see it",
                       {.row = RowMutation::kHandoffWithoutDirectory},
                       "VersionsRise"},
                      {"21", "act before all promises", {.act_before_all_promises = true}},
                      {"22", "answered before the copy has it", {.answer_before_mirror = true}},
                      {"23", "leases that workers hold granted again", {.adopted_leases_granted = true}},
                      {"24", "two answers received in one place", {.place_every_answer = true}, "OneWriter"},
                      {"25", "members that do not reach each other both stay", {.links_not_watched = true}},
                      {"26", "finished with closing work open", {.closing_not_awaited = true}, "ClosingWork"},
                      {"27", "a copy on the machine of its home", {.copies_on_any_machine = true}},
                      {"28", "fetched row read after an own push", {.fetched_row_after_push = true}, "OwnPushes"},
                      {"29", "fetched row read after a newer one", {.fetched_row_after_read = true}, "VersionsRise"},
                      {"30", "fetched row read past its age", {.fetched_row_past_age = true}, "AgeKept"},
                      {"31", "fetched row read before the floor", {.fetched_row_before_floor = true}, "FloorKept"},
                      {"32", "copy read past its age", {.copy_read_past_age = true}, "AgeKept"},
                      {"33", "copy read before the floor", {.copy_read_before_floor = true}, "FloorKept"},
                      {"34", "copy that lacks an own push", {.copy_taken_after_use = true}},
                      {"35", "copies outlast their home", {.copies_kept_over_homes = true}},
                      {"36", "round of older homes answered", {.row = RowMutation::kRoundOfOlderHomesTaken}},
                      {"37", "copy lacks pushes in flight", {.row = RowMutation::kCopyWithoutOpenPushes}},
                      {"38", "copy of a row that has left", {.row = RowMutation::kCopyNotTakenBack}},
                      {"39", "copy read after a newer value", {.copy_read_after_newer = true}, "VersionsRise"},
                      {"40", "row that is not announced may be old", {.unannounced_row_may_be_old = true}, "AgeKept"}}};
}

}  // namespace attune::ps::simulation
