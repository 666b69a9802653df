// Where the rows are that this node is the home of and that are not here: an entry for each row that another node owns
// or will own, or that is on its way back. A row without an entry is here. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

class RowDirectory {
 public:
  struct Entry {
    NodeId owner;  // this node: the row is on its way here
    uint16_t move_number = 0;
    bool sent_by_me = false;   // this very move left from here
    bool called_back = false;  // counted in called_back()
    bool fetching = false;     // comes from the backup
  };

  // Before anything else. Shards are numbered from 0.
  void SetShards(uint32_t count) { by_shard_.resize(count); }

  const Entry* Find(TableKey row) const { return entries_.Find(row); }
  bool Contains(TableKey row) const { return entries_.Contains(row); }
  // Where Find or Set of this row soon looks.
  void PrefetchEntry(TableKey row) const { entries_.PrefetchEntry(row); }
  // A row that comes from the backup still comes from there first, whatever is set meanwhile.
  void Set(TableKey row, uint32_t shard, Entry entry);
  // The row of an entry, which must be there, and which is not called back, goes to another owner next.
  void Redirect(TableKey row, NodeId to, uint16_t move_number, bool call_back);
  // Returns whether there was one.
  bool Erase(TableKey row, uint32_t shard);
  // The row has left this node for its owner by the move that the entry is about; nothing when it is about another one.
  void MarkSent(TableKey row, NodeId to, uint16_t move_number);
  // The row, or the answer that there is none, has come from the backup. False when it was not fetched.
  bool EndFetch(TableKey row);
  // EndFetch for all rows for which `predicate(TableKey)` holds; returns those that were fetched.
  template <typename Predicate>
  std::vector<TableKey> EndFetchesIf(Predicate&& predicate) {
    std::vector<TableKey> ended;
    entries_.ForEach([&](TableKey row, Entry& entry) {
      if (!entry.fetching || !predicate(row)) return;
      entry.fetching = false;
      ended.push_back(row);
    });
    return ended;
  }
  // A recovery begins: what was called back or fetched before it does not come any more.
  void ForgetComing();

  uint32_t InShard(uint32_t shard) const { return by_shard_[shard]; }
  uint64_t InTable(TableId table) const { return table.value() <= by_table_.size() ? by_table_[table.value() - 1] : 0; }
  size_t called_back() const { return called_back_; }
  // `visit(TableKey row, const Entry& entry)`, in an order that follows from the calls alone.
  template <typename Visitor>
  void ForEach(Visitor&& visit) const {
    entries_.ForEach(visit);
  }

 private:
  KeyMap<Entry> entries_;
  std::vector<uint64_t> by_table_;  // entries, by TableId - 1
  std::vector<uint32_t> by_shard_;  // entries
  size_t called_back_ = 0;
};

}  // namespace attune::ps
