#include "ps/core/protocol/row_memory.h"

#include <array>
#include <atomic>
#include <bit>
#include <new>
#include <vector>

namespace attune::ps {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kSmallestLog2 = 10, kLargestLog2 = 21;  // 1 KiB .. 2 MiB
constexpr size_t kKeptBytesMax = 4 << 20;                // per size

// Held for a handful of instructions.
class BriefLock {
 public:
  explicit BriefLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) flag_.wait(true, std::memory_order_relaxed);
  }
  ~BriefLock() {
    flag_.clear(std::memory_order_release);
    flag_.notify_one();
  }

 private:
  std::atomic_flag& flag_;
};

// One list per power of two. Never destroyed: slices may outlive static objects.
class Pool {
 public:
  static Pool& Of(size_t size_log2) {
    static auto* const pools = new std::array<Pool, kLargestLog2 + 1>();
    return (*pools)[size_log2];
  }
  void* Take(size_t bytes) {
    {
      const BriefLock lock(busy_);
      if (!free_.empty()) {
        void* const block = free_.back();
        free_.pop_back();
        return block;
      }
    }
    return ::operator new(bytes, kAlignment);
  }
  void Give(void* block, size_t bytes) {
    {
      const BriefLock lock(busy_);
      if ((free_.size() + 1) * bytes <= kKeptBytesMax) return free_.push_back(block);
    }
    ::operator delete(block, kAlignment);
  }

 private:
  std::atomic_flag busy_;  // guards free_
  std::vector<void*> free_;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPooled = false;  // so that a use after the end is seen
#else
constexpr bool kPooled = true;
#endif

}  // namespace

std::shared_ptr<void> NewRowMemory(size_t bytes) {
  const size_t log2 = bytes <= 1 ? 0 : static_cast<size_t>(std::bit_width(bytes - 1));
  if (!kPooled || log2 < kSmallestLog2 || log2 > kLargestLog2) {
    return {::operator new(bytes, kAlignment), [](void* block) { ::operator delete(block, kAlignment); }};
  }
  const size_t size = size_t{1} << log2;
  return {Pool::Of(log2).Take(size), [log2, size](void* block) { Pool::Of(log2).Give(block, size); }};
}

}  // namespace attune::ps
