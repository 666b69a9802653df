// Where a worker's operations on rows go: which tables are open, which node each key is sent to by what is known of
// homes and owners, and how many keys one message takes (docs/protocol.md#one-pull).
//
// Externally synchronized. What it is constructed with must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "base/time_source.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/worker/operations/route_groups.h"
#include "ps/core/worker/operations/row_hints.h"
#include "ps/core/worker/rows/own_rows.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

class RowRoutes {
 public:
  RowRoutes(const WorkerOptions& options, const ClusterView& cluster, OwnRows& own)
      : options_(options), cluster_(cluster), own_(own), hints_(options.locations_max) {}

  void OpenTable(TableId table, const TableSpec& spec) { tables_[table] = spec; }
  // Null: the table is not open.
  const TableSpec* Find(TableId table) const;
  std::optional<TableId> FindByName(const std::string& name) const;

  size_t KeysPerMessage(uint32_t dim) const;
  // The keys of one call by the nodes that they are sent to. Valid until the next call.
  const RouteGroups& Group(TableId table, std::span<const Key> keys);
  // To another node, or to the rows of this one, which answers once the step is over.
  void Send(NodeId to, Message message, MonotonicTime now, WorkerOutputs& out);

  // What answers have said of rows elsewhere: keys go by the owners among it.
  RowHints& hints() { return hints_; }
  const RowHints& hints() const { return hints_; }

 private:
  const WorkerOptions& options_;
  const ClusterView& cluster_;
  OwnRows& own_;
  std::unordered_map<TableId, TableSpec> tables_;
  RouteGroups groups_;
  RowHints hints_;
};

}  // namespace attune::ps
