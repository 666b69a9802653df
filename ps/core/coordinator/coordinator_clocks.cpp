// Steps of the workers: who is counted in the floor, who holds it, and switches of the synchronization mode.
#include <algorithm>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {

bool CoordinatorCore::HasWork(const Node& node) const {
  const bool steps = node.uses_leases ? options_.mutations.floor_counts_idle_workers : node.last.steps > 0;
  return steps || data_sets_.HoldsTrainingLease(node.member.node);
}

void CoordinatorCore::UpdateCounted(Node& node) { clocks_.SetCounted(node.member.node, HasWork(node)); }

void CoordinatorCore::SendSync(CoordinatorOutputs& out) {
  if (!clocks_.TakeChanged()) return;
  for (const auto& [id, node] : members_) {
    if (node.member.role == Role::kWorker) Send(node, SyncUpdate{.sync = clocks_.state()}, out);
  }
}

// Others wait for one worker: said once per step that takes long.
void CoordinatorCore::WatchFloor(MonotonicTime now, CoordinatorOutputs& out) {
  const SyncState& state = clocks_.state();
  if (!straggler_.Update(clocks_.AnyoneWaits(), state.floor, state.slowest, now, options_.straggler_after)) return;
  out.events.push_back(members_.Name(state.slowest) + " has been in step " + std::to_string(state.floor) + " for " +
                       std::to_string(static_cast<int64_t>(Seconds(now - straggler_.since()))) +
                       " s; others wait for it (" + ToString(state.mode) + ")");
}

// --- commands

void CoordinatorCore::Answer(CommandId id, Status status, std::string text, CoordinatorOutputs& out) {
  out.command_results.push_back({.id = id, .status = std::move(status), .text = std::move(text)});
}

// The job is over: nothing that was asked for will happen.
void CoordinatorCore::AnswerAll(const Status& status, CoordinatorOutputs& out) {
  for (const CommandId id : switches_.AbandonAll()) Answer(id, status, {}, out);
  for (const CommandId id : placement_.AbandonAll()) Answer(id, status, {}, out);
  for (const CommandId id : gone_orders_.AbandonAll()) Answer(id, status, {}, out);
  for (const CommandId id : cuts_.AbandonAll()) Answer(id, status, {}, out);
}

void CoordinatorCore::On(FromOperator input, MonotonicTime now, CoordinatorOutputs& out) {
  if (!failed_.ok()) return Answer(input.id, failed_, {}, out);
  if (IsFinished()) return Answer(input.id, Error(StatusCode::kFailedPrecondition, "the job is finished"), {}, out);
  if (TakingOver() && !std::holds_alternative<NodeGone>(input.command) &&
      !std::holds_alternative<ConfirmLeader>(input.command)) {
    return Answer(input.id, Error(StatusCode::kUnavailable, "a new coordinator takes over; ask again"), {}, out);
  }
  const MonotonicTime deadline = input.timeout < kNever - now ? now + input.timeout : kNever;
  std::visit([&](const auto& command) { OnCommand(input.id, command, deadline, out); }, input.command);
}

void CoordinatorCore::OnCommand(CommandId id, const SetSynchronization& command, MonotonicTime deadline,
                                CoordinatorOutputs& out) {
  if (switches_.IsFull()) {
    return Answer(id, Error(StatusCode::kResourceExhausted, "too many switches wait; wait for some"), {}, out);
  }
  switches_.Add(id, command.mode, deadline);
}

void CoordinatorCore::GoOnWithSwitch(MonotonicTime now, CoordinatorOutputs& out) {
  const auto name = [this](NodeId id) { return members_.Name(id); };
  while (auto done = switches_.Continue(now, clocks_, !cuts_.PreparesCopies(), name,
                                        options_.mutations.switch_without_promises)) {
    if (!done->event.empty()) out.events.push_back(std::move(done->event));
    out.command_results.push_back(std::move(done->result));
    ServeLeases(now, out);
  }
}

// From what members have been sent. One that is none any more, and has gone on under a coordinator that is followed no
// longer, says nothing about where the others are.
void CoordinatorCore::RestoreSteps(const PreviousMembers& previous) {
  SyncState reported;
  for (const auto& [id, node] : members_) {
    const SyncState& sync = previous.at(id).answer->sync;
    if (sync.revision > reported.revision) reported = sync;
  }
  if (reported.revision == 0) return;
  for (const auto& [id, node] : members_) {
    const SyncState& sync = previous.at(id).answer->sync;
    reported.floor = std::max(reported.floor, sync.floor);
    reported.hold_at = std::max(reported.hold_at, sync.hold_at);
  }
  clocks_.Restore(reported);
}

}  // namespace attune::ps
