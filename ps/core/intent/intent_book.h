// What a worker's program has announced: which rows its next steps touch. Threads that announce the same row are
// merged. A use waits until its first step comes within reach, is then in reach until its last step has ended, and
// takes 16 bytes all the while. While announcements are ignored the book keeps the uses and knows of no row in reach.
//
//   book.Add(table, keys, step + 3, step + 4, Access::kReadWrite, step);
//   for (TableKey row : book.Advance(step, step + 8).came) ...
//
// Steps are those of Session::clock(). Pure. Externally synchronized.
#pragma once

#include <algorithm>
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

  // Of the uses of one row that are within reach.
  struct Touches {
    uint32_t reads = 0, writes = 0;  // steps that do
    uint64_t end = 0;                // of the last of them
    uint32_t closest = kNever32;     // steps from one of these to the next, at least; kept until the last use has ended
    static constexpr uint32_t kNever32 = ~uint32_t{0};
    uint32_t most() const { return std::max(reads, writes); }
  };
  // What a step has changed about which rows are within reach.
  struct Reached {
    std::vector<TableKey> came;      // and were not by another use
    std::vector<TableKey> repeated;  // more than one step touches them, and there is one use more than before
    std::vector<TableKey> ended;     // are within reach no more
  };
  // `clock` is in progress, uses that begin by `until` are within reach, which may fall. `ignored`: no row is. The
  // result is valid until the next call.
  const Reached& Advance(uint64_t clock, uint64_t until, bool ignored = false);
  // A use within reach has not ended.
  bool IsInReach(TableKey row) const { return rows_.Contains(row); }
  Touches TouchesOf(TableKey row) const {
    const Row* const found = rows_.Find(row);
    return found == nullptr ? Touches{} : found->touches;
  }
  // One of its uses ends after this step.
  bool IsUsedAfter(TableKey row, uint64_t step) const {
    const Row* const found = rows_.Find(row);
    return found != nullptr && found->touches.end > step + 1;
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
    uint32_t uses = 0;   // within reach
    uint64_t begin = 0;  // of the one that came last
    Touches touches;
  };

  static constexpr uint32_t kStepsCounted = 1U << 12;  // of one use, so that sums do not wrap
  static TableKey RowOf(const Use& use) { return {TableId(use.table), use.key}; }
  void PrefetchEntry(const std::vector<Use>& uses, size_t i) const {
    if (i < uses.size()) rows_.PrefetchEntry(RowOf(uses[i]));
  }
  static void Count(const Use& use, int32_t sign, Touches& touches);
  void SetIgnored(bool ignored);
  void Forget(uint64_t clock);
  void TakeFirst(uint64_t clock);
  void Enter(const Use& use, uint64_t end);

  const size_t uses_max_;
  size_t uses_ = 0;
  std::map<uint64_t, std::vector<Use>> ahead_;    // by their first step
  std::map<uint64_t, std::vector<Use>> reached_;  // by the step after their last one
  bool ignored_ = false;
  KeyMap<Row> rows_;  // those of reached_; none while ignored_
  Reached changed_;   // scratch
};

}  // namespace attune::ps
