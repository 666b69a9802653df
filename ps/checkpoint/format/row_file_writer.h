// Writes one file of rows (layout: row_file_format.h) from rows in any order: it gathers a run of them in memory, sorts
// it by hash, writes it block by block. One thread at a time.
//
//   ASSIGN_OR_RETURN(auto file, RowFileWriter::Create(files, path, header, options));
//   RETURN_IF_ERROR(file->Add(row)); ...
//   ASSIGN_OR_RETURN(const RowFileSummary summary, file->Finish());   // synced; SyncDirectory is the caller's
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/format/file_system.h"
#include "ps/checkpoint/format/row_file_format.h"

namespace attune::ps {

struct RowFileSummary {
  uint64_t rows = 0, erased = 0, bytes = 0;
  uint32_t digest = 0;
};

class RowFileWriter {
 public:
  struct Options {
    uint64_t run_bytes = 32 << 20;  // gathered before they are sorted and written: the memory this takes
    // Called before bytes are written (rate limit, progress, cancellation); its error ends the writing.
    std::function<Status(uint64_t bytes)> before_write;
  };

  static StatusOr<std::unique_ptr<RowFileWriter>> Create(FileSystem& files, const std::filesystem::path& path,
                                                         const RowFileHeader& header, Options options);

  // The row's sizes must be the header's. Bytes are copied.
  Status Add(const StoredRow& row);
  // Once. After an error the file is worthless; the caller removes it.
  StatusOr<RowFileSummary> Finish();

 private:
  struct Entry {
    uint64_t hash;
    Key key;
    uint64_t row_version;
    uint32_t place;  // of its bytes in rows_, in rows
  };

  RowFileWriter(std::unique_ptr<WritableFile> file, const RowFileHeader& header, Options options);
  Status Write(std::string_view bytes);
  Status WriteRun(std::vector<Entry>& entries, BlockKind kind);
  Status WriteBlock(const Entry* entries, uint32_t rows, BlockKind kind);
  Status WriteRuns();

  const std::unique_ptr<WritableFile> file_;
  const RowFileHeader header_;
  const Options options_;
  const std::string preamble_;
  const size_t row_bytes_;
  uint64_t offset_ = 0;
  uint32_t next_run_ = 0;
  RowFileDirectory directory_;
  std::vector<Entry> entries_, erased_;
  std::string rows_;   // values and state of entries_
  std::string block_;  // being put together
};

}  // namespace attune::ps
