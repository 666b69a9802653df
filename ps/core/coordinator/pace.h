// The steps of the workers: who is counted in the floor, who holds it, switches of the synchronization mode
// (ps/core/progress/clock_board.h), and whether steps are faster when what programs announce is acted on
// (ps/core/progress/announcement_trial.h). Externally synchronized.
#pragma once

#include <vector>

#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/pending_orders.h"
#include "ps/core/membership/takeover.h"
#include "ps/core/progress/announcement_trial.h"
#include "ps/core/progress/clock_board.h"
#include "ps/core/progress/straggler_watch.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/sync_state.h"

namespace attune::ps {

class Pace {
 public:
  // `job` outlives it.
  explicit Pace(JobContext& job);

  // --- workers

  void Add(NodeId worker) { clocks_.Add(worker); }
  void Remove(NodeId worker);
  // `has_work`: it holds up others.
  void SetCounted(NodeId worker, bool has_work) { clocks_.SetCounted(worker, has_work); }
  // From its heartbeat.
  void Report(const MemberState& worker);
  // While a hold is in progress none begins that has not promised to stop.
  bool MayBegin(NodeId worker) const { return !clocks_.holding() || clocks_.IsCounted(worker); }

  // --- what workers hear

  const SyncState& state() const { return clocks_.state(); }
  uint64_t floor() const { return clocks_.floor(); }
  bool announcements_ignored() const;
  // All of them, after each change that they should hear of at once.
  void SendChanges(CoordinatorOutputs& out);
  // Others wait for one worker: said once per step that takes long.
  void WatchFloor(CoordinatorOutputs& out);

  // --- the mode

  void OnCommand(CommandId id, const SetSynchronization& command, MonotonicTime deadline, CoordinatorOutputs& out);
  void OnCommand(CommandId id, const SetRowManagement& command, MonotonicTime deadline, CoordinatorOutputs& out);
  // Continues with the first switch. True when it has ended; the next one may follow. `may_begin`: the clocks are
  // needed for nothing else.
  bool ContinueSwitch(bool may_begin, CoordinatorOutputs& out);
  std::vector<CommandId> AbandonAll() { return switches_.AbandonAll(); }
  // Cuts hold the clocks, too.
  ClockBoard& clocks() { return clocks_; }
  const ClockBoard& clocks() const { return clocks_; }

  // --- records; time in which this process stood still

  // From the record of the coordinator before, and from what members have been sent.
  void Restore(const CoordinatorRecord& record);
  void RestoreSteps(const PreviousMembers& previous);
  void Restore(const std::vector<ClockBoard::Standing>& workers) { clocks_.Restore(workers); }
  void Fill(CoordinatorRecord& record) const {
    record.synchronization = ToString(clocks_.mode());
    record.row_management = row_management_;
  }
  void Fill(JobProgress& progress) const;
  void SkipPause(Duration pause);

 private:
  JobContext& job_;
  ClockBoard clocks_;
  SwitchOrders switches_;
  StragglerWatch straggler_;
  RowManagement row_management_;
  AnnouncementTrial announcements_;
};

}  // namespace attune::ps
