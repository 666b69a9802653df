// What a node is to each shard: its home or not, and whether that is ready; which rows of shards that it is the home of
// are elsewhere (RowDirectory); how many of its own rows have their home elsewhere. Answers in one look whether an
// operation on a key can be done here. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/state/row_directory.h"
#include "ps/store/table_store.h"

namespace attune::ps {

class ShardStates {
 public:
  // kRestoring: who owns what is known, but for rows that come from a checkpoint.
  enum class Home : uint8_t { kNotHome, kActive, kWaitHandoff, kCollecting, kRestoring };
  struct State {
    Home home = Home::kNotHome;
    bool directory_complete = false;  // it was kActive once since this node became home
    bool was_backup = false;          // kCollecting: this node's copies become the rows
    bool copies_partial = false;      // and some may be missing: they were still being made
    bool owner_lost = false;          // since it was complete, a member was lost that may have owned rows of it
    NodeId home_before;               // kWaitHandoff: where the rows come from; 0: not known
    uint32_t foreign = 0;             // rows owned here while the home is elsewhere
    uint32_t handovers = 0;           // rows sent and not acknowledged
    uint16_t absent_era = 0;          // backup: a copy that is not there begins at this era or later
  };

  bool empty() const { return states_.empty(); }
  uint32_t size() const { return static_cast<uint32_t>(states_.size()); }
  const State& operator[](uint32_t shard) const { return states_[shard]; }

  // --- what changes them

  struct Changes {
    std::vector<uint32_t> given_away;  // this node is not their home any more
    std::vector<uint32_t> dropped;     // it keeps no copies of them any more
  };
  // After a recovery, which the maps show, each home collects who owns what. `servers_keep_rows`: RowOptions says that
  // servers may own rows of shards that are homed elsewhere also while no home moves.
  Changes Adopt(const ShardMap& old, const ShardMap& map, NodeId self, bool servers_keep_rows = false);
  // Homes that are complete serve.
  void Activate(std::span<const uint32_t> shards);
  // Should another recovery begin before the rows have come, whole shards are asked for again.
  void BeginRestore(std::span<const uint32_t> shards);
  bool AnyCollecting() const { return std::ranges::find(states_, Home::kCollecting, &State::home) != states_.end(); }
  // Homes that do not serve yet.
  uint32_t NotReady() const;

  // --- rows

  bool IsActive(uint32_t shard) const { return states_[shard].home == Home::kActive; }
  // This node is the home, it is ready, and every row is here.
  bool IsPlain(uint32_t shard) const { return plain_[shard] != 0; }
  template <typename Keys>
  bool AllPlain(const Keys& keys) const {
    const uint8_t* plain = plain_.data();
    const uint32_t shards = size();
    return std::ranges::all_of(keys, [&](Key key) { return plain[ShardMap::ShardIndex(key, shards)] != 0; });
  }
  // As AllPlain, counting the keys by shard as it looks at them: in the same pass, for it is done once per key. Returns
  // how many from the first on are plain.
  template <typename Keys>
  size_t CountPlain(const Keys& keys, uint64_t* by_shard) const {
    const uint8_t* plain = plain_.data();
    const uint32_t shards = size();
    size_t count = 0;
    for (const Key key : keys) {
      const uint32_t shard = ShardMap::ShardIndex(key, shards);
      if (plain[shard] == 0) break;
      ++by_shard[shard];
      ++count;
    }
    return count;
  }
  // Where an operation on a row goes.
  struct Place {
    enum class What : uint8_t { kHere, kWait, kQueue, kSend } what = What::kHere;
    NodeId to;             // kSend
    bool by_home = false;  // kSend: the home says so
    bool operator==(const Place&) const = default;
  };
  // `present`: the row is here. `sent_by_home`: so that it must be on its way here.
  Place Find(TableKey row, uint32_t shard, NodeId home, NodeId self, bool present, bool sent_by_home) const;
  // A push is acknowledged by a backup: some shard has one, or is getting one.
  bool any_guard() const { return any_guard_; }

  // Rows owned here of shards that are homed elsewhere.
  uint64_t foreign_rows() const { return foreign_rows_; }
  // Rows sent from here and not acknowledged, likewise.
  uint64_t ForeignHandovers() const;
  void AddForeign(uint32_t shard, uint32_t rows);
  // Before rows of these keys are inserted: those that the store has are counted already.
  void AddForeign(const TableStore& store, std::span<const Key> keys, const ShardMap& map, NodeId self);
  void RemoveForeign(uint32_t shard);
  void HandoverBegun(uint32_t shard) { ++states_[shard].handovers; }
  void HandoverEnded(uint32_t shard) { --states_[shard].handovers; }

  // --- the directory: RowDirectory says what these do

  const RowDirectory& directory() const { return directory_; }
  void SetEntry(TableKey row, RowDirectory::Entry entry);
  void EraseEntry(TableKey row);
  void Redirect(TableKey row, NodeId to, uint16_t move_number, bool call_back) {
    directory_.Redirect(row, to, move_number, call_back);
  }
  void MarkSent(TableKey row, NodeId to, uint16_t move_number) { directory_.MarkSent(row, to, move_number); }
  bool EndFetch(TableKey row) { return directory_.EndFetch(row); }
  template <typename Predicate>
  std::vector<TableKey> EndFetchesIf(Predicate&& predicate) {
    return directory_.EndFetchesIf(std::forward<Predicate>(predicate));
  }

 private:
  void AdoptHome(uint32_t shard, NodeId self, const Shard& before, const Shard& after, bool recovery, Changes& changes);
  bool MayHaveOwned(uint32_t shard, NodeId lost, const ShardMap& old, bool servers_keep_rows) const;
  void UpdatePlain();

  std::vector<State> states_;
  std::vector<uint8_t> plain_;  // by shard
  bool any_guard_ = false;
  uint64_t foreign_rows_ = 0;
  RowDirectory directory_;
  std::vector<uint64_t> present_;  // scratch
};

}  // namespace attune::ps
