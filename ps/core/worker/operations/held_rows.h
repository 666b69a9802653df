// Copies of rows that a worker has (replicas): values and optimizer state as the row's home had them, and what this
// worker has pushed to them since. Folds of that are for the home (ps/store/fold.h).
//
// Memory of a copy beside its values and state, and the same again as the base of its fold: at most 48 bytes. Pure.
// Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ps/store/fold.h"
#include "ps/store/row_version.h"
#include "ps/types/table_options.h"

namespace attune::ps {

// The copies of one table.
class HeldRows {
 public:
  using Place = uint32_t;

  explicit HeldRows(const TableOptions& options);

  size_t row_floats() const { return formula_.row_floats(); }
  size_t fold_floats() const { return formula_.fold_floats(); }
  // What one more copy takes.
  size_t row_bytes() const { return 2 * row_floats() * sizeof(float) + kBytesPerRow; }
  static constexpr size_t kBytesPerRow = 48;

  // `row`: values, then state.
  Place Add(std::span<const float> row, RowVersion version);
  void Remove(Place place);
  // The home's row has come, which contains all folds that were taken.
  void Refresh(Place place, std::span<const float> row, RowVersion version);

  // See KeyMap::PrefetchEntry.
  void Prefetch(Place place) const;
  std::span<const float> ValuesAt(Place place) const { return RowAt(place).first(dim_); }
  RowVersion VersionAt(Place place) const { return slots_[place].version; }
  // `step`: for the schedule of the learning rate. True: it is the first push since the last fold.
  bool Push(Place place, std::span<const float> gradient, uint64_t step);
  bool HasOpen(Place place) const { return slots_[place].open.pushes > 0; }
  // Of the open pushes, of which there must be some.
  FoldCounts TakeFold(Place place, std::span<float> changes);
  // A push of this gradient would be refused as a whole.
  bool Refuses(std::span<const float> gradients) const { return refuses_ && !formula_.AllFinite(gradients); }

  size_t size() const { return slots_.size() - free_.size(); }

 private:
  struct Slot {
    RowVersion version;
    FoldCounts open;
  };
  static constexpr size_t kRowsPerBlock = 64;

  std::span<float> RowAt(Place place) const { return Half(place, 0); }
  std::span<float> Half(Place place, size_t half) const {
    float* const block = blocks_[place / kRowsPerBlock].get();
    return {block + (2 * (place % kRowsPerBlock) + half) * row_floats(), row_floats()};
  }
  // Runs change(HeldRow&) and keeps what it has made of version and open pushes.
  template <typename Change>
  auto Changing(Place place, Change&& change);

  const FoldFormula formula_;
  const size_t dim_;
  const bool refuses_;  // gradients that are not finite
  std::vector<Slot> slots_;
  std::vector<Place> free_;
  std::vector<std::unique_ptr<float[]>> blocks_;
};

}  // namespace attune::ps
