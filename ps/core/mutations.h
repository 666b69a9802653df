// Deliberate mistakes, for tests only: each must be caught by a checker of tests/simulation. All off in production.
#pragma once

#include <cstdint>

namespace attune::ps {

// Mistakes in keeping order between two nodes (ps/core/link/link.h).
struct LinkMutations {
  bool no_filter = false;              // delivers a repeated frame again
  bool accept_gaps = false;            // delivers a frame before its predecessors
  bool forget_on_reconnect = false;    // a new connection starts counting what was delivered anew
  bool acknowledge_last_sent = false;  // any acknowledgement counts for all that is under way
  bool no_resend = false;              // what a connection loses, or a full queue drops, is not sent again on it
};

// Mistakes in rows, their moves, copies and recovery (ps/core/rows). Up to 41 they have the numbers of the protocol's
// own list, in which some (4 and 42, for example) belong together.
enum class RowMutation : uint8_t {
  kNone = 0,
  kHandoverWithoutRecords = 1,
  kRecordsStayAtSource = 2,
  kHandoverWithoutSettled = 3,
  kAcknowledgeBeforeBackup = 4,
  kNoEraFenceAtBackup = 5,
  kOrderWithoutExactMoveNumber = 6,
  kNoReissueAtRecovery = 7,
  kNewerMessageUnderOldMap = 8,
  kReportWithoutHandoverAcks = 9,
  kReportWithoutClaims = 10,
  kOldOrdersSurviveRecovery = 11,
  kOldForwardTrusted = 12,
  kResolveBeforeAllReports = 13,
  kPullIgnoresOwnPushes = 14,
  kHighWaterMarkFilter = 15,
  kRetiredBackupAcknowledges = 16,
  kRemovedNodeAccepted = 17,
  kDuplicateAcknowledgedWithoutProbe = 18,
  kBackupIgnoresGap = 19,
  kEraNotRaisedOnPromotion = 20,
  kInstallOverwritesNewer = 21,
  kHandoffWithoutDirectory = 22,
  kArrivalDuringJoinNotInstalled = 23,
  kWaitingOpsKeptAtRecovery = 24,
  kFilterPerMessage = 25,
  kRowMovedToBackup = 26,
  kAckedBelowCountsFirstKey = 27,
  kOldHomeServesLocalize = 28,
  kRemovedNodesHandoverAccepted = 29,
  kSyncDoneDespiteHandovers = 30,
  kNoInstallWanted = 31,
  kNoReplicateRefused = 32,
  kAfterHoldsLastOnly = 33,
  kHandoverAckDatedWhenSent = 34,
  kNextBackupKeepsRows = 35,
  kPlannedChangeBeforeRecoveryDone = 36,
  kFailureKeepsNextBackup = 37,
  kDualWrite = 38,
  kDeadOriginsPushAccepted = 39,
  kUnrelayedReplicateTaken = 40,
  kEarlierJoinCounts = 41,
  // Of this code.
  kStateStaysAtSource = 42,         // a row moves without its optimizer state
  kAcknowledgeBeforeApplying = 43,  // and applied with the next message only
  kStaleCopyPromoted = 44,          // a copy becomes the row although a live node reported it
  kCopiesFilterForgotten = 45,      // a promoted copy comes without its records
  kNoDuplicateFilter = 46,          // a re-issued push is applied again
  kPresentCountsAsArrived = 47,     // a home that comes back takes rows that have yet to leave for arrived ones
  kUnmarkedArrivalNotWritten = 48,  // a row handed over before its sender's mark misses the snapshot of the cut
  kCount
};

struct Mutations {
  bool pull_without_after = false;  // a pull does not wait for the worker's own pushes
  bool keep_leases_of_lost_workers = false;
  bool done_before_acknowledged = false;  // lease positions do not wait for the pushes of their items
  bool acked_below_skips_open = false;    // acked_below passes pushes that are still open
  bool no_reissue = false;                // a push is sent once
  bool ignore_pull_deadline = false;      // a pull ends only when answered
  bool place_every_answer = false;        // two answers may be received into the rows of a pull at one time
  RowMutation row = RowMutation::kNone;
  LinkMutations link;

  // Steps and modes.
  bool clock_before_acknowledged = false;  // a step counts as finished while its pushes are open
  bool no_step_gate = false;               // a worker does not wait for the floor
  bool floor_counts_lost_workers = false;
  bool floor_counts_idle_workers = false;  // one without data holds the others up
  bool switch_without_promises = false;

  // Another coordinator.
  bool act_before_all_promises = false;
  bool old_term_not_refused = false;
  bool answer_before_mirror = false;    // leases and ends of leases are known to the worker before the copy
  bool mirror_ignored = false;          // the new coordinator takes all items for free that no worker names
  bool adopted_leases_granted = false;  // and those too that workers still hold
  bool ends_forgotten = false;          // leases whose end is not confirmed are not told to the new coordinator
  bool tables_numbered_anew = false;    // tables that servers have and the copy does not know are forgotten
  bool late_step_is_evidence = false;   // a coordinator that was stopped takes that time for the silence of others
  bool silence_is_death = false;        // members count as dead although the old coordinator may be giving them time

  bool closing_not_awaited = false;    // a job is finished when its workers are gone, whatever they have left undone
  bool copies_on_any_machine = false;  // also on that of the home
  bool links_not_watched = false;      // two members that do not reach each other both stay

  // The coordinator's office.
  bool half_is_a_majority = false;
  bool support_counts_from_arrival = false;  // of the answer, not from when the question left
  bool confirms_itself = false;              // without the operator's record
  bool grants_outlast_the_office = false;

  // Checkpoints.
  bool mark_before_all_stand = false;     // workers are still in steps below the cut
  bool release_before_all_marks = false;  // workers go on while nodes have not copied
};

}  // namespace attune::ps
