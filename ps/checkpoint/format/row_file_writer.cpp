#include "ps/checkpoint/format/row_file_writer.h"

#include <algorithm>

#include "base/check.h"
#include "ps/checkpoint/format/bytes.h"
#include "ps/checkpoint/format/crc32c.h"

namespace attune::ps {
namespace {

constexpr uint64_t kErasedMax = 1 << 20;  // gathered before they are written

void AppendNumber(std::string& bytes, uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

StatusOr<std::unique_ptr<RowFileWriter>> RowFileWriter::Create(FileSystem& files, const std::filesystem::path& path,
                                                               const RowFileHeader& header, Options options) {
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files.Create(path));
  std::unique_ptr<RowFileWriter> writer(new RowFileWriter(std::move(file), header, std::move(options)));
  RETURN_IF_ERROR(writer->Write(writer->preamble_));
  return writer;
}

RowFileWriter::RowFileWriter(std::unique_ptr<WritableFile> file, const RowFileHeader& header, Options options)
    : file_(std::move(file)),
      header_(header),
      options_(std::move(options)),
      preamble_(EncodePreamble(header)),
      row_bytes_(size_t{header.value_bytes} + header.state_bytes) {}

Status RowFileWriter::Write(std::string_view bytes) {
  if (options_.before_write) RETURN_IF_ERROR(options_.before_write(bytes.size()));
  offset_ += bytes.size();
  return file_->Append(bytes);
}

Status RowFileWriter::Add(const StoredRow& row) {
  if (row.erased) {
    erased_.push_back({.hash = HashOf(row.key), .key = row.key, .row_version = row.row_version, .place = 0});
    return erased_.size() < kErasedMax ? OkStatus() : WriteRuns();
  }
  ATTUNE_CHECK(row.values.size() == header_.value_bytes && row.state.size() == header_.state_bytes)
      << "key " << row.key << " of table '" << header_.table << "' has " << row.values.size() << " and "
      << row.state.size() << " bytes";
  entries_.push_back({.hash = HashOf(row.key),
                      .key = row.key,
                      .row_version = row.row_version,
                      .place = static_cast<uint32_t>(entries_.size())});
  rows_.append(row.values);
  rows_.append(row.state);
  return rows_.size() + entries_.size() * sizeof(Entry) < options_.run_bytes ? OkStatus() : WriteRuns();
}

Status RowFileWriter::WriteRuns() {
  RETURN_IF_ERROR(WriteRun(entries_, BlockKind::kRows));
  RETURN_IF_ERROR(WriteRun(erased_, BlockKind::kErased));
  rows_.clear();
  return OkStatus();
}

Status RowFileWriter::WriteRun(std::vector<Entry>& entries, BlockKind kind) {
  if (entries.empty()) return OkStatus();
  const auto in_order = [](const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.row_version > b.row_version;
  };
  if (!std::is_sorted(entries.begin(), entries.end(), in_order)) std::sort(entries.begin(), entries.end(), in_order);
  // A row that arrived while the snapshot was taken may come twice: the higher version, which is first, stays.
  const auto same_key = [](const Entry& a, const Entry& b) { return a.hash == b.hash; };
  entries.erase(std::unique(entries.begin(), entries.end(), same_key), entries.end());
  const uint32_t rows_max = kind == BlockKind::kRows ? BlockRowsMax(header_) : kBlockRowsMax;
  for (size_t at = 0; at < entries.size(); at += rows_max) {
    const auto rows = static_cast<uint32_t>(std::min<size_t>(rows_max, entries.size() - at));
    RETURN_IF_ERROR(WriteBlock(&entries[at], rows, kind));
  }
  ++next_run_;
  (kind == BlockKind::kRows ? directory_.row_count : directory_.erased_count) += entries.size();
  entries.clear();
  return OkStatus();
}

Status RowFileWriter::WriteBlock(const Entry* entries, uint32_t rows, BlockKind kind) {
  BlockEntry block{.offset = offset_,
                   .first_hash = entries[0].hash,
                   .last_hash = entries[rows - 1].hash,
                   .rows = rows,
                   .run = next_run_,
                   .kind = kind};
  block_.clear();
  for (uint32_t i = 0; i < rows; ++i) AppendNumber(block_, entries[i].key);
  for (uint32_t i = 0; i < rows; ++i) AppendNumber(block_, entries[i].row_version);
  const size_t head_bytes = block_.size();
  if (kind == BlockKind::kRows) {
    for (uint32_t i = 0; i < rows; ++i) block_.append(rows_, entries[i].place * row_bytes_, row_bytes_);
  }
  block.head_crc = Crc32c(0, std::string_view(block_).substr(0, head_bytes));
  block.body_crc = Crc32c(0, std::string_view(block_).substr(head_bytes));
  directory_.blocks.push_back(block);
  return Write(block_);
}

StatusOr<RowFileSummary> RowFileWriter::Finish() {
  RETURN_IF_ERROR(WriteRuns());
  RETURN_IF_ERROR(Write(EncodeDirectory(directory_, preamble_, offset_)));
  RETURN_IF_ERROR(file_->Sync());
  RETURN_IF_ERROR(file_->Close());
  return RowFileSummary{
      .rows = directory_.row_count, .erased = directory_.erased_count, .bytes = offset_, .digest = directory_.digest};
}

}  // namespace attune::ps
