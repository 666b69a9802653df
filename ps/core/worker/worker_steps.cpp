#include "ps/core/worker/worker_steps.h"

#include <utility>

namespace attune::ps {

void WorkerSteps::Join(const SyncState& sync) {
  gate_ = StepGate();
  gate_.Join(sync);
  log_.StartAt(gate_.clock());
}

WorkerSteps::News WorkerSteps::Adopt(const SyncState& sync) {
  const uint64_t hold = gate_.state().hold;
  if (!gate_.Update(sync)) return News::kNone;
  return gate_.state().hold != hold && gate_.state().hold != 0 ? News::kNewHold : News::kNew;
}

WorkerSteps::Outcome WorkerSteps::End(uint64_t samples, double loss, const PushWindow& pushes) {
  if (!gate_.in_step()) return {};  // an earlier call has ended it, and its time was over
  gate_.End();
  log_.End(samples, loss);
  return Mark(pushes);
}

WorkerSteps::Outcome WorkerSteps::TryBegin(const PushWindow& pushes) {
  if (gate_.in_step()) return {};
  const uint64_t clock = gate_.clock();
  const bool begun = gate_.TryBegin(no_step_gate_);
  Outcome outcome;
  if (gate_.clock() != clock) outcome = Mark(pushes);  // lifted
  outcome.begun = begun;
  return outcome;
}

// What has ended so far counts once its pushes are settled.
WorkerSteps::Outcome WorkerSteps::Mark(const PushWindow& pushes) {
  log_.Mark(gate_.clock(), pushes.last_issued());
  return Settle(pushes);
}

WorkerSteps::Outcome WorkerSteps::Settle(const PushWindow& pushes) {
  const bool risen = log_.Settle(clock_before_acknowledged_ ? pushes.last_issued() : pushes.SettledBelow());
  return {.report = risen && gate_.report_at_once()};
}

void WorkerSteps::DescribeIn(Heartbeat& heartbeat) const {
  heartbeat.steps = log_.settled_steps();
  heartbeat.clock = log_.settled_clock();
  heartbeat.begun = gate_.begun();
  heartbeat.promised = gate_.promise();
  heartbeat.loss_sum = log_.loss_sum();
  heartbeat.loss_samples = log_.loss_samples();
  heartbeat.samples = log_.samples();
}

std::string WorkerSteps::WhatHolds(const ClusterView& cluster, bool fenced) const {
  const SyncState& sync = gate_.state();
  const std::string step = "step " + std::to_string(gate_.clock());
  if (!cluster.IsConnected(kCoordinator)) return step + " needs the coordinator, which is not reachable";
  if (fenced) return step + " needs the coordinator, which has not answered for long";
  if (sync.hold != 0 && gate_.clock() >= sync.hold_at) {
    return step + " waits for a checkpoint or a switch of the synchronization, which needs all workers; step again";
  }
  const SyncMode mode = gate_.ModeAt(gate_.clock());
  return step + " may begin (" + ToString(mode) + ") when every worker has finished " +
         std::to_string(mode.FloorNeeded(gate_.clock())) + " steps; " + Describe(cluster.map(), sync.slowest) +
         " has finished " + std::to_string(sync.floor) + "; see its log, then step again";
}

}  // namespace attune::ps
