#include "ps/store/row_index.h"

#include <cmath>

namespace attune::ps {
namespace {
constexpr double kLoadMax = 0.875;
constexpr double kGrowth = 1.5;
constexpr uint64_t kFirstBuckets = 8;
}  // namespace

RowIndex::RowIndex() {
  // First sizes spread over one growth step, and so are all later growths.
  for (uint32_t i = 0; i < kParts; ++i) {
    const double size = static_cast<double>(kFirstBuckets) * std::pow(kGrowth, static_cast<double>(i) / kParts);
    parts_[i].buckets.resize(static_cast<uint64_t>(std::lround(size)));
  }
}

void RowIndex::Place(std::vector<Bucket>& buckets, Key key, uint64_t hash, uint32_t slot) {
  uint64_t position = Position(buckets, hash);
  while (buckets[position].used == kBucketKeys) {
    if (++position == buckets.size()) position = 0;
  }
  Bucket& bucket = buckets[position];
  bucket.keys[bucket.used] = key;
  bucket.slots[bucket.used] = slot;
  ++bucket.used;
}

void RowIndex::Grow(Part& part) {
  std::vector<Bucket> larger(static_cast<uint64_t>(static_cast<double>(part.buckets.size()) * kGrowth));
  for (const Bucket& bucket : part.buckets) {
    for (uint32_t i = 0; i < bucket.used; ++i) Place(larger, bucket.keys[i], Hash(bucket.keys[i]), bucket.slots[i]);
  }
  part.buckets.swap(larger);
}

void RowIndex::Insert(Key key, uint64_t hash, uint32_t slot) {
  Part& part = parts_[PartOf(hash)];
  const auto room = static_cast<double>(part.buckets.size() * kBucketKeys);
  if (static_cast<double>(part.used + 1) > kLoadMax * room) Grow(part);
  Place(part.buckets, key, hash, slot);
  ++part.used;
}

// The bucket at `position` was full and has lost a key: a search that passed it would now stop there. A key of a later
// bucket that passed it moves in; that leaves a gap further on, until a bucket that was not full.
void RowIndex::CloseGap(std::vector<Bucket>& buckets, uint64_t position) {
  for (uint64_t next = position;;) {
    if (++next == buckets.size()) next = 0;
    if (next == position) return;
    Bucket& bucket = buckets[next];
    const bool was_full = bucket.used == kBucketKeys;
    for (uint32_t i = 0; i < bucket.used; ++i) {
      // It passed `position` when its own place is not in (position, next], cyclically.
      const uint64_t own = Position(buckets, Hash(bucket.keys[i]));
      const uint64_t size = buckets.size();
      if ((next + size - own) % size < (next + size - position) % size) continue;
      Bucket& gap = buckets[position];
      gap.keys[gap.used] = bucket.keys[i];
      gap.slots[gap.used] = bucket.slots[i];
      ++gap.used;
      --bucket.used;
      bucket.keys[i] = bucket.keys[bucket.used];
      bucket.slots[i] = bucket.slots[bucket.used];
      position = next;
      break;
    }
    if (!was_full) return;
  }
}

uint32_t RowIndex::Erase(Key key, uint64_t hash) {
  Part& part = parts_[PartOf(hash)];
  std::vector<Bucket>& buckets = part.buckets;
  for (uint64_t position = Position(buckets, hash);;) {
    Bucket& bucket = buckets[position];
    for (uint32_t i = 0; i < bucket.used; ++i) {
      if (bucket.keys[i] != key) continue;
      const uint32_t slot = bucket.slots[i];
      const bool was_full = bucket.used == kBucketKeys;
      --bucket.used;
      bucket.keys[i] = bucket.keys[bucket.used];
      bucket.slots[i] = bucket.slots[bucket.used];
      --part.used;
      if (was_full) CloseGap(buckets, position);
      return slot;
    }
    if (bucket.used < kBucketKeys) return kAbsent;
    if (++position == buckets.size()) position = 0;
  }
}

uint64_t RowIndex::memory_bytes() const {
  uint64_t bytes = sizeof(RowIndex);
  for (const Part& part : parts_) bytes += part.buckets.capacity() * sizeof(Bucket);
  return bytes;
}

}  // namespace attune::ps
