// Which rows of those that a program has announced are to be fetched now: those of the steps that a fetch takes, unless
// what is fetched so early may not be read then (it would be too old, or the pace asks for newer values). Pure.
// Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/time_source.h"
#include "ps/core/intent/intent_book.h"
#include "ps/core/intent/look_ahead_window.h"
#include "ps/core/intent/step_point.h"
#include "ps/core/intent/step_rate.h"

namespace attune::ps {

class AnnouncedRows {
 public:
  explicit AnnouncedRows(size_t uses_max) : book_(uses_max) {}

  // See IntentBook::Add. `age_max`: of the table's rows when they are read; zero: they are not fetched.
  IntentBook::Added Add(TableId table, std::span<const Key> keys, uint64_t begin, uint64_t end, Access access,
                        Duration age_max, const StepPoint& at);
  // Rows that have come within reach since the last call, each once, and those to be fetched again.
  std::map<TableId, std::vector<Key>> Due(const StepPoint& at);
  // What was fetched of a row is of no use any more. It is due again with the next step if a later one uses it.
  void Lost(TableKey row, const StepPoint& at) {
    if (book_.IsUsedAfter(row, at.clock)) again_[row.table].push_back(row.key);
  }
  // None before the first announcement of the table, or when its rows are not to be fetched.
  std::optional<Duration> AgeMaxOf(TableId table) const;

  void StepBegan(MonotonicTime now) { rate_.Began(now); }
  void StepEnded(MonotonicTime now) { rate_.Ended(now); }
  void Fetched(Duration took) { window_.Fetched(took); }

  // W: so many steps ahead rows are fetched, where age and pace permit it.
  uint64_t steps_ahead() const { return steps_ahead_; }
  bool empty() const { return book_.empty(); }

 private:
  std::optional<uint64_t> LastStepInReach(const StepPoint& at);

  IntentBook book_;
  StepRate rate_;
  LookAheadWindow window_;
  uint64_t steps_ahead_ = 1;
  std::map<TableId, Duration> age_max_;
  std::map<TableId, std::vector<Key>> again_;
};

}  // namespace attune::ps
