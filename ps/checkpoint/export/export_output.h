// Where the writers of exported formats put their bytes: a file beside its place, a buffer in front of it, and
// progress. Of export*.cpp only.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/export/export.h"
#include "ps/checkpoint/format/file_system.h"
#include "ps/checkpoint/saved_table.h"

namespace attune::ps {

class ExportOutput {
 public:
  // Into `stream` when there is one, else beside `path`.
  static StatusOr<std::unique_ptr<ExportOutput>> Create(FileSystem& files, const std::filesystem::path& path,
                                                        WritableFile* stream);
  ~ExportOutput();  // removes what is not finished

  Status Write(std::string_view bytes);
  // Makes it the file at `path`; a stream has it all.
  Status Finish();
  uint64_t bytes() const { return bytes_; }

 private:
  ExportOutput(FileSystem& files, std::filesystem::path path) : files_(files), path_(std::move(path)) {}
  Status Flush();

  FileSystem& files_;
  const std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::unique_ptr<WritableFile> file_;  // null with a stream
  WritableFile* stream_ = nullptr;
  std::string buffer_;
  uint64_t bytes_ = 0;
};

// A table being exported: how many rows it has, and passes over them.
class ExportTable {
 public:
  using Progress = std::function<Status(uint64_t bytes_read)>;

  ExportTable(SavedTable table, Progress progress) : table_(std::move(table)), progress_(std::move(progress)) {}
  const TableSpec& spec() const { return table_.spec(); }
  uint64_t rows() const { return rows_; }

  // Before all others: finds out how many rows there are, reading keys only.
  Status Count();
  // Values are float32, whatever the table's type.
  Status ForEach(RowMerge::Columns columns, const std::function<Status(const StoredRow&)>& visit);
  uint64_t bytes_of_pass(RowMerge::Columns columns) const {
    return table_.Rows(HashRanges::All(), columns).bytes_total();
  }

 private:
  SavedTable table_;
  Progress progress_;
  uint64_t rows_ = 0;
};

Status WriteSafetensors(std::vector<ExportTable>& tables, ExportOutput& output);
Status WriteNpz(std::vector<ExportTable>& tables, ExportOutput& output);
Status WriteWord2vecText(FileSystem& files, ExportTable& table, const std::filesystem::path& vocabulary,
                         ExportOutput& output);

}  // namespace attune::ps
