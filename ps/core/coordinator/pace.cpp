#include "ps/core/coordinator/pace.h"

#include <algorithm>
#include <string>
#include <utility>

namespace attune::ps {

Pace::Pace(JobContext& job)
    : job_(job),
      clocks_(job.options().term, job.options().synchronization),
      row_management_(job.options().row_management) {
  if (const CutRecord* resume = std::as_const(job).resume()) {
    clocks_.Restore(job.options().synchronization, resume->clock);
  }
}

void Pace::Remove(NodeId worker) {
  announcements_.Remove(worker, job_.now());
  if (!job_.mutations().floor_counts_lost_workers) clocks_.Remove(worker);
}

void Pace::Report(const MemberState& worker) {
  clocks_.Report(worker.member.node, worker.last.clock, worker.last.begun, worker.last.promised);
  announcements_.Report(worker.member.node, worker.last.steps,
                        worker.last.announces && row_management_ == RowManagement::kAdaptive, job_.now());
}

bool Pace::announcements_ignored() const {
  return row_management_ == RowManagement::kStatic ||
         (row_management_ == RowManagement::kAdaptive && !announcements_.acts());
}

void Pace::SkipPause(Duration pause) {
  straggler_.SkipPause(pause);
  announcements_.SkipPause(pause, job_.now());
}

void Pace::SendChanges(CoordinatorOutputs& out) {
  if (clocks_.TakeChanged()) job_.SendToAll(Role::kWorker, SyncUpdate{.sync = clocks_.state()}, out);
}

void Pace::WatchFloor(CoordinatorOutputs& out) {
  const SyncState& state = clocks_.state();
  const Duration after = job_.options().straggler_after;
  if (!straggler_.Update(clocks_.AnyoneWaits(), state.floor, state.slowest, job_.now(), after)) return;
  out.events.push_back(job_.members().Name(state.slowest) + " has been in step " + std::to_string(state.floor) +
                       " for " + std::to_string(static_cast<int64_t>(Seconds(job_.now() - straggler_.since()))) +
                       " s; others wait for it (" + ToString(state.mode) + ")");
}

void Pace::OnCommand(CommandId id, const SetSynchronization& command, MonotonicTime deadline, CoordinatorOutputs& out) {
  if (switches_.IsFull()) {
    const Status full = Error(StatusCode::kResourceExhausted, "too many switches wait; wait for some");
    return JobContext::Answer(id, full, {}, out);
  }
  switches_.Add(id, command.mode, deadline);
}

void Pace::OnCommand(CommandId id, const SetRowManagement& command, MonotonicTime, CoordinatorOutputs& out) {
  row_management_ = command.management;
  JobContext::Answer(id, OkStatus(), {}, out);
}

bool Pace::ContinueSwitch(bool may_begin, CoordinatorOutputs& out) {
  const auto name = [this](NodeId id) { return job_.members().Name(id); };
  auto done = switches_.Continue(job_.now(), clocks_, may_begin, name, job_.mutations().switch_without_promises);
  if (!done) return false;
  if (!done->event.empty()) out.events.push_back(std::move(done->event));
  out.command_results.push_back(std::move(done->result));
  return true;
}

void Pace::Restore(const CoordinatorRecord& record) {
  row_management_ = record.row_management;
  // A resumed job that is taken over before its workers say more continues where its checkpoint was cut.
  const uint64_t floor = record.resume ? record.resume->clock : 0;
  if (const auto mode = ParseSyncMode(record.synchronization); mode.ok()) clocks_.Restore(*mode, floor);
}

// One that is no member any more, and has continued under a coordinator that is followed no longer, says nothing about
// where the others are.
void Pace::RestoreSteps(const PreviousMembers& previous) {
  SyncState reported;
  for (const auto& [id, node] : job_.members()) {
    const SyncState& sync = previous.at(id).answer->sync;
    if (sync.revision > reported.revision) reported = sync;
  }
  if (reported.revision == 0) return;
  for (const auto& [id, node] : job_.members()) {
    const SyncState& sync = previous.at(id).answer->sync;
    reported.floor = std::max(reported.floor, sync.floor);
    reported.hold_at = std::max(reported.hold_at, sync.hold_at);
  }
  clocks_.Restore(reported);
}

void Pace::Fill(JobProgress& progress) const {
  progress.floor_clock = clocks_.floor();
  progress.synchronization = ToString(clocks_.mode());
  progress.announcements = {.management = row_management_,
                            .ignored = announcements_ignored(),
                            .on_trial = announcements_.in_progress(),
                            .speedup = announcements_.speedup()};
  if (!clocks_.AnyoneWaits()) return;
  progress.floor_holder = job_.members().Name(straggler_.slowest());
  if (const MemberState* slowest = job_.members().Find(straggler_.slowest())) {
    progress.floor_worker = slowest->member.index;
  }
  progress.floor_held_for = job_.now() - straggler_.since();
}

}  // namespace attune::ps
