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

uint64_t RowIndex::memory_bytes() const {
  uint64_t bytes = sizeof(RowIndex);
  for (const Part& part : parts_) bytes += part.buckets.capacity() * sizeof(Bucket);
  return bytes;
}

}  // namespace attune::ps
