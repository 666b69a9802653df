// Reads one file of rows (layout: row_file_format.h), whose header and directory were checked when it was opened. Each
// part of a block is checked against its checksum before anything of it is used. Thread-safe.
//
// Errors: DataLoss names file, table, byte and what is wrong; FailedPrecondition: of another format version, or not the
// file that was asked for; others as FileSystem.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/format/file_system.h"
#include "ps/checkpoint/format/row_file_format.h"

namespace attune::ps {

class RowFileReader {
 public:
  static StatusOr<std::unique_ptr<RowFileReader>> Open(FileSystem& files, const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const RowFileHeader& header() const { return header_; }
  const RowFileDirectory& directory() const { return directory_; }
  uint64_t size() const { return file_->size(); }

  // Keys (block.rows of them), then row versions.
  Status ReadHead(const BlockEntry& block, std::vector<uint64_t>& keys_and_versions) const;
  // Values and state, row after row.
  Status ReadBody(const BlockEntry& block, std::string& rows) const;
  // Reads every block.
  Status Verify() const;

  Status Damaged(const std::string& how) const;

 private:
  RowFileReader(std::filesystem::path path, std::unique_ptr<ReadableFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Status ReadStructure();
  Status CheckOrder(const BlockEntry& block, const std::vector<uint64_t>& keys) const;

  const std::filesystem::path path_;
  const std::unique_ptr<ReadableFile> file_;
  RowFileHeader header_;
  RowFileDirectory directory_;
};

}  // namespace attune::ps
