// What a node and the coordinator (kCoordinator) say to each other, as plain values, over one stream per node; the
// first message is Join. Each carries the term of its coordinator; a node handles none of a lower term than it has
// heard of.
//
// A request is re-issued with the same RequestId until it is answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/protocol/sync_state.h"
#include "ps/types/data_set_options.h"

#include "ps/store/table_store.h"

namespace attune::ps {

// In front of everything that gets an answer. The coordinator answers a request again when it comes again, with the
// same answer, and forgets answers up to `answered_below`.
struct RequestHeader {
  RequestId request;
  RequestId answered_below;  // the sender has all answers up to and including this
  Duration remaining{};      // until the sender gives up, as of sending
  bool operator==(const RequestHeader&) const = default;
};

// coordinator -> server: your next message that names this number supports me for so long, counted from here on
// (ps/core/membership/leader_lease.h). Workers are asked nothing: number 0.
struct SupportQuestion {
  uint64_t number = 0;
  Duration lasts{};
  bool operator==(const SupportQuestion&) const = default;
};

// First message of every connection to the coordinator, also after a reconnect.
struct Join {
  uint64_t incarnation = 0;  // which process (incarnation.h)
  std::string job_uid;
  Role role = Role::kWorker;
  uint32_t index = 0;
  std::string address;  // of the node's data plane, as others reach it
  std::string machine;  // that it runs on, as the platform names it; empty: not known
  // A worker that may own rows from now on. It asks for that when it first fetches some, with one more Join; the map
  // then says so.
  bool takes_rows = false;
  NodeId node;        // 0: new; else it has been a member before
  uint32_t term = 0;  // it obeys no coordinator of a lower one
  bool operator==(const Join&) const = default;
};

struct Welcome {
  NodeId node;   // the receiver
  ShardMap map;  // version 0 while servers are missing; then a MapUpdate follows
  uint32_t servers_expected = 0;
  uint32_t servers_joined = 0;
  SyncState sync;  // a worker begins at its floor
  SupportQuestion support{};
  bool operator==(const Welcome&) const = default;
};

// "Not welcome": wrong job, a duplicate server, a node declared lost, a limit. Final for this process.
struct JoinRefused {
  Status status;
  bool operator==(const JoinRefused&) const = default;
};

struct MapUpdate {
  ShardMap map;
  bool operator==(const MapUpdate&) const = default;
};

// node -> coordinator: please send me a map newer than mine.
struct MapRequest {
  MapVersion have;
  bool operator==(const MapRequest&) const = default;
};

struct LeasePosition {
  LeaseId lease;
  uint64_t position = 0;  // items of the lease before it are processed and their pushes acknowledged
  bool operator==(const LeasePosition&) const = default;
};

// Totals since the node joined, so that a lost or repeated heartbeat changes nothing.
struct Heartbeat {
  uint64_t number = 0;  // 1, 2, ...: an older one arriving late is ignored
  MapVersion map_version;
  uint64_t steps = 0;     // ended by this worker, all their pushes acknowledged
  uint64_t clock = 0;     // of the job: this worker has finished every step before it, pushes acknowledged
  uint64_t begun = 0;     // of the job: the last step it has begun
  uint64_t promised = 0;  // SyncState::hold it keeps
  double loss_sum = 0;    // sum over samples of the reported losses
  uint64_t loss_samples = 0;
  uint64_t samples = 0;
  SequenceNumber acked_below;
  std::vector<LeasePosition> leases;
  uint64_t supports = 0;  // the newest SupportQuestion that has arrived; 0: none
  // Members under this map to which the node should have a link and has none; not more than kUnreachedMax of them.
  std::vector<NodeId> unreached;
  bool operator==(const Heartbeat&) const = default;
};

// Where a node stands with its rows, under the map it names: sent with every heartbeat and when an entry that another
// node may wait for becomes zero or joins_done grows. Stateless: the newest one (by `number`) counts.
struct RowsReport {
  uint64_t number = 0;
  MapVersion map_version;
  // Shards homed here that are not complete: directory not yet here (planned change: "HomeReady" when 0), or rows still
  // being recovered ("RecoveryDone" when 0). No planned change of any shard before 0 at every member that has adopted
  // the newest map.
  uint32_t shards_not_ready = 0;
  // Of each join_id in the map: this node's part is done ("SyncDone"). All members done: next backup becomes backup.
  std::vector<MapVersion> joins_done;
  // Frames not acknowledged by their receivers count as waiting operations of a node that leaves.
  // A leaving node may be removed when all of these are 0 under a map that says it leaves, no shard names it, and every
  // other member has reported rows_to_come = 0 under such a map.
  uint64_t rows_held = 0;     // rows owned here, shards homed here included
  uint64_t rows_foreign = 0;  // of these, in shards homed elsewhere
  uint64_t handovers_open = 0;
  uint64_t operations_waiting = 0;
  // For displays.
  uint64_t rows_to_come = 0;                  // the home's backlog of rows it calls back
  uint64_t rows_received = 0, rows_sent = 0;  // by handovers, totals
  uint64_t copies = 0;
  uint64_t copies_to_send = 0;  // to next backups
  // Totals of recoveries: shards whose rows had no copy, rows of such that came from a checkpoint, and rows known to
  // have been there that no checkpoint has, which are reinitialized.
  uint64_t shards_restored = 0, rows_restored = 0, rows_begun_anew = 0;
  bool operator==(const RowsReport&) const = default;
};

struct HeartbeatAck {
  uint64_t number = 0;
  SyncState sync;
  // From the sending of that heartbeat on the node may serve for so long, less a margin
  // (ps/core/link/liveness_lease.h).
  Duration liveness{};
  SupportQuestion support{};
  bool operator==(const HeartbeatAck&) const = default;
};

// coordinator -> workers: the floor has risen, or a hold has begun or ended. Also in every HeartbeatAck.
struct SyncUpdate {
  SyncState sync;
  bool operator==(const SyncUpdate&) const = default;
};

// worker -> coordinator; answered by TableOpened or Refused (options differ from the first opener's; text names them).
struct OpenTable {
  RequestHeader header;
  TableSpec spec;
  bool operator==(const OpenTable&) const = default;
};
struct TableOpened {
  RequestId request;
  TableId table;
  bool operator==(const TableOpened&) const = default;
};

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
struct TableInstalled {
  TableId table;
  Status status;  // not OK: the server cannot; openers are informed
  bool operator==(const TableInstalled&) const = default;
};

// coordinator -> server: rows that are lost without a copy come from this checkpoint from now on. Said before the map
// of any recovery after it, also at the begin of each connection.
struct NewestCheckpoint {
  RestorePoint point;
  bool operator==(const NewestCheckpoint&) const = default;
};

// coordinator -> asker: the request is being carried out, and that takes longer than you may wait; its time begins
// again.
struct StillWorking {
  RequestId request;
  bool operator==(const StillWorking&) const = default;
};

struct OpenDataSet {
  RequestHeader header;
  std::string name;
  DataSetOptions options;  // zeros: as the job says
  bool operator==(const OpenDataSet&) const = default;
};
struct DataSetOpened {
  RequestId request;
  DataSetId data_set;
  DataSetOptions options;  // resolved
  bool operator==(const DataSetOpened&) const = default;
};

// Answered by LeaseGrant, LeasesEnded or Refused (DeadlineExceeded when nothing became free in time).
struct LeaseRequest {
  RequestHeader header;
  DataSetId data_set;
  bool operator==(const LeaseRequest&) const = default;
};
struct LeaseGrant {
  RequestId request;
  LeaseId lease;
  DataSetId data_set;
  uint64_t epoch = 0;
  uint64_t begin = 0, end = 0;  // items
  uint64_t floor = 0;           // where a worker that had no work stands from now on
  bool operator==(const LeaseGrant&) const = default;
};
enum class LeasesEndReason : uint8_t { kAllDone, kGoalReached };
struct LeasesEnded {
  RequestId request;
  LeasesEndReason reason = LeasesEndReason::kAllDone;
  bool operator==(const LeasesEnded&) const = default;
};

// All items of the lease are processed and their pushes acknowledged. Answered by Done.
struct LeaseDone {
  RequestHeader header;
  LeaseId lease;
  bool operator==(const LeaseDone&) const = default;
};
// Items before `position` are done, the others go to another worker. Answered by Done.
struct LeaseReturn {
  RequestHeader header;
  LeaseId lease;
  uint64_t position = 0;
  bool operator==(const LeaseReturn&) const = default;
};

// worker -> coordinator: what a program says of the model (Session::ReportMetric). Answered by Done, or by Refused when
// the job has as many names as it may have.
struct ReportMetric {
  RequestHeader header;
  std::string name;
  std::optional<double> value;  // finite; nothing: the program's value is not
  bool operator==(const ReportMetric&) const = default;
};

// worker -> coordinator: write all tables, in no relation to the steps of workers. Answered by Done (the manifest is
// written) or Refused.
struct SaveTables {
  RequestHeader header;
  std::string directory;
  bool operator==(const SaveTables&) const = default;
};

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
// They are copied, and what this node handed over before its mark has arrived.
struct MarkDone {
  CutId cut;
  bool operator==(const MarkDone&) const = default;
};
// coordinator -> the same nodes, repeated until answered: all have copied, no snapshot grows any more; write yours.
struct WriteSnapshot {
  CutId cut;
  bool operator==(const WriteSnapshot&) const = default;
};
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
struct SnapshotDone {
  CutId cut;
  Status status;
  std::vector<CutFile> files;
  bool operator==(const SnapshotDone&) const = default;
};
// coordinator -> the same nodes: forget the snapshot, however it ended.
struct CutEnded {
  CutId cut;
  bool operator==(const CutEnded&) const = default;
};

// worker -> coordinator, after its pushes are acknowledged and its leases handed back. Answered by Done.
struct Leave {
  RequestHeader header;
  uint64_t steps = 0;    // ended by this worker
  bool drained = false;  // it was asked to leave: what follows the goal it may have left undone
  bool operator==(const Leave&) const = default;
};

// --- another coordinator (docs/protocol.md#another-coordinator)

// coordinator -> one server: keep this in place of what was kept before. Repeated until answered.
struct MirrorUpdate {
  CoordinatorRecord record;
  bool operator==(const MirrorUpdate&) const = default;
};
struct MirrorAck {
  uint64_t number = 0;
  bool operator==(const MirrorAck&) const = default;
};

// new coordinator -> node: obey no coordinator of a lower term from now on, and say where you stand.
struct Promise {
  SupportQuestion support{};
  bool operator==(const Promise&) const = default;
};
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

// The request was carried out.
struct Done {
  RequestId request;
  bool operator==(const Done&) const = default;
};

// The request was not carried out.
struct Refused {
  RequestId request;
  Status status;
  bool operator==(const Refused&) const = default;
};

// coordinator -> every node: no more leases; workers finish what they have in hand and leave.
struct GoalReached {
  std::string reason;  // "2 epochs done", for people
  bool operator==(const GoalReached&) const = default;
};

// coordinator -> servers: the goal is reached and the last worker has left.
struct Finished {
  bool operator==(const Finished&) const = default;
};

// coordinator -> node: this job (a server died) or this node (declared lost) cannot continue. Final.
struct SessionLost {
  Status status;
  bool operator==(const SessionLost&) const = default;
};

}  // namespace attune::ps
