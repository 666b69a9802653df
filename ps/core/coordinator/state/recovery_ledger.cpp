#include "ps/core/coordinator/state/recovery_ledger.h"

namespace attune::ps {

void RecoveryLedger::Begin(uint16_t recoveries) {
  if (std::exchange(in_progress_, true)) return;
  before_ = totals_;
  recoveries_before_ = recoveries;
}

void RecoveryLedger::TakeFromNewest(uint64_t steps, bool items_since, bool goal_reached) {
  taken_ = newest_;
  steps_lost_ = StepsSinceNewest(steps);
  const bool trained = steps_lost_ > 0 || items_since;
  model_lost_ = model_lost_ || (trained && (taken_.checkpoint == 0 || goal_reached));
}

void RecoveryLedger::Add(uint64_t shards, uint64_t rows, uint64_t reinitialized) {
  totals_.shards += shards;
  totals_.rows += rows;
  totals_.reinitialized += reinitialized;
}

std::string RecoveryLedger::DescribeLoss(size_t shards, uint64_t steps) const {
  const std::string uncovered = "; " + std::to_string(shards) + " shards have no copy, ";
  if (newest_.checkpoint == 0) return uncovered + "and there is no checkpoint: their rows are reinitialized";
  return uncovered + "their rows go back to checkpoint " + std::to_string(newest_.checkpoint) + " in " +
         newest_.directory + " at step " + std::to_string(newest_.clock) + "; " +
         std::to_string(StepsSinceNewest(steps)) + " steps of all workers since then";
}

std::string RecoveryLedger::DescribeEnd() const {
  const uint64_t shards = totals_.shards - before_.shards;
  if (shards == 0) return "no row was lost";
  std::string text = std::to_string(shards) + " shards had no copy, " + std::to_string(totals_.rows - before_.rows) +
                     " rows went back to ";
  text += taken_.checkpoint == 0
              ? "nothing, for there is no checkpoint"
              : "checkpoint " + std::to_string(taken_.checkpoint) + " at step " + std::to_string(taken_.clock);
  if (const uint64_t again = totals_.reinitialized - before_.reinitialized; again > 0) {
    text += ", " + std::to_string(again) + " rows known to others are reinitialized";
  }
  return text;
}

void RecoveryLedger::Fill(CoordinatorRecord& record) const {
  record.newest = newest_;
  record.newest_steps = newest_steps_;
  record.model_lost = model_lost_;
}

void RecoveryLedger::Fill(JobProgress& progress, uint16_t recoveries) const {
  const Totals& totals = in_progress_ ? before_ : totals_;
  progress.rows_restored = totals.rows;
  progress.shards_restored = totals.shards;
  progress.rows_begun_anew = totals.reinitialized;
  if (totals.shards > 0) {
    progress.restored_from = taken_;
    progress.steps_lost = steps_lost_;
  }
  progress.model_lost = model_lost_;
  progress.recoveries = in_progress_ ? recoveries_before_ : recoveries;
}

}  // namespace attune::ps
