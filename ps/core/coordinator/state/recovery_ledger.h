// What recoveries have cost: rows that had no copy and went back to the newest checkpoint, or to their first values.
// Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/protocol/control_messages.h"
#include "ps/core/protocol/coordinator_record.h"

namespace attune::ps {

class RecoveryLedger {
 public:
  // --- the checkpoint that rows would come from

  void SetNewest(RestorePoint newest, uint64_t steps) {
    newest_ = std::move(newest);
    newest_steps_ = steps;
  }
  const RestorePoint& newest() const { return newest_; }

  // --- a recovery

  bool in_progress() const { return in_progress_; }
  // `recoveries`: those of the map before it. One that begins during another ends with it: what they cost is known, and
  // reported, when both are complete.
  void Begin(uint16_t recoveries);
  // False: none was in progress.
  bool End() { return std::exchange(in_progress_, false); }
  // Rows without a copy were lost and are taken from the newest checkpoint. `steps`: of all workers by now; those of
  // the last moments may not have been reported. `items_since`: items were processed that it does not contain.
  void TakeFromNewest(uint64_t steps, bool items_since, bool goal_reached);
  // What one of the members has newly reported.
  void Add(uint64_t shards, uint64_t rows, uint64_t reinitialized);
  // Rows went back to their first values after they had been trained, or to a checkpoint after the goal was reached:
  // what is left is not the model that was trained. Those that went back to a checkpoint before that are trained again.
  bool model_lost() const { return model_lost_; }
  // An earlier coordinator has recorded it.
  void RestoreModelLost(bool lost) { model_lost_ = lost; }

  // --- for people and programs

  // The beginning of a recovery in which so many shards have no copy; follows on who is lost.
  std::string DescribeLoss(size_t shards, uint64_t steps) const;
  // The end of one.
  std::string DescribeEnd() const;
  void Fill(CoordinatorRecord& record) const;
  // While a recovery is in progress: what those before it have cost.
  void Fill(JobProgress& progress, uint16_t recoveries) const;

 private:
  struct Totals {
    uint64_t shards = 0, rows = 0, reinitialized = 0;
  };
  uint64_t StepsSinceNewest(uint64_t steps) const { return steps - std::min(steps, newest_steps_); }

  RestorePoint newest_;
  uint64_t newest_steps_ = 0;  // of all workers, that it contains
  bool in_progress_ = false;
  uint16_t recoveries_before_ = 0;  // of the one that is in progress, or was the last
  Totals totals_, before_;          // now; when that one began
  RestorePoint taken_;              // by the last recovery that needed one
  uint64_t steps_lost_ = 0;         // by it
  bool model_lost_ = false;         // by any recovery
};

}  // namespace attune::ps
