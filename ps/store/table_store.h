// The rows of one table that one process holds: values and optimizer state in slabs, found by key. No I/O, no clock.
//
// Contract (the slow twin of the tests is a std::map):
//   - a row is created by the first Push or Insert; Pull of an absent row computes its initial values, creating
//   nothing;
//   - Push applies the table's optimizer once per key and raises the row's counter by one;
//   - rows_max reached: the whole batch is refused with ResourceExhausted and nothing of it is applied.
// Memory: rows start on a cache line (rows below 64 bytes are padded to a power of two instead, so that none straddles
// a line). A row costs 26 bytes beside its values and state: counter 8, index about 18. No allocation per row.
// Externally synchronized: one thread at a time; several threads may Pull at once while nobody pushes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "attune/ps/session.h"
#include "base/status.h"

namespace attune::ps {

struct TableSpec {
  std::string name;
  TableOptions options;
};

// Names each problem of a specification (dim 0, rate not positive, low > high, NaN ...) and the table.
Status Validate(const TableSpec& spec);

// One row as it travels: to a file now, to another server later. Spans point into the store; valid in the visit only.
struct RowView {
  Key key;
  uint64_t row_counter;           // pushes applied
  std::span<const float> values;  // dim
  std::span<const float> state;   // optimizer state; dim * StatesPerValue(optimizer)
};

class TableStore {
 public:
  static StatusOr<std::unique_ptr<TableStore>> Create(const TableSpec& spec);
  virtual ~TableStore() = default;

  virtual const TableSpec& spec() const = 0;
  // rows: keys.size() * dim values. Keys may repeat.
  virtual void Pull(std::span<const Key> keys, std::span<float> rows) const = 0;
  // Keys are unique. NaN or infinite gradients are refused as a whole (InvalidArgument names the first such key), and
  // so is a batch for which there is no memory (ResourceExhausted).
  virtual Status Push(std::span<const Key> keys, std::span<const float> gradients) = 0;

  virtual uint64_t row_count() const = 0;
  virtual uint64_t memory_bytes() const = 0;  // slabs, side records and index

  // In no particular order.
  virtual void ForEachRow(const std::function<void(const RowView&)>& visit) const = 0;
  // Adds or replaces a row with its state and counter (loading, relocation). Sizes must fit the specification
  // (InvalidArgument); rows_max and memory as for Push.
  virtual Status Insert(const RowView& row) = 0;
};

}  // namespace attune::ps
