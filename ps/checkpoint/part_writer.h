// Writes what one node holds for one checkpoint: a file per table, and its filter records. Blocks on the disk and on
// the rate limit: call it on a thread of its own.
//
// A failed or cancelled part leaves no files where it can still remove them, and never counts: only the manifest makes
// files a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/format/file_system.h"
#include "ps/checkpoint/format/filter_file.h"
#include "ps/checkpoint/format/manifest.h"
#include "ps/checkpoint/store_rows.h"
#include "ps/checkpoint/throttle.h"

namespace attune::ps {

struct PartOrder {
  std::filesystem::path directory;
  uint64_t checkpoint = 0;  // its number, from CheckpointWriter::Begin
  std::string job_uid;
  std::string part;  // this node among those that write: letters, digits, '-'; usually the server's index
};

struct WrittenTable {
  uint32_t table = 0;  // index into the sources
  uint64_t rows = 0;   // the table has here
  CheckpointFile file;
};

struct WrittenPart {
  std::vector<WrittenTable> tables;  // those with rows here
  std::vector<CheckpointFile> filters;
};

// `sources` may hold null (a table that is not here).
StatusOr<WrittenPart> WritePart(FileSystem& files, const PartOrder& order, const std::vector<RowSource*>& sources,
                                const FilterRecords& filter, Throttle& throttle);

}  // namespace attune::ps
