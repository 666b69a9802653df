// The rows of one table that one process holds: values and optimizer state in slabs, found by key. No I/O, no clock.
//
// Contract (the slow twin of the tests is a std::map):
//   - a row is created by the first Push, by Create or by Insert; Pull of an absent row computes its initial values,
//     creating nothing;
//   - Push applies the table's optimizer once per key and raises the row's version by one;
//   - rows_max or memory reached: the whole batch is refused with ResourceExhausted and nothing of it is applied.
// Batches prefetch: one call for many keys is several times faster than many calls for one.
// Memory: rows start on a cache line (rows below 64 bytes are padded to a power of two instead, so that none straddles
// a line). A row costs about 30 bytes beside its values and state: side record 12, index about 18. No allocation per
// row; the room of erased rows is used again.
// Threads: a store made for one thread is externally synchronized (several threads may call const functions at once
// while no thread changes it). One made with StoreOptions::concurrent may be used by any number: every row is read and
// written whole, and a batch sees or makes its changes row by row. A visitor must not call the store it visits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "ps/store/fold_counts.h"
#include "ps/store/row_version.h"
#include "ps/types/key.h"
#include "ps/types/table_options.h"

namespace attune::ps {

struct TableSpec {
  std::string name;
  TableOptions options;
  bool operator==(const TableSpec&) const = default;
};

// Names each problem of a specification (dim 0, rate not positive, low > high, NaN ...) and the table.
Status Validate(const TableSpec& spec);

// One row as it travels: to a file, to another node. Spans point into the store; valid in the visit only.
struct RowView {
  Key key = 0;
  RowVersion version;
  uint16_t move_number = 0;            // how often the row has moved since its last recovery; wraps
  std::span<const float> values = {};  // dim
  std::span<const float> state = {};   // optimizer state; StateFloats(optimizer, dim)
};

// Keys whose hash (upper 32 bits of SplitMix64, as in ShardMap::ShardIndex) lies in [first, last]. A shard is one
// range.
struct HashRange {
  uint32_t first = 0;
  uint32_t last = ~uint32_t{0};
  // The hashes h with h * shard_count / 2^32 == shard.
  static HashRange OfShard(uint32_t shard, uint32_t shard_count) {
    const auto begin = [&](uint64_t n) { return ((n << 32) + shard_count - 1) / shard_count; };
    return {.first = static_cast<uint32_t>(begin(shard)),
            .last = static_cast<uint32_t>(begin(uint64_t{shard} + 1) - 1)};
  }
  bool operator==(const HashRange&) const = default;
};

struct PushOptions {
  uint64_t step = 0;                    // global step, for the learning-rate schedule
  std::span<RowVersion> versions = {};  // empty, or one per key: receives the row's version after this push
  // Of PushIfPresent: empty, or the version each row shall have after this push; nullopt unless that is its next one.
  std::span<const RowVersion> expected = {};
  // Empty, or one per key: the push is of folds (fold.h), `gradients` are their changes, fold_floats() each, and the
  // version of a row rises by the pushes of its fold. Who made a fold has looked at its gradients.
  std::span<const FoldCounts> folds = {};
  bool is_checked =
      false;  // the owner that applied this push first has found its gradients finite, or skips those that are not

  // Of the i-th key.
  RowVersion VersionAfter(RowVersion version, size_t i) const {
    return folds.empty() ? version.Next() : version.After(folds[i].pushes);
  }
};

struct PushResult {
  uint64_t rows_skipped = 0;  // gradients not finite, in a table that skips those
};

class MemoryBudget;

struct StoreOptions {
  bool concurrent = false;                // for several threads at once
  MemoryBudget* memory_budget = nullptr;  // of the process; outlives the store. Null: only the system's limits
};

class TableStore {
 public:
  static StatusOr<std::unique_ptr<TableStore>> Create(const TableSpec& spec, const StoreOptions& options = {});
  virtual ~TableStore() = default;

  virtual const TableSpec& spec() const = 0;
  virtual uint64_t row_count() const = 0;
  virtual uint64_t memory_bytes() const = 0;  // slabs, side records and index
  // Of a row that travels: values and optimizer state.
  virtual size_t row_floats() const;
  // Of the changes of one fold.
  size_t fold_floats() const;

  // rows: keys.size() * dim values. Keys may repeat.
  virtual void Pull(std::span<const Key> keys, std::span<float> rows) const = 0;

  // Keys are unique (a key sent twice is updated twice, in order). What happens to NaN or infinite gradients is the
  // table's choice: the push is refused as a whole (InvalidArgument names the first such key), or those rows are
  // skipped and counted; a skipped row is created if it was absent, and its version rises, so that owner and backup
  // agree. A batch for which there is no memory or no room below rows_max is refused as a whole (ResourceExhausted).
  virtual StatusOr<PushResult> Push(std::span<const Key> keys, std::span<const float> gradients,
                                    const PushOptions& options) = 0;
  Status Push(std::span<const Key> keys, std::span<const float> gradients) {
    return Push(keys, gradients, PushOptions{}).status();
  }

  // The same for keys that all have rows: false (nullopt) when one has none; nothing has changed then, but `rows` may
  // have been written to. One look at the index instead of two.
  virtual bool PullIfPresent(std::span<const Key> keys, std::span<float> rows) const;
  virtual std::optional<StatusOr<PushResult>> PushIfPresent(std::span<const Key> keys, std::span<const float> gradients,
                                                            const PushOptions& options);

  // Sets bit i % 64 of present[i / 64] when keys[i] has a row, clears it otherwise; returns how many have. `present`
  // has a bit for every key; the last word's other bits are cleared.
  virtual uint64_t Contains(std::span<const Key> keys, std::span<uint64_t> present) const = 0;
  bool Contains(Key key) const {
    uint64_t present = 0;
    return Contains({&key, 1}, {&present, 1}) == 1;
  }

  // Visits the rows of these keys in their order, absent ones left out; returns how many were visited.
  virtual uint64_t VisitRows(std::span<const Key> keys, const std::function<void(const RowView&)>& visit) const = 0;

  // Adds or replaces rows as they are (loading, relocation, backup copies). Sizes must fit the specification
  // (InvalidArgument); rows_max and memory as for Push. All or nothing. A key given twice: the later one stays.
  virtual Status Insert(std::span<const RowView> rows) = 0;
  Status Insert(const RowView& row) { return Insert(std::span(&row, 1)); }

  // Adds rows that are absent, with initial values and state, this version and move_number 0; present ones stay as they
  // are. rows_max and memory as for Push.
  virtual Status CreateRows(std::span<const Key> keys, RowVersion version) = 0;

  // Forgets rows; returns how many there were.
  virtual uint64_t Erase(std::span<const Key> keys) = 0;

  // A recovery has made these rows authoritative again: their era rises to `era` (never falls), counters stay,
  // move_number restarts at 0. Absent keys are left out; returns how many were present.
  virtual uint64_t RaiseEra(std::span<const Key> keys, uint16_t era) = 0;

  // In no particular order.
  virtual void ForEachRow(const std::function<void(const RowView&)>& visit) const = 0;
  // The keys of a part of the hash space, in no particular order; costs what lies in that part.
  virtual void ForEachKey(HashRange range, const std::function<void(Key)>& visit) const = 0;

  // --- snapshot: the rows as they were at a mark, visited a few at a time while the store continues changing. Rows
  // that change or vanish before they were visited are copied aside first: memory grows with them until NextRows takes
  // them. The caller serializes these four.

  // Sets the mark, in constant time. FailedPrecondition while another snapshot is in progress.
  virtual Status BeginSnapshot() = 0;
  // Visits some `rows` of what is left, in no particular order, each once; `changed`: since the mark of the last
  // snapshot that was kept (all rows, when there is none). False when nothing is left.
  virtual bool NextRows(uint64_t rows, const std::function<void(const RowView&, bool changed)>& visit) = 0;
  // Rows that belong to the snapshot although they arrived after the mark: NextRows visits them too.
  virtual void AddToSnapshot(std::span<const RowView> rows) = 0;
  // `kept`: every row was visited and the result is durable. Otherwise the next snapshot reports all rows as changed.
  virtual void EndSnapshot(bool kept) = 0;
  // Rows changed since the mark of the last snapshot that was kept (while one is in progress: since its mark); erased
  // ones are not counted.
  virtual uint64_t rows_changed() const = 0;
};

}  // namespace attune::ps
