// Rows that the program has announced: fetched before it pulls them, and read from here when it does, unless they are
// too old or were read or pushed to in another way since (docs/decisions/0067-rows-ahead-of-their-step.md). Which rows
// are due: ps/core/intent/announced_rows.h; what is here or coming: operations/prefetched_rows.h.
//
// Externally synchronized. What it is constructed with must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/intent/announced_rows.h"
#include "ps/core/intent/row_accesses.h"
#include "ps/core/intent/step_point.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/worker/operations/prefetched_rows.h"
#include "ps/core/worker/operations/push_window.h"
#include "ps/core/worker/rows/own_rows.h"
#include "ps/core/worker/rows/row_routes.h"
#include "ps/core/worker/rows/worker_pulls.h"
#include "ps/core/worker/rows/worker_replicas.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

class WorkerFetches {
 public:
  // `announced`: of this worker. `replicas`: rows that need no fetch. `pulls`: which fetch the rows. `pushes`: of this
  // worker.
  WorkerFetches(const WorkerOptions& options, const OwnRows& own, const RowRoutes& routes, AnnouncedRows& announced,
                WorkerReplicas& replicas, WorkerPulls& pulls, PushWindow& pushes);

  // --- announcements and steps, which make rows due

  void Intend(const IntendCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void StepBegan(const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void StepEnded(MonotonicTime now) { announced_.StepEnded(now); }
  // See AnnouncedRows::SetIgnored. Copies are given up.
  void SetIgnored(bool ignored, MonotonicTime now, WorkerOutputs& out);
  // Takes the fetches that have ended out of the completions; once after each step of the core.
  void TakeEnded(MonotonicTime now, WorkerOutputs& out);

  // --- what is read

  bool empty() const { return prefetched_.empty(); }  // nothing is here or coming
  // Takes rows of a pull that has begun. What is coming is held for it. Returns the places of the others.
  std::vector<uint32_t> Take(const PullCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  // At once, when every row is owned here, has a copy here, or has been fetched. False: nothing has happened, but
  // `rows` may have been written.
  bool PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, const StepPoint& at, MonotonicTime now,
                CopyReads copies = CopyReads::kAnnounced);
  // The program has these rows from elsewhere now: what was fetched of them is older.
  void ReadOtherwise(TableId table, std::span<const Key> keys);
  // It pushes to them.
  void PushedTo(TableId table, std::span<const Key> keys, const StepPoint& at);
  // These rows have no copies any more, for which they have not been fetched.
  void LostCopies(std::span<const TableKey> rows);
  // Rows elsewhere may continue from an earlier state.
  void DropAll() { prefetched_.DropAll(); }

  // Rows that were fetched or waited for, and announcements without effect, since the last call.
  RowAccesses TakeAccesses() { return std::exchange(accesses_, {}); }

 private:
  void FetchDue(const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  void Fetch(TableId table, std::vector<Key> keys, const StepPoint& at, MonotonicTime now, WorkerOutputs& out);
  bool TakeCopy(TableKey row, const PullCall& call, uint32_t place, const StepPoint& at, MonotonicTime now,
                WorkerOutputs& out);
  void Failed(CallId fetch, MonotonicTime now, WorkerOutputs& out);

  const WorkerOptions& options_;
  const OwnRows& own_;
  const RowRoutes& routes_;
  AnnouncedRows& announced_;
  WorkerReplicas& replicas_;
  WorkerPulls& pulls_;
  PushWindow& pushes_;
  PrefetchedRows prefetched_;
  RowAccesses accesses_;
};

}  // namespace attune::ps
