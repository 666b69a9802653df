#include "ps/core/lease_ledger.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace attune::ps {

LeaseLedger::LeaseLedger(uint64_t items, uint64_t epochs, uint64_t lease_items, LeaseId* next_id)
    : items_(items), epochs_(epochs), lease_items_(lease_items), next_id_(next_id) {
  ATTUNE_CHECK(items > 0);
  ATTUNE_CHECK(lease_items > 0);
}

bool LeaseLedger::HasFree() const { return !free_.empty() || epochs_ == 0 || fresh_epoch_ < epochs_; }

std::optional<Lease> LeaseLedger::Grant(NodeId worker) {
  if (!HasFree()) return std::nullopt;
  Lease lease{.id = std::exchange(*next_id_, next_id_->Next()), .worker = worker};
  if (!free_.empty()) {
    const auto range = free_.begin();
    lease.epoch = range->first.epoch;
    lease.begin = range->first.begin;
    lease.end = std::min(range->second, lease.begin + lease_items_);
    const uint64_t end = range->second;
    free_.erase(range);
    if (lease.end < end) free_.emplace(RangeStart{lease.epoch, lease.end}, end);
  } else {
    lease.epoch = fresh_epoch_;
    lease.begin = fresh_begin_;
    lease.end = std::min(items_, lease.begin + lease_items_);
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
  reprocessed_items_ += again;
  return again;
}

}  // namespace attune::ps
