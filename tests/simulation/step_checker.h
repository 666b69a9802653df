// Checkers of the order of steps and of data, for every simulation in which workers train.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/worker/worker_core.h"
#include "tests/simulation/world.h"

namespace attune::ps::simulation {

// StepBound: no worker begins step c before every worker with work has finished c - s (BSP: s = 0).
// CommonStep: all workers go through a step under the same mode.
class StepChecker {
 public:
  explicit StepChecker(World& world) : world_(world) {}

  // `core` must live as long as the worker takes part. Workers are known by their number, which none gets again.
  void Joins(size_t worker, const WorkerCore* core) { workers_[worker] = {.core = core}; }
  void GetsWork(size_t worker);
  void HasNoWork(size_t worker);
  // It has ended or asked to leave, or others continue without it; what it does from now on counts no more. A switch of
  // the mode need not come after the last step that one which leaves had begun.
  void IsGone(size_t worker) { workers_.erase(worker); }
  void BeginsStep(size_t worker);

 private:
  struct Worker {
    const WorkerCore* core = nullptr;
    bool has_work = false;
    uint64_t lifted = 0;  // the slowest one with work when it got work
  };
  struct Begun {
    SyncMode mode;
    size_t worker;
  };
  // What the slowest other worker with work has finished, its pushes acknowledged.
  std::optional<uint64_t> SlowestBut(size_t worker) const;

  World& world_;
  std::map<size_t, Worker> workers_;
  std::map<uint64_t, Begun> modes_;  // by step: of a worker that is still there
};

// The item's pushes are in the rows, says the record.
bool Contains(const CutRecord& record, uint64_t epoch, uint64_t item);

// EveryItem: each item of each epoch is processed once; with failures, extra runs <= reported reprocessed items.
class ItemChecker {
 public:
  explicit ItemChecker(World& world) : world_(world) {}

  void Processed(uint64_t epoch, uint64_t item) { ++runs_[{epoch, item}]; }
  // The job continues where a checkpoint was cut: what it does not contain is processed again.
  template <typename Contained>
  void BeginAgain(const Contained& contained) {
    for (auto& [place, runs] : runs_) runs = contained(place.first, place.second) ? 1 : 0;
  }
  void CheckEnd(uint64_t epochs, uint64_t items, const JobProgress& progress, bool any_failure);

 private:
  World& world_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> runs_;
};

}  // namespace attune::ps::simulation
