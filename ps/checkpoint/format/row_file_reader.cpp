#include "ps/checkpoint/format/row_file_reader.h"

#include <algorithm>

#include "ps/checkpoint/format/crc32c.h"

namespace attune::ps {

StatusOr<std::unique_ptr<RowFileReader>> RowFileReader::Open(FileSystem& files, const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.Open(path));
  std::unique_ptr<RowFileReader> reader(new RowFileReader(path, std::move(file)));
  const Status status = reader->ReadStructure();
  if (status.code() == StatusCode::kInvalidArgument) return reader->Damaged(std::string(Message(status)));
  if (status.code() == StatusCode::kFailedPrecondition) return Annotate(status, "'" + path.string() + "'");
  if (!status.ok()) return status;
  return reader;
}

Status RowFileReader::Damaged(const std::string& how) const {
  const std::string of_table = header_.table.empty() ? "" : " of table '" + header_.table + "'";
  return Error(StatusCode::kDataLoss, "'" + path_.string() + "'" + of_table + " is damaged: " + how);
}

Status RowFileReader::ReadStructure() {
  const auto short_of = [&](uint64_t bytes) {
    return Error(StatusCode::kInvalidArgument, "it was cut off at byte " + std::to_string(file_->size()) + "; " +
                                                   std::to_string(bytes) + " are the least such a file has");
  };
  if (file_->size() < kPreambleStartBytes + kRowFileTrailerBytes) {
    return short_of(kPreambleStartBytes + kRowFileTrailerBytes);
  }
  std::string preamble(kPreambleStartBytes, '\0');
  RETURN_IF_ERROR(file_->ReadAt(0, preamble));
  ASSIGN_OR_RETURN(const uint64_t preamble_bytes, PreambleBytes(preamble));
  if (file_->size() < preamble_bytes + kRowFileTrailerBytes) return short_of(preamble_bytes + kRowFileTrailerBytes);
  preamble.resize(preamble_bytes);
  RETURN_IF_ERROR(file_->ReadAt(0, preamble));
  ASSIGN_OR_RETURN(header_, DecodePreamble(preamble));

  std::string bytes(kRowFileTrailerBytes, '\0');
  RETURN_IF_ERROR(file_->ReadAt(file_->size() - kRowFileTrailerBytes, bytes));
  ASSIGN_OR_RETURN(const RowFileTrailer trailer, DecodeTrailer(bytes, file_->size()));
  bytes.resize(trailer.block_count * kBlockEntryBytes);  // which the file was found to have
  RETURN_IF_ERROR(file_->ReadAt(trailer.directory_offset, bytes));
  ASSIGN_OR_RETURN(directory_, DecodeDirectory(bytes, trailer, header_, preamble));
  return OkStatus();
}

Status RowFileReader::ReadHead(const BlockEntry& block, std::vector<uint64_t>& keys_and_versions) const {
  keys_and_versions.resize(size_t{block.rows} * 2);
  const std::span<char> bytes(reinterpret_cast<char*>(keys_and_versions.data()), HeadBytes(block));
  RETURN_IF_ERROR(file_->ReadAt(block.offset, bytes));
  if (Crc32c(0, {bytes.data(), bytes.size()}) != block.head_crc) {
    return Damaged("the checksum of the " + std::to_string(block.rows) + " keys at byte " +
                   std::to_string(block.offset) + " does not fit");
  }
  return CheckOrder(block, keys_and_versions);
}

Status RowFileReader::CheckOrder(const BlockEntry& block, const std::vector<uint64_t>& keys) const {
  uint64_t before = 0;
  for (uint32_t i = 0; i < block.rows; ++i) {
    const uint64_t hash = HashOf(keys[i]);
    const bool fits = i == 0 ? hash == block.first_hash : hash > before;
    if (!fits) return Damaged("keys are not in order at byte " + std::to_string(block.offset));
    before = hash;
  }
  return before == block.last_hash ? OkStatus()
                                   : Damaged("keys are not in order at byte " + std::to_string(block.offset));
}

Status RowFileReader::ReadBody(const BlockEntry& block, std::string& rows) const {
  rows.resize(BodyBytes(header_, block));
  const uint64_t offset = block.offset + HeadBytes(block);
  RETURN_IF_ERROR(file_->ReadAt(offset, rows));
  if (Crc32c(0, rows) == block.body_crc) return OkStatus();
  return Damaged("the checksum of the " + std::to_string(block.rows) + " rows at byte " + std::to_string(offset) +
                 " does not fit");
}

Status RowFileReader::Verify() const {
  std::vector<uint64_t> keys;
  std::string rows;
  for (const BlockEntry& block : directory_.blocks) {
    RETURN_IF_ERROR(ReadHead(block, keys));
    RETURN_IF_ERROR(ReadBody(block, rows));
  }
  return OkStatus();
}

}  // namespace attune::ps
