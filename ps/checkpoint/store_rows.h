// Rows between a table's store and files.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "ps/checkpoint/row_file_format.h"
#include "ps/store/table_store.h"

namespace attune::ps {

// Bytes of values and of optimizer state of one row of the table.
struct RowSizes {
  uint32_t value_bytes = 0, state_bytes = 0;
};
RowSizes RowSizesOf(const TableSpec& spec);

// What the writer of a checkpoint takes rows from. Used by one thread, which is not the one that changes the rows; a
// source gives a consistent view by itself (a snapshot, or rows nobody changes meanwhile).
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual const TableSpec& spec() const = 0;
  virtual uint64_t row_count() const = 0;  // rows the table has here, changed or not
  // Every row, or every row changed since the checkpoint this one builds on; in any order. Ends at the first error of
  // `visit` and returns it.
  virtual Status ForEach(const std::function<Status(const StoredRow&)>& visit) = 0;
};

// All rows of a store that nobody changes meanwhile.
class StoreRowSource final : public RowSource {
 public:
  explicit StoreRowSource(const TableStore& store) : store_(store) {}
  const TableSpec& spec() const override { return store_.spec(); }
  uint64_t row_count() const override { return store_.row_count(); }
  Status ForEach(const std::function<Status(const StoredRow&)>& visit) override;

 private:
  const TableStore& store_;
};

// Gathers rows of a file and inserts them in batches.
class StoreInserter {
 public:
  explicit StoreInserter(TableStore& store);
  Status Add(const StoredRow& row);
  Status Finish();  // inserts the rest
  uint64_t rows() const { return rows_; }

 private:
  static constexpr size_t kBatchRows = 256;
  TableStore& store_;
  const size_t values_, states_;  // floats of a row
  std::vector<float> floats_;
  std::vector<RowView> batch_;
  uint64_t rows_ = 0;
};

}  // namespace attune::ps
