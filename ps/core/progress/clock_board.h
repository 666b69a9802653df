// The clocks of a job's workers as the coordinator sees them: the floor, the synchronization mode, and preparations
// that stop every worker before a common step X, for a switch of the mode or for a checkpoint.
//
// A worker is counted in the floor while it has work: it holds a lease of training data or, if it never asks for
// leases, once it has ended a step. One without work holds up no other; when it gets work again it stands at the floor.
// A worker steps at its own pace under Async, so clocks drift apart; the switch to a bounded mode at X lifts all to X.
//
// Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/sync_state.h"

namespace attune::ps {

class ClockBoard {
 public:
  // Numbers of holds and revisions begin with the coordinator's term.
  ClockBoard(uint32_t term, SyncMode mode);

  void Add(NodeId worker);
  void Remove(NodeId worker);
  void SetCounted(NodeId worker, bool counted);
  bool IsCounted(NodeId worker) const;
  // `clock`: steps finished and acknowledged, `begun`: the step in progress, `promised`: the hold it has promised to
  // keep.
  void Report(NodeId worker, uint64_t clock, uint64_t begun, uint64_t promised);
  // 0 for a stranger.
  uint64_t ClockOf(NodeId worker) const;

  // Asks all workers to stop before a step none of them has begun. Replaces a hold in progress.
  void Prepare();
  bool holding() const { return state_.hold != 0; }
  uint64_t hold_at() const { return state_.hold_at; }
  // Every worker has promised to stop before hold_at().
  bool AllPromised() const;
  // ... and those that have work have finished everything before it.
  bool AllStand() const;
  // Who has not promised or does not stand, for messages.
  std::vector<NodeId> Missing() const;
  // A switch of the mode must not begin before all workers have seen the one before.
  bool CanPrepare() const { return !holding() && state_.floor >= state_.mode_from; }
  // Ends the hold; steps from hold_at() on go by `mode`. Requires AllPromised().
  void Switch(SyncMode mode);
  // Ends the hold; nothing changes.
  void Release();

  // Starts from a checkpoint.
  void Restore(SyncMode mode, uint64_t floor);
  // Starts from what workers have been sent by another coordinator; a hold of its is over.
  void Restore(const SyncState& reported);
  // All workers as they answered, at once: the floor follows from all of them.
  struct Standing {
    NodeId worker;
    bool counted = false;
    uint64_t clock = 0, begun = 0;
  };
  void Restore(const std::vector<Standing>& workers);

  const SyncState& state() const { return state_; }
  SyncMode mode() const { return state_.mode; }
  uint64_t floor() const { return state_.floor; }
  // A worker whose next step needs a higher floor, while another one holds it.
  bool AnyoneWaits() const;
  // True once after each change that workers should hear of at once.
  bool TakeChanged();

 private:
  struct Worker {
    bool counted = false;
    uint64_t clock = 0;   // reported
    uint64_t lifted = 0;  // the floor when it was counted last
    uint64_t begun = 0;
    uint64_t promised = 0;
    uint64_t Clock() const { return clock > lifted ? clock : lifted; }
  };
  void Raise();  // a new hold at a step that no worker has begun as far as known
  void UpdateFloor();
  void Changed();

  std::map<NodeId, Worker> workers_;
  SyncState state_;
  uint64_t next_hold_;
  uint64_t margin_ = 1;  // steps between the fastest worker and the hold; doubled when one had passed it
  bool changed_ = false;
};

}  // namespace attune::ps
