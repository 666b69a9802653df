#include "ps/core/intent/intent_book.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace attune::ps {

IntentBook::Added IntentBook::Add(TableId table, std::span<const Key> keys, uint64_t begin, uint64_t end, Access access,
                                  uint64_t clock) {
  Added added;
  if (begin <= clock) added.late = keys.size();
  if (end <= clock) return added;
  const size_t room = std::min(keys.size(), uses_max_ - uses_);
  added.refused = keys.size() - room;
  if (room == 0) return added;
  std::vector<Use>& bucket = ahead_[begin];
  const uint64_t steps = std::min<uint64_t>(end - begin, std::numeric_limits<uint32_t>::max());
  for (const Key key : keys.first(room)) {
    bucket.push_back({.key = key,
                      .table = table.value(),
                      .access = static_cast<uint32_t>(access),
                      .steps = static_cast<uint32_t>(steps)});
  }
  uses_ += room;
  return added;
}

void IntentBook::Forget(uint64_t clock) {
  while (!reached_.empty() && reached_.begin()->first <= clock) {
    for (const Use& use : reached_.begin()->second) {
      const TableKey row{TableId(use.table), use.key};
      if (--rows_.Find(row)->uses == 0) rows_.Erase(row);
    }
    uses_ -= reached_.begin()->second.size();
    reached_.erase(reached_.begin());
  }
}

void IntentBook::TakeFirst(uint64_t clock) {
  const auto first = ahead_.extract(ahead_.begin());
  for (const Use& use : first.mapped()) {
    const uint64_t end = first.key() + use.steps;
    if (end <= clock) {
      --uses_;
      continue;
    }
    reached_[end].push_back(use);
    const TableKey row{TableId(use.table), use.key};
    Row& known = rows_[row];
    if (known.uses++ == 0) came_.push_back(row);
    known.end = std::max(known.end, end);
  }
}

void IntentBook::Clear() {
  ahead_.clear();
  reached_.clear();
  rows_.Clear();
  uses_ = 0;
}

}  // namespace attune::ps
