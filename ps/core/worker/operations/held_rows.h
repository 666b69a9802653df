// Copies that a worker has of rows which their homes own. The program reads them without a message while they are as
// new as it wants, and its pushes change them at once; they are sent to the home as folds (ps/store/fold.h), of which
// one of a row is in flight at a time.
//
// A home sends what others have written to a row, in order, and answers the worker's rounds. So all copies of rows of
// one home are as new as the last answered round to it: they have all that was written to them when it was sent, with
// it the pushes of all steps below the floor of that time. Nothing is remembered per row for that.
//
// Copies and their folds take at most so many bytes. When there is no room for a new copy, those that were used longest
// ago go, but for those with pushes that were not sent yet.
//
// Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/keys/row_chains.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/worker/operations/float_blocks.h"
#include "ps/store/fold.h"
#include "ps/store/row_version.h"

namespace attune::ps {

class HeldRows {
 public:
  explicit HeldRows(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Before anything else about rows of the table; again is harmless.
  void OpenTable(TableId table, const TableOptions& options);

  // --- what comes from the home

  struct Fresh {
    NodeId home;
    RowVersion version;
    std::span<const float> row;  // values, then optimizer state
    SequenceNumber contains;     // the last fold of this worker that is in it
  };
  // The row, for the first time or again. False: there was no room for one more, even after gone(TableKey) for each
  // copy that had to go.
  template <typename Gone>
  bool Install(TableKey row, const Fresh& fresh, uint64_t step, Gone&& gone) {
    if (Held* const held = Find(row)) {
      Refresh(*held, fresh);
      return true;
    }
    gone_.clear();
    const bool has_room = MakeRoom(tables_.at(row.table).rows.block_bytes());
    for (const TableKey other : gone_) gone(other);
    if (has_room) Add(row, fresh, step);
    return has_room;
  }
  // A round to this home has been answered, which was sent at that time, when all workers had finished so many steps.
  void Confirm(NodeId home, MonotonicTime sent, uint64_t floor);
  // Its copies are not read until another round to their home is answered.
  void HomeLost(NodeId home) { confirmed_.erase(home); }

  // --- the program

  struct Need {
    MonotonicTime now{};
    Duration age_max{};
    uint64_t floor = 0;  // all workers must have finished so many steps when the copy was confirmed
    uint64_t step = 0;   // in which it is read
  };
  enum class Found : uint8_t { kNot, kStale, kHere };
  // kHere: `values` are those of the row, until the next change.
  Found Read(TableKey row, const Need& need, std::span<const float>& values);

  // kNot: there is no copy, or it is at its bound: the push goes to the home.
  enum class Pushed : uint8_t { kNot, kDone, kSkipped };
  Pushed Push(TableKey row, std::span<const float> gradient, uint64_t step);

  // --- folds

  // Takes the open pushes of rows of this home, those that began first first, at most so many rows; rows that have a
  // fold in flight wait for its end. fold(TableKey, const FoldView&), valid in the call. `sequence`: of the push that
  // carries them. Returns how many.
  template <typename Visit>
  size_t TakeFolds(NodeId home, TableId table, SequenceNumber sequence, size_t rows_max, Visit&& fold);
  // The home has the row's fold of that push.
  void Folded(TableKey row, SequenceNumber sequence);
  bool HasOpen() const { return open_ > 0; }  // pushes that were not taken

  // The copy is no more. False: it has pushes that were not sent, which go first; a fold in flight needs no copy.
  bool Drop(TableKey row);

  bool Contains(TableKey row) const { return Find(row) != nullptr; }
  size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  size_t bytes() const { return bytes_; }  // of values, state and folds
  size_t memory_of_records() const { return rows_.memory_bytes(); }

 private:
  static constexpr uint32_t kNoBlock = ~uint32_t{0};
  struct Held {
    Key key = 0;
    uint32_t table = 0;
    uint32_t next = 0;
    RowVersion version;
    NodeId home;
    uint32_t used = 0;  // the last step, its lower half
    uint32_t row = kNoBlock;
    uint32_t writes = kNoBlock;  // of Table::writes
  };
  static_assert(sizeof(Held) == 40);
  // Of a row with open pushes, a fold in flight, or both.
  struct Writes {
    FoldCounts open;
    FoldCounts in_flight;
    SequenceNumber sequence;  // of the fold in flight; 0: none
  };
  struct Table {
    explicit Table(const TableOptions& options)
        : formula(options),
          dim(options.dim),
          rows(formula.row_floats()),
          floats(formula.row_floats() + formula.fold_floats()) {}
    FoldFormula formula;
    uint32_t dim;
    FloatBlocks rows;
    FloatBlocks floats;          // of writes: the base of the open pushes, then the changes of the fold in flight
    std::vector<Writes> writes;  // by block of `floats`
  };
  struct Confirmed {
    MonotonicTime sent;
    uint64_t floor = 0;
  };

  Held* Find(TableKey row) const {
    return rows_.Find(row, [](const Held&) { return true; });
  }
  Table& TableOf(const Held& held) { return tables_.at(TableId(held.table)); }
  // With open pushes; with a fold in flight.
  bool IsDirty(const Held& held) { return held.writes != kNoBlock && WritesOf(held).open.pushes > 0; }
  bool IsInFlight(const Held& held) { return held.writes != kNoBlock && WritesOf(held).sequence != SequenceNumber(); }
  FoldView TakeFold(Held& held, SequenceNumber sequence);
  Writes& WritesOf(const Held& held) { return tables_.at(TableId(held.table)).writes[held.writes]; }
  HeldRow CopyOf(const Held& held);
  std::span<float> ChangesOf(const Held& held);
  bool BeginWrites(Held& held);
  void EndWritesIfIdle(Held& held);
  void Refresh(Held& held, const Fresh& fresh);
  void Add(TableKey row, const Fresh& fresh, uint64_t step);
  void Remove(TableKey row);
  bool MakeRoom(size_t bytes);
  Held* LeastUsed();

  const size_t bytes_max_;
  size_t bytes_ = 0;
  size_t open_ = 0;  // rows with open pushes
  std::map<TableId, Table> tables_;
  std::map<NodeId, Confirmed> confirmed_;
  RowChains<Held> rows_;
  // Rows with open pushes, by the first of them; and some that have none any more, or another home.
  std::map<std::pair<NodeId, TableId>, std::deque<Key>> to_flush_;
  size_t hand_ = 0;             // where the next copy to go is looked for
  std::vector<TableKey> gone_;  // scratch
};

template <typename Visit>
size_t HeldRows::TakeFolds(NodeId home, TableId table, SequenceNumber sequence, size_t rows_max, Visit&& fold) {
  const auto queue = to_flush_.find({home, table});
  if (queue == to_flush_.end()) return 0;
  size_t taken = 0;
  for (size_t left = queue->second.size(); left > 0 && taken < rows_max; --left) {
    const TableKey row{table, queue->second.front()};
    queue->second.pop_front();
    Held* const held = Find(row);
    if (held == nullptr || held->home != home || !IsDirty(*held)) continue;  // it is elsewhere, or done
    if (IsInFlight(*held)) {
      queue->second.push_back(row.key);
      continue;
    }
    fold(row, TakeFold(*held, sequence));
    ++taken;
  }
  if (queue->second.empty()) to_flush_.erase(queue);
  return taken;
}

}  // namespace attune::ps
