#include "ps/checkpoint/format/row_file_format.h"

#include <algorithm>

#include "ps/checkpoint/format/bytes.h"
#include "ps/checkpoint/format/crc32c.h"

namespace attune::ps {
namespace {

constexpr std::string_view kRowFileMagic = "ATTUNROW";
constexpr std::string_view kRowFileEndMagic = "ATTUNEND";
constexpr uint32_t kTextBytesMax = 4096;

std::string AtByte(uint64_t offset) { return " at byte " + std::to_string(offset); }

}  // namespace

uint32_t BlockRowsMax(const RowFileHeader& header) {
  const uint64_t row_bytes = 2 * sizeof(uint64_t) + header.value_bytes + header.state_bytes;
  return static_cast<uint32_t>(std::clamp<uint64_t>(kBlockBytes / row_bytes, 1, kBlockRowsMax));
}

std::string EncodePreamble(const RowFileHeader& header) {
  ByteWriter fields;
  fields.Put(header.checkpoint);
  fields.PutString(header.job_uid);
  fields.PutString(header.table);
  fields.Put(header.value_bytes);
  fields.Put(header.state_bytes);
  ByteWriter preamble;
  preamble.PutBytes(kRowFileMagic);
  preamble.Put(kRowFileVersion);
  preamble.Put(static_cast<uint32_t>(fields.bytes().size()));
  preamble.PutBytes(fields.bytes());
  preamble.Put(Crc32c(0, preamble.bytes()));
  return std::move(preamble.bytes());
}

StatusOr<uint64_t> PreambleBytes(std::string_view start) {
  ByteReader reader(start);
  const std::string_view magic = reader.GetBytes(kRowFileMagic.size());
  const auto version = reader.Get<uint32_t>();
  const auto header_bytes = reader.Get<uint32_t>();
  if (!reader.ok()) return Damaged("it ends within its first 16 bytes");
  if (magic != kRowFileMagic) return Damaged("it does not begin as a file of rows does");
  if (version != kRowFileVersion) {
    return Error(StatusCode::kFailedPrecondition, "it has format version " + std::to_string(version) +
                                                      ", this release reads version " +
                                                      std::to_string(kRowFileVersion));
  }
  if (header_bytes > kRowFileHeaderBytesMax) {
    return Damaged("its header claims " + std::to_string(header_bytes) + " bytes" + AtByte(12));
  }
  return kPreambleStartBytes + header_bytes + sizeof(uint32_t);
}

StatusOr<RowFileHeader> DecodePreamble(std::string_view preamble) {
  ASSIGN_OR_RETURN(const uint64_t bytes, PreambleBytes(preamble));
  if (preamble.size() != bytes) return Damaged("it ends within its header");
  ByteReader checksum(preamble.substr(bytes - sizeof(uint32_t)));
  if (checksum.Get<uint32_t>() != Crc32c(0, preamble.substr(0, bytes - sizeof(uint32_t)))) {
    return Damaged("the checksum of its header does not fit" + AtByte(bytes - sizeof(uint32_t)));
  }
  ByteReader reader(preamble.substr(kPreambleStartBytes, bytes - kPreambleStartBytes - sizeof(uint32_t)));
  RowFileHeader header;
  header.checkpoint = reader.Get<uint64_t>();
  header.job_uid = reader.GetString(kTextBytesMax);
  header.table = reader.GetString(kTextBytesMax);
  header.value_bytes = reader.Get<uint32_t>();
  header.state_bytes = reader.Get<uint32_t>();
  if (!reader.IsComplete()) return Damaged("its header has the wrong length");
  if (header.value_bytes == 0 || header.value_bytes > kRowBytesMax || header.state_bytes > kRowBytesMax) {
    return Damaged("its header claims rows of " + std::to_string(header.value_bytes) + " and " +
                   std::to_string(header.state_bytes) + " bytes");
  }
  return header;
}

std::string EncodeDirectory(RowFileDirectory& directory, std::string_view preamble, uint64_t offset) {
  ByteWriter writer;
  for (const BlockEntry& block : directory.blocks) {
    writer.Put(block.offset);
    writer.Put(block.first_hash);
    writer.Put(block.last_hash);
    writer.Put(block.rows);
    writer.Put(block.run);
    writer.Put(static_cast<uint32_t>(block.kind));
    writer.Put(block.head_crc);
    writer.Put(block.body_crc);
  }
  writer.Put(offset);
  writer.Put(uint64_t{directory.blocks.size()});
  writer.Put(directory.row_count);
  writer.Put(directory.erased_count);
  directory.digest = Crc32c(Crc32c(0, preamble), writer.bytes());
  writer.Put(directory.digest);
  writer.PutBytes(kRowFileEndMagic);
  return std::move(writer.bytes());
}

StatusOr<RowFileTrailer> DecodeTrailer(std::string_view bytes, uint64_t file_bytes) {
  ByteReader reader(bytes);
  RowFileTrailer trailer;
  trailer.directory_offset = reader.Get<uint64_t>();
  trailer.block_count = reader.Get<uint64_t>();
  trailer.row_count = reader.Get<uint64_t>();
  trailer.erased_count = reader.Get<uint64_t>();
  trailer.digest = reader.Get<uint32_t>();
  const std::string_view magic = reader.GetBytes(kRowFileEndMagic.size());
  if (!reader.IsComplete() || magic != kRowFileEndMagic) {
    return Damaged("it does not end as a file of rows does: it was cut off" + AtByte(file_bytes));
  }
  const uint64_t body = file_bytes - kRowFileTrailerBytes;
  if (trailer.directory_offset > body || (body - trailer.directory_offset) % kBlockEntryBytes != 0 ||
      (body - trailer.directory_offset) / kBlockEntryBytes != trailer.block_count) {
    return Damaged("its trailer claims a directory of " + std::to_string(trailer.block_count) + " blocks" +
                   AtByte(trailer.directory_offset) + ", which does not fit its " + std::to_string(file_bytes) +
                   " bytes");
  }
  return trailer;
}

namespace {

BlockEntry GetBlock(ByteReader& reader) {
  BlockEntry block;
  block.offset = reader.Get<uint64_t>();
  block.first_hash = reader.Get<uint64_t>();
  block.last_hash = reader.Get<uint64_t>();
  block.rows = reader.Get<uint32_t>();
  block.run = reader.Get<uint32_t>();
  block.kind = static_cast<BlockKind>(reader.Get<uint32_t>());
  block.head_crc = reader.Get<uint32_t>();
  block.body_crc = reader.Get<uint32_t>();
  return block;
}

bool Fits(const BlockEntry& block, const BlockEntry* before, uint64_t expected_offset) {
  if (block.offset != expected_offset || block.rows == 0 || block.rows > kBlockRowsMax) return false;
  if (block.kind != BlockKind::kRows && block.kind != BlockKind::kErased) return false;
  if (block.first_hash > block.last_hash) return false;
  if (before == nullptr) return block.run == 0;
  if (block.run == before->run) return block.first_hash > before->last_hash && block.kind == before->kind;
  return block.run == before->run + 1;
}

}  // namespace

StatusOr<RowFileDirectory> DecodeDirectory(std::string_view bytes, const RowFileTrailer& trailer,
                                           const RowFileHeader& header, std::string_view preamble) {
  RowFileDirectory directory{
      .row_count = trailer.row_count, .erased_count = trailer.erased_count, .blocks = {}, .digest = trailer.digest};
  ByteWriter fields;
  fields.Put(trailer.directory_offset);
  fields.Put(trailer.block_count);
  fields.Put(trailer.row_count);
  fields.Put(trailer.erased_count);
  if (Crc32c(Crc32c(Crc32c(0, preamble), bytes), fields.bytes()) != trailer.digest) {
    return Damaged("the checksum of its directory does not fit" + AtByte(trailer.directory_offset));
  }
  if (bytes.size() != trailer.block_count * kBlockEntryBytes) return Damaged("its directory has the wrong length");
  directory.blocks.reserve(trailer.block_count);
  ByteReader reader(bytes);
  uint64_t offset = preamble.size(), rows = 0, erased = 0;
  for (uint64_t i = 0; i < trailer.block_count; ++i) {
    const BlockEntry block = GetBlock(reader);
    if (!Fits(block, directory.blocks.empty() ? nullptr : &directory.blocks.back(), offset)) {
      return Damaged("entry " + std::to_string(i) + " of its directory is not possible" +
                     AtByte(trailer.directory_offset + i * kBlockEntryBytes));
    }
    offset += HeadBytes(block) + BodyBytes(header, block);
    (block.kind == BlockKind::kRows ? rows : erased) += block.rows;
    directory.blocks.push_back(block);
  }
  if (offset != trailer.directory_offset || rows != trailer.row_count || erased != trailer.erased_count) {
    return Damaged("its directory does not describe all of it" + AtByte(trailer.directory_offset));
  }
  return directory;
}

}  // namespace attune::ps
