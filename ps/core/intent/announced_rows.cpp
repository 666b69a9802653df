#include "ps/core/intent/announced_rows.h"

#include <algorithm>
#include <utility>

namespace attune::ps {

IntentBook::Added AnnouncedRows::Add(TableId table, std::span<const Key> keys, uint64_t begin, uint64_t end,
                                     Access access, Duration age_max, const StepPoint& at) {
  age_max_[table] = age_max;
  was_announced_ = true;
  return book_.Add(table, keys, begin, end, access, at.clock);
}

AnnouncedRows::News AnnouncedRows::Advance(const StepPoint& at) {
  News news;
  const std::optional<uint64_t> last = LastStepInReach(at);
  const IntentBook::Reached& reached = book_.Advance(at.clock, last.value_or(at.clock), ignored_);
  news.ended = reached.ended;
  for (auto& again : std::exchange(again_, {})) {
    const TableId table = again.first;
    // The step for which a row was lost may have been the last one that it was announced for.
    std::erase_if(again.second, [&](Key key) { return !book_.IsInReach({table, key}); });
    if (!again.second.empty()) news.due.insert(std::move(again));
  }
  if (!last) return news;
  for (const TableKey row : reached.came) {
    if (AgeMaxOf(row.table)) news.due[row.table].push_back(row.key);
  }
  for (const TableKey row : reached.repeated) {
    if (AgeMaxOf(row.table)) news.repeated.push_back(row);
  }
  return news;
}

std::optional<Duration> AnnouncedRows::AgeMaxOf(TableId table) const {
  const auto found = age_max_.find(table);
  if (found == age_max_.end() || found->second <= Duration::zero()) return std::nullopt;
  return found->second;
}

// None: what the next step needs is not to be fetched before it begins.
std::optional<uint64_t> AnnouncedRows::LastStepInReach(const StepPoint& at) {
  const double rate = rate_.per_second();
  uint64_t ahead = steps_ahead_ = window_.Steps(rate);
  Duration age = Duration::max();
  for (const auto& [table, age_max] : age_max_) {
    if (age_max > Duration::zero()) age = std::min(age, age_max);
  }
  // Half of the allowed age is left for steps that take longer than those before.
  if (rate > 0) ahead = static_cast<uint64_t>(std::min(static_cast<double>(ahead), rate * Seconds(age) / 2));
  if (at.mode.bounded()) {
    const uint64_t readable = at.floor + *at.mode.slack;
    ahead = readable > at.step ? std::min(ahead, readable - at.step) : 0;
  }
  if (ahead == 0) return std::nullopt;
  return at.clock + ahead;
}

}  // namespace attune::ps
