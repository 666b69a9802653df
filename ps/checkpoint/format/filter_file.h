// Records of pushes in flight when a node's rows were copied (the duplicate filter of docs/protocol.md#one-push), as
// one small file per node. Needed when rows of a running job are restored: their workers push again what was not
// acknowledged, and the rows may hold it already. Pure but for the file system; written once.
//
//   magic "ATTUNFLT" | version u32 | checkpoint u64 | origins u32: (node u32, acked_below u64) ...
//   | pushes u32: (origin u32, sequence u64, table u32, refused u32, keys u32: (key u64, position u32)
//   ...) ... | CRC-32C of all that u32
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/format/file_system.h"
#include "ps/store/filter_records.h"

namespace attune::ps {

inline constexpr uint64_t kFilterFileBytesMax = 1ULL << 30;

std::string EncodeFilterRecords(uint64_t checkpoint, const FilterRecords& records);
// InvalidArgument says what is wrong.
StatusOr<FilterRecords> DecodeFilterRecords(uint64_t checkpoint, std::string_view bytes);
// The checksum at its end, as the manifest has it; 0 for a file too short to have one.
uint32_t DigestOfFilterFile(std::string_view bytes);

}  // namespace attune::ps
