#include "ps/core/worker/operations/prefetched_rows.h"

#include <utility>

namespace attune::ps {

std::pair<CallId, std::span<float>> PrefetchedRows::Begin(TableId table, uint32_t dim, std::vector<Key>& keys,
                                                          const Asked& asked) {
  const auto place = static_cast<uint32_t>(free_.empty() ? blocks_.size() : free_.back());
  uint32_t count = 0;
  std::erase_if(keys, [&](Key key) {
    const auto [row, is_new] = rows_.Insert({table, key});
    if (is_new) *row = {.block = place, .at = count++};
    return !is_new;
  });
  if (keys.empty()) return {};
  if (free_.empty()) {
    blocks_.emplace_back();
  } else {
    free_.pop_back();
  }
  Block& block = blocks_[place];
  block.table = table;
  block.dim = dim;
  block.keys = keys;
  block.rows.resize(keys.size() * dim);
  block.asked = asked;
  block.here = false;
  block.rows_left = count;
  bytes_ += BytesOf(keys.size(), dim);
  const CallId fetch = std::exchange(next_, next_.Next());
  coming_[fetch] = place;
  return {fetch, block.rows};
}

uint32_t PrefetchedRows::TakeComing(CallId fetch) { return coming_.extract(fetch).mapped(); }

PrefetchedRows::Block PrefetchedRows::Failed(CallId fetch) {
  const uint32_t place = TakeComing(fetch);
  Block block = std::exchange(blocks_[place], {});
  for (const Key key : block.keys) {
    const TableKey row{block.table, key};
    if (const Row* const found = rows_.Find(row); found != nullptr && found->block == place) rows_.Erase(row);
  }
  bytes_ -= BytesOf(block.keys.size(), block.dim);
  free_.push_back(place);
  return block;
}

PrefetchedRows::Found PrefetchedRows::Find(TableKey row, MonotonicTime now, uint64_t floor_needed,
                                           std::span<const float>& values) {
  const Row* const found = rows_.Find(row);
  if (found == nullptr) return Found::kNot;
  const Block& block = blocks_[found->block];
  const bool too_old = now - block.asked.at > block.asked.age_max && !options_.past_age;
  const bool too_early = block.asked.floor < floor_needed && !options_.before_floor;
  if (too_old || too_early) {
    Drop(row);
    return Found::kNot;
  }
  if (!block.here) return Found::kComing;
  values = block.RowAt(found->at);
  return Found::kHere;
}

void PrefetchedRows::Wait(TableKey row, CallId call, uint32_t place) {
  const Row& found = *rows_.Find(row);
  blocks_[found.block].waiters.push_back({.call = call, .place = place, .at = found.at});
}

bool PrefetchedRows::Drop(TableKey row) {
  const Row* const found = rows_.Find(row);
  if (found == nullptr) return false;
  const uint32_t block = found->block;
  rows_.Erase(row);
  --blocks_[block].rows_left;
  Forget(block);
  return true;
}

void PrefetchedRows::DropAll() {
  rows_.Clear();
  for (uint32_t place = 0; place < blocks_.size(); ++place) {
    if (blocks_[place].keys.empty()) continue;
    blocks_[place].rows_left = 0;
    Forget(place);
  }
}

// A block goes with its last row, when nothing is to be written to it any more. Its memory serves the next one.
void PrefetchedRows::Forget(uint32_t place) {
  Block& block = blocks_[place];
  if (!block.here || block.rows_left > 0) return;
  bytes_ -= BytesOf(block.keys.size(), block.dim);
  block.keys.clear();
  free_.push_back(place);
}

}  // namespace attune::ps
