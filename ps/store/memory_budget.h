// How much memory all tables of a process may take: a server sets it from the memory its container really has, so that
// a table that grows is refused rows instead of the process being killed. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace attune::ps {

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit_bytes) : limit_(limit_bytes) {}

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  bool HasRoomFor(uint64_t bytes) const { return bytes <= limit_ - std::min(limit_, used()); }
  // A table's share has become `now` bytes, after `before`.
  void Account(uint64_t before, uint64_t now) { used_.fetch_add(now - before, std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace attune::ps
