// Tables of a checkpoint that a server is to install: which of their rows it has the shell read, and what follows when
// they are here. A table is not opened before every home has its rows and every backup their copies. Both read them,
// so the loss of a server meanwhile takes none away.
//
// Pure. Externally synchronized.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/status.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/row_node.h"

namespace attune::ps {

// Read these rows from a checkpoint: the table is installed when they are here.
struct LoadOrder {
  InstallTable install;
  uint32_t term = 0;             // of the coordinator that wants it
  std::vector<ShardId> homes;    // this server is home of
  std::vector<ShardId> backups;  // keeps copies of, or is to keep
};

// The shell's answer to ServerOutputs::load. Null: the checkpoint does not have the table, or nothing was asked for.
struct TableLoaded {
  LoadOrder order;
  Status status;
  LoadedTable table;
};

class TableLoads {
 public:
  enum class Next : uint8_t {
    kNothing,    // another coordinator is obeyed now, which asks by itself and may number tables otherwise
    kRefuse,     // the rows cannot be read
    kReadAgain,  // a server was lost meanwhile, so other rows are to be here: loaded.order says which
    kInstall,
  };

  // The coordinator of this term wants the table. nullopt: it is being read, or the job has not formed.
  std::optional<LoadOrder> Begin(const InstallTable& install, uint32_t term, NodeId self, const ShardMap& map);
  // The shell has ended an order.
  Next Ended(TableLoaded& loaded, uint32_t term, NodeId self, const ShardMap& map);

 private:
  std::set<TableId> reading_;
};

}  // namespace attune::ps
