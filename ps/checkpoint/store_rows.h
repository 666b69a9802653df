// Rows between a table's store and files.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/format/row_file_format.h"
#include "ps/store/formulas/value_type.h"
#include "ps/store/table_store.h"

namespace attune::ps {

// Bytes of values and of optimizer state of one row of the table.
struct RowSizes {
  uint32_t value_bytes = 0, state_bytes = 0;
};
RowSizes RowSizesOf(const TableSpec& spec);

// Values of rows as files have them: of the table's own type, so that a float16 table takes half the room. What a store
// holds is read back exactly.
class RowCodec {
 public:
  explicit RowCodec(const TableSpec& spec) : dim_(spec.options.dim), codec_(SelectCodec(spec.options.value_type)) {}
  size_t value_bytes() const { return dim_ * codec_.bytes_per_value; }
  void Append(std::span<const float> values, std::string& bytes) const;
  // `values`: dim of them.
  void Read(std::string_view stored, float* values) const;

 private:
  size_t dim_;
  ValueCodec codec_;
};

// What the writer of a checkpoint takes rows from. Used by one thread, which is not the one that changes the rows; a
// source gives a consistent view by itself (a snapshot, or rows no thread changes meanwhile).
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual const TableSpec& spec() const = 0;
  virtual uint64_t row_count() const = 0;  // rows the table has here, changed or not; known after ForEach
  // Every row, or every row changed since the checkpoint this one builds on; in any order. Ends at the first error of
  // `visit` and returns it.
  virtual Status ForEach(const std::function<Status(const StoredRow&)>& visit) = 0;
};

// All rows of a store that no thread changes meanwhile.
class StoreRowSource final : public RowSource {
 public:
  explicit StoreRowSource(const TableStore& store) : store_(store) {}
  const TableSpec& spec() const override { return store_.spec(); }
  uint64_t row_count() const override { return store_.row_count(); }
  Status ForEach(const std::function<Status(const StoredRow&)>& visit) override;

 private:
  const TableStore& store_;
};

// The rows of a store as they were when its snapshot was begun, while it continues changing. The store is only touched
// through `run`, which executes a function on the thread that owns the store and returns when that is done (Cancelled
// when it will not be).
class SnapshotRowSource final : public RowSource {
 public:
  using Run = std::function<Status(const std::function<void()>&)>;

  // After store.BeginSnapshot(), on the store's thread; EndSnapshot is the caller's. `changed_only`: rows that have not
  // changed since the snapshot before are left out.
  SnapshotRowSource(TableStore& store, bool changed_only, Run run)
      : store_(store), changed_only_(changed_only), run_(std::move(run)) {}
  const TableSpec& spec() const override { return store_.spec(); }
  uint64_t row_count() const override { return rows_; }
  Status ForEach(const std::function<Status(const StoredRow&)>& visit) override;

 private:
  static constexpr size_t kPieceBytes = 512 << 10;  // copied at a time, while the store's thread does nothing else
  static constexpr uint64_t kVisitRows = 64;

  TableStore& store_;
  uint64_t rows_ = 0;  // visited
  const bool changed_only_;
  const Run run_;
};

// Gathers rows of a file and inserts them in batches. They begin in era 0: recoveries are counted per run of a job.
class StoreInserter {
 public:
  explicit StoreInserter(TableStore& store);
  Status Add(const StoredRow& row);
  Status Finish();  // inserts the rest
  uint64_t rows() const { return rows_; }

 private:
  static constexpr size_t kBatchRowsMax = 1 << 14;  // several leaves of the store's index
  static constexpr size_t kBatchBytes = 8 << 20;
  TableStore& store_;
  const RowCodec codec_;
  const size_t values_, states_;  // floats of a row
  const size_t batch_rows_;
  std::vector<float> floats_;
  std::vector<RowView> batch_;
  uint64_t rows_ = 0;
};

}  // namespace attune::ps
