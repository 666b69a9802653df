// Finds a row's slot by its key: open addressing over buckets of one cache line (5 keys and their slots), about 17
// bytes per row. A lookup that finds costs one cache miss, seldom two.
//
// Keys are ordered by their hash: the upper bits choose a leaf of a tree of fan-out 64, the next ones a bucket of the
// leaf, monotonously; a full bucket spills into the next of its leaf, cyclically. So the keys of a hash range lie
// together, and only one leaf is rebuilt at a time: it grows by about an eighth, and one that outgrows 32 to 64 KiB
// becomes 64 leaves. The longest insertion moves some 4,500 keys, however large the table is (unless keys are chosen to
// have equal hashes). Sizes are staggered by chance, so the load stays near 0.79. Not thread-safe for writing.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/random.h"
#include "ps/store/index_arena.h"
#include "ps/types/key.h"

namespace attune::ps {

class RowIndex {
  static constexpr uint32_t kFanBits = 6;
  static constexpr uint32_t kFan = 1U << kFanBits;
  static constexpr uint32_t kShiftMax = 5 * kFanBits;  // depth; 34 bits are left for positions
  static constexpr uint32_t kBucketKeys = 5;
  static constexpr uint32_t kLeafBucketsMax = 1024;

  struct alignas(64) Bucket {
    std::array<Key, kBucketKeys> keys;
    std::array<uint32_t, kBucketKeys> slots;
    uint32_t used;
  };
  static_assert(sizeof(Bucket) == 64);

  // A leaf, or with bucket_count 0 and children an inner node; neither yet: an empty leaf.
  struct Node {
    union {
      Bucket* buckets = nullptr;
      Node* children;
    };
    uint32_t bucket_count = 0;
    uint32_t used = 0;  // keys of a leaf; kInner marks an inner node
  };
  static constexpr uint32_t kInner = 0xFFFFFFFFU;

 public:
  static constexpr uint32_t kAbsent = 0xFFFFFFFFU;
  static constexpr uint64_t kRowsMax = kAbsent - 1;  // slots 0 .. 2^32 - 3

  RowIndex() = default;
  ~RowIndex();
  RowIndex(const RowIndex&) = delete;
  RowIndex& operator=(const RowIndex&) = delete;

  static uint64_t Hash(Key key) { return SplitMix64(key); }

  // Where a search begins. Batches take it for later keys first, so that the way through the tree is taken once and
  // the bucket is on its way to the cache.
  class Start {
    friend class RowIndex;
    const Node* leaf_;
    uint32_t position_;
  };
  // Inlined always: as a function of its own it has no effect that g++ sees, and calls are removed.
  [[gnu::always_inline]] Start Prefetch(uint64_t hash) const {
    uint32_t shift = 0;
    Start start;
    start.leaf_ = &LeafOf(hash, shift);
    start.position_ = Position(hash, shift, start.leaf_->bucket_count);
    __builtin_prefetch(start.leaf_->buckets + start.position_);
    return start;
  }

  uint32_t Find(Key key, Start start) const {
    const Node& leaf = *start.leaf_;
    if (leaf.used == 0) return kAbsent;
    for (uint32_t position = start.position_;;) {
      const Bucket& bucket = leaf.buckets[position];
      // All places are compared, without a branch that could be guessed wrong.
      uint32_t equal = 0;
#pragma GCC unroll 5
      for (uint32_t i = 0; i < kBucketKeys; ++i) equal |= (bucket.keys[i] == key ? 1U : 0U) << i;
      equal &= (1U << bucket.used) - 1;
      if (equal != 0) return bucket.slots[static_cast<uint32_t>(std::countr_zero(equal))];
      if (bucket.used < kBucketKeys) return kAbsent;
      if (++position == leaf.bucket_count) position = 0;
    }
  }
  uint32_t Find(Key key, uint64_t hash) const {
    uint32_t shift = 0;
    Start start;
    start.leaf_ = &LeafOf(hash, shift);
    start.position_ = Position(hash, shift, start.leaf_->bucket_count);
    return Find(key, start);
  }

  // Adds a key that is absent; false, with nothing changed, when there is no memory.
  bool Insert(Key key, uint64_t hash, uint32_t slot);

  // Removes a key; returns its slot, or kAbsent when it was not there.
  uint32_t Erase(Key key, uint64_t hash);

  // visit(key, slot) for every key whose hash lies in [first, last], roughly in the order of hashes. Costs what lies
  // there.
  template <typename Visitor>
  void ForEachInRange(uint64_t first, uint64_t last, Visitor&& visit) const {
    VisitNodes(root_, 0, first, last, visit);
  }
  template <typename Visitor>
  void ForEach(Visitor&& visit) const {
    ForEachInRange(0, ~uint64_t{0}, visit);
  }

  uint64_t memory_bytes() const { return sizeof(RowIndex) + node_bytes_ + arena_.memory_bytes(); }

 private:
  // Bits of the hash used up on the way are returned in `shift`.
  const Node& LeafOf(uint64_t hash, uint32_t& shift) const {
    const Node* node = &root_[hash >> (64 - kFanBits)];
    shift = kFanBits;
    while (node->used == kInner) {
      node = &node->children[(hash << shift) >> (64 - kFanBits)];
      shift += kFanBits;
    }
    return *node;
  }
  Node& LeafOf(uint64_t hash, uint32_t& shift) {
    return const_cast<Node&>(static_cast<const RowIndex*>(this)->LeafOf(hash, shift));
  }
  // The bits below the leaf's, as a fraction of the buckets.
  static uint32_t Position(uint64_t hash, uint32_t shift, uint32_t bucket_count) {
    return static_cast<uint32_t>(((hash << shift >> 32) * bucket_count) >> 32);
  }

  template <typename Visitor>
  static void VisitNodes(const Node* nodes, uint32_t shift, uint64_t first, uint64_t last, Visitor& visit) {
    // The part of the hash above `shift` is the same in first and last.
    const uint64_t rest = shift + kFanBits < 64 ? ~uint64_t{0} >> (shift + kFanBits) : 0;
    const auto from = static_cast<uint32_t>((first << shift) >> (64 - kFanBits));
    const auto to = static_cast<uint32_t>((last << shift) >> (64 - kFanBits));
    const uint64_t above = shift == 0 ? 0 : first & ~(~uint64_t{0} >> shift);
    for (uint32_t i = from; i <= to; ++i) {
      const uint64_t begin = above | (uint64_t{i} << (64 - kFanBits - shift));
      const uint64_t low = i == from ? first : begin;
      const uint64_t high = i == to ? last : begin | rest;
      if (nodes[i].used == kInner) {
        VisitNodes(nodes[i].children, shift + kFanBits, low, high, visit);
      } else if (nodes[i].used > 0) {
        VisitLeaf(nodes[i], shift + kFanBits, low, high, visit);
      }
    }
  }
  template <typename Visitor>
  static void VisitLeaf(const Node& leaf, uint32_t shift, uint64_t first, uint64_t last, Visitor& visit) {
    uint32_t position = Position(first, shift, leaf.bucket_count);
    const uint32_t wanted = Position(last, shift, leaf.bucket_count) - position;
    for (uint32_t walked = 0; walked < leaf.bucket_count; ++walked) {
      const Bucket& bucket = leaf.buckets[position];
      for (uint32_t i = 0; i < bucket.used; ++i) {
        const uint64_t hash = Hash(bucket.keys[i]);
        if (first <= hash && hash <= last) visit(bucket.keys[i], bucket.slots[i]);
      }
      // What belongs to the range and has spilled lies behind full buckets only.
      if (walked >= wanted && bucket.used < kBucketKeys) return;
      if (++position == leaf.bucket_count) position = 0;
    }
  }

  Bucket* Allocate(uint32_t bucket_count);
  void Free(Node& node);
  static void Place(Node& leaf, uint32_t shift, Key key, uint64_t hash, uint32_t slot);
  static void CloseGap(Node& leaf, uint32_t shift, uint32_t position);
  static void Remove(Bucket& bucket, uint32_t i);
  bool Grow(Node& leaf, uint32_t shift);
  bool Split(Node& leaf, uint32_t shift);

  uint64_t node_bytes_ = 0;  // of inner nodes
  IndexArena arena_;
  Node root_[kFan];
};

}  // namespace attune::ps
