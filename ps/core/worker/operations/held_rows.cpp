#include "ps/core/worker/operations/held_rows.h"

#include <algorithm>

#include "base/check.h"

namespace attune::ps {

HeldRows::HeldRows(const TableOptions& options)
    : formula_(options), dim_(options.dim), refuses_(options.non_finite_gradients == NonFiniteGradients::kRefusePush) {}

HeldRows::Place HeldRows::Add(std::span<const float> row, RowVersion version) {
  if (free_.empty()) {
    const auto place = static_cast<Place>(slots_.size());
    if (place % kRowsPerBlock == 0) {
      blocks_.push_back(std::make_unique_for_overwrite<float[]>(2 * kRowsPerBlock * row_floats()));
    }
    slots_.emplace_back();
    free_.push_back(place);
  }
  const Place place = free_.back();
  free_.pop_back();
  ATTUNE_CHECK(row.size() == row_floats()) << row.size() << " floats of a row that has " << row_floats();
  std::ranges::copy(row, RowAt(place).begin());
  slots_[place] = {.version = version, .open = {}};
  return place;
}

void HeldRows::Prefetch(Place place) const {
  constexpr size_t kCacheLine = 64 / sizeof(float);
  const std::span<const float> row = RowAt(place);
  for (size_t at = 0; at < row.size(); at += kCacheLine) __builtin_prefetch(&row[at]);
  __builtin_prefetch(&slots_[place]);
}

void HeldRows::Remove(Place place) { free_.push_back(place); }

template <typename Change>
auto HeldRows::Changing(Place place, Change&& change) {
  Slot& slot = slots_[place];
  HeldRow held{.version = slot.version, .open = slot.open, .row = RowAt(place), .base = Half(place, 1)};
  const auto result = change(held);
  slot = {.version = held.version, .open = held.open};
  return result;
}

void HeldRows::Refresh(Place place, std::span<const float> row, RowVersion version) {
  Changing(place, [&](HeldRow& held) {
    formula_.Refresh(held, row, version, nullptr);
    return true;
  });
}

bool HeldRows::Push(Place place, std::span<const float> gradient, uint64_t step) {
  const bool is_first = !HasOpen(place);
  Changing(place, [&](HeldRow& held) { return formula_.Push(held, gradient, step); });
  return is_first;
}

FoldCounts HeldRows::TakeFold(Place place, std::span<float> changes) {
  return Changing(place, [&](HeldRow& held) { return formula_.Take(held, changes); });
}

}  // namespace attune::ps
