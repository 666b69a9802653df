// The closing work: items that workers do once the goal is reached, at which they die or give up, and what must be true
// of it.
#include <algorithm>

#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {

void JobSimulation::EndClosingLease(size_t index) {
  constexpr uint32_t kFailuresMax = 3;  // of a job: it has to end
  Worker& worker = *workers_[index];
  if (worker.fate != Fate::kRunning || worker.at != Worker::At::kClosingWork) return;
  const LeaseResult& lease = worker.closing_lease;
  if (closing_failures_ < kFailuresMax && random().Chance(parameters_.closing_failure_chance)) {
    ++closing_failures_;
    Count("failures at the closing work");
    any_failure_ = true;
    // The rows that a worker owns go with it by right, where no copies cover that as well.
    if (parameters_.localize_chance == 0 && random().Chance(0.5)) return KillWorker(index);
    worker.gave_up = true;
    StepWorker(index, EndLease{.lease = lease.lease, .position = lease.begin});
    if (worker.fate == Fate::kRunning) Ask(index, Worker::At::kLeave);
    return;
  }
  for (uint64_t item = lease.begin; item < lease.end; ++item) {
    Count("items of closing work");
    closing_done_[item].push_back(index);
  }
  StepWorker(index, EndLease{.lease = lease.lease, .position = lease.end});
  if (worker.fate == Fate::kRunning) Ask(index, Worker::At::kClosingLease);
}

// A job that continues from a checkpoint does again what that does not contain.
void JobSimulation::ResumeClosing(const CutRecord& record) {
  closing_done_.clear();
  for (const CutRecord::DataSet& data_set : record.data_sets) {
    if (data_set.name != kClosingName) continue;
    for (uint64_t item = 0; item < parameters_.closing_items; ++item) {
      const auto holds = [item](const auto& range) { return range.begin <= item && item < range.end; };
      if (data_set.finished_epochs > 0 || std::ranges::any_of(data_set.done, holds)) closing_done_[item] = {kBefore};
    }
  }
}

// ClosingWork, when the coordinator says that the job is finished.
void JobSimulation::CheckClosingIsDone() {
  for (uint64_t item = 0; item < parameters_.closing_items; ++item) {
    if (closing_done_[item].empty()) {
      Violation("ClosingWork: the job is finished, and item " + std::to_string(item) + " of it was never done");
    }
  }
}

// What a worker that has left in order had done was known to be done: no other is handed it. One that was lost may have
// done it without anyone knowing.
void JobSimulation::CheckClosingIsDoneOnce() {
  for (const auto& [item, workers] : closing_done_) {
    const auto known = std::ranges::count_if(
        workers, [&](size_t worker) { return worker == kBefore || workers_[worker]->fate == Fate::kLeft; });
    if (known > 1) {
      Violation("ClosingWork: item " + std::to_string(item) + " was done by " + std::to_string(known) +
                " workers that have left in order");
    }
  }
}

}  // namespace attune::ps::simulation
