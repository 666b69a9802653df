#include "ps/checkpoint/row_merge.h"

namespace attune::ps {

RowMerge::RowMerge(const std::vector<const RowFileReader*>& files, HashRanges ranges, Columns columns)
    : ranges_(std::move(ranges)), columns_(columns) {
  for (const RowFileReader* file : files) {
    const BlockEntry* before = nullptr;
    bool is_open = false;  // the last cursor is of this run
    for (const BlockEntry& block : file->directory().blocks) {
      is_open = is_open && before != nullptr && before->run == block.run;
      before = &block;
      if (!ranges_.Intersects(block.first_hash, block.last_hash)) continue;
      if (!is_open) {
        cursors_.push_back({.file = file, .blocks = {}, .keys_and_versions = {}, .rows = {}});
        is_open = true;
      }
      cursors_.back().blocks.push_back(&block);
      bytes_total_ += BytesOf(*file, block);
    }
  }
  for (size_t i = 0; i < cursors_.size(); ++i) heap_.emplace(cursors_[i].at().first_hash, i);
}

uint64_t RowMerge::BytesOf(const RowFileReader& file, const BlockEntry& block) const {
  return HeadBytes(block) + (columns_ == Columns::kRows ? BodyBytes(file.header(), block) : 0);
}

Status RowMerge::Load(Cursor& cursor) {
  const BlockEntry& block = cursor.at();
  RETURN_IF_ERROR(cursor.file->ReadHead(block, cursor.keys_and_versions));
  if (columns_ == Columns::kRows) RETURN_IF_ERROR(cursor.file->ReadBody(block, cursor.rows));
  bytes_read_ += BytesOf(*cursor.file, block);
  cursor.loaded = true;
  return OkStatus();
}

void RowMerge::Advance(size_t index) {
  Cursor& cursor = cursors_[index];
  if (++cursor.row < cursor.at().rows) {
    heap_.emplace(HashOf(cursor.key()), index);
    return;
  }
  cursor.row = 0;
  cursor.loaded = false;
  if (++cursor.block < cursor.blocks.size()) {
    heap_.emplace(cursor.at().first_hash, index);
  } else {
    cursor.keys_and_versions = {};
    cursor.rows = {};
  }
}

bool RowMerge::Beats(const Cursor& a, const Cursor& b) const {
  if (a.row_version() != b.row_version()) return a.row_version() > b.row_version();
  return a.file->header().checkpoint > b.file->header().checkpoint;
}

StoredRow RowMerge::RowAt(const Cursor& cursor) const {
  StoredRow row{.key = cursor.key(), .row_version = cursor.row_version()};
  row.erased = cursor.at().kind == BlockKind::kErased;
  if (row.erased || columns_ == Columns::kKeys) return row;
  const RowFileHeader& header = cursor.file->header();
  const size_t row_bytes = size_t{header.value_bytes} + header.state_bytes;
  const std::string_view bytes = std::string_view(cursor.rows).substr(cursor.row * row_bytes, row_bytes);
  row.values = bytes.substr(0, header.value_bytes);
  row.state = bytes.substr(header.value_bytes);
  return row;
}

StatusOr<bool> RowMerge::Next(StoredRow& row) {
  for (;;) {
    for (const size_t cursor : given_) Advance(cursor);
    given_.clear();
    if (heap_.empty()) return false;
    const uint64_t hash = heap_.top().first;
    const Cursor* best = nullptr;
    while (!heap_.empty() && heap_.top().first == hash) {
      const size_t index = heap_.top().second;
      heap_.pop();
      given_.push_back(index);
      Cursor& cursor = cursors_[index];
      if (!cursor.loaded) RETURN_IF_ERROR(Load(cursor));
      if (best == nullptr || Beats(cursor, *best)) best = &cursor;
    }
    if (!ranges_.Contains(hash)) continue;
    row = RowAt(*best);
    if (!row.erased) return true;
  }
}

}  // namespace attune::ps
