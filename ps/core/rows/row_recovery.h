// After a node has failed (docs/protocol.md#a-crash): the home of each shard asks all members which rows they hold,
// takes the others from the copies, and serves again. Until then operations wait at the home. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/row_copies.h"
#include "ps/core/rows/row_restore.h"
#include "ps/core/rows/state/open_handovers.h"
#include "ps/core/rows/state/owner_collection.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/core/rows/state/shard_states.h"

namespace attune::ps {

class RowRecovery {
 public:
  // All of them outlive it.
  RowRecovery(RowContext& node, const RowTables& tables, ShardStates& shards, const OpenHandovers& handovers,
              RowCopies& copies, RowRestore& restore)
      : node_(node), tables_(tables), shards_(shards), handovers_(handovers), copies_(copies), restore_(restore) {}

  // A new recovery has begun: whatever an earlier one has not ended yet starts over.
  void Forget();
  void Begin(RowOutputs& out);
  // A node that is no member any more.
  void ForgetNode(NodeId node);

  // --- every member
  void On(NodeId from, const CollectOwners& collect, RowOutputs& out);
  // Homes are answered once it is certain where every row sent before has ended.
  void Answer(RowOutputs& out);
  // Rows that left before the recovery have arrived since.
  void Learn(const OpenHandover& handover, const HandoverAck& ack);

  // --- homes
  // False: it is about another recovery.
  bool On(NodeId from, const OwnersReport& report);
  // What becomes of the shards whose owners are all known. Others wait for rows from their backups (FetchedRows).
  struct Resolved {
    std::vector<uint32_t> active;    // ready
    std::vector<uint32_t> restored;  // rows that have no copy come from a checkpoint
    std::vector<uint32_t> promoted;  // of both kinds: this node's copies have become its rows
  };
  // Nothing while there is something to wait for, or nothing to resolve.
  std::optional<Resolved> Resolve(RowOutputs& out);
  // Rows come from a backup, as they are to be inserted.
  void Take(FetchedRows& fetched);
  // The backup has sent all of the shards that this node knew nothing of: returns them, they are ready.
  std::optional<std::vector<uint32_t>> EndFetchAll(NodeId backup);
  // The backup has sent all that it has of the rows asked for by name. Those that did not come have no copy: no worker
  // has pushed to them, as far as any member knows.
  std::map<TableId, std::vector<Key>> EndFetches(NodeId backup);

  // Rows asked for by name and not come yet.
  size_t fetching() const { return fetching_; }
  bool is_collecting() const { return collection_.open(); }

 private:
  using KeysByBackup = std::map<std::pair<NodeId, TableId>, std::vector<Key>>;
  using ClaimsByTable = std::map<TableId, std::vector<OwnerClaim>>;

  ClaimsByTable ClaimsFor(NodeId home) const;
  std::vector<uint32_t> ShardsOf(NodeId home) const;
  KeysByBackup RebuildDirectory(std::span<const uint32_t> shards);
  void FetchByName(const KeysByBackup& wanted, RowOutputs& out);
  void FetchAllBut(NodeId backup, const std::vector<uint32_t>& shards, RowOutputs& out);
  void SendKeys(NodeId backup, TableId table, std::span<const Key> keys, bool all_but, RowOutputs& out);

  RowContext& node_;
  const RowTables& tables_;
  ShardStates& shards_;
  const OpenHandovers& handovers_;
  RowCopies& copies_;
  RowRestore& restore_;
  OwnerReports reports_;
  OwnerCollection collection_;
  size_t fetching_ = 0;
  std::map<NodeId, std::vector<uint32_t>> fetching_all_;  // by backup: shards whose copies are on their way
};

}  // namespace attune::ps
