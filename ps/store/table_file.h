// One table's rows, with optimizer state, as a file: written whole or not at all, read whole or not at all.
//
// Layout, little-endian, without padding:
//   magic "ATTUNTBL" | format version u32 | header bytes u32 | header | CRC-32 of everything so far u32
//   blocks of rows: rows u32 | payload (per row: key u64, version u64, values, state) | CRC-32 of count and payload u32
//   end: rows 0 u32 | CRC-32 of it u32
// The header holds job id, table specification and row count. CRC-32 is zlib's (polynomial 0xEDB88320). Blocks are
// about 1 MiB, so that reading needs little memory and nothing is used before its checksum has been seen.
//
// Errors: DataLoss (damaged, truncated, not a table file), FailedPrecondition (of another job, table or format
// version), NotFound, PermissionDenied, ResourceExhausted (disk full, file size limit, no memory), Unavailable; all
// name the path. Blocks while it reads or writes; thread-safe as long as the store is not changed meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ps/store/table_store.h"

namespace attune::ps {

struct TableFileHeader {
  std::string job_id;
  TableSpec spec;
  uint64_t row_count = 0;
};

// Writes beside `path`, syncs and renames; a failure leaves what was there before and no temporary file.
Status WriteTableFile(const std::filesystem::path& path, std::string_view job_id, const TableStore& store);

// What a file says about itself, its rows unread.
StatusOr<TableFileHeader> ReadTableFileHeader(const std::filesystem::path& path);

// A store of `spec` with the rows of the file. The file's table must agree in name, dim, optimizer kind, initializer
// and seed (rates and limits may differ), and in job id unless `job_id` is empty.
StatusOr<std::unique_ptr<TableStore>> ReadTableFile(const std::filesystem::path& path, std::string_view job_id,
                                                    const TableSpec& spec);

}  // namespace attune::ps
