// The copies that a node keeps for owners of rows: it applies what they replicate to it, in the order of versions, and
// acknowledges to the origin or passes it on to the next backup (docs/protocol.md#one-push). After a crash its copies
// become the rows, or go to the home that asks for them (docs/protocol.md#a-crash). Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/state/held_replicates.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/shard_states.h"
#include "ps/store/table_store.h"

namespace attune::ps {

class RowCopies {
 public:
  // All of them outlive it.
  RowCopies(RowContext& node, RowTables& tables, ShardStates& shards, RowRecords& records)
      : node_(node), tables_(tables), shards_(shards), records_(records) {}

  // False: the message fits no table here and is rejected.
  bool Admit(NodeId from, const Replicate& replicate, RowOutputs& out);
  void Take(NodeId from, Replicate&& replicate, RowOutputs& out);
  void Take(NodeId from, const Install& install, RowOutputs& out);
  // This node is not backup of these shards any more: what is held is refused, so that it finds its new backup.
  void Drop(std::span<const uint32_t> shards, RowOutputs& out);

  // --- recoveries

  // What was asked for may have waited at a node that is gone.
  void AskAgain(RowOutputs& out);
  // Copies of this shard become the rows, unless a member owns the row.
  void Promote(uint32_t shard, const std::function<bool(TableKey)>& is_owned, RowOutputs& out);
  // Copies that a home asks for, or all but those that it knows the owners of: the last piece of a request is answered.
  void Serve(NodeId from, const FetchRows& fetch, RowOutputs& out);
  // Requests of a node that is no member any more, or of all, from before a recovery.
  void ForgetRequests(NodeId from) { fetch_requests_.erase(from); }
  void ForgetRequests() { fetch_requests_.clear(); }

  // Rows whose pushes wait for one before them, or for the copy.
  size_t rows_held() const { return held_.rows(); }

 private:
  using KeysByTable = std::map<TableId, std::vector<Key>>;
  enum class Verdict : uint8_t { kDrop, kFinish, kApply, kGap };

  bool TakesReplicate(const Shard& shard, bool relayed) const;
  Verdict Judge(const Replicate& replicate, uint32_t index, const RowVersion* copy) const;
  void TakeReplicate(NodeId from, const std::shared_ptr<const Replicate>& replicate, std::span<const uint32_t> places,
                     bool again, RowOutputs& out);
  bool TakeInOrder(TableStore& copies, const Replicate& replicate, std::span<const uint32_t> places, RowOutputs& out);
  void RecordCopies(const Replicate& part);
  void CannotKeepCopies(const Replicate& replicate, const Status& status, RowOutputs& out);
  void Finish(const Replicate& replicate, std::span<const uint32_t> places, RowOutputs& out);
  void RetryHeld(TableId table, std::span<const Key> keys, RowOutputs& out);
  void ServeAllBut(NodeId from, const FetchRows& fetch, RowOutputs& out);
  void SendFetched(NodeId to, TableId table, std::span<const Key> keys, RowOutputs& out);

  RowContext& node_;
  RowTables& tables_;
  ShardStates& shards_;
  RowRecords& records_;
  HeldReplicates held_;
  std::map<NodeId, KeysByTable> fetch_requests_;  // pieces so far, by home
};

}  // namespace attune::ps
