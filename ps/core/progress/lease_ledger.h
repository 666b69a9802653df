// Who processes which items of a data set. A range is Free -> Leased(worker) -> Done, per epoch; it returns to Free
// when its worker hands it back or is lost. Ends when every item of the last epoch is Done.
//
// Free ranges of an earlier epoch go first. A later epoch begins when nothing of the earlier ones is free, so that
// workers do not idle at the end of an epoch; an epoch counts as finished when all its items are Done.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

struct Lease {
  LeaseId id;
  NodeId worker;
  uint64_t epoch = 0;
  uint64_t begin = 0, end = 0;
  uint64_t position = 0;  // items before it are done
};

// How many items of all epochs the rows of a cut contain.
uint64_t ItemsDone(const CutRecord::DataSet& record);

class LeaseLedger {
 public:
  // items, lease_items > 0. epochs 0: no last epoch. Lease ids come from `next_id`, shared by all ledgers of a job.
  LeaseLedger(uint64_t items, uint64_t epochs, uint64_t lease_items, LeaseId* next_id);

  // Continues where `record` was cut: what is not done in it is free. Rows of an inexact cut (Async) may hold pushes of
  // items of its open leases, which are processed again and counted. Requires Validate(record).ok() and as many items.
  LeaseLedger(const CutRecord::DataSet& record, bool exact, uint64_t epochs, uint64_t lease_items, LeaseId* next_id);
  // Where every item stands now; name and epochs are the caller's.
  // `all_leases`: those too of which every item is done, for their workers hold them until they say so.
  CutRecord::DataSet Record(bool all_leases = false) const;

  // At most `items`, which is not 0. Nothing when no item is free now; see AllDone.
  std::optional<Lease> Grant(NodeId worker, uint64_t items);
  std::optional<Lease> Grant(NodeId worker) { return Grant(worker, lease_items_); }
  // Reports of a worker. NotFound when it holds no such lease (a late copy, or it was taken away): harmless.
  Status Advance(NodeId worker, LeaseId lease, uint64_t position);
  Status Done(NodeId worker, LeaseId lease);
  Status Return(NodeId worker, LeaseId lease, uint64_t position);
  // The worker is lost: its leases are free again from the last reported position. Returns how many items may be
  // processed a second time (an upper bound), which also enter reprocessed_items.
  uint64_t ReleaseAll(NodeId worker);

  // Epochs from this one on begin only when a later call says so. Without a call they begin one after the other.
  void BeginUpTo(uint64_t epochs) { begin_up_to_ = epochs; }

  // A lease granted before this ledger was made from a record: its items from `position` on, free so far, are held
  // again.
  void Adopt(const Lease& lease);

  bool AllDone() const { return epochs_ > 0 && finished_epochs_ >= epochs_; }
  bool HasFree() const;
  uint64_t epoch() const { return finished_epochs_; }  // the lowest with an item not done
  uint64_t epochs_begun() const { return fresh_epoch_ + (fresh_begin_ > 0 ? 1 : 0); }
  uint64_t items_done() const { return items_done_; }  // over all epochs, positions of open leases included
  uint64_t reprocessed_items() const { return reprocessed_items_; }
  uint64_t items() const { return items_; }
  uint64_t epochs() const { return epochs_; }
  uint64_t lease_items() const { return lease_items_; }
  const std::map<LeaseId, Lease>& leases() const { return leases_; }

 private:
  struct RangeStart {
    uint64_t epoch, begin;
    auto operator<=>(const RangeStart&) const = default;
  };
  Lease* Find(NodeId worker, LeaseId lease);
  void FinishEpochs();  // all whose items are done
  void CountDone(Lease& lease, uint64_t position);
  void Free(const Lease& lease);

  uint64_t items_, epochs_, lease_items_;
  LeaseId* next_id_;
  std::optional<uint64_t> begin_up_to_;
  std::map<RangeStart, uint64_t> free_;         // returned ranges -> end
  uint64_t fresh_epoch_ = 0, fresh_begin_ = 0;  // never granted from here on
  std::map<LeaseId, Lease> leases_;
  std::map<uint64_t, uint64_t> done_of_epoch_;  // unfinished epochs
  uint64_t finished_epochs_ = 0, items_done_ = 0, reprocessed_items_ = 0;
};

}  // namespace attune::ps
