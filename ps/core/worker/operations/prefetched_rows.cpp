#include "ps/core/worker/operations/prefetched_rows.h"

#include <utility>

namespace attune::ps {

std::pair<CallId, std::span<float>> PrefetchedRows::Begin(TableId table, uint32_t dim, std::vector<Key> keys,
                                                          const Asked& asked) {
  const CallId fetch = std::exchange(next_, next_.Next());
  ++coming_;
  Block& block = blocks_[fetch];
  block.table = table;
  block.dim = dim;
  block.keys = std::move(keys);
  block.rows.resize(block.keys.size() * dim);
  block.asked = asked;
  block.rows_left = static_cast<uint32_t>(block.keys.size());
  bytes_ += BytesOf(block.keys.size(), dim);
  for (uint32_t at = 0; at < block.keys.size(); ++at) rows_[{table, block.keys[at]}] = {.fetch = fetch, .at = at};
  return {fetch, block.rows};
}

PrefetchedRows::Block PrefetchedRows::Failed(CallId fetch) {
  const auto it = blocks_.find(fetch);
  for (const Key key : it->second.keys) {
    const TableKey row{it->second.table, key};
    if (const Row* const found = rows_.Find(row); found != nullptr && found->fetch == fetch) rows_.Erase(row);
  }
  bytes_ -= BytesOf(it->second.keys.size(), it->second.dim);
  Block block = std::move(it->second);
  blocks_.erase(it);
  --coming_;
  return block;
}

PrefetchedRows::Found PrefetchedRows::Find(TableKey row, MonotonicTime now, uint64_t floor_needed,
                                           std::span<const float>& values) {
  const Row* const found = rows_.Find(row);
  if (found == nullptr) return Found::kNot;
  const Block& block = blocks_.at(found->fetch);
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
  blocks_.at(found.fetch).waiters.push_back({.call = call, .place = place, .at = found.at});
}

void PrefetchedRows::Drop(TableKey row) {
  const Row* const found = rows_.Find(row);
  if (found == nullptr) return;
  const auto block = blocks_.find(found->fetch);
  rows_.Erase(row);
  --block->second.rows_left;
  Forget(block);
}

void PrefetchedRows::DropAll() {
  rows_.Clear();
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const auto block = it++;
    block->second.rows_left = 0;
    Forget(block);
  }
}

// A block goes with its last row, when nothing is to be written to it any more.
void PrefetchedRows::Forget(std::unordered_map<CallId, Block>::iterator block) {
  if (!block->second.here || block->second.rows_left > 0) return;
  bytes_ -= BytesOf(block->second.keys.size(), block->second.dim);
  blocks_.erase(block);
}

}  // namespace attune::ps
