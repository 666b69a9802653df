// What a node and the coordinator (kCoordinator) say to each other, as plain values, over one stream per node; the
// first message is Join. Each carries the term of its coordinator; a node handles none of a lower term than it has
// heard of. The list behind each struct says what of it is sent and what is accepted (ps/core/protocol/field_list.h).
// Here: tables, data, checkpoints, another coordinator; membership is in ps/core/protocol/membership_messages.h.
//
// A request is re-issued with the same RequestId until it is answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "proto/metric_name.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/membership_messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/protocol/sync_state.h"
#include "ps/store/table_store.h"
#include "ps/types/data_set_options.h"

namespace attune::ps {

// worker -> coordinator; answered by TableOpened or Refused (options differ from the first opener's; text names them).
struct OpenTable {
  RequestHeader header;
  TableSpec spec;
  bool operator==(const OpenTable&) const = default;
};
ATTUNE_FIELDS(OpenTable, FIELD(header), FIELD(spec));
struct TableOpened {
  RequestId request;
  TableId table;
  bool operator==(const TableOpened&) const = default;
};
ATTUNE_FIELDS(TableOpened, FIELD(request, Is::kCount), FIELD(table, Is::kTable));

// coordinator -> server, repeated until answered. The rows of shards homed here, and the copies of those this server is
// backup of, are first loaded from `load`, if that is one and has the table; not under an older map than this one,
// whose homes may be others: two servers would load the same rows.
struct InstallTable {
  TableId table;
  TableSpec spec;
  RestorePoint load;
  MapVersion map_version{};
  bool operator==(const InstallTable&) const = default;
};
ATTUNE_FIELDS(InstallTable, FIELD(table, Is::kTable), FIELD(spec), FIELD(load, UnlessDefault()), FIELD(map_version));
struct TableInstalled {
  TableId table;
  Status status;  // not OK: the server cannot; openers are informed
  bool operator==(const TableInstalled&) const = default;
};
ATTUNE_FIELDS(TableInstalled, FIELD(table, Is::kTable), FIELD(status));

// coordinator -> server: rows that are lost without a copy come from this checkpoint from now on. Said before the map
// of any recovery after it, also at the begin of each connection.
struct NewestCheckpoint {
  RestorePoint point;
  bool operator==(const NewestCheckpoint&) const = default;
};
ATTUNE_FIELDS(NewestCheckpoint, Inlined(&T::point));

// coordinator -> asker: the request is being carried out, and that takes longer than you may wait; its time begins
// again.
struct StillWorking {
  RequestId request;
  bool operator==(const StillWorking&) const = default;
};
ATTUNE_FIELDS(StillWorking, Inlined(&T::request, Is::kCount));

struct OpenDataSet {
  RequestHeader header;
  std::string name;
  DataSetOptions options;  // zeros: as the job says
  bool operator==(const OpenDataSet&) const = default;
};
ATTUNE_FIELDS(OpenDataSet, FIELD(header), FIELD(name, AtMost(kNameBytesMax)), FIELD(options));
struct DataSetOpened {
  RequestId request;
  DataSetId data_set;
  DataSetOptions options;  // resolved
  bool operator==(const DataSetOpened&) const = default;
};
ATTUNE_FIELDS(DataSetOpened, FIELD(request, Is::kCount), FIELD(data_set), FIELD(options));

// Answered by LeaseGrant, LeasesEnded or Refused (DeadlineExceeded when nothing became free in time).
struct LeaseRequest {
  RequestHeader header;
  DataSetId data_set;
  bool operator==(const LeaseRequest&) const = default;
};
ATTUNE_FIELDS(LeaseRequest, FIELD(header), FIELD(data_set));
struct LeaseGrant {
  RequestId request;
  LeaseId lease;
  DataSetId data_set;
  uint64_t epoch = 0;
  uint64_t begin = 0, end = 0;  // items
  uint64_t floor = 0;           // where a worker that had no work stands from now on
  bool operator==(const LeaseGrant&) const = default;
};
ATTUNE_FIELDS(LeaseGrant, FIELD(request, Is::kCount), FIELD(lease), FIELD(data_set), FIELD(epoch, Is::kCount),
              FIELD(begin), FIELD(end, Is::kCount), FIELD(floor, Is::kCount));
enum class LeasesEndReason : uint8_t { kAllDone, kGoalReached };
template <>
struct EnumNumbers<LeasesEndReason> {
  static constexpr uint32_t kFirst = 0;
  static constexpr LeasesEndReason kLast = LeasesEndReason::kGoalReached;
};
struct LeasesEnded {
  RequestId request;
  LeasesEndReason reason = LeasesEndReason::kAllDone;
  bool operator==(const LeasesEnded&) const = default;
};
ATTUNE_FIELDS(LeasesEnded, FIELD(request, Is::kCount), FIELD_AS("goal_reached", reason));

// All items of the lease are processed and their pushes acknowledged. Answered by Done.
struct LeaseDone {
  RequestHeader header;
  LeaseId lease;
  bool operator==(const LeaseDone&) const = default;
};
ATTUNE_FIELDS(LeaseDone, FIELD(header), FIELD(lease));
// Items before `position` are done, the others go to another worker. Answered by Done.
struct LeaseReturn {
  RequestHeader header;
  LeaseId lease;
  uint64_t position = 0;
  bool operator==(const LeaseReturn&) const = default;
};
ATTUNE_FIELDS(LeaseReturn, FIELD(header), FIELD(lease), FIELD(position));

// worker -> coordinator: what a program says of the model (Session::ReportMetric). Answered by Done, or by Refused when
// the job has as many names as it may have.
struct ReportMetric {
  RequestHeader header;
  std::string name;
  std::optional<double> value;  // finite; nothing: the program's value is not
  bool operator==(const ReportMetric&) const = default;
};
ATTUNE_FIELDS(ReportMetric, FIELD(header), FIELD(name, AtMost(contract::kMetricNameBytesMax, Is::kMetricName)),
              FIELD(value, Is::kFinite));

// worker -> coordinator: write all tables, in no relation to the steps of workers. Answered by Done (the manifest is
// written) or Refused.
struct SaveTables {
  RequestHeader header;
  std::string directory;
  bool operator==(const SaveTables&) const = default;
};
ATTUNE_FIELDS(SaveTables, FIELD(header), FIELD(directory, AtMost(kPathBytesMax)));

// A checkpoint: Mark, MarkDone, WriteSnapshot, SnapshotDone, CutEnded.
//
// coordinator -> every node that may hold rows, repeated until answered: copy the rows you own as they are now (a
// copy-on-write snapshot).
struct Mark {
  CutId cut;
  uint64_t checkpoint = 0;  // its number; see CheckpointPlan for both
  uint64_t base = 0;
  std::string directory;
  uint64_t clock = 0;  // the copy holds all pushes of steps below it
  bool operator==(const Mark&) const = default;
};
ATTUNE_FIELDS(Mark, FIELD(cut), FIELD(checkpoint), FIELD(base), FIELD(directory, AtMost(kPathBytesMax)),
              FIELD(clock, Is::kCount));
// They are copied, and what this node handed over before its mark has arrived.
struct MarkDone {
  CutId cut;
  bool operator==(const MarkDone&) const = default;
};
ATTUNE_FIELDS(MarkDone, FIELD(cut));
// coordinator -> the same nodes, repeated until answered: all have copied, no snapshot grows any more; write yours.
struct WriteSnapshot {
  CutId cut;
  bool operator==(const WriteSnapshot&) const = default;
};
ATTUNE_FIELDS(WriteSnapshot, FIELD(cut));
// One file of a checkpoint (CheckpointFile) as its writer describes it.
struct CutFile {
  TableId table;  // 0: records of pushes in flight
  std::string name;
  uint64_t checkpoint = 0;
  uint64_t rows = 0, erased = 0, bytes = 0;
  uint32_t digest = 0;
  uint64_t table_rows = 0;  // the table has on this node, changed or not
  bool operator==(const CutFile&) const = default;
};
ATTUNE_FIELDS(CutFile, FIELD(table, Is::kTableOrNone), FIELD(name, AtMost(kPathBytesMax, Is::kFileName)),
              FIELD(checkpoint), FIELD(rows, Is::kCount), FIELD(erased, Is::kCount), FIELD(bytes, Is::kCount),
              FIELD(digest), FIELD(table_rows, Is::kCount));
struct SnapshotDone {
  CutId cut;
  Status status;
  std::vector<CutFile> files;
  bool operator==(const SnapshotDone&) const = default;
};
ATTUNE_FIELDS(SnapshotDone, FIELD(cut), FIELD(status), FIELD(files, AtMost(kFilesPerSnapshotMax)));
// coordinator -> the same nodes: forget the snapshot, however it ended.
struct CutEnded {
  CutId cut;
  bool operator==(const CutEnded&) const = default;
};
ATTUNE_FIELDS(CutEnded, FIELD(cut));

// worker -> coordinator, after its pushes are acknowledged and its leases handed back. Answered by Done.
struct Leave {
  RequestHeader header;
  uint64_t steps = 0;    // ended by this worker
  bool drained = false;  // it was asked to leave: what follows the goal it may have left undone
  bool operator==(const Leave&) const = default;
};
ATTUNE_FIELDS(Leave, FIELD(header), FIELD(steps, Is::kCount), FIELD(drained));

// --- another coordinator (docs/protocol.md#another-coordinator)

// coordinator -> one server: keep this in place of what was kept before. Repeated until answered.
struct MirrorUpdate {
  CoordinatorRecord record;
  bool operator==(const MirrorUpdate&) const = default;
};
ATTUNE_FIELDS(MirrorUpdate, Inlined(&T::record));
struct MirrorAck {
  uint64_t number = 0;
  bool operator==(const MirrorAck&) const = default;
};
ATTUNE_FIELDS(MirrorAck, Inlined(&T::number));

// new coordinator -> node: obey no coordinator of a lower term from now on, and say where you stand.
struct Promise {
  SupportQuestion support{};
  bool operator==(const Promise&) const = default;
};
ATTUNE_FIELDS(Promise, FIELD(support));
struct Promised {
  ShardMap map;
  Heartbeat standing;  // leases too whose end no coordinator has confirmed, with the position they ended at
  SyncState sync;
  std::vector<InstallTable> tables;  // installed at this server
  std::optional<CoordinatorRecord> mirror;
  // What this server still owes to coordinators of lower terms: of which term (0: of several), and for how long their
  // questions may yet count for them.
  uint32_t supported_term = 0;
  Duration support_left{};
  bool operator==(const Promised&) const = default;
};
ATTUNE_FIELDS(Promised, FIELD(map), FIELD(standing), FIELD(sync), FIELD(tables, AtMost(kTablesMax)), FIELD(mirror),
              FIELD(supported_term), FIELD_AS("support_left_nanoseconds", support_left, Is::kLeaseTime));

// The request was carried out.
struct Done {
  RequestId request;
  bool operator==(const Done&) const = default;
};
ATTUNE_FIELDS(Done, FIELD(request, Is::kCount));

// The request was not carried out.
struct Refused {
  RequestId request;
  Status status;
  bool operator==(const Refused&) const = default;
};
ATTUNE_FIELDS(Refused, FIELD(request, Is::kCount), FIELD(status, Is::kFailure));

}  // namespace attune::ps
