// Pulls of rows that are here: each is answered as soon as the rows contain its worker's own earlier pushes, and waits
// until then, or until its deadline (docs/protocol.md#one-pull). Externally synchronized.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/state/parked_pulls.h"
#include "ps/core/rows/state/row_records.h"
#include "ps/core/rows/state/row_tables.h"
#include "ps/store/table_store.h"

namespace attune::ps {

class RowPulls {
 public:
  // All of them outlive it.
  RowPulls(RowContext& node, const RowTables& tables, const RowRecords& records)
      : node_(node), tables_(tables), records_(records) {}

  // Before it is known where the rows are. False: the pull is refused.
  bool Admit(const Pull& pull, RowOutputs& out);
  // All rows are here, or begin here.
  void Take(Pull&& pull, MonotonicTime now, RowOutputs& out);
  // Pushes of this worker have been decided or settled.
  void Retry(NodeId origin, RowOutputs& out);
  // The home of these shards is elsewhere now: returns the pulls of rows that no worker has pushed to, which look for
  // the new one.
  std::vector<Pull> TakeElsewhere(std::span<const uint32_t> shards);
  // Rows have left for `to`: pulls that wait for pushes to them follow on the same link.
  void SendAfter(TableId table, std::span<const Key> keys, NodeId to, MonotonicTime now, RowOutputs& out);

  // Drops pulls whose time is over.
  void Expire(MonotonicTime now) { parked_.Expire(now); }
  MonotonicTime next_deadline() const { return parked_.next_deadline(); }
  void Forget(NodeId origin) { parked_.Forget(origin); }
  size_t size() const { return parked_.size(); }

 private:
  Status Check(const Pull& pull) const;
  void Refuse(const Pull& pull, Status status, RowOutputs& out);
  bool OwnPushesContained(ParkedPull& parked) const;
  void Answer(const Pull& pull, RowOutputs& out);
  Slice<RowVersion> VersionsOf(const Pull& pull, const TableStore& store) const;
  void Park(ParkedPull parked, MonotonicTime now, RowOutputs& out);

  RowContext& node_;
  const RowTables& tables_;
  const RowRecords& records_;
  ParkedPulls parked_;
};

}  // namespace attune::ps
