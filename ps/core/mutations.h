// Deliberate mistakes, each of which must be caught by a checker of tests/simulation. Only the core that the
// simulations are linked with (attune_ps_core_with_mistakes) can make them. In every other build a Mistake is the
// constant false, so that the branches behind it are not compiled in and nothing can switch one on.
#pragma once

#include <cstdint>
#include <type_traits>

namespace attune::ps {

#ifdef ATTUNE_DELIBERATE_MISTAKES
inline constexpr bool kMistakesPossible = true;
#else
inline constexpr bool kMistakesPossible = false;
#endif
using Mistake = std::conditional_t<kMistakesPossible, bool, std::false_type>;

// Mistakes in keeping order between two nodes (ps/core/link/link.h).
struct LinkMutations {
  Mistake no_filter{};              // delivers a repeated frame again
  Mistake accept_gaps{};            // delivers a frame before its predecessors
  Mistake forget_on_reconnect{};    // a new connection starts counting what was delivered again
  Mistake acknowledge_last_sent{};  // any acknowledgement counts for all that is in flight
  Mistake no_resend{};              // what a connection loses, or a full queue drops, is not sent again on it
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
  kRowGivenBackNotKept = 48,        // a next backup that gives a row back waits for its copy
  kUnmarkedArrivalNotWritten = 49,  // a row handed over before its sender's mark misses the snapshot of the cut
  kRoundOfOlderHomesTaken = 50,  // a home that has forgotten a worker's copies takes its round for one that is complete
  kCopyWithoutOpenPushes = 51,   // a worker gets a copy that lacks its own earlier pushes
  kCopyNotTakenBack = 52,        // a worker keeps its copy of a row that has left
  kCount
};

// At most one of them.
using ChosenRowMutation =
    std::conditional_t<kMistakesPossible, RowMutation, std::integral_constant<RowMutation, RowMutation::kNone>>;

struct Mutations {
  Mistake pull_without_after{};  // a pull does not wait for the worker's own pushes
  Mistake keep_leases_of_lost_workers{};
  Mistake done_before_acknowledged{};  // lease positions do not wait for the pushes of their items
  Mistake acked_below_skips_open{};    // acked_below passes pushes that are still open
  Mistake no_reissue{};                // a push is sent once
  Mistake ignore_pull_deadline{};      // a pull ends only when answered
  Mistake place_every_answer{};        // two answers may be received into the rows of a pull at one time
  Mistake fetched_row_after_push{};    // a row that was fetched ahead is read after the worker has pushed to it
  Mistake fetched_row_after_read{};    // one that was fetched ahead is read after a newer value of it
  Mistake fetched_row_past_age{};      // however long ago it was asked for
  Mistake fetched_row_before_floor{};  // although it was asked for before others had come near enough
  Mistake copy_read_past_age{};        // a copy is read however long ago its home has confirmed it
  Mistake copy_read_before_floor{};    // although that was before others had come near enough
  Mistake copy_taken_after_use{};   // one that may lack what the worker has pushed to the row, or read of it, meanwhile
  Mistake copy_read_after_newer{};  // or one that may be older than what the worker has read elsewhere since
  Mistake unannounced_row_may_be_old{};  // what was fetched or copied for other steps is read in one that it is not for
  Mistake copies_kept_over_homes{};      // copies of a home outlast it
  ChosenRowMutation row{};
  LinkMutations link;

  // Steps and modes.
  Mistake clock_before_acknowledged{};  // a step counts as finished while its pushes are open
  Mistake no_step_gate{};               // a worker does not wait for the floor
  Mistake floor_counts_lost_workers{};
  Mistake floor_counts_idle_workers{};  // one without data holds the others up
  Mistake switch_without_promises{};

  // Another coordinator.
  Mistake act_before_all_promises{};
  Mistake old_term_not_refused{};
  Mistake answer_before_mirror{};    // leases and ends of leases are known to the worker before the copy
  Mistake mirror_ignored{};          // the new coordinator takes all items for free that no worker names
  Mistake adopted_leases_granted{};  // and those too that workers still hold
  Mistake ends_forgotten{};          // leases whose end is not confirmed are not reported to the new coordinator
  Mistake tables_numbered_anew{};    // tables that servers have and the copy does not know are forgotten
  Mistake late_step_is_evidence{};   // a coordinator that was stopped takes that time for the silence of others
  Mistake silence_is_death{};        // members count as dead although the old coordinator may be giving them time

  Mistake closing_not_awaited{};    // a job is finished when its workers are gone, whatever they have left undone
  Mistake copies_on_any_machine{};  // also on that of the home
  Mistake links_not_watched{};      // two members that do not reach each other both stay

  // The coordinator's lease.
  Mistake half_is_a_majority{};
  Mistake support_counts_from_arrival{};  // of the answer, not from when the question left
  Mistake confirms_itself{};              // without the operator's record
  Mistake grants_outlast_the_lease{};

  // Checkpoints.
  Mistake mark_before_all_stand{};     // workers are still in steps below the cut
  Mistake release_before_all_marks{};  // workers continue while nodes have not copied
};

}  // namespace attune::ps
