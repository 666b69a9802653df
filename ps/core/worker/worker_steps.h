// The steps of a worker: the one in progress, what the ended ones came to, and when the next may begin. Combines the
// gate (step_gate.h) with the log (step_log.h): a clock that others may wait for is reported at once.
// Externally synchronized.
#pragma once

#include <cstdint>
#include <string>

#include "ps/core/intent/step_point.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/worker/operations/push_window.h"
#include "ps/core/worker/step_gate.h"
#include "ps/core/worker/step_log.h"

namespace attune::ps {

class WorkerSteps {
 public:
  // What the caller has to do: a heartbeat is to be sent at once; the next step has begun.
  struct Outcome {
    bool report = false;
    bool begun = false;
  };
  enum class News : uint8_t { kNone, kNew, kNewHold };

  WorkerSteps(Mistake clock_before_acknowledged, Mistake no_step_gate)
      : clock_before_acknowledged_(clock_before_acknowledged), no_step_gate_(no_step_gate) {}

  // A coordinator admits this worker. What another one said before the job had formed counts no more. A joining member
  // does not hold up those who are far ahead.
  void Join(const SyncState& sync);
  // kNewHold: all are held before a step, so that this worker has to promise, or to say how far it is.
  News Adopt(const SyncState& sync);
  // The step in progress has ended, if one is.
  Outcome End(uint64_t samples, double loss, const PushWindow& pushes);
  // Begins the next step if that is allowed now and none is in progress.
  Outcome TryBegin(const PushWindow& pushes);
  // Pushes have been settled.
  Outcome Settle(const PushWindow& pushes);
  // The worker gets work: it stands at the floor.
  void LiftTo(uint64_t floor) { gate_.LiftTo(floor); }

  // What a heartbeat says of steps.
  void DescribeIn(Heartbeat& heartbeat) const;
  // Why the next step has not begun. `fenced`: the liveness lease has run out.
  std::string WhatHolds(const ClusterView& cluster, bool fenced) const;
  uint64_t ended() const { return log_.steps(); }
  StepPoint point() const {
    return {.clock = ended(), .step = gate_.clock(), .mode = gate_.ModeAt(gate_.clock()), .floor = gate_.state().floor};
  }
  const StepGate& gate() const { return gate_; }

 private:
  Outcome Mark(const PushWindow& pushes);

  const Mistake clock_before_acknowledged_;
  const Mistake no_step_gate_;
  StepGate gate_;
  StepLog log_;
};

}  // namespace attune::ps
