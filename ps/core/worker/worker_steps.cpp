// Steps of a worker: their clock, and when the next one may begin.
#include <utility>

#include "ps/core/worker/worker_core.h"

namespace attune::ps {

void WorkerCore::On(StepCall call, MonotonicTime now, WorkerOutputs& out) {
  const bool waits = call.call != CallId();
  if (waits ? Refuse(call.call, out) : !lost_.ok() || leaving_) return;
  if (gate_.in_step()) {  // else an earlier call has ended the step and its time was over
    gate_.End();
    steps_.End(call.samples, call.loss);
    MarkClock(now, out);
  }
  if (waits) {
    calls_[call.call] = {.deadline = call.deadline, .what = "beginning step " + std::to_string(gate_.clock())};
    step_calls_.push_back(call.call);
  }
  BeginStep(now, out);
  if (!step_calls_.empty()) WakeBy(call.deadline);
}

// What has ended so far counts once its pushes are settled.
void WorkerCore::MarkClock(MonotonicTime now, WorkerOutputs& out) {
  steps_.Mark(gate_.clock(), rows_.pushes().last_issued());
  SettleSteps(now, out);
}

void WorkerCore::SettleSteps(MonotonicTime now, WorkerOutputs& out) {
  const bool risen = steps_.Settle(options_.mutations.clock_before_acknowledged ? rows_.pushes().last_issued()
                                                                                : rows_.pushes().SettledBelow());
  if (risen && gate_.report_at_once()) SendHeartbeat(now, out);
}

void WorkerCore::BeginStep(MonotonicTime now, WorkerOutputs& out) {
  if (gate_.in_step()) return;
  if (!lease_.Valid(now)) return;  // its data may be with others already
  const uint64_t clock = gate_.clock();
  const bool begun = gate_.TryBegin(options_.mutations.no_step_gate);
  if (gate_.clock() != clock) MarkClock(now, out);  // lifted
  if (!begun) return;
  CompleteJoin(out);
  for (const CallId call : std::exchange(step_calls_, {})) EndCall(call, OkStatus(), {}, out);
}

void WorkerCore::AdoptSync(const SyncState& state, MonotonicTime now, WorkerOutputs& out) {
  const uint64_t hold = gate_.state().hold;
  if (!gate_.Update(state)) return;
  if (gate_.state().hold != hold && gate_.state().hold != 0)
    SendHeartbeat(now, out);  // promises, or says how far it is
  BeginStep(now, out);
}

void WorkerCore::OnMessage(NodeId, SyncUpdate&& message, MonotonicTime now, WorkerOutputs& out) {
  AdoptSync(message.sync, now, out);
}

std::string WorkerCore::WhatHoldsTheStep() const {
  const SyncState& sync = gate_.state();
  const std::string step = "step " + std::to_string(gate_.clock());
  if (!cluster_.IsConnected(kCoordinator)) return step + " needs the coordinator, which is not reachable";
  if (!lease_.Valid(now_)) return step + " needs the coordinator, which has not answered for long";
  if (sync.hold != 0 && gate_.clock() >= sync.hold_at) {
    return step + " waits for a checkpoint or a switch of the synchronization, which needs all workers; step again";
  }
  return step + " may begin (" + ToString(gate_.ModeAt(gate_.clock())) + ") when every worker has finished " +
         std::to_string(gate_.ModeAt(gate_.clock()).FloorNeeded(gate_.clock())) + " steps; " +
         Describe(cluster_.map(), sync.slowest) + " has finished " + std::to_string(sync.floor) +
         "; see its log, then step again";
}

}  // namespace attune::ps
