// The file of one table's rows as one node wrote them for one checkpoint. Written once, never changed.
//
//   magic "ATTUNROW" | format version u32 | header bytes u32 | header | CRC-32C of all that u32
//   blocks: keys u64 x n, row versions u64 x n | per row: values, optimizer state        (erased keys: no second part)
//   directory: an entry per block (offset, hash range, rows, run, kind, a checksum of each of its two parts)
//   trailer: directory offset, blocks, rows, erased keys (u64 each) | CRC-32C of header, directory and these |
//   "ATTUNEND"
// Little-endian, without padding. A row's place follows from SplitMix64 of its key, of which shards are ranges for any
// number of shards. Blocks of one run are in ascending order of that hash and do not overlap; a reader merges runs and
// skips the blocks of ranges it does not want. The trailer's checksum thus covers every byte of the file (blocks by
// their checksums); it is the file's digest in the manifest.
//
// Pure; everything read is bounded by the file's size before memory is taken for it. Errors are InvalidArgument and say
// what is wrong and at which byte; callers add the path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "ps/types/key.h"

namespace attune::ps {

inline constexpr uint32_t kRowFileVersion = 1;
inline constexpr uint32_t kRowFileHeaderBytesMax = 16 << 10;
inline constexpr uint64_t kRowFileTrailerBytes = 4 * 8 + 4 + 8;
inline constexpr uint64_t kBlockEntryBytes = 3 * 8 + 5 * 4;
inline constexpr uint64_t kBlockBytes = 256 << 10;  // a block has about this many bytes, or one row if that is larger
inline constexpr uint32_t kBlockRowsMax = 1 << 15;
inline constexpr uint32_t kRowBytesMax = 16 << 20;  // values and state of one row

// Where a key stands in files; shards are ranges of it.
inline uint64_t HashOf(Key key) { return SplitMix64(key); }

// One row as a file has it.
struct StoredRow {
  Key key = 0;
  uint64_t row_version = 0;  // higher wins
  bool erased = false;       // then without values and state
  std::string_view values;   // bytes, as the table's dtype says
  std::string_view state;    // bytes of optimizer state
};

struct RowFileHeader {
  uint64_t checkpoint = 0;
  std::string job_uid, table;
  uint32_t value_bytes = 0, state_bytes = 0;  // of one row
  bool operator==(const RowFileHeader&) const = default;
};

enum class BlockKind : uint32_t { kRows = 0, kErased = 1 };

struct BlockEntry {
  uint64_t offset = 0;
  uint64_t first_hash = 0, last_hash = 0;
  uint32_t rows = 0;
  uint32_t run = 0;
  BlockKind kind = BlockKind::kRows;
  uint32_t head_crc = 0, body_crc = 0;
  bool operator==(const BlockEntry&) const = default;
};

struct RowFileDirectory {
  uint64_t row_count = 0, erased_count = 0;
  std::vector<BlockEntry> blocks;
  uint32_t digest = 0;
  bool operator==(const RowFileDirectory&) const = default;
};

struct RowFileTrailer {
  uint64_t directory_offset = 0, block_count = 0, row_count = 0, erased_count = 0;
  uint32_t digest = 0;
};

inline uint64_t HeadBytes(const BlockEntry& block) { return uint64_t{block.rows} * 2 * sizeof(uint64_t); }
inline uint64_t BodyBytes(const RowFileHeader& header, const BlockEntry& block) {
  return block.kind == BlockKind::kErased ? 0
                                          : uint64_t{block.rows} * (uint64_t{header.value_bytes} + header.state_bytes);
}
uint32_t BlockRowsMax(const RowFileHeader& header);

// With magic, sizes and checksum.
std::string EncodePreamble(const RowFileHeader& header);
// Bytes of the preamble, from its first 16; what the rest of it says.
inline constexpr uint64_t kPreambleStartBytes = 16;
StatusOr<uint64_t> PreambleBytes(std::string_view start);
StatusOr<RowFileHeader> DecodePreamble(std::string_view preamble);

// Directory and trailer, `offset` being where they begin. Sets directory.digest.
std::string EncodeDirectory(RowFileDirectory& directory, std::string_view preamble, uint64_t offset);
StatusOr<RowFileTrailer> DecodeTrailer(std::string_view bytes, uint64_t file_bytes);
StatusOr<RowFileDirectory> DecodeDirectory(std::string_view bytes, const RowFileTrailer& trailer,
                                           const RowFileHeader& header, std::string_view preamble);

}  // namespace attune::ps
