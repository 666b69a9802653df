// Which rows of those that a program has announced are to be fetched now: those of the steps that a fetch takes, unless
// what is fetched so early may not be read then (it would be too old, or the pace asks for newer values), or
// announcements are ignored (announcement_trial.h). Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
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
  struct News {
    // Rows that have come within reach, each once, and those to be fetched again.
    std::map<TableId, std::vector<Key>> due;
    std::vector<TableKey> repeated;  // more than one step within reach touches them: a copy may pay
    std::vector<TableKey> ended;     // none does any more
  };
  // Since the last call.
  News Advance(const StepPoint& at);
  IntentBook::Touches TouchesOf(TableKey row) const { return book_.TouchesOf(row); }
  // What was fetched of a row is of no use any more. It is due again with the next step if a later one uses it.
  void Lost(TableKey row, const StepPoint& at) {
    if (book_.IsUsedAfter(row, at.clock)) again_[row.table].push_back(row.key);
  }
  // The same, but the step in progress may still use it: it is due again unless it is out of reach by then.
  void LostEarly(TableKey row) {
    if (book_.IsInReach(row)) again_[row.table].push_back(row.key);
  }
  // None before the first announcement of the table, or when its rows are not to be fetched.
  std::optional<Duration> AgeMaxOf(TableId table) const;

  void StepBegan(MonotonicTime now) { rate_.Began(now); }
  void StepEnded(MonotonicTime now) { rate_.Ended(now); }
  void Fetched(Duration took) { window_.Fetched(took); }
  double steps_per_second() const { return rate_.per_second(); }
  // What is fetched with one step is usually here with the one that comes so many steps later.
  double steps_of_fetch() const { return 1 + rate_.per_second() * Seconds(window_.usual_fetch_time()); }

  // W: so many steps ahead rows are fetched, where age and pace permit it.
  uint64_t steps_ahead() const { return steps_ahead_; }
  bool empty() const { return book_.empty(); }
  // From the next Advance on no announced row is within reach, or those of the steps in reach are again. Returns
  // whether this is a change.
  bool SetIgnored(bool ignored) { return std::exchange(ignored_, ignored) != ignored; }
  // Rows were announced since the last call, or there are some that lie ahead.
  bool TakeAnnounces() { return std::exchange(was_announced_, false) || !empty(); }

 private:
  std::optional<uint64_t> LastStepInReach(const StepPoint& at);

  IntentBook book_;
  StepRate rate_;
  bool ignored_ = false, was_announced_ = false;
  LookAheadWindow window_;
  uint64_t steps_ahead_ = 1;
  std::map<TableId, Duration> age_max_;
  std::map<TableId, std::vector<Key>> again_;
};

}  // namespace attune::ps
