// Deliberate mistakes, for tests only: each must be caught by a checker of tests/simulation. All false in production.
#pragma once

namespace attune::ps {

struct Mutations {
  bool no_duplicate_filter = false;          // a re-issued push is applied again
  bool filter_per_message = false;           // one recorded key of a push stands for all its keys
  bool pull_without_after = false;           // a pull does not wait for the worker's own pushes
  bool acknowledge_before_applying = false;  // applied with the next message, lost when the connection breaks before
  bool keep_leases_of_lost_workers = false;
  bool done_before_acknowledged = false;  // lease positions do not wait for the pushes of their items
  bool acked_below_skips_open = false;    // acked_below passes pushes that are still open
  bool no_reissue = false;                // a push is sent once
  bool ignore_pull_deadline = false;      // a pull ends only when answered

  // Steps and modes.
  bool clock_before_acknowledged = false;  // a step counts as finished while its pushes are open
  bool no_step_gate = false;               // a worker does not wait for the floor
  bool floor_counts_lost_workers = false;
  bool floor_counts_idle_workers = false;  // one without data holds the others up
  bool switch_without_promises = false;

  // Checkpoints.
  bool mark_before_all_stand = false;     // workers are still in steps below the cut
  bool release_before_all_marks = false;  // workers go on while nodes have not copied
};

}  // namespace attune::ps
