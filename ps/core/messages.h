// Everything nodes say to each other, as plain values. Encodings belong to transports.
//
// Two families:
//   row messages      worker <-> server, over the data plane; the sender's NodeId is known from the link
//   control messages  any node <-> coordinator (kCoordinator), over one stream per node; the first message is Join
// The names and identities are those of the protocol description in docs/protocol.md.
//
// What a transport must give: a message arrives whole or not at all. Order, loss (of whole messages, at a broken
// connection) and duplication are the cores' business. Identity of a peer, job id and protocol version are checked in
// the transport's handshake.
//
// Reliability: a push is re-issued with the same (origin, sequence) until each of its keys is acknowledged or refused;
// a pull with the same request until answered or past its deadline; a control request with the same RequestId until
// answered.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "attune/ps/session.h"
#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/ids.h"
#include "ps/core/limits.h"
#include "ps/core/shard_map.h"
#include "ps/core/slice.h"
#include "ps/core/sync_mode.h"
#include "ps/store/table_store.h"

namespace attune::ps {

// ---------------------------------------------------------------------------------------------------- row messages

// Which keys of the origin's push a message speaks of: places in the origin's own key list of that push.
struct Positions {
  uint32_t first = 0;  // `count` consecutive places, when `list` is empty
  uint32_t count = 0;
  std::vector<uint32_t> list;  // else these, ascending
  size_t size() const { return list.empty() ? count : list.size(); }
  uint32_t At(size_t i) const { return list.empty() ? first + static_cast<uint32_t>(i) : list[i]; }
  bool operator==(const Positions&) const = default;
};

// worker -> home. Keys are unique within one push, over all messages it is split into.
struct Push {
  NodeId origin;
  SequenceNumber sequence;
  TableId table;
  MapVersion map_version;
  SequenceNumber acked_below;  // all pushes of `origin` up to and including this are settled for all keys
  Positions positions;         // of these keys in the origin's push; returned in the answer
  Slice<Key> keys;
  Slice<float> gradients;  // keys.size() * dim
  bool operator==(const Push&) const = default;
};

// applier -> origin. Applied now or earlier.
struct PushAck {
  SequenceNumber sequence;
  MapVersion map_version;
  Positions positions;
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

// worker -> home.
struct Pull {
  NodeId origin;
  RequestId request;  // one per message, not per call
  TableId table;
  MapVersion map_version;
  SequenceNumber acked_below;
  Duration remaining{};      // until the call's deadline, as of sending
  Slice<Key> keys;           // may repeat
  std::vector<After> after;  // mostly empty
  bool operator==(const Pull&) const = default;
};

struct PullReply {
  RequestId request;
  MapVersion map_version;
  Slice<float> rows;  // in the order of the pull's keys
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

// ------------------------------------------------------------------------------------------------ control messages

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
  uint64_t incarnation = 0;  // random per process: tells a reconnect from a restart
  std::string job_uid;
  Role role = Role::kWorker;
  uint32_t index = 0;
  std::string address;  // of a server's data plane, as others reach it
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

struct HeartbeatAck {
  uint64_t number = 0;
  SyncState sync;
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
  bool operator==(const OpenTable&) const;
};
struct TableOpened {
  RequestId request;
  TableId table;
  bool operator==(const TableOpened&) const = default;
};

// coordinator -> server, repeated until answered.
struct InstallTable {
  TableId table;
  TableSpec spec;
  bool operator==(const InstallTable&) const;
};
struct TableInstalled {
  TableId table;
  Status status;  // not OK: the server cannot; openers are told
  bool operator==(const TableInstalled&) const = default;
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

// worker -> coordinator: all servers write all tables. Answered by Done (after the manifest is written) or Refused.
struct SaveTables {
  RequestHeader header;
  std::string directory;
  bool operator==(const SaveTables&) const = default;
};
// coordinator -> server, repeated until answered. `part` of `parts` names the file of this server.
struct WriteTables {
  SaveId save;
  std::string directory;
  uint32_t part = 0, parts = 0;
  bool operator==(const WriteTables&) const = default;
};
struct WrittenFile {
  TableId table;
  std::string name;  // relative to the directory
  uint64_t rows = 0;
  uint64_t bytes = 0;
  uint64_t checksum = 0;
  bool operator==(const WrittenFile&) const = default;
};
struct TablesWritten {
  SaveId save;
  Status status;
  std::vector<WrittenFile> files;
  bool operator==(const TablesWritten&) const = default;
};

// worker -> coordinator, after its pushes are acknowledged and its leases handed back. Answered by Done.
struct Leave {
  RequestHeader header;
  uint64_t steps = 0;  // ended by this worker
  bool operator==(const Leave&) const = default;
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
    std::variant<Push, PushAck, PushRefused, Pull, PullReply, PullRefused, Moved,                         // rows
                 Join, Welcome, JoinRefused, MapUpdate, MapRequest, Heartbeat, HeartbeatAck, SyncUpdate,  // membership
                 OpenTable, TableOpened, InstallTable, TableInstalled,                                    // tables
                 OpenDataSet, DataSetOpened, LeaseRequest, LeaseGrant, LeasesEnded, LeaseDone, LeaseReturn,  // data
                 SaveTables, WriteTables, TablesWritten, Leave, Done, Refused, GoalReached, Finished, SessionLost>;

// "Push", for logs and errors.
const char* NameOf(const Message& message);
bool IsRowMessage(const Message& message);

}  // namespace attune::ps
