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

const IntentBook::Reached& IntentBook::Advance(uint64_t clock, uint64_t until, bool ignored) {
  changed_.came.clear();
  changed_.repeated.clear();
  changed_.ended.clear();
  Forget(clock);
  if (ignored != ignored_) SetIgnored(ignored);
  while (!ahead_.empty() && ahead_.begin()->first <= (ignored ? clock : until)) TakeFirst(clock);
  return changed_;
}

void IntentBook::SetIgnored(bool ignored) {
  ignored_ = ignored;
  if (ignored) {
    rows_.ForEach([&](TableKey row, const Row&) { changed_.ended.push_back(row); });
    rows_.Clear();
    return;
  }
  for (const auto& [end, uses] : reached_) {
    for (const Use& use : uses) Enter(use, end);
  }
}

void IntentBook::Forget(uint64_t clock) {
  while (!reached_.empty() && reached_.begin()->first <= clock) {
    const std::vector<Use>& uses = reached_.begin()->second;
    for (size_t i = 0; i < uses.size() && !ignored_; ++i) {
      PrefetchEntry(uses, i + kPrefetchDistance);
      const Use& use = uses[i];
      const TableKey row = RowOf(use);
      Row& known = *rows_.Find(row);
      Count(use, -1, known.touches);
      if (--known.uses > 0) continue;
      rows_.Erase(row);
      changed_.ended.push_back(row);
    }
    uses_ -= uses.size();
    reached_.erase(reached_.begin());
  }
}

void IntentBook::TakeFirst(uint64_t clock) {
  const auto first = ahead_.extract(ahead_.begin());
  const std::vector<Use>& uses = first.mapped();
  std::vector<Use>* bucket = nullptr;  // of those that end with the use before
  uint64_t bucket_end = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (!ignored_) PrefetchEntry(uses, i + kPrefetchDistance);
    const Use& use = uses[i];
    const uint64_t end = first.key() + use.steps;
    if (end <= clock) {
      --uses_;
      continue;
    }
    if (bucket == nullptr || end != bucket_end) bucket = &reached_[bucket_end = end];
    bucket->push_back(use);
    if (!ignored_) Enter(use, end);
  }
}

void IntentBook::Enter(const Use& use, uint64_t end) {
  const TableKey row = RowOf(use);
  const uint64_t begin = end - use.steps;
  Row& known = rows_[row];
  if (known.uses++ == 0) {
    changed_.came.push_back(row);
  } else if (begin > known.begin) {
    known.touches.closest = static_cast<uint32_t>(std::min<uint64_t>(begin - known.begin, known.touches.closest));
  }
  if (use.steps > 1) known.touches.closest = 1;
  known.begin = std::max(known.begin, begin);
  Count(use, 1, known.touches);
  known.touches.end = std::max(known.touches.end, end);
  if (known.touches.most() > 1) changed_.repeated.push_back(row);
}

void IntentBook::Count(const Use& use, int32_t sign, Touches& touches) {
  const auto access = static_cast<Access>(use.access);
  const uint32_t steps = std::min(use.steps, kStepsCounted);
  if (access != Access::kWrite) touches.reads += static_cast<uint32_t>(sign) * steps;
  if (access != Access::kRead) touches.writes += static_cast<uint32_t>(sign) * steps;
}

void IntentBook::Clear() {
  ahead_.clear();
  reached_.clear();
  rows_.Clear();
  uses_ = 0;
}

}  // namespace attune::ps
