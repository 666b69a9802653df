#include "tests/simulation/step_checker.h"

#include <algorithm>
#include <string>

namespace attune::ps::simulation {

void StepChecker::GetsWork(size_t worker) {
  if (!workers_.contains(worker)) return;
  Worker& one = workers_.at(worker);
  one.lifted = std::max(one.lifted, SlowestBut(worker).value_or(0));
  one.has_work = true;
}

void StepChecker::HasNoWork(size_t worker) {
  if (const auto it = workers_.find(worker); it != workers_.end()) it->second.has_work = false;
}

std::optional<uint64_t> StepChecker::SlowestBut(size_t but) const {
  std::optional<uint64_t> slowest;
  for (const auto& [number, worker] : workers_) {
    // One without the coordinator's word may count as lost: it has stopped.
    if (number == but || !worker.has_work || !worker.core->heartbeats().MayAct(world_.now())) continue;
    uint64_t finished = std::max(worker.core->steps().gate().clock(), worker.lifted);
    // It may have ended a step whose pushes are open.
    if (!worker.core->rows().pushes().window().empty() && !worker.core->steps().gate().in_step())
      finished -= std::min<uint64_t>(finished, 1);
    finished = std::max(finished, worker.lifted);
    slowest = slowest ? std::min(*slowest, finished) : finished;
  }
  return slowest;
}

void StepChecker::BeginsStep(size_t number) {
  if (!workers_.contains(number)) return;
  const StepGate& gate = workers_.at(number).core->steps().gate();
  const uint64_t step = gate.clock();
  const SyncMode mode = gate.ModeAt(step);
  world_.Count("steps");
  Begun& begun = modes_.try_emplace(step, Begun{mode, number}).first->second;
  // Who is lost, or may count as lost, does not take part any more: steps that only it had begun belong to none.
  const auto other = workers_.find(begun.worker);
  if (other == workers_.end() || !other->second.core->heartbeats().MayAct(world_.now())) begun = {mode, number};
  const std::string what =
      "worker process " + std::to_string(number) + " begins step " + std::to_string(step) + " as " + ToString(mode);
  if (begun.mode != mode) world_.Violation("CommonStep: " + what + ", another one as " + ToString(begun.mode));
  const std::optional<uint64_t> slowest = SlowestBut(number);
  if (slowest && *slowest < mode.FloorNeeded(step)) {
    std::string who;
    for (const auto& [other, worker] : workers_) {
      if (other == number || !worker.has_work || !worker.core->heartbeats().MayAct(world_.now())) continue;
      who += (who.empty() ? " (worker processes and clocks: " : ", ") + std::to_string(other) + ": " +
             std::to_string(worker.core->steps().gate().clock()) + "/" + std::to_string(worker.lifted);
    }
    world_.Violation("StepBound: " + what + " while another one has finished " + std::to_string(*slowest) + who + ")");
  }
}

bool Contains(const CutRecord& record, uint64_t epoch, uint64_t item) {
  if (record.data_sets.empty()) return false;
  const CutRecord::DataSet& data = record.data_sets.front();
  if (epoch < data.finished_epochs) return true;
  const auto done = [&](const CutRecord::DoneRange& range) {
    return range.epoch == epoch && range.begin <= item && item < range.end;
  };
  const auto passed = [&](const CutRecord::OpenLease& lease) {
    return lease.epoch == epoch && lease.begin <= item && item < lease.position;
  };
  return std::ranges::any_of(data.done, done) || std::ranges::any_of(data.open, passed);
}

void ItemChecker::CheckEnd(uint64_t epochs, uint64_t items, const JobProgress& progress, bool any_failure) {
  uint64_t extra = 0;
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (uint64_t item = 0; item < items; ++item) {
      const uint64_t runs = runs_[{epoch, item}];
      if (runs == 0) world_.Violation("EveryItem: item " + std::to_string(item) + " was never processed");
      extra += runs > 0 ? runs - 1 : 0;
    }
  }
  const uint64_t reported = progress.reprocessed_items;
  world_.Count("items processed again", reported);
  if (extra > reported) {
    world_.Violation("EveryItem: " + std::to_string(extra) + " items were processed again, " +
                     std::to_string(reported) + " are reported");
  }
  if (!any_failure && reported > 0) world_.Violation("EveryItem: items were taken away without a failure");
}

}  // namespace attune::ps::simulation
