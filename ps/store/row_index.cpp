#include "ps/store/row_index.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "ps/store/huge_pages.h"

namespace attune::ps {
namespace {

// Buckets for so many keys at a load of at most 9/10.
constexpr uint32_t BucketsFor(uint64_t keys) { return static_cast<uint32_t>((keys * 10 + 44) / 45); }
constexpr uint32_t kFirstBuckets = 4;
constexpr uint32_t kUnitBuckets = 4;       // what the arena gives at a time
constexpr uint64_t kAllocationBytes = 16;  // the allocator's header

}  // namespace

RowIndex::~RowIndex() {
  for (Node& node : root_) {
    if (node.used == kInner) Free(node);  // leaves go with the arena
  }
}

RowIndex::Bucket* RowIndex::Allocate(uint32_t bucket_count) {
  auto* buckets = static_cast<Bucket*>(arena_.Allocate(bucket_count * sizeof(Bucket)));
  if (buckets == nullptr) return nullptr;
  for (uint32_t i = 0; i < bucket_count; ++i) buckets[i].used = 0;
  return buckets;
}

void RowIndex::Free(Node& node) {
  if (node.used == kInner) {
    for (uint32_t i = 0; i < kFan; ++i) Free(node.children[i]);
    delete[] node.children;
    node_bytes_ -= kFan * sizeof(Node) + kAllocationBytes;
  } else if (node.buckets != nullptr) {
    arena_.Free(node.buckets, node.bucket_count * sizeof(Bucket));
  }
  node = {};
}

void RowIndex::Place(Node& leaf, uint32_t shift, Key key, uint64_t hash, uint32_t slot) {
  uint32_t position = Position(hash, shift, leaf.bucket_count);
  while (leaf.buckets[position].used == kBucketKeys) {
    if (++position == leaf.bucket_count) position = 0;
  }
  Bucket& bucket = leaf.buckets[position];
  bucket.keys[bucket.used] = key;
  bucket.slots[bucket.used] = slot;
  ++bucket.used;
  ++leaf.used;
}

bool RowIndex::Grow(Node& leaf, uint32_t shift) {
  // Leaves fill alike. So that they do not all grow and split at once, in one batch, each has its own sizes: by the
  // bits of the hash that its keys have in common.
  uint64_t chance = 0;
  for (uint32_t b = 0; b < leaf.bucket_count; ++b) {
    if (leaf.buckets[b].used == 0) continue;
    chance = SplitMix64(Hash(leaf.buckets[b].keys[0]) >> (64 - shift));
    break;
  }
  const uint64_t split_above = kLeafBucketsMax / 2 + chance % (kLeafBucketsMax / 2);
  const uint64_t wanted = leaf.bucket_count + leaf.bucket_count / 16 + (chance >> 32) % (leaf.bucket_count / 8 + 1) + 1;
  const auto bucket_count = static_cast<uint32_t>(RoundUpTo(std::max<uint64_t>(kFirstBuckets, wanted), kUnitBuckets));
  if (bucket_count > split_above && shift < kShiftMax) return Split(leaf, shift);
  Node larger;
  larger.buckets = Allocate(bucket_count);
  if (larger.buckets == nullptr) return false;
  larger.bucket_count = bucket_count;
  for (uint32_t b = 0; b < leaf.bucket_count; ++b) {
    const Bucket& bucket = leaf.buckets[b];
    for (uint32_t i = 0; i < bucket.used; ++i) {
      Place(larger, shift, bucket.keys[i], Hash(bucket.keys[i]), bucket.slots[i]);
    }
  }
  Free(leaf);
  leaf = larger;
  return true;
}

bool RowIndex::Split(Node& leaf, uint32_t shift) {
  std::array<uint32_t, kFan> counts{};
  const auto child_of = [&](uint64_t hash) { return static_cast<uint32_t>((hash << shift) >> (64 - kFanBits)); };
  for (uint32_t b = 0; b < leaf.bucket_count; ++b) {
    const Bucket& bucket = leaf.buckets[b];
    for (uint32_t i = 0; i < bucket.used; ++i) ++counts[child_of(Hash(bucket.keys[i]))];
  }
  Node inner;
  inner.children = new (std::nothrow) Node[kFan];
  if (inner.children == nullptr) return false;
  node_bytes_ += kFan * sizeof(Node) + kAllocationBytes;
  inner.used = kInner;
  for (uint32_t i = 0; i < kFan; ++i) {
    // Room for one more at least: the key that is on its way.
    const auto bucket_count =
        static_cast<uint32_t>(RoundUpTo(BucketsFor(counts[i] + 1 + counts[i] / 16), kUnitBuckets));
    inner.children[i].buckets = Allocate(bucket_count);
    if (inner.children[i].buckets == nullptr) {
      Free(inner);
      return false;
    }
    inner.children[i].bucket_count = bucket_count;
  }
  for (uint32_t b = 0; b < leaf.bucket_count; ++b) {
    const Bucket& bucket = leaf.buckets[b];
    for (uint32_t i = 0; i < bucket.used; ++i) {
      const uint64_t hash = Hash(bucket.keys[i]);
      Place(inner.children[child_of(hash)], shift + kFanBits, bucket.keys[i], hash, bucket.slots[i]);
    }
  }
  Free(leaf);
  leaf = inner;
  return true;
}

bool RowIndex::Insert(Key key, uint64_t hash, uint32_t slot) {
  for (;;) {
    uint32_t shift = 0;
    Node& leaf = LeafOf(hash, shift);
    // At most 9/10 of the places are taken, so that a search ends soon.
    if ((uint64_t{leaf.used} + 1) * 10 <= uint64_t{leaf.bucket_count} * kBucketKeys * 9) {
      Place(leaf, shift, key, hash, slot);
      return true;
    }
    if (!Grow(leaf, shift)) return false;
  }
}

void RowIndex::Remove(Bucket& bucket, uint32_t i) {
  --bucket.used;
  bucket.keys[i] = bucket.keys[bucket.used];
  bucket.slots[i] = bucket.slots[bucket.used];
}

// The bucket at `position` was full and has lost a key: a search that passed it would now stop there. A key of a later
// bucket that passed it moves in; that leaves a gap further on, until a bucket that was not full.
void RowIndex::CloseGap(Node& leaf, uint32_t shift, uint32_t position) {
  const uint64_t size = leaf.bucket_count;
  for (uint32_t next = position;;) {
    if (++next == size) next = 0;
    if (next == position) return;
    Bucket& bucket = leaf.buckets[next];
    const bool was_full = bucket.used == kBucketKeys;
    for (uint32_t i = 0; i < bucket.used; ++i) {
      // It passed `position` when its own place is not in (position, next], cyclically.
      const uint64_t own = Position(Hash(bucket.keys[i]), shift, leaf.bucket_count);
      if ((next + size - own) % size < (next + size - position) % size) continue;
      Bucket& gap = leaf.buckets[position];
      gap.keys[gap.used] = bucket.keys[i];
      gap.slots[gap.used] = bucket.slots[i];
      ++gap.used;
      Remove(bucket, i);
      position = next;
      break;
    }
    if (!was_full) return;
  }
}

uint32_t RowIndex::Erase(Key key, uint64_t hash) {
  uint32_t shift = 0;
  Node& leaf = LeafOf(hash, shift);
  if (leaf.used == 0) return kAbsent;
  for (uint32_t position = Position(hash, shift, leaf.bucket_count);;) {
    Bucket& bucket = leaf.buckets[position];
    for (uint32_t i = 0; i < bucket.used; ++i) {
      if (bucket.keys[i] != key) continue;
      const uint32_t slot = bucket.slots[i];
      const bool was_full = bucket.used == kBucketKeys;
      Remove(bucket, i);
      --leaf.used;
      if (was_full) CloseGap(leaf, shift, position);
      return slot;
    }
    if (bucket.used < kBucketKeys) return kAbsent;
    if (++position == leaf.bucket_count) position = 0;
  }
}

}  // namespace attune::ps
