// Finds a row's slot by its key: open addressing over buckets of one cache line (5 keys and their slots), about 18
// bytes per row. A lookup that finds costs one cache miss, seldom two.
//
// The position of a key is monotone in its hash, so a table grows by one sequential sweep. The index is cut into parts
// that grow alone, by half, at different times: no growth moves more than a small fraction of the rows, and the load
// over all parts stays near 0.72 instead of swinging. Not thread-safe for writing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "attune/ps/session.h"
#include "base/random.h"

namespace attune::ps {

class RowIndex {
 public:
  static constexpr uint32_t kAbsent = 0xFFFFFFFFU;
  static constexpr uint64_t kRowsMax = kAbsent - 1;  // slots 0 .. 2^32 - 3

  RowIndex();

  static uint64_t Hash(Key key) { return SplitMix64(key); }

  void Prefetch(uint64_t hash) const {
    const Part& part = parts_[PartOf(hash)];
    __builtin_prefetch(&part.buckets[Position(part.buckets, hash)]);
  }

  uint32_t Find(Key key, uint64_t hash) const {
    const std::vector<Bucket>& buckets = parts_[PartOf(hash)].buckets;
    for (uint64_t position = Position(buckets, hash);;) {
      const Bucket& bucket = buckets[position];
      for (uint32_t i = 0; i < bucket.used; ++i) {
        if (bucket.keys[i] == key) return bucket.slots[i];
      }
      if (bucket.used < kBucketKeys) return kAbsent;
      if (++position == buckets.size()) position = 0;
    }
  }

  // Adds a key that is absent. May throw std::bad_alloc, with nothing changed; not after Reserve.
  void Insert(Key key, uint64_t hash, uint32_t slot);

  // Removes a key; returns its slot, or kAbsent when it was not there.
  uint32_t Erase(Key key, uint64_t hash);

  // visit(key, slot) for every key, in no particular order.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const Part& part : parts_) {
      for (const Bucket& bucket : part.buckets) {
        for (uint32_t i = 0; i < bucket.used; ++i) visit(bucket.keys[i], bucket.slots[i]);
      }
    }
  }

  uint64_t memory_bytes() const;

 private:
  static constexpr uint32_t kPartBits = 6;
  static constexpr uint32_t kParts = 1U << kPartBits;
  static constexpr uint32_t kBucketKeys = 5;

  struct alignas(64) Bucket {
    std::array<Key, kBucketKeys> keys;
    std::array<uint32_t, kBucketKeys> slots;
    uint32_t used = 0;
  };
  static_assert(sizeof(Bucket) == 64);
  struct Part {
    std::vector<Bucket> buckets;
    uint64_t used = 0;  // keys
  };

  static uint64_t PartOf(uint64_t hash) { return hash >> (64 - kPartBits); }
  // The bits below the part's, as a fraction of the buckets.
  static uint64_t Position(const std::vector<Bucket>& buckets, uint64_t hash) {
    return ((hash << kPartBits >> 32) * buckets.size()) >> 32;
  }
  static void Place(std::vector<Bucket>& buckets, Key key, uint64_t hash, uint32_t slot);
  static void Grow(Part& part);
  static void CloseGap(std::vector<Bucket>& buckets, uint64_t position);

  std::array<Part, kParts> parts_;
};

}  // namespace attune::ps
