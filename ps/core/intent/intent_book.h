// What a worker's program has announced: which rows its next steps touch. Threads that announce the same row are
// merged. A use waits until its first step comes within reach, is then in reach until its last step has ended, and
// takes 16 bytes all the while.
//
//   book.Add(table, keys, step + 3, step + 4, Access::kReadWrite, step);
//   book.Advance(step, step + 8, [&](TableKey row) { ... });  // rows that have come within reach
//
// Steps are those of Session::clock(). Pure. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/types/access.h"

namespace attune::ps {

class IntentBook {
 public:
  explicit IntentBook(size_t uses_max) : uses_max_(uses_max) {}

  struct Added {
    uint64_t late = 0;     // their first step had begun; those whose last step had ended are forgotten
    uint64_t refused = 0;  // for want of room
  };
  // Steps [begin, end) touch these rows; requires begin < end. `clock`: the step in progress. Keys may repeat.
  Added Add(TableId table, std::span<const Key> keys, uint64_t begin, uint64_t end, Access access, uint64_t clock);

  // `clock` is in progress, uses that begin by `until` are within reach. visit(TableKey) for each row that comes within
  // reach and was not by another use. `until` may fall.
  template <typename Visit>
  void Advance(uint64_t clock, uint64_t until, Visit&& visit) {
    Forget(clock);
    while (!ahead_.empty() && ahead_.begin()->first <= until) {
      came_.clear();
      TakeFirst(clock);
      for (const TableKey row : came_) visit(row);
    }
  }
  // A use within reach has not ended.
  bool IsInReach(TableKey row) const { return rows_.Contains(row); }
  // One of its uses ends after this step.
  bool IsUsedAfter(TableKey row, uint64_t step) const {
    const Row* const found = rows_.Find(row);
    return found != nullptr && found->end > step + 1;
  }

  size_t uses() const { return uses_; }
  bool empty() const { return uses_ == 0; }
  void Clear();

 private:
  struct Use {
    Key key = 0;
    uint32_t table : 30 = 0;
    uint32_t access : 2 = 0;
    uint32_t steps = 0;  // from its first one on
  };
  static_assert(sizeof(Use) == 16);
  struct Row {
    uint32_t uses = 0;  // within reach
    uint64_t end = 0;   // of the last of them
  };

  void Forget(uint64_t clock);
  void TakeFirst(uint64_t clock);

  const size_t uses_max_;
  size_t uses_ = 0;
  std::map<uint64_t, std::vector<Use>> ahead_;    // by their first step
  std::map<uint64_t, std::vector<Use>> reached_;  // by the step after their last one
  KeyMap<Row> rows_;                              // those of reached_
  std::vector<TableKey> came_;                    // scratch
};

}  // namespace attune::ps
