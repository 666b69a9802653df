// Rows of other nodes that a worker has asked for before its program reads them. A fetch is one pull, whose rows lie in
// a block of their own until the last of them is dropped.
//
// A row may be read until it is too old, or asked for too early for the pace. One that is beyond that once is dropped,
// and so is one that is read in another way or pushed to (the caller says so, Drop): a program never reads an older
// value after a newer one, and always its own pushes.
//
// Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/keys/key_map.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

class PrefetchedRows {
 public:
  // A caller's row that is the row at `at` of a fetch in flight.
  struct Waiter {
    CallId call;
    uint32_t place = 0;  // of the row in the call
    uint32_t at = 0;
  };
  struct Asked {
    MonotonicTime at{};
    Duration age_max{};  // to be read until then
    uint64_t floor = 0;  // all workers had finished so many steps
  };
  struct Block {
    TableId table;
    uint32_t dim = 0;
    std::vector<Key> keys;
    std::vector<float> rows;
    std::vector<Waiter> waiters;
    Asked asked;
    bool here = false;
    MonotonicTime arrived{};
    uint32_t rows_left = 0;
    std::span<const float> RowAt(uint32_t at) const { return std::span(rows).subspan(size_t{at} * dim, dim); }
  };
  enum class Found : uint8_t { kNot, kComing, kHere };

  struct Options {
    size_t bytes_max = 0;
    Mistake past_age{};
    Mistake before_floor{};
  };
  explicit PrefetchedRows(const Options& options) : options_(options) {}

  // --- fetches

  // Whether `rows` more fit.
  bool HasRoom(size_t rows, uint32_t dim) const { return bytes_ + BytesOf(rows, dim) <= options_.bytes_max; }
  // Those of `keys` that are neither here nor coming are coming from now on; the others are removed. Returns, when some
  // are left, the call that pulls them, unlike any of the shell's, and the rows that it fills, valid until it ends.
  std::pair<CallId, std::span<float>> Begin(TableId table, uint32_t dim, std::vector<Key>& keys, const Asked& asked);
  static bool IsFetch(CallId call) { return call.value() >= kFirst; }
  size_t coming() const { return coming_.size(); }  // fetches
  // Its rows are here: give(const Waiter&, TableKey, std::span<const float> row) for those that wait. Returns when it
  // was asked.
  template <typename Give>
  MonotonicTime Arrived(CallId fetch, MonotonicTime now, Give&& give) {
    const uint32_t place = TakeComing(fetch);
    Block& block = blocks_[place];
    block.here = true;
    block.arrived = now;
    const MonotonicTime asked = block.asked.at;
    for (const Waiter& waiter : std::exchange(block.waiters, {})) {
      give(waiter, TableKey{block.table, block.keys[waiter.at]}, block.RowAt(waiter.at));
    }
    Forget(place);
    return asked;
  }
  // They will not come. Returns those that wait, with the block that names their keys.
  Block Failed(CallId fetch);

  // --- rows

  bool empty() const { return rows_.empty(); }
  bool Contains(TableKey row) const { return rows_.Contains(row); }
  void PrefetchEntry(TableKey row) const { rows_.PrefetchEntry(row); }
  // The row is here, and was then.
  bool WasHere(TableKey row, MonotonicTime then) const {
    const Row* const found = rows_.Find(row);
    return found != nullptr && blocks_[found->block].here && blocks_[found->block].arrived <= then;
  }
  // kHere: `values` are those of the row, until the next change. `floor_needed`: it must have been asked for when all
  // workers had finished so many steps.
  Found Find(TableKey row, MonotonicTime now, uint64_t floor_needed, std::span<const float>& values);
  // The same for one that is coming: its values go to this place of the call as well.
  void Wait(TableKey row, CallId call, uint32_t place);
  // Whatever is here or coming is not for later reads. Those that wait already still get it.
  // False: there was none.
  bool Drop(TableKey row);
  void DropAll();

  size_t bytes() const { return bytes_; }
  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    uint32_t block = 0;
    uint32_t at = 0;
  };
  static size_t BytesOf(size_t rows, uint32_t dim) {
    constexpr size_t kPerRow = 64;  // key, index entry, share of the block
    return rows * (dim * sizeof(float) + kPerRow);
  }
  uint32_t TakeComing(CallId fetch);
  void Forget(uint32_t block);

  static constexpr uint64_t kFirst = uint64_t{1} << 63;
  const Options options_;
  size_t bytes_ = 0;
  CallId next_{kFirst};
  KeyMap<Row> rows_;
  std::vector<Block> blocks_;          // by Row::block
  std::vector<uint32_t> free_;         // of these
  std::map<CallId, uint32_t> coming_;  // fetches, with their blocks
};

}  // namespace attune::ps
