// How much memory all tables of a process may take: a server sets it from the memory its container really has, which
// may change while it runs, so that a table that grows is refused rows instead of the process being killed.
// Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace attune::ps {

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit_bytes) : limit_(limit_bytes) {}

  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // Below what is used nothing is taken away; no more rows are added.
  void SetLimit(uint64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  bool HasRoomFor(uint64_t bytes) const {
    const uint64_t most = limit();
    return bytes <= most - std::min(most, used());
  }
  // A table's share has become `now` bytes, after `before`.
  void Account(uint64_t before, uint64_t now) { used_.fetch_add(now - before, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> limit_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace attune::ps
