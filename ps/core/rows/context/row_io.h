// What a RowNode is made with and what comes out of its steps, as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/store/table_store.h"

namespace attune::ps {

struct RowOptions {
  // Makes the store of rows owned here, and the one of copies (given a specification without row limit).
  std::function<StatusOr<std::unique_ptr<TableStore>>(const TableSpec&)> create_store;
  std::function<StatusOr<std::unique_ptr<TableStore>>(const TableSpec&)> create_copies;
  // Memory for rows on their way to a node, which its transport need not copy; null, or giving null: any memory.
  std::function<std::shared_ptr<void>(NodeId to, size_t bytes)> row_memory;
  size_t rows_per_message_max = 4096;
  size_t floats_per_message_max = 1 << 18;  // 1 MiB: what a pull may have to wait for
  size_t rows_called_back_max = 16384;      // in flight to this home at one time
  size_t bytes_called_back_max = 8 << 20;   // likewise
  size_t installs_in_flight_max = 8;        // messages to one next backup before it answers
  size_t stalled_max = kHeldMessagesMax;    // messages of one peer that wait for a newer map
  size_t stalled_bytes_max = 64 << 20;      // and their bytes
  // Orders of other homes that wait for their rows. Two calls of Localize for the same rows, one after the other, may
  // bring one for every key of a call before the first row has come; a home that follows the protocol sends no more.
  size_t orders_max = 2 * kKeysPerCallMax;
  bool snapshots_go_home = false;      // this node writes no files
  bool call_back_from_servers = true;  // rows of shards homed here that other servers own come home
  ChosenRowMutation mutation{};
};

// Rows of one table that have come to this node.
struct ArrivedRows {
  TableId table;
  Slice<Key> keys;
};

// Rows of these shards are lost and have no copy: read them from the checkpoint; answer with RowNode::Restore, per
// table.
struct RestoreOrder {
  RestorePoint point;
  MapVersion recovered_at;
  TableId table;
  std::vector<ShardId> shards;
};

// Null: none of a table.
struct LoadedTable {
  std::unique_ptr<TableStore> rows;
  std::unique_ptr<TableStore> copies;  // without row limit
};

struct RowOutputs {
  std::vector<Outgoing> send;  // to itself: answers to operations this node began
  bool need_map = false;       // another node has a newer map: ask for it
  bool report = false;         // the report says something a caller may wait for
  std::vector<ArrivedRows> arrived;
  std::vector<RestoreOrder> restore;
  uint64_t rows_restored = 0;    // rows a recovery found no copy of, which came from a checkpoint
  uint64_t rows_begun_anew = 0;  // which no checkpoint has
  std::vector<RejectedMessage> rejected;
  std::optional<Status> lost;  // this node cannot continue

  void Clear() {
    send.clear();
    need_map = false;
    report = false;
    arrived.clear();
    restore.clear();
    rows_restored = rows_begun_anew = 0;
    rejected.clear();
    lost.reset();
  }
};

// Totals since the start.
struct RowCounters {
  uint64_t pulls = 0, pushes = 0;  // messages
  uint64_t pulled_keys = 0, pushed_keys = 0;
  uint64_t duplicate_pushes = 0;  // messages with at least one key already decided
  uint64_t refused = 0;
  uint64_t parked_pulls = 0;  // that had to wait for own pushes
  uint64_t forwarded = 0;     // messages sent on
  uint64_t waited = 0;        // keys that waited for their row
  uint64_t rows_sent = 0, rows_received = 0;
  uint64_t replicated_keys = 0;
  uint64_t rejected = 0;  // messages that no honest node sends
};

}  // namespace attune::ps
