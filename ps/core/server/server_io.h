// What a server's core is made with, what it is stepped with, and what each step brings (server_core.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/link/row_links.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/cut_part.h"
#include "ps/core/rows/row_node.h"
#include "ps/core/server/table_loads.h"
#include "ps/store/table_store.h"

namespace attune::ps {

struct ServerOptions {
  std::string job_uid;
  uint64_t incarnation = 0;  // which process (incarnation.h)
  uint32_t index = 0;
  std::string address;  // of the data plane, as workers reach it
  std::string machine;  // copies of its rows are kept on another one; empty: not known
  Duration heartbeat_interval = std::chrono::milliseconds(500);
  Duration ask_again_after = std::chrono::seconds(2);       // join, newer map
  Duration load_interval = std::chrono::milliseconds(900);  // between load reports, at least; they go with heartbeats
  // Makes the store of a table's rows, and the one for copies of other servers' rows (when null, the same).
  std::function<StatusOr<std::unique_ptr<TableStore>>(const TableSpec&)> create_store;
  std::function<StatusOr<std::unique_ptr<TableStore>>(const TableSpec&)> create_copies;
  // Memory for rows on their way to a node, which its transport need not copy; null, or giving null: any memory.
  std::function<std::shared_ptr<void>(NodeId to, size_t bytes)> row_memory;
  LinkOptions link;  // to others that may hold rows
  Mutations mutations;
};

// The coordinator of this term runs in this process from now on; others are informed.
struct CoordinatorHere {
  uint32_t term = 0;
  uint16_t port = 0;
};

// The shell's answer to ServerOutputs::restore. `rows` null: the checkpoint does not have the table; with an error: it
// cannot be read, so the rows are reinitialized.
struct RowsRead {
  RestoreOrder order;
  Status status;
  std::shared_ptr<const TableStore> rows;
  FilterRecords filter;
};

using ServerInput = std::variant<Received, PeerConnected, PeerDisconnected, SnapshotWritten, TableLoaded, RowsRead,
                                 CoordinatorHere, Timer>;

struct ServerOutputs {
  std::vector<Outgoing> send;
  std::vector<Member> connect;     // servers to keep a link to, from now on
  std::vector<NodeId> disconnect;  // members no longer: their links are forgotten, no matter who dialed
  std::optional<SnapshotOrder> write_snapshot;
  bool call_off_snapshot = false;  // the one being written
  std::vector<LoadOrder> load;
  std::vector<RestoreOrder> restore;  // read these rows, see RowOutputs
  uint64_t rows_restored = 0, rows_begun_anew = 0;
  std::optional<CoordinatorPlace> coordinator;  // join there from now on
  std::vector<RejectedMessage> rejected;
  bool finished = false;       // the job is over; end with success
  std::optional<Status> lost;  // end with this error

  void Clear();
};

using ServerCounters = RowCounters;

}  // namespace attune::ps
