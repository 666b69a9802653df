// Blocks of equally many floats, given and taken back one at a time, in pieces of memory that many share. For rows of a
// table whose number rises and falls. Blocks do not move. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace attune::ps {

class FloatBlocks {
 public:
  explicit FloatBlocks(size_t floats) : floats_(floats) {}

  size_t floats() const { return floats_; }  // of a block
  size_t block_bytes() const { return floats_ * sizeof(float); }

  uint32_t Take() {
    if (free_.empty()) AddPiece();
    const uint32_t block = free_.back();
    free_.pop_back();
    return block;
  }
  void Give(uint32_t block) { free_.push_back(block); }
  std::span<float> At(uint32_t block) const {
    const size_t in_piece = block % blocks_per_piece_;
    return {pieces_[block / blocks_per_piece_].get() + in_piece * floats_, floats_};
  }

 private:
  static constexpr size_t kPieceFloats = 1 << 14;

  void AddPiece() {
    const auto first = static_cast<uint32_t>(pieces_.size() * blocks_per_piece_);
    pieces_.push_back(std::make_unique<float[]>(blocks_per_piece_ * floats_));
    for (size_t i = blocks_per_piece_; i-- > 0;) free_.push_back(first + static_cast<uint32_t>(i));
  }

  const size_t floats_;
  const size_t blocks_per_piece_ = std::max<size_t>(1, kPieceFloats / std::max<size_t>(1, floats_));
  std::vector<std::unique_ptr<float[]>> pieces_;
  std::vector<uint32_t> free_;
};

}  // namespace attune::ps
