// What goes into the coordinator and what comes out: its options, inputs, outputs and progress.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/row_management.h"
#include "base/status.h"
#include "base/sync_mode.h"
#include "base/time_source.h"
#include "ps/core/coordinator/balance/load_balance.h"
#include "ps/core/coordinator/coordinator_commands.h"
#include "ps/core/membership/leader_lease.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"

namespace attune::ps {

struct CoordinatorOptions {
  std::string job_uid;
  uint32_t term = 1;
  // Of a job that another coordinator has led: it starts from what the members answer, and what the job was started
  // with comes from the copy that one of them keeps.
  bool takeover = false;
  // Another one may follow this one: a copy of its state is kept elsewhere, and it stops when it hears no other server.
  bool may_be_followed = true;
  std::optional<Voters> voters;    // the operator has confirmed last, under this term or an earlier one
  RestorePoint newest_checkpoint;  // for the word to the user, should it be all that is left
  uint32_t servers = 1;            // the job serves when so many have joined; indices 0 .. servers - 1
  uint32_t shards = kShardsDefault;
  JobGoal goal;
  uint64_t items = 0;        // of a data set that does not say; 0: it must
  uint64_t lease_items = 0;  // 0: chosen
  SyncMode synchronization;
  RowManagement row_management = RowManagement::kAdaptive;
  uint32_t backups = 0;  // second copies of every shard, 0 or 1
  // A node may act for so long after a heartbeat that was answered; then it is proven dead
  // (docs/protocol.md#another-coordinator).
  Duration liveness_lease = std::chrono::seconds(3);
  // A server's support of this coordinator lasts for so long (ps/core/membership/leader_lease.h).
  Duration leader_lease = std::chrono::milliseconds(4500);
  // A link between two members, both of which are heard, is missing for so long: one of the two has to go.
  Duration link_timeout = std::chrono::seconds(10);
  // A silent server whose rows have no copy elsewhere is waited for this long: its loss would cost them.
  Duration uncovered_timeout = std::chrono::seconds(10);
  Duration replacement_grace = std::chrono::seconds(60);  // the last server is lost: so long another one may join
  // Moved or copied at a time; the next when their rows are there, which takes some round trips however few they are.
  // More shards where they hold fewer rows than this together: a small table changes its place at once.
  size_t shard_changes_max = 32;
  uint64_t row_changes_max = 16384;
  // The tables begin with the rows of this checkpoint, if that is one, and the job continues where it was cut.
  RestorePoint load;
  std::optional<CutRecord> resume;
  Duration load_timeout = std::chrono::hours(1);     // a table; a program that opens it is asked to wait for so long
  Duration mark_timeout = std::chrono::seconds(30);  // all nodes copy their rows; training stands meanwhile
  std::optional<uint32_t> host_index;                // of the server this coordinator runs in
  Duration check_interval = std::chrono::milliseconds(500);
  Duration pause_tolerance = std::chrono::seconds(1);  // a step that is later than that follows a pause of this process
  Duration send_again_after = std::chrono::seconds(2);  // InstallTable, Mark, WriteSnapshot
  Duration straggler_after = std::chrono::seconds(5);   // the floor stands and others wait: said aloud
  RebalanceRules rebalance;                             // servers that are asked for more than others
  Duration loss_window = std::chrono::seconds(1);       // losses are averaged over it, then smoothed over windows
  Mutations mutations;
};

struct FromConnection {
  ConnectionId from;
  Message message;
};
struct ConnectionClosed {
  ConnectionId connection;
};
// The shell's answers to CoordinatorOutputs::begin_checkpoint and commit_checkpoint.
struct CheckpointBegun {
  CutId cut;
  Status status;
  uint64_t checkpoint = 0;  // its number
  uint64_t base = 0;        // the checkpoint it builds on; 0: none
};
struct CheckpointCommitted {
  CutId cut;
  Status status;
};
struct FromOperator {
  CommandId id;
  Command command;
  Duration timeout = std::chrono::minutes(2);  // then it is answered with DeadlineExceeded
};
struct CoordinatorTimer {};

using CoordinatorInput = std::variant<FromConnection, ConnectionClosed, CheckpointBegun, CheckpointCommitted,
                                      FromOperator, CoordinatorTimer>;

struct ToConnection {
  ConnectionId to;
  Message message;
};

// Give the next checkpoint in this directory its number; answer with CheckpointBegun.
struct CheckpointOrder {
  CutId cut;
  std::string directory;
};
// All nodes have written: check that their files are there and write the manifest that makes them a checkpoint; answer
// with CheckpointCommitted.
struct CheckpointCommit {
  CutId cut;
  std::string directory;
  uint64_t checkpoint = 0, base = 0;
  std::vector<TableSpec> tables;  // by TableId - 1
  std::vector<CutFile> files;
  CutRecord record;
};

struct CoordinatorOutputs {
  std::vector<ToConnection> send;
  std::vector<ConnectionId> close;  // after sending
  std::optional<CheckpointOrder> begin_checkpoint;
  std::optional<CheckpointCommit> commit_checkpoint;
  std::vector<CommandResult> command_results;
  std::vector<std::string> events;  // "worker 1 (node 4) joined", for the log
  std::vector<RejectedMessage> rejected;
  std::optional<std::string> goal_reached;
  bool superseded = false;       // a node obeys a higher term: end this coordinator
  bool finished = false;         // goal reached, closing work done, and all workers have left
  std::optional<Status> failed;  // the job cannot continue

  void Clear();
};

// For telemetry; see JobWindow.
struct JobProgress {
  std::string data_set;  // the one leases were last taken from
  uint64_t epoch = 0, epochs = 0;
  uint64_t items = 0, items_done = 0, items_total = 0, reprocessed_items = 0;
  uint32_t servers = 0, servers_expected = 0, workers = 0;
  uint64_t floor_clock = 0, steps = 0;
  std::string synchronization;           // "ssp:4"
  std::string floor_holder;              // "worker 2 (node 5)", while others wait for it
  std::optional<uint32_t> floor_worker;  // its index
  Duration floor_held_for{};
  // Rows on their way: moves and copies planned, rows that homes call back, rows to copy; then totals.
  uint64_t shards_to_change = 0, rows_to_come = 0, copies_to_send = 0;
  uint64_t rows_moved = 0, recoveries = 0;
  Relief relief;  // the last hot server that was relieved
  // Of all recoveries, what had no copy: rows and shards that came from a checkpoint, and rows that were reinitialized;
  // then the checkpoint the last one took, where it was cut, and how many steps of all workers that lost.
  uint64_t rows_restored = 0, shards_restored = 0, rows_begun_anew = 0;
  RestorePoint restored_from;
  uint64_t steps_lost = 0;
  bool model_lost = false;  // by any of these recoveries (RecoveryLedger::model_lost)
  uint32_t servers_wanted = 0, backups = 0;
  std::vector<uint32_t> lost_pods;  // of members that this coordinator has declared lost, the last one first
  uint64_t checkpoints = 0, checkpoint_clock = 0;  // taken by this coordinator, and where the last one was cut
  std::optional<double> smoothed_loss;
  struct {
    RowManagement management = RowManagement::kAdaptive;
    bool ignored = false;   // at present
    bool on_trial = false;  // they are acted on and ignored in turns
    std::optional<double> speedup;
  } announcements;  // of rows, see AnnouncementTrial
  struct {
    bool held = true;              // it may act (ps/core/membership/leader_lease.h)
    MapVersion map_version;        // of the map that it leads, or that `wanted` was chosen by
    std::vector<uint32_t> wanted;  // ask to be confirmed with these voters, by node id, ascending; empty: no need
  } lease;
  bool serving = false;
  double trained_seconds = 0;  // what max_duration limits
  bool taking_over = false;    // members have not answered yet: nothing else is known
  std::string goal_reached;    // reason; empty: not yet
  // What follows the goal (docs/decisions/0037).
  struct {
    bool done = false;        // all of it: the job is finished
    bool declared = false;    // there is a data set for it
    std::string data_set;     // the first one with items that are not done; empty: none
    uint64_t items_left = 0;  // of it
  } closing;
  std::vector<MetricState> metrics;               // by name
  std::optional<BestCheckpoint> best_checkpoint;  // the last one that is complete
};

}  // namespace attune::ps
