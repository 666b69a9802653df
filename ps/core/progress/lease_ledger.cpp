#include "ps/core/progress/lease_ledger.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

LeaseLedger::LeaseLedger(uint64_t items, uint64_t epochs, uint64_t lease_items, LeaseId* next_id)
    : items_(items), epochs_(epochs), lease_items_(lease_items), next_id_(next_id) {
  ATTUNE_CHECK(items > 0);
  ATTUNE_CHECK(lease_items > 0);
}

namespace {

// What is done in epochs not finished, in order.
std::vector<ItemRange> DoneRanges(const CutRecord::DataSet& record) {
  std::vector<ItemRange> done;
  for (const CutRecord::DoneRange& range : record.done) done.push_back({range.epoch, range.begin, range.end});
  for (const CutRecord::OpenLease& lease : record.open) {
    if (lease.epoch < record.finished_epochs) continue;
    if (lease.begin < lease.position) done.push_back({lease.epoch, lease.begin, lease.position});
  }
  std::ranges::sort(done);
  return done;
}

}  // namespace

uint64_t ItemsDone(const CutRecord::DataSet& record) {
  uint64_t items = record.finished_epochs * record.items;
  for (const ItemRange& done : DoneRanges(record)) items += done.end - done.begin;
  return items;
}

LeaseLedger::LeaseLedger(const CutRecord::DataSet& record, bool exact, uint64_t epochs, uint64_t lease_items,
                         LeaseId* next_id)
    : LeaseLedger(record.items, epochs, lease_items, next_id) {
  finished_epochs_ = fresh_epoch_ = record.finished_epochs;
  items_done_ = ItemsDone(record);
  reprocessed_items_ = record.reprocessed_items;
  for (const ItemRange& done : DoneRanges(record)) {
    if (done.epoch > fresh_epoch_) {
      if (fresh_begin_ < items_) free_.emplace(RangeStart{fresh_epoch_, fresh_begin_}, items_);
      while (++fresh_epoch_ < done.epoch) free_.emplace(RangeStart{fresh_epoch_, 0}, items_);
      fresh_begin_ = 0;
    }
    if (fresh_begin_ < done.begin) free_.emplace(RangeStart{fresh_epoch_, fresh_begin_}, done.begin);
    fresh_begin_ = done.end;
    done_of_epoch_[done.epoch] += done.end - done.begin;
  }
  if (fresh_begin_ == items_) {
    ++fresh_epoch_;
    fresh_begin_ = 0;
  }
  FinishEpochs();  // workers may know of more items done than the record did when it counted epochs
  for (const CutRecord::OpenLease& lease : record.open) {
    if (!exact) reprocessed_items_ = CappedSum(reprocessed_items_, lease.end - lease.position);
  }
}

void LeaseLedger::Adopt(const Lease& lease) {
  // Everything up to its end has been granted once.
  while (fresh_epoch_ < lease.epoch || (fresh_epoch_ == lease.epoch && fresh_begin_ < lease.end)) {
    const uint64_t end = fresh_epoch_ < lease.epoch ? items_ : lease.end;
    free_.emplace(RangeStart{fresh_epoch_, fresh_begin_}, end);
    fresh_begin_ = end;
    if (fresh_begin_ < items_) continue;
    ++fresh_epoch_;
    fresh_begin_ = 0;
  }
  for (auto it = free_.begin(); it != free_.end();) {
    const auto [start, end] = *it;
    if (start.epoch != lease.epoch || end <= lease.position || start.begin >= lease.end) {
      ++it;
      continue;
    }
    it = free_.erase(it);
    if (start.begin < lease.position) free_.emplace(start, lease.position);
    if (lease.end < end) free_.emplace(RangeStart{start.epoch, lease.end}, end);
  }
  leases_.emplace(lease.id, lease);
}

CutRecord::DataSet LeaseLedger::Record(bool all_leases) const {
  CutRecord::DataSet record{.name = {},
                            .items = items_,
                            .epochs = epochs_,
                            .lease_items = lease_items_,
                            .finished_epochs = finished_epochs_,
                            .done = {},
                            .open = {},
                            .reprocessed_items = reprocessed_items_};
  std::vector<ItemRange> not_done;  // free, or in an open lease
  for (const auto& [start, end] : free_) not_done.push_back({start.epoch, start.begin, end});
  for (const auto& [id, lease] : leases_) {
    if (lease.position == lease.end && !all_leases) continue;
    record.open.push_back({.epoch = lease.epoch, .begin = lease.begin, .end = lease.end, .position = lease.position});
    if (lease.epoch >= finished_epochs_) not_done.push_back({lease.epoch, lease.begin, lease.end});
  }
  not_done.push_back({fresh_epoch_, fresh_begin_, items_});
  std::ranges::sort(not_done);
  uint64_t epoch = finished_epochs_, begin = 0;
  const auto note_done_until = [&](uint64_t end) {
    if (begin < end) record.done.push_back({.epoch = epoch, .begin = begin, .end = end});
  };
  for (const ItemRange& open : not_done) {
    while (epoch < open.epoch) {
      note_done_until(items_);
      ++epoch;
      begin = 0;
    }
    note_done_until(open.begin);
    begin = open.end;
  }
  return record;
}

// Also without a last epoch they end where their number would: what is finished stays a number that a check lets pass.
bool LeaseLedger::HasFree() const {
  const uint64_t last = epochs_ == 0 ? kNumberMax : epochs_;
  return !free_.empty() || fresh_epoch_ < std::min(last, begin_up_to_.value_or(last));
}

std::optional<Lease> LeaseLedger::Grant(NodeId worker, uint64_t items) {
  if (!HasFree()) return std::nullopt;
  Lease lease{.id = std::exchange(*next_id_, next_id_->Next()), .worker = worker};
  if (!free_.empty()) {
    const auto range = free_.begin();
    lease.epoch = range->first.epoch;
    lease.begin = range->first.begin;
    lease.end = std::min(range->second, lease.begin + items);
    const uint64_t end = range->second;
    free_.erase(range);
    if (lease.end < end) free_.emplace(RangeStart{lease.epoch, lease.end}, end);
  } else {
    lease.epoch = fresh_epoch_;
    lease.begin = fresh_begin_;
    lease.end = std::min(items_, lease.begin + items);
    fresh_begin_ = lease.end;
    if (fresh_begin_ == items_) {
      ++fresh_epoch_;
      fresh_begin_ = 0;
    }
  }
  lease.position = lease.begin;
  leases_.emplace(lease.id, lease);
  return lease;
}

Lease* LeaseLedger::Find(NodeId worker, LeaseId lease) {
  const auto it = leases_.find(lease);
  return it != leases_.end() && it->second.worker == worker ? &it->second : nullptr;
}

void LeaseLedger::CountDone(Lease& lease, uint64_t position) {
  position = std::clamp(position, lease.position, lease.end);
  const uint64_t done = position - lease.position;
  lease.position = position;
  items_done_ += done;
  done_of_epoch_[lease.epoch] += done;
  FinishEpochs();
}

void LeaseLedger::FinishEpochs() {
  while (true) {
    const auto epoch = done_of_epoch_.find(finished_epochs_);
    if (epoch == done_of_epoch_.end() || epoch->second < items_) break;
    ATTUNE_CHECK(epoch->second == items_) << "epoch " << epoch->first << " has more items done than there are";
    done_of_epoch_.erase(epoch);
    ++finished_epochs_;
  }
}

void LeaseLedger::Free(const Lease& lease) {
  if (lease.position < lease.end) free_.emplace(RangeStart{lease.epoch, lease.position}, lease.end);
}

namespace {

Status NotHeld(NodeId worker, LeaseId lease) {
  return Error(StatusCode::kNotFound, "lease " + std::to_string(lease.value()) + " is not held by node " +
                                          std::to_string(worker.value()) + "; it was ended before or taken away");
}

}  // namespace

Status LeaseLedger::Advance(NodeId worker, LeaseId id, uint64_t position) {
  Lease* lease = Find(worker, id);
  if (lease == nullptr) return NotHeld(worker, id);
  CountDone(*lease, position);
  return OkStatus();
}

Status LeaseLedger::Done(NodeId worker, LeaseId id) {
  Lease* lease = Find(worker, id);
  if (lease == nullptr) return NotHeld(worker, id);
  CountDone(*lease, lease->end);
  leases_.erase(id);
  return OkStatus();
}

Status LeaseLedger::Return(NodeId worker, LeaseId id, uint64_t position) {
  Lease* lease = Find(worker, id);
  if (lease == nullptr) return NotHeld(worker, id);
  CountDone(*lease, position);
  Free(*lease);
  leases_.erase(id);
  return OkStatus();
}

uint64_t LeaseLedger::ReleaseAll(NodeId worker) {
  uint64_t again = 0;
  for (auto it = leases_.begin(); it != leases_.end();) {
    if (it->second.worker != worker) {
      ++it;
      continue;
    }
    again += it->second.end - it->second.position;
    Free(it->second);
    it = leases_.erase(it);
  }
  reprocessed_items_ = CappedSum(reprocessed_items_, std::min(again, kNumberMax));
  return again;
}

}  // namespace attune::ps
