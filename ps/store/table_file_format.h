// Bytes of a table file's header (layout: table_file.h). Pure; sizes are bounded before they are believed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ps/store/table_file.h"

namespace attune::ps {

inline constexpr std::string_view kTableFileMagic = "ATTUNTBL";
inline constexpr uint32_t kTableFileVersion = 2;
inline constexpr uint32_t kJobIdBytesMax = 1024;
inline constexpr uint32_t kHeaderBytesMax = 64 << 10;
inline constexpr uint64_t kBlockBytes = 1 << 20;  // a block holds this many bytes of rows, or one row if that is larger

uint32_t Crc32(uint32_t crc, std::string_view bytes);  // start with 0

// Bytes of one row in a block, and how many rows a block holds at most.
uint64_t RowBytes(const TableSpec& spec);
uint64_t BlockRowsMax(const TableSpec& spec);

std::string EncodeHeader(const TableFileHeader& header);
// InvalidArgument says what is wrong; the caller adds the path. The specification is validated.
StatusOr<TableFileHeader> DecodeHeader(std::string_view bytes);

}  // namespace attune::ps
