// The rows of one table of an opened checkpoint: into a store (a server's part of it), or one after the other.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/checkpoint_directory.h"
#include "ps/checkpoint/format/filter_file.h"
#include "ps/checkpoint/hash_ranges.h"
#include "ps/checkpoint/row_merge.h"

namespace attune::ps {

class SavedTable {
 public:
  // NotFound names the tables there are.
  static StatusOr<SavedTable> Open(FileSystem& files, const OpenedCheckpoint& checkpoint, std::string_view table);

  const TableSpec& spec() const { return spec_; }
  uint64_t rows_max() const;  // rows in all files: as many or more than there are keys

  // This object must outlive the merge.
  RowMerge Rows(HashRanges ranges, RowMerge::Columns columns = RowMerge::Columns::kRows) const;
  // The error of a merge of this table, with what to do about it.
  Status Explain(const Status& status) const;

  // Inserts the rows of `ranges` into a store whose specification agrees (FailedPrecondition names the difference).
  // Returns how many.
  StatusOr<uint64_t> Load(const HashRanges& ranges, TableStore& store) const;

 private:
  SavedTable() = default;
  FileSystem* files_ = nullptr;
  std::filesystem::path directory_;
  uint64_t checkpoint_ = 0;
  TableSpec spec_;
  std::vector<std::unique_ptr<RowFileReader>> readers_;
};

// The filter records of all parts. A push that several parts name is contained, key by key, in the rows of each.
StatusOr<FilterRecords> ReadFilterRecords(FileSystem& files, const OpenedCheckpoint& checkpoint);

}  // namespace attune::ps
