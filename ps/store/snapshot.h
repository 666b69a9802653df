// Bookkeeping of a copy-on-write snapshot: how far it has come in the order of hashes, and the rows that changed before
// it came to them, copied aside as they were at the mark. The store asks before every change; without a snapshot that
// costs one comparison.
//
// Threads: Save, Flag, has_saved and memory_bytes may be called by several at once; everything else by one at a time,
// and by none while others do that. Of these, those that take saved rows away do without the mutex, and are left out of
// the thread-safety analysis: the order of calls is what makes them right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "ps/store/row_layout.h"
#include "ps/store/row_slabs.h"

namespace attune::ps {

enum RowFlag : uint8_t {
  kChanged = 1,  // since the last mark
  kSaved = 2,  // the snapshot in progress does not need this row any more: it is copied aside, or younger than the mark
};

class Snapshot {
 public:
  explicit Snapshot(const RowLayout& layout) : layout_(layout) {}

  bool active() const { return active_; }
  // Not yet come to: a change of such a row needs it saved first.
  bool IsAhead(uint64_t hash) const { return active_ && !at_end_ && hash >= next_hash_; }

  void Begin();
  // Forgets what is left; `forget(key)` is called for each key whose row may still have kSaved.
  template <typename Forget>
  void End(Forget&& forget) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (const Key key : flagged_) forget(key);
    Clear();
  }

  // The row at the mark. The caller sets kSaved.
  void Save(Key key, const SideRecord& side, const std::byte* row, const float* row_state, bool changed);
  // A row not of this store's state at the mark, or none: its key alone is remembered, because it will carry kSaved.
  void Flag(Key key);
  void Add(const RowView& row);

  // Takes one saved row: visit(RowView, changed); false when there is none.
  template <typename Visitor>
  bool TakeSaved(Visitor&& visit) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (saved_.empty()) return false;
    const Saved& row = saved_.front();
    std::vector<float> scratch;
    visit(layout_.View(row.key, row.side, row.bytes.get(), RowStateOf(row), scratch), row.changed);
    saved_.pop_front();
    return true;
  }

  // Moves the front past some `rows` of `row_count`: the range of hashes to visit now. False at the end.
  bool Advance(uint64_t rows, uint64_t row_count, uint64_t* first, uint64_t* last);
  bool at_end() const { return at_end_; }
  bool has_saved() const {
    const MutexLock lock(mutex_);
    return !saved_.empty();
  }

  uint64_t memory_bytes() const;

 private:
  struct Saved {
    Key key;
    SideRecord side;
    bool changed;
    std::unique_ptr<std::byte[]> bytes;  // the row, then row_state
  };
  std::unique_ptr<std::byte[]> NewRow() const;
  float* RowStateOf(const Saved& row) const;
  void Clear() ABSL_NO_THREAD_SAFETY_ANALYSIS;

  const RowLayout& layout_;
  bool active_ = false;
  bool at_end_ = false;
  uint64_t next_hash_ = 0;
  mutable Mutex mutex_;
  std::deque<Saved> saved_ ABSL_GUARDED_BY(mutex_);
  std::vector<Key> flagged_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::ps
