// The rows of one table out of all files that hold some of them: every key once, in ascending order of its hash, the
// highest row version of it (of equal versions that of the later checkpoint). A key whose highest version is an erasure
// does not appear. Memory: a block per run of each file that overlaps, about 1/128 of the bytes. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ps/checkpoint/format/row_file_reader.h"
#include "ps/checkpoint/hash_ranges.h"

namespace attune::ps {

class RowMerge {
 public:
  enum class Columns : uint8_t { kKeys, kRows };  // keys and versions only: reads a small part of the files

  // Files are kept alive by the caller.
  RowMerge(const std::vector<const RowFileReader*>& files, HashRanges ranges, Columns columns = Columns::kRows);

  // False: no more rows. `row` points into memory that lives until the next call.
  StatusOr<bool> Next(StoredRow& row);

  // Bytes of blocks read so far, and of those there are to read.
  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t bytes_total() const { return bytes_total_; }

 private:
  struct Cursor {  // a run of a file
    const RowFileReader* file = nullptr;
    std::vector<const BlockEntry*> blocks;  // those with rows that are wanted
    size_t block = 0;
    bool loaded = false;
    uint32_t row = 0;
    std::vector<uint64_t> keys_and_versions;
    std::string rows;

    const BlockEntry& at() const { return *blocks[block]; }
    Key key() const { return keys_and_versions[row]; }
    uint64_t row_version() const { return keys_and_versions[size_t{at().rows} + row]; }
  };
  using Place = std::pair<uint64_t, size_t>;  // (hash, cursor)

  uint64_t BytesOf(const RowFileReader& file, const BlockEntry& block) const;
  Status Load(Cursor& cursor);
  // Puts the cursor back into the heap at its next row, if there is one.
  void Advance(size_t cursor);
  bool Beats(const Cursor& a, const Cursor& b) const;
  StoredRow RowAt(const Cursor& cursor) const;

  const HashRanges ranges_;
  const Columns columns_;
  std::vector<Cursor> cursors_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> heap_;
  std::vector<size_t> given_;  // cursors at the row given last
  uint64_t bytes_read_ = 0, bytes_total_ = 0;
};

}  // namespace attune::ps
