// Between a node and the coordinator (kCoordinator): how it becomes a member, where it stands, how the job ends. The
// other half, and what all control messages have in common: ps/core/protocol/control_messages.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/protocol/sync_state.h"

namespace attune::ps {

// In front of everything that gets an answer. The coordinator answers a request again when it comes again, with the
// same answer, and forgets answers up to `answered_below`.
struct RequestHeader {
  RequestId request;
  RequestId answered_below;  // the sender has all answers up to and including this
  Duration remaining{};      // until the sender gives up, as of sending
  bool operator==(const RequestHeader&) const = default;
};
ATTUNE_FIELDS(RequestHeader, FIELD(request, Is::kCount), FIELD(answered_below, Is::kCount),
              FIELD_AS("remaining_nanoseconds", remaining));

// coordinator -> server: your next message that names this number supports me for so long, counted from here on
// (ps/core/membership/leader_lease.h). Workers are asked nothing: number 0.
struct SupportQuestion {
  uint64_t number = 0;
  Duration lasts{};
  bool operator==(const SupportQuestion&) const = default;
};
ATTUNE_FIELDS(SupportQuestion, FIELD(number), FIELD_AS("lasts_nanoseconds", lasts, Is::kLeaseTime));

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
ATTUNE_FIELDS(Join, FIELD(incarnation), FIELD(job_uid, AtMost(kNameBytesMax)), FIELD(role), FIELD(index),
              FIELD(address, AtMost(kNameBytesMax)), FIELD(machine, AtMost(kNameBytesMax)), FIELD(takes_rows),
              FIELD(node, Is::kNodeOrNone), FIELD(term));

struct Welcome {
  NodeId node;   // the receiver
  ShardMap map;  // version 0 while servers are missing; then a MapUpdate follows
  uint32_t servers_expected = 0;
  uint32_t servers_joined = 0;
  SyncState sync;  // a worker begins at its floor
  SupportQuestion support{};
  bool operator==(const Welcome&) const = default;
};
ATTUNE_FIELDS(Welcome, FIELD(node, Is::kNode), FIELD(map), FIELD(servers_expected), FIELD(servers_joined), FIELD(sync),
              FIELD(support));

// "Not welcome": wrong job, a duplicate server, a node declared lost, a limit. Final for this process.
struct JoinRefused {
  Status status;
  bool operator==(const JoinRefused&) const = default;
};
ATTUNE_FIELDS(JoinRefused, Inlined(&T::status, Is::kFailure));

struct MapUpdate {
  ShardMap map;
  bool operator==(const MapUpdate&) const = default;
};
ATTUNE_FIELDS(MapUpdate, Inlined(&T::map));

// node -> coordinator: please send me a map newer than mine.
struct MapRequest {
  MapVersion have;
  bool operator==(const MapRequest&) const = default;
};
ATTUNE_FIELDS(MapRequest, FIELD(have));

struct LeasePosition {
  LeaseId lease;
  uint64_t position = 0;  // items of the lease before it are processed and their pushes acknowledged
  bool operator==(const LeasePosition&) const = default;
};
ATTUNE_FIELDS(LeasePosition, FIELD(lease), FIELD(position));

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
  bool announces = false;  // the program has announced rows since the heartbeat before, or they lie ahead
  bool operator==(const Heartbeat&) const = default;
};
ATTUNE_FIELDS(Heartbeat, FIELD(number, Is::kCount), FIELD(map_version), FIELD(steps, Is::kCount),
              FIELD(clock, Is::kCount), FIELD(begun, Is::kCount), FIELD(promised), FIELD(loss_sum, Is::kFinite),
              FIELD(loss_samples, Is::kCount), FIELD(samples, Is::kCount), FIELD(acked_below, Is::kCount),
              FIELD(leases, AtMost(kLeasesPerWorkerMax)), FIELD(supports),
              FIELD(unreached, AtMost(kUnreachedMax, Is::kNode)), FIELD(announces));

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
  uint64_t rows_held = 0;  // rows owned here, shards homed here included
  // In shards homed elsewhere: owned here, or handed on and not acknowledged. Of servers: no planned change before 0.
  uint64_t rows_foreign = 0;
  uint64_t handovers_open = 0;
  uint64_t operations_waiting = 0;
  uint64_t rows_to_come = 0;  // the home's: it calls them back, or they are on their way home
  // For displays.
  uint64_t rows_received = 0, rows_sent = 0;  // by handovers, totals
  uint64_t copies = 0;
  uint64_t copies_to_send = 0;  // to next backups
  // Totals of recoveries: shards whose rows had no copy, rows of such that came from a checkpoint, and rows known to
  // have been there that no checkpoint has, which are reinitialized.
  uint64_t shards_restored = 0, rows_restored = 0, rows_begun_anew = 0;
  bool operator==(const RowsReport&) const = default;
};
ATTUNE_FIELDS(RowsReport, FIELD(number, Is::kCount), FIELD(map_version), FIELD(shards_not_ready, Is::kCount),
              FIELD(joins_done, AtMost(kShardsMax)), FIELD(rows_held, Is::kCount), FIELD(rows_foreign, Is::kCount),
              FIELD(handovers_open, Is::kCount), FIELD(operations_waiting, Is::kCount), FIELD(rows_to_come, Is::kCount),
              FIELD(rows_received, Is::kCount), FIELD(rows_sent, Is::kCount), FIELD(copies, Is::kCount),
              FIELD(copies_to_send, Is::kCount), FIELD(shards_restored, Is::kCount), FIELD(rows_restored, Is::kCount),
              FIELD(rows_begun_anew, Is::kCount));

// What workers have asked a server for, by shard.
struct ShardKeys {
  ShardId shard;
  uint64_t keys = 0;  // pulled or pushed
  bool operator==(const ShardKeys&) const = default;
};
ATTUNE_FIELDS(ShardKeys, FIELD_AS("shards", shard), FIELD(keys, Is::kCount));

// server -> coordinator, beside a heartbeat, at most about once a second and only where workers have asked for
// something since: what they asked its home shards for within a time that this server has measured. Each one stands for
// itself, so one that is lost, late or repeated is no load that was not there.
struct LoadReport {
  uint64_t number = 0;            // 1, 2, ...: an older one arriving late is ignored
  MapVersion map_version;         // at the beginning of that time: a shard that came later was not here for all of it
  Duration lasted{};              // that time
  std::vector<ShardKeys> shards;  // ascending, without those that nothing was asked for
  bool operator==(const LoadReport&) const = default;
};
ATTUNE_FIELDS(LoadReport, FIELD(number, Is::kCount), FIELD(map_version),
              FIELD_AS("lasted_nanoseconds", lasted, Is::kLeaseTime), Columns(&T::shards, kShardsMax));

struct HeartbeatAck {
  uint64_t number = 0;
  SyncState sync;
  // From the sending of that heartbeat on the node may serve for so long, less a margin
  // (ps/core/link/liveness_lease.h).
  Duration liveness{};
  SupportQuestion support{};
  bool announcements_ignored = false;  // at workers, until the next one (ps/core/progress/announcement_trial.h)
  bool operator==(const HeartbeatAck&) const = default;
};
ATTUNE_FIELDS(HeartbeatAck, FIELD(number), FIELD(sync), FIELD_AS("liveness_nanoseconds", liveness, Is::kLeaseTime),
              FIELD(support), FIELD(announcements_ignored));

// coordinator -> workers: the floor has risen, or a hold has begun or ended. Also in every HeartbeatAck.
struct SyncUpdate {
  SyncState sync;
  bool operator==(const SyncUpdate&) const = default;
};
ATTUNE_FIELDS(SyncUpdate, Inlined(&T::sync));

// coordinator -> every node: no more leases; workers finish what they have in hand and leave.
struct GoalReached {
  std::string reason;  // "2 epochs done", for people
  bool operator==(const GoalReached&) const = default;
};
ATTUNE_FIELDS(GoalReached, FIELD(reason, AtMost(kStatusBytesMax)));

// coordinator -> servers: the goal is reached and the last worker has left. To any process that joins then: there is
// nothing left to do for it.
struct Finished {
  bool operator==(const Finished&) const = default;
};
ATTUNE_FIELDS(Finished);

// coordinator -> node: this job (a server died) or this node (declared lost) cannot continue. Final.
struct SessionLost {
  Status status;
  bool operator==(const SessionLost&) const = default;
};
ATTUNE_FIELDS(SessionLost, Inlined(&T::status, Is::kFailure));

}  // namespace attune::ps
