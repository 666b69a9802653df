// What copies of rows take at a worker, and which of them go first when there is no room for another: those that the
// program has no use for at present, and of these the ones that have been so for longest. Pure. Externally
// synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "ps/core/keys/key_map.h"

namespace attune::ps {

class CopyRoom {
 public:
  explicit CopyRoom(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  bool HasFor(size_t bytes) const { return bytes_ + bytes <= bytes_max_; }
  void Take(size_t bytes) { bytes_ += bytes; }
  void Free(size_t bytes) { bytes_ -= bytes; }
  bool empty() const { return bytes_ == 0; }

  // The program has no use for this copy. The caller sees to it that no row is in the queue twice.
  void AddUnused(TableKey row) { unused_.push_back(row); }
  // Leaves the queue. The program may have a use for it again by now, or it may have no copy any more.
  std::optional<TableKey> TakeUnused() {
    if (unused_.empty()) return std::nullopt;
    const TableKey row = unused_.front();
    unused_.pop_front();
    return row;
  }
  void Clear() {
    bytes_ = 0;
    unused_.clear();
  }

 private:
  const uint64_t bytes_max_;
  uint64_t bytes_ = 0;
  std::deque<TableKey> unused_;  // the oldest first
};

}  // namespace attune::ps
