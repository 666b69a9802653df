// Everything nodes say to each other, as plain values. Encodings belong to transports.
//
// Two families:
//   row messages      any node <-> any node, over the data plane; the sender's NodeId is known from the connection
//   control messages  any node <-> coordinator (kCoordinator), over one stream per node; the first message is Join
// The names and identities are those of the protocol description in docs/protocol.md.
//
// What a transport must give: a frame (LinkHeader and message) arrives whole or not at all. Order, loss (of whole
// frames, at a broken connection) and duplication are the business of the link layer (ps/core/link.h). Identity of a
// peer, job id and protocol version are checked in the transport's handshake. A Slice may be sent from where it lies:
// it keeps its memory alive, and nobody changes what a message holds.
//
// Reliability: row messages arrive in order and exactly once while both nodes are members. A push is re-issued with the
// same (origin, sequence) when a recovery may have lost it; a pull with the same request; a control request with the
// same RequestId until answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attune/ps/session.h"
#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator_record.h"
#include "ps/core/ids.h"
#include "ps/core/limits.h"
#include "ps/core/shard_map.h"
#include "ps/core/slice.h"
#include "ps/core/sync_mode.h"
#include "ps/store/row_version.h"
#include "ps/store/table_store.h"

namespace attune::ps {

// ------------------------------------------------------------------------------------------------------------ link

// In front of every row message: the numbers of one direction of one pair of nodes.
struct LinkHeader {
  uint64_t sequence = 0;   // 1, 2, ...; 0: outside the order (a LinkAck)
  uint64_t delivered = 0;  // the sender of this frame has delivered everything up to here of the other direction
  bool operator==(const LinkHeader&) const = default;
};

// Carries a LinkHeader when there is nothing else to say.
struct LinkAck {
  bool operator==(const LinkAck&) const = default;
};

// ---------------------------------------------------------------------------------------------------- row messages
//
// `map_version` is always that of the node that sent this very message (not of a node it forwards for).

// Which keys of the origin's push a message speaks of: places in the origin's own key list of that push.
struct Positions {
  uint32_t first = 0;  // `count` consecutive places, when `list` is empty
  uint32_t count = 0;
  std::vector<uint32_t> list;  // else these, ascending
  size_t size() const { return list.empty() ? count : list.size(); }
  uint32_t At(size_t i) const { return list.empty() ? first + static_cast<uint32_t>(i) : list[i]; }
  bool operator==(const Positions&) const = default;
};

// worker -> any node, best the owner or the home; forwarded by nodes that hold none of the rows. Keys are unique within
// one push, over all messages it is split into.
struct Push {
  NodeId origin;
  SequenceNumber sequence;
  TableId table;
  MapVersion map_version;
  SequenceNumber acked_below;  // all pushes of `origin` up to and including this are settled for all keys
  Positions positions;         // of these keys in the origin's push; returned in the answer
  Slice<Key> keys;
  Slice<float> gradients;  // keys.size() * dim
  uint64_t step = 0;       // global step of the origin, for learning-rate schedules
  bool by_home = false;    // sent here by the home of all keys, because the rows are here or coming
  // For the measure of staleness: what the origin's gradient of keys[seen_index] was computed from. 0: not known.
  RowVersion seen;
  uint32_t seen_index = 0;
  bool operator==(const Push&) const = default;
};

inline constexpr uint64_t kNotMeasured = ~uint64_t{0};

// applier, or the backup that has the copy -> origin. Applied now or earlier.
struct PushAck {
  SequenceNumber sequence;
  MapVersion map_version;
  Positions positions;
  NodeId owner;  // who applied it; a hint where the next push of these keys may go at once. 0: not known
  uint64_t staleness = kNotMeasured;  // versions that the row of Push::seen had got since
  bool operator==(const PushAck&) const = default;
};

// applier -> origin. These keys were not and will not be applied; final.
struct PushRefused {
  SequenceNumber sequence;
  MapVersion map_version;
  Positions positions;
  Status status;
  bool operator==(const PushRefused&) const = default;
};

// "The row of keys[key_index] must contain my push `sequence`", of which it is the key at `position`. Only pushes not
// known to be acknowledged are listed.
struct After {
  SequenceNumber sequence;
  uint32_t position = 0;
  uint32_t key_index = 0;
  bool operator==(const After&) const = default;
};

// worker -> any node, like a Push.
struct Pull {
  NodeId origin;
  RequestId request;  // one per message, not per call
  TableId table;
  MapVersion map_version;
  SequenceNumber acked_below;
  Duration remaining{};      // until the call's deadline, as of sending
  Slice<Key> keys;           // may repeat
  std::vector<After> after;  // mostly empty
  Positions positions;       // of these keys in the request; returned in the answer
  bool by_home = false;
  bool operator==(const Pull&) const = default;
};

// owner -> origin. A request whose keys lie on several nodes gets several.
struct PullReply {
  RequestId request;
  MapVersion map_version;
  Slice<float> rows;  // in the order of `positions`
  Positions positions;
  Slice<RowVersion> versions;  // of the keys of this answer that MeasuredPlaces names (seen_versions.h)
  bool operator==(const PullReply&) const = default;
};

struct PullRefused {
  RequestId request;
  MapVersion map_version;
  Status status;
  bool operator==(const PullRefused&) const = default;
};

// "I am not the home of these keys under my map": take the newer map and send again. Exactly one of the two is set.
struct Moved {
  MapVersion map_version;   // the refuser's
  RequestId request;        // of a pull
  SequenceNumber sequence;  // of a push
  bool operator==(const Moved&) const = default;
};

// --- rows on their way

// Rows of one table as parallel arrays: keys, versions, move_numbers have one entry per row; values holds, per row, dim
// values and then the optimizer's state.
struct RowBatch {
  TableId table;
  Slice<Key> keys;
  Slice<RowVersion> versions;
  Slice<uint16_t> move_numbers;
  Slice<float> values;
  bool operator==(const RowBatch&) const = default;
};

// "keys[key_index] of the batch contains (or has refused) the push (origin, sequence), of which it is the key at
// `position`".
struct FilterRecord {
  SequenceNumber sequence;
  NodeId origin;
  uint32_t position = 0;
  uint32_t key_index = 0;
  bool refused = false;
  bool operator==(const FilterRecord&) const = default;
};

// All pushes of `origin` up to `acked_below` are settled.
struct Settled {
  NodeId origin;
  SequenceNumber acked_below;
  bool operator==(const Settled&) const = default;
};

// What the receiver needs to recognize pushes that these rows contain: `settled` has all news since the last such
// message on the link.
struct Records {
  std::vector<FilterRecord> records;
  std::vector<Settled> settled;
  bool operator==(const Records&) const = default;
};

// any node -> home: these rows shall belong to `to`.
struct Localize {
  MapVersion map_version;
  TableId table;
  NodeId to;
  Slice<Key> keys;
  bool operator==(const Localize&) const = default;
};

// home -> the owner it had in its directory: hand each row over to `to` when its move_number is one below.
struct MoveOrder {
  MapVersion map_version;
  TableId table;
  NodeId to;
  Slice<Key> keys;
  Slice<uint16_t> move_numbers;
  bool operator==(const MoveOrder&) const = default;
};

// old owner -> new owner; with it the rows are the receiver's.
struct Handover {
  MapVersion map_version;
  uint64_t handover = 0;  // numbers the sender's handovers
  CutId mark;             // the last the sender has had: the rows are in its snapshot, not in an earlier one of others
  RowBatch rows;
  Records records;
  bool operator==(const Handover&) const = default;
};
struct HandoverAck {
  MapVersion map_version;
  uint64_t handover = 0;
  MapVersion arrived_at;  // the receiver's map when the rows arrived
  bool operator==(const HandoverAck&) const = default;
};

// --- copies

// owner -> backup (or, where there is none, next backup); backup -> next backup. The backup applies the same gradients.
struct Replicate {
  NodeId origin;
  SequenceNumber sequence;
  TableId table;
  MapVersion map_version;
  SequenceNumber acked_below;
  Positions positions;
  Slice<Key> keys;
  Slice<float> gradients;      // empty for a probe
  Slice<RowVersion> versions;  // of each row with this push
  uint64_t step = 0;
  NodeId owner;                       // who applied it
  bool ack_wanted = true;             // acknowledge to the origin when contained
  bool relayed = false;               // by the backup to the next backup
  bool probe = false;                 // the push was applied earlier: acknowledge once a copy is as new as `versions`
  uint64_t staleness = kNotMeasured;  // for the PushAck
  bool operator==(const Replicate&) const = default;
};

// "Not my part any more": comes back whole; the sender treats it as a push that was issued again.
struct ReplicateRefused {
  MapVersion map_version;
  Replicate replicate;
  bool operator==(const ReplicateRefused&) const = default;
};

// receiver of a Replicate whose predecessors are missing -> its sender, then routed like a push: the owner sends
// Install.
struct InstallWanted {
  MapVersion map_version;
  TableId table;
  Slice<Key> keys;
  bool by_home = false;
  bool operator==(const InstallWanted&) const = default;
};

// owner -> backup and next backup: take each row unless the copy is newer.
struct Install {
  MapVersion map_version;
  uint64_t install = 0;  // numbers the sender's installs; 0: no answer wanted
  RowBatch rows;
  Records records;
  bool operator==(const Install&) const = default;
};
struct InstallAck {
  MapVersion map_version;
  uint64_t install = 0;
  bool operator==(const InstallAck&) const = default;
};

// every member -> next backup: my Installs for this join are on their way before this message. With join_id 0, every
// member -> leaving node: so are orders that I gave before I knew that you leave.
struct JoinMarker {
  MapVersion map_version;
  MapVersion join_id;
  bool operator==(const JoinMarker&) const = default;
};

// --- directories

// One entry of a directory per key.
struct DirectoryBatch {
  TableId table;
  Slice<Key> keys;
  Slice<NodeId> owners;
  Slice<uint16_t> move_numbers;
  bool operator==(const DirectoryBatch&) const = default;
};

// old home -> new home, in pieces; the last one lists the shards, whose directories are then complete.
struct HomeHandoff {
  MapVersion map_version;
  DirectoryBatch entries;
  std::vector<ShardId> complete;
  bool operator==(const HomeHandoff&) const = default;
};

// home -> every other member, after a recovery began: which rows of my shards do you hold?
struct CollectOwners {
  MapVersion map_version;
  MapVersion recovered_at;
  bool operator==(const CollectOwners&) const = default;
};
// In pieces: rows held (owner: the sender) and rows certain to have reached another node.
struct OwnersReport {
  MapVersion map_version;
  MapVersion recovered_at;
  DirectoryBatch entries;
  bool last = false;
  bool operator==(const OwnersReport&) const = default;
};

// home -> backup, in pieces: send the copies of these keys. With `all_but`: of all keys of `shards` except these.
struct FetchRows {
  MapVersion map_version;
  MapVersion recovered_at;
  TableId table;
  Slice<Key> keys;
  bool all_but = false;
  std::vector<ShardId> shards;  // in the last piece; all shards concerned, also without all_but
  bool last = false;
  bool operator==(const FetchRows&) const = default;
};
// In pieces. Their era has been raised at the backup. Keys asked for that do not come have no copy.
struct FetchedRows {
  MapVersion map_version;
  MapVersion recovered_at;
  RowBatch rows;
  Records records;
  bool all_but = false;  // as in the request
  bool last = false;
  bool operator==(const FetchedRows&) const = default;
};

// --- checkpoints

// owner that writes no files -> home: rows of its snapshot of this cut. The home's snapshot holds them from then on.
struct SnapshotRows {
  MapVersion map_version;
  CutId cut;
  uint64_t number = 0;  // numbers the sender's messages of this kind
  RowBatch rows;
  Records records;
  bool operator==(const SnapshotRows&) const = default;
};
struct SnapshotRowsAck {
  MapVersion map_version;
  CutId cut;
  uint64_t number = 0;
  bool operator==(const SnapshotRowsAck&) const = default;
};

// --- the coordinator's place

// server -> whoever it is linked with: that server runs the coordinator of this term; join there.
struct CoordinatorAt {
  uint32_t term = 0;
  NodeId host;
  uint16_t port = 0;  // for control messages, at the host's address
  bool operator==(const CoordinatorAt&) const = default;
};

// ------------------------------------------------------------------------------------------------ control messages
//
// Each carries the term of its coordinator; a node handles none of a lower term than it has heard of.

// In front of everything that gets an answer. The coordinator answers a request again when it comes again, with the
// same answer, and forgets answers up to `answered_below`.
struct RequestHeader {
  RequestId request;
  RequestId answered_below;  // the sender has all answers up to and including this
  Duration remaining{};      // until the sender gives up, as of sending
  bool operator==(const RequestHeader&) const = default;
};

// First message of every connection to the coordinator, also after a reconnect.
struct Join {
  uint64_t incarnation = 0;  // which process (incarnation.h)
  std::string job_uid;
  Role role = Role::kWorker;
  uint32_t index = 0;
  std::string address;  // of the node's data plane, as others reach it
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
  bool operator==(const Heartbeat&) const = default;
};

// Where a node stands with its rows, under the map it names: sent with every heartbeat and when an entry that somebody
// may wait for becomes zero or joins_done grows. Stateless: the newest one (by `number`) counts.
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
  // have been there that no checkpoint has, which begin anew.
  uint64_t shards_restored = 0, rows_restored = 0, rows_begun_anew = 0;
  bool operator==(const RowsReport&) const = default;
};

struct HeartbeatAck {
  uint64_t number = 0;
  SyncState sync;
  // From the sending of that heartbeat on the node may serve for so long, less a margin (ps/core/liveness_lease.h).
  Duration liveness{};
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
// backup of, are first loaded from `load`, if that is one and has the table.
struct InstallTable {
  TableId table;
  TableSpec spec;
  RestorePoint load;
  bool operator==(const InstallTable&) const = default;
};
struct TableInstalled {
  TableId table;
  Status status;  // not OK: the server cannot; openers are told
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
  bool operator==(const OpenDataSet&) const;
};
struct DataSetOpened {
  RequestId request;
  DataSetId data_set;
  DataSetOptions options;  // resolved
  bool operator==(const DataSetOpened&) const;
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
// Items before `position` are done, the others go to somebody else. Answered by Done.
struct LeaseReturn {
  RequestHeader header;
  LeaseId lease;
  uint64_t position = 0;
  bool operator==(const LeaseReturn&) const = default;
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
  uint64_t steps = 0;  // ended by this worker
  bool operator==(const Leave&) const = default;
};

// --- another coordinator (protocol 5.3)

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
  bool operator==(const Promise&) const = default;
};
struct Promised {
  ShardMap map;
  Heartbeat standing;  // leases too whose end no coordinator has confirmed, with the position they ended at
  SyncState sync;
  std::vector<InstallTable> tables;  // installed at this server
  std::optional<CoordinatorRecord> mirror;
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

// coordinator -> node: this job (a server died) or this node (declared lost) cannot go on. Final.
struct SessionLost {
  Status status;
  bool operator==(const SessionLost&) const = default;
};

using Message =
    std::variant<Push, PushAck, PushRefused, Pull, PullReply, PullRefused, Moved,                   // rows
                 LinkAck, Localize, MoveOrder, Handover, HandoverAck, Replicate, ReplicateRefused,  // rows on their way
                 InstallWanted, Install, InstallAck, JoinMarker, HomeHandoff, CollectOwners, OwnersReport, FetchRows,
                 FetchedRows, SnapshotRows, SnapshotRowsAck, CoordinatorAt, Join, Welcome, JoinRefused, MapUpdate,
                 MapRequest, Heartbeat, RowsReport, HeartbeatAck, SyncUpdate,                           // membership
                 OpenTable, TableOpened, InstallTable, TableInstalled, NewestCheckpoint, StillWorking,  // tables
                 OpenDataSet, DataSetOpened, LeaseRequest, LeaseGrant, LeasesEnded, LeaseDone, LeaseReturn,  // data
                 SaveTables, Mark, MarkDone, WriteSnapshot, SnapshotDone, CutEnded, Leave, MirrorUpdate, MirrorAck,
                 Promise, Promised, Done, Refused, GoalReached, Finished, SessionLost>;

// "Push", for logs and errors.
const char* NameOf(const Message& message);
bool IsRowMessage(const Message& message);
// Row messages only: the field `map_version`; 0 for a LinkAck.
MapVersion MapVersionOf(const Message& message);
void SetMapVersion(Message& message, MapVersion version);

}  // namespace attune::ps
