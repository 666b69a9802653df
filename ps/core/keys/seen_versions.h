// What the staleness of pushes is measured against: versions of rows as a worker pulled them last, of a few keys only.
//
// Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ps/core/protocol/ids.h"
#include "ps/store/row_version.h"
#include "ps/types/key.h"

namespace attune::ps {

// Of the pushes since the last look whose staleness was measured.
struct Staleness {
  uint64_t pushes = 0;  // measured, one row each
  uint64_t sum = 0;     // of versions
  uint64_t max = 0;
  void Add(uint64_t versions) {
    ++pushes;
    sum += versions;
    max = versions > max ? versions : max;
  }
};

// The keys of a pull whose versions are of interest, as places in it, ascending. A key is chosen when its batch is
// small or its hash says so, so that owner and worker, and the pull and the push of a key, choose the same ones. A few
// of them only: each costs the owner a line of memory that the answer does without.
struct MeasuredPlaces {
  static constexpr size_t kMax = 8, kSmallBatch = 32;

  MeasuredPlaces(TableId table, std::span<const Key> keys) {
    for (uint32_t i = 0; i < keys.size() && count < kMax; ++i) {
      if (Chosen(Hash(table, keys[i]), keys.size())) places[count++] = i;
    }
  }

  static uint64_t Hash(TableId table, Key key) { return SplitMix64(key ^ (uint64_t{table.value()} << 40)); }
  static bool Chosen(uint64_t hash, size_t batch) { return batch <= kSmallBatch || (hash >> 60) == 0; }

  std::array<uint32_t, kMax> places;
  size_t count = 0;
};

class SeenVersions {
 public:
  // `versions`: of MeasuredPlaces(table, keys).
  void Note(TableId table, std::span<const Key> keys, std::span<const RowVersion> versions) {
    if (entries_.empty()) entries_.resize(kEntries);
    const MeasuredPlaces measured(table, keys);
    for (size_t i = 0; i < std::min(measured.count, versions.size()); ++i) {
      const Key key = keys[measured.places[i]];
      if (versions[i] == RowVersion()) continue;
      entries_[MeasuredPlaces::Hash(table, key) % kEntries] = {.key = key, .version = versions[i], .table = table};
    }
  }
  // The place of a key that is remembered, and its version, which is forgotten; version 0: there is none.
  std::pair<uint32_t, RowVersion> Take(TableId table, std::span<const Key> keys) {
    if (entries_.empty()) return {};
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint64_t hash = MeasuredPlaces::Hash(table, keys[i]);
      if (!MeasuredPlaces::Chosen(hash, keys.size())) continue;
      Entry& entry = entries_[hash % kEntries];
      if (entry.key != keys[i] || entry.table != table) continue;
      return {static_cast<uint32_t>(i), std::exchange(entry, Entry{}).version};
    }
    return {};
  }

 private:
  static constexpr size_t kEntries = 4096;
  struct Entry {
    Key key = 0;
    RowVersion version;
    TableId table;  // 0: free
  };

  std::vector<Entry> entries_;
};

}  // namespace attune::ps
