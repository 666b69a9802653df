#include "ps/core/keys/location_cache.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace attune::ps {

LocationCache::LocationCache(size_t entries_max) : buckets_(std::bit_ceil(std::max<size_t>(2, entries_max)) / 2) {}

NodeId LocationCache::Find(TableId table, Key key) const {
  if (used_ == 0) return {};
  for (const Entry& entry : table_[BucketOf(table, key)].entries) {
    if (entry.key == key && entry.table == table.value()) return entry.owner;
  }
  return {};
}

void LocationCache::Put(TableId table, Key key, NodeId owner) {
  if (table_.empty()) table_.resize(buckets_);
  Entry* const entries = table_[BucketOf(table, key)].entries;
  const Entry entry{.key = key, .table = table.value(), .owner = owner};
  for (size_t i = 0; i < 2; ++i) {
    if (entries[i].key != key || entries[i].table != table.value()) continue;
    entries[i] = entry;
    if (i == 1) std::swap(entries[0], entries[1]);
    return;
  }
  if (entries[1].table == 0) ++used_;
  entries[1] = std::exchange(entries[0], entry);
}

void LocationCache::Erase(TableId table, Key key) {
  if (used_ == 0) return;
  Entry* const entries = table_[BucketOf(table, key)].entries;
  for (size_t i = 0; i < 2; ++i) {
    if (entries[i].key != key || entries[i].table != table.value()) continue;
    if (i == 0) entries[0] = entries[1];
    entries[1] = Entry{};
    --used_;
    return;
  }
}

void LocationCache::ForgetNode(NodeId owner) {
  if (used_ == 0) return;
  for (Bucket& bucket : table_) {
    for (size_t i = 2; i-- > 0;) {
      if (bucket.entries[i].table == 0 || bucket.entries[i].owner != owner) continue;
      if (i == 0) bucket.entries[0] = bucket.entries[1];
      bucket.entries[1] = Entry{};
      --used_;
    }
  }
}

}  // namespace attune::ps
