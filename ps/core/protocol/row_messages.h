// What any two nodes say to each other over the data plane, as plain values; the sender's NodeId is known from the
// connection. `map_version` is always that of the node that sent this very message (not of a node it forwards for).
//
// Row messages arrive in order and exactly once while both nodes are members. A push is re-issued with the same
// (origin, sequence) when a recovery may have lost it; a pull with the same request. A Slice may be sent from where it
// lies: it keeps its memory alive, and no thread changes what a message holds.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/slice.h"
#include "ps/store/fold_counts.h"
#include "ps/store/row_version.h"

namespace attune::ps {

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
  Slice<float> gradients;  // keys.size() * dim; with folds: their changes
  uint64_t step = 0;       // global step of the origin, for learning-rate schedules
  bool by_home = false;    // sent here by the home of all keys, because the rows are here or coming
  // For the measure of staleness: what the origin's gradient of keys[seen_index] was computed from. 0: not known.
  RowVersion seen;
  uint32_t seen_index = 0;
  std::vector<FoldCounts> folds;  // empty, or one per key: pushes to a copy, added up to one change (ps/store/fold.h)
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
  std::vector<FoldCounts> folds;      // as in the push
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

// --- copies at workers

// What the sender's program is about to do with a row: steps that read it, steps that write to it, and for how long
// from the sending on. No steps: it has announced the row no more, and keeps a copy that it has until the home takes it
// back.
struct AnnouncedUse {
  uint8_t reads = 0;
  uint8_t writes = 0;
  uint16_t milliseconds : 15 = 0;
  uint16_t has_copy : 1 = 0;  // of the row, as it sends this
  static constexpr uint16_t kMillisecondsMax = (1U << 15) - 1;
  bool operator==(const AnnouncedUse&) const = default;
};

// worker -> home of all keys, in pieces of one table each. Behind it in the order of the link: the folds of what this
// worker has pushed to its copies. The home answers when it has handled all of that.
struct Round {
  MapVersion map_version;
  uint64_t number = 0;                // rises; from 1 by worker and home
  bool first = false;                 // the worker has announced nothing yet, and has no copies
  bool last = false;                  // piece
  uint64_t rounds_per_second = 0;     // as many as it will send
  uint64_t picoseconds_per_byte = 0;  // that the way to the home takes, as the worker has measured
  TableId table;
  Slice<Key> keys;
  Slice<AnnouncedUse> uses;
  std::vector<After> after;  // open pushes of this worker to keys that it would have a copy of
  bool operator==(const Round&) const = default;
};

// home -> worker, in pieces of one table each. With the last one all copies that the worker has of rows of this home
// are as the rows were when the round had come.
struct RoundReply {
  MapVersion map_version;
  uint64_t number = 0;
  bool last = false;
  TableId table;
  Slice<Key> keys;  // have changed, or are new to the worker
  Slice<RowVersion> versions;
  Slice<float> rows;      // of each: values, then optimizer state
  std::vector<Key> left;  // of these it is to have no copy any more
  bool operator==(const RoundReply&) const = default;
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

// server -> every node that it is linked with: that server runs the coordinator of this term; join there.
struct CoordinatorAt {
  uint32_t term = 0;
  NodeId host;
  uint16_t port = 0;    // for control messages, at the host's address
  std::string address;  // of the host's data plane, for those whose map does not name the host
  bool operator==(const CoordinatorAt&) const = default;
};

}  // namespace attune::ps
