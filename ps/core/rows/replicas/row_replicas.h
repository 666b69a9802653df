// The home's part in copies of rows at workers (docs/protocol.md#copies-at-workers): it decides which worker has a copy
// of which row, by what workers announce, and sends what has changed in answer to their rounds. Only rows that are
// here, and whose home is this node, have such copies.
//
// What is known of workers is void whenever homes change or a recovery begins: they announce again, under the new map.
// Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/time_source.h"
#include "ps/core/intent/interest_survey.h"
#include "ps/core/intent/interest_table.h"
#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/shard_states.h"

namespace attune::ps {

class RowReplicas {
 public:
  // All of them outlive it.
  RowReplicas(RowContext& node, const RowTables& tables, const ShardStates& shards, const RowRecords& records)
      : node_(node), tables_(tables), shards_(shards), records_(records) {}

  // Pushes that the worker had sent before have been handled.
  void On(NodeId from, const Round& round, MonotonicTime now, RowOutputs& out);

  // Rows here have changed by this push. Of a fold, the origin has the change in its copies.
  void Changed(const Push& push) {
    if (!interests_.empty()) NoteChanged(push);
  }
  // Rows leave this node: who has copies of them is to have them no more.
  void Left(TableId table, std::span<const Key> keys) {
    if (!interests_.empty()) TakeBack(table, keys);
  }
  // Under the new map.
  void AdoptMap(const ShardMap& old);

  size_t interests() const { return interests_.size(); }
  // By table; takes less than a millisecond.
  std::map<TableId, TableInterests> Survey(MonotonicTime now) const;

 private:
  // What the answer to a worker's next round has to say.
  struct Holder {
    std::vector<TableKey> changed;
    std::vector<TableKey> left;
  };

  void NoteChanged(const Push& push);
  void TakeBack(TableId table, std::span<const Key> keys);
  void Announced(NodeId from, const Round& round, MonotonicTime now);
  void Decide(NodeId from, TableKey row, bool may_send, RowBytes bytes, MonotonicTime now);
  bool IsHere(TableKey row) const;
  // The row contains the pushes of its announcer that were open.
  std::vector<bool> Contained(NodeId from, const Round& round) const;
  void Answer(NodeId from, uint64_t number, RowOutputs& out);
  void AddRows(TableId table, std::span<const Key> keys, std::vector<RoundReply>& pieces) const;
  static void AddLeft(TableId table, std::span<const Key> keys, std::vector<RoundReply>& pieces);

  RowContext& node_;
  const RowTables& tables_;
  const ShardStates& shards_;
  const RowRecords& records_;
  InterestTable interests_{kInterestsMax};
  NodeCosts costs_;  // as workers say with their rounds
  std::map<NodeId, Holder> holders_;
  MapVersion valid_since_;              // what workers said under older maps is void
  std::vector<RowInterest> collected_;  // scratch
};

}  // namespace attune::ps
