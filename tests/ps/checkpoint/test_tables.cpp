#include "tests/ps/checkpoint/test_tables.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace attune::ps {

TestRows RowsOf(const TableStore& store) {
  TestRows rows;
  const auto bytes = [](std::span<const float> floats) {
    return std::string(reinterpret_cast<const char*>(floats.data()), floats.size_bytes());
  };
  store.ForEachRow([&](const RowView& row) {
    rows[row.key] = {.version = row.version.value(), .values = bytes(row.values), .state = bytes(row.state)};
  });
  return rows;
}

TestRows RowsOf(const SavedTable& table) {
  TestRows rows;
  RowMerge merge = table.Rows(HashRanges::All());
  StoredRow row;
  for (;;) {
    const StatusOr<bool> more = merge.Next(row);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) return rows;
    EXPECT_FALSE(rows.contains(row.key)) << "key " << row.key << " came twice";
    rows[row.key] = {.version = row.row_version, .values = std::string(row.values), .state = std::string(row.state)};
  }
}

TestRows RowsOf(FileSystem& files, const OpenedCheckpoint& checkpoint, const std::string& table) {
  const auto saved = SavedTable::Open(files, checkpoint, table);
  EXPECT_TRUE(saved.ok()) << saved.status();
  return saved.ok() ? RowsOf(*saved) : TestRows();
}

Status TestSource::ForEach(const std::function<Status(const StoredRow&)>& visit) {
  for (const auto& [key, row] : rows_) {
    if (!all_ && !changed_.contains(key)) continue;
    RETURN_IF_ERROR(visit({.key = key, .row_version = row.version, .values = row.values, .state = row.state}));
  }
  if (all_) return OkStatus();
  for (const auto& [key, gone] : erased_) {
    RETURN_IF_ERROR(visit({.key = key, .row_version = versions_[key], .erased = true}));
  }
  return OkStatus();
}

void TestSource::Touch(Key key) {
  const RowSizes sizes = RowSizesOf(spec_);
  TestRow& row = rows_[key];
  row.version = ++versions_[key];
  Random random(SplitMix64(key) ^ row.version);
  const auto fill = [&](std::string& bytes, size_t size) {
    bytes.resize(size);
    for (char& c : bytes) c = static_cast<char>(random.Next());
  };
  fill(row.values, sizes.value_bytes);
  fill(row.state, sizes.state_bytes);
  changed_[key] = true;
  erased_.erase(key);
}

void TestSource::Erase(Key key) {
  if (rows_.erase(key) == 0) return;
  ++versions_[key];
  changed_.erase(key);
  erased_[key] = true;
}

Status WriteCheckpoint(FileSystem& files, CheckpointWriter& writer, const std::filesystem::path& directory,
                       const std::vector<TestSource*>& parts, CutRecord cut) {
  static const SystemTime time;
  ASSIGN_OR_RETURN(const CheckpointPlan plan, writer.Begin(directory));
  CheckpointParts all{.tables = {{.spec = parts.front()->spec(), .rows = 0, .files = {}}}, .cut = std::move(cut)};
  for (size_t i = 0; i < parts.size(); ++i) {
    plan.base == 0 ? parts[i]->WriteAll() : parts[i]->WriteChanged();
    Throttle throttle(0, time);
    ASSIGN_OR_RETURN(
        const WrittenPart part,
        WritePart(
            files,
            {.directory = plan.directory, .checkpoint = plan.number, .job_uid = "job-1", .part = std::to_string(i)},
            {parts[i]}, {.origins = {{1, 2}}, .pushes = {}}, throttle));
    for (const WrittenTable& table : part.tables) {
      all.tables[0].rows += table.rows;
      all.tables[0].files.push_back(table.file);
    }
    all.filters.insert(all.filters.end(), part.filters.begin(), part.filters.end());
  }
  RETURN_IF_ERROR(writer.Commit(plan, all));
  for (TestSource* part : parts) part->ForgetChanges();
  return OkStatus();
}

}  // namespace attune::ps
