// Versions of rows as this worker pulled them last, of a few keys only: what the staleness of its pushes is measured
// against. A key is looked at when its batch is small or its hash says so, so that pull and push choose the same ones.
//
// Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "attune/ps/session.h"
#include "base/random.h"
#include "ps/core/ids.h"
#include "ps/store/row_version.h"

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

class SeenVersions {
 public:
  // Remembers up to kPerBatch of them.
  void Note(TableId table, std::span<const Key> keys, std::span<const RowVersion> versions) {
    if (entries_.empty()) entries_.resize(kEntries);
    size_t noted = 0;
    for (size_t i = 0; i < keys.size() && noted < kPerBatch; ++i) {
      const uint64_t hash = SplitMix64(keys[i] ^ (uint64_t{table.value()} << 40));
      if (!Chosen(hash, keys.size()) || versions[i] == RowVersion()) continue;
      entries_[hash % kEntries] = {.key = keys[i], .version = versions[i], .table = table};
      ++noted;
    }
  }
  // The place of a key that is remembered, and its version, which is forgotten; version 0: there is none.
  std::pair<uint32_t, RowVersion> Take(TableId table, std::span<const Key> keys) {
    if (entries_.empty()) return {};
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint64_t hash = SplitMix64(keys[i] ^ (uint64_t{table.value()} << 40));
      if (!Chosen(hash, keys.size())) continue;
      Entry& entry = entries_[hash % kEntries];
      if (entry.key != keys[i] || entry.table != table) continue;
      return {static_cast<uint32_t>(i), std::exchange(entry, Entry{}).version};
    }
    return {};
  }

 private:
  static constexpr size_t kEntries = 4096, kPerBatch = 8, kSmallBatch = 32;
  struct Entry {
    Key key = 0;
    RowVersion version;
    TableId table;  // 0: free
  };
  static bool Chosen(uint64_t hash, size_t batch) { return batch <= kSmallBatch || (hash >> 60) == 0; }

  std::vector<Entry> entries_;
};

}  // namespace attune::ps
