#include "ps/core/rows/state/row_directory.h"

#include <algorithm>
#include <utility>

namespace attune::ps {

void RowDirectory::Set(TableKey row, uint32_t shard, Entry entry) {
  const auto [place, is_new] = entries_.Insert(row);
  if (!is_new) {
    if (place->called_back) --called_back_;
    entry.fetching = entry.fetching || place->fetching;
  }
  if (entry.called_back) ++called_back_;
  *place = entry;
  if (!is_new) return;
  by_table_.resize(std::max<size_t>(by_table_.size(), row.table.value()));
  ++by_table_[row.table.value() - 1];
  ++by_shard_[shard];
}

void RowDirectory::Redirect(TableKey row, NodeId to, uint16_t move_number, bool call_back) {
  Entry* const entry = entries_.Find(row);
  *entry = {.owner = to, .move_number = move_number, .called_back = call_back, .fetching = entry->fetching};
  if (call_back) ++called_back_;
}

bool RowDirectory::Erase(TableKey row, uint32_t shard) {
  const Entry* entry = entries_.Find(row);
  if (entry == nullptr) return false;
  if (entry->called_back) --called_back_;
  entries_.Erase(row);
  --by_table_[row.table.value() - 1];
  --by_shard_[shard];
  return true;
}

void RowDirectory::MarkSent(TableKey row, NodeId to, uint16_t move_number) {
  Entry* const entry = entries_.Find(row);
  if (entry != nullptr && entry->owner == to && entry->move_number == move_number) entry->sent_by_me = true;
}

bool RowDirectory::EndFetch(TableKey row) {
  Entry* const entry = entries_.Find(row);
  return entry != nullptr && std::exchange(entry->fetching, false);
}

void RowDirectory::ForgetComing() {
  entries_.ForEach([](TableKey, Entry& entry) { entry.called_back = entry.fetching = false; });
  called_back_ = 0;
}

}  // namespace attune::ps
