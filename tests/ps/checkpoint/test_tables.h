// Tables and rows for the tests of checkpoints.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ps/checkpoint/checkpoint_writer.h"
#include "ps/checkpoint/part_writer.h"
#include "ps/checkpoint/saved_table.h"
#include "ps/store/table_store.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps {

// A row, comparable.
struct TestRow {
  uint64_t version = 0;
  std::string values, state;  // bytes
  bool operator==(const TestRow&) const = default;
};
using TestRows = std::map<Key, TestRow>;

TestRows RowsOf(const TableStore& store);
// Every row of a table of a checkpoint; an error fails the test.
TestRows RowsOf(const SavedTable& table);
TestRows RowsOf(FileSystem& files, const OpenedCheckpoint& checkpoint, const std::string& table);

// Rows kept as they are; changed ones are remembered for increments.
class TestSource final : public RowSource {
 public:
  explicit TestSource(TableSpec spec) : spec_(std::move(spec)) {}
  const TableSpec& spec() const override { return spec_; }
  uint64_t row_count() const override { return rows_.size(); }
  Status ForEach(const std::function<Status(const StoredRow&)>& visit) override;

  // Raises the row's version and gives it new bytes, which follow from key and version.
  void Touch(Key key);
  void Erase(Key key);
  void WriteAll() { all_ = true; }
  void WriteChanged() { all_ = false; }
  void ForgetChanges() { changed_.clear(), erased_.clear(); }
  const TestRows& rows() const { return rows_; }

 private:
  TableSpec spec_;
  TestRows rows_;
  std::map<Key, uint64_t> versions_;  // of erased rows too
  std::map<Key, bool> changed_, erased_;
  bool all_ = true;
};

// Writes one checkpoint of these sources, one part each, and commits it.
Status WriteCheckpoint(FileSystem& files, CheckpointWriter& writer, const std::filesystem::path& directory,
                       const std::vector<TestSource*>& parts, CutRecord cut = {});

}  // namespace attune::ps
