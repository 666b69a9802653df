// A server's side of the protocol: what it says to the coordinator, links to the other servers, and around them a
// RowNode, which applies pushes, answers pulls and moves rows. No sockets, threads or clock.
//
// Externally synchronized: one Step at a time. Nothing waits: a pull whose own pushes have not arrived is parked and
// dropped at its deadline (the worker ends its call by itself).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/link/fenced_inbox.h"
#include "ps/core/link/liveness_lease.h"
#include "ps/core/link/row_links.h"
#include "ps/core/membership/coordinator_notices.h"
#include "ps/core/membership/support_given.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/message_rights.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/cut_part.h"
#include "ps/core/rows/row_node.h"
#include "ps/core/server/load_reports.h"
#include "ps/store/table_store.h"

namespace attune::ps {

struct ServerOptions {
  std::string job_uid;
  uint64_t incarnation = 0;  // which process (incarnation.h)
  uint32_t index = 0;
  std::string address;  // of the data plane, as workers reach it
  std::string machine;  // copies of its rows are kept on another one; empty: not known
  Duration heartbeat_interval = std::chrono::milliseconds(500);
  Duration ask_again_after = std::chrono::seconds(2);       // join, newer map
  Duration load_interval = std::chrono::milliseconds(900);  // between load reports, at least; they go with heartbeats
  // Makes the store of a table's rows, and the one for copies of other servers' rows (when null, the same).
  std::function<StatusOr<std::unique_ptr<TableStore>>(const TableSpec&)> create_store;
  std::function<StatusOr<std::unique_ptr<TableStore>>(const TableSpec&)> create_copies;
  // Memory for rows on their way to a node, which its transport need not copy; null, or giving null: any memory.
  std::function<std::shared_ptr<void>(NodeId to, size_t bytes)> row_memory;
  LinkOptions link;  // to others that may hold rows
  Mutations mutations;
};

// The coordinator of this term runs in this process from now on; others are informed.
struct CoordinatorHere {
  uint32_t term = 0;
  uint16_t port = 0;
};

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

// The shell's answer to ServerOutputs::restore. `rows` null: the checkpoint does not have the table; with an error: it
// cannot be read, so the rows are reinitialized.
struct RowsRead {
  RestoreOrder order;
  Status status;
  std::shared_ptr<const TableStore> rows;
  FilterRecords filter;
};

using ServerInput = std::variant<Received, PeerConnected, PeerDisconnected, SnapshotWritten, TableLoaded, RowsRead,
                                 CoordinatorHere, Timer>;

struct ServerOutputs {
  std::vector<Outgoing> send;
  std::vector<Member> connect;     // servers to keep a link to, from now on
  std::vector<NodeId> disconnect;  // members no longer: their links are forgotten, no matter who dialed
  std::optional<SnapshotOrder> write_snapshot;
  bool call_off_snapshot = false;  // the one being written
  std::vector<LoadOrder> load;
  std::vector<RestoreOrder> restore;  // read these rows, see RowOutputs
  uint64_t rows_restored = 0, rows_begun_anew = 0;
  std::optional<CoordinatorPlace> coordinator;  // join there from now on
  std::vector<RejectedMessage> rejected;
  bool finished = false;       // the job is over; end with success
  std::optional<Status> lost;  // end with this error

  void Clear();
};

using ServerCounters = RowCounters;

class ServerCore {
 public:
  explicit ServerCore(ServerOptions options);

  void Step(ServerInput input, MonotonicTime now, ServerOutputs& out);
  MonotonicTime WakeAt() const;

  NodeId node() const { return node_; }
  const ShardMap& map() const { return rows_.map(); }
  const ServerCounters& counters() const { return rows_.counters(); }
  size_t parked() const { return rows_.parked(); }
  // By TableId - 1; null where a table is not installed here.
  const std::vector<std::unique_ptr<TableStore>>& tables() const { return rows_.tables(); }
  const RowNode& rows() const { return rows_; }
  size_t links() const { return links_.size(); }
  // Of the coordinator it obeys: no other one of a lower term.
  uint32_t term() const { return term_; }
  // Of other coordinators, from nodes that have no say in it.
  uint64_t notices_ignored() const { return notices_.ignored(); }
  // Messages dropped because their senders may not say such a thing (message_rights.h).
  uint64_t without_right() const { return rights_.refused(); }
  // What the coordinator that ran in this process knew when it ended.
  void KeepRecord(CoordinatorRecord record);
  // Whether the coordinator's answers allow it to serve at this time (docs/protocol.md#another-coordinator).
  bool MayServe(MonotonicTime now) const { return lease_.Valid(now); }
  // Since the coordinator's last answer, or since the start.
  Duration CoordinatorSilence(MonotonicTime now) const { return now - coordinator_heard_; }
  // A coordinator has said so to this server.
  bool goal_reached() const { return goal_reached_; }

 private:
  void On(Received input, MonotonicTime now, ServerOutputs& out);
  void On(PeerConnected input, MonotonicTime now, ServerOutputs& out);
  void On(PeerDisconnected input, MonotonicTime now, ServerOutputs& out);
  void On(SnapshotWritten input, MonotonicTime now, ServerOutputs& out);
  void On(CoordinatorHere input, MonotonicTime now, ServerOutputs& out);
  void On(TableLoaded input, MonotonicTime now, ServerOutputs& out);
  void On(RowsRead input, MonotonicTime now, ServerOutputs& out);
  void On(Timer input, MonotonicTime now, ServerOutputs& out);

  template <typename Other>
  void OnMessage(NodeId, Other&&, MonotonicTime, ServerOutputs&) {}
  void OnMessage(NodeId from, Welcome&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, JoinRefused&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, MapUpdate&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, InstallTable&& message, MonotonicTime now, ServerOutputs& out);
  LoadOrder ToLoad(const InstallTable& install) const;
  void Install(const InstallTable& install, LoadedTable loaded, ServerOutputs& out);
  void OnMessage(NodeId from, NewestCheckpoint&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, Mark&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, WriteSnapshot&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, CutEnded&& message, MonotonicTime now, ServerOutputs& out);
  void Forward(CutPart::Outputs& cut, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, GoalReached&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, Finished&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, HeartbeatAck&& message, MonotonicTime now, ServerOutputs& out);

  // server_terms.cpp
  void OnMessage(NodeId from, MirrorUpdate&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, Promise&& message, MonotonicTime now, ServerOutputs& out);
  void OnCoordinatorAt(NodeId from, const CoordinatorAt& message, ServerOutputs& out);
  void ReportCoordinatorsPlace(std::optional<NodeId> only, ServerOutputs& out);
  void OnMessage(NodeId from, SessionLost&& message, MonotonicTime now, ServerOutputs& out);
  void OnQuestion(const SupportQuestion& question, MonotonicTime now);

  void AdoptMap(ShardMap map, MonotonicTime now, ServerOutputs& out);
  void AskForMap(MonotonicTime now, ServerOutputs& out);
  void OnRowMessage(Received input, MonotonicTime now, ServerOutputs& out);
  void TakeUpWhatWaited(MonotonicTime now, ServerOutputs& out);
  // Sends on what a step of the rows has brought.
  void Forward(RowOutputs& rows, MonotonicTime now, ServerOutputs& out);
  void SendReport(ServerOutputs& out);
  void SendJoin(MonotonicTime now, ServerOutputs& out);
  void Lose(Status status, ServerOutputs& out);
  void EndAsNoMember(Status status, ServerOutputs& out);
  void SendHeartbeat(MonotonicTime now, ServerOutputs& out);
  void HeartbeatSoon(MonotonicTime now);
  std::vector<NodeId> Unreached() const;

  ServerOptions options_;
  NodeId node_;
  bool ended_ = false;
  bool goal_reached_ = false;
  MonotonicTime now_{};  // of the step in progress
  MonotonicTime coordinator_heard_{};
  uint32_t term_ = 0;
  CoordinatorAt coordinator_at_;  // host 0: where it was when this server started
  RightsCheck rights_{Party::kServer};
  CoordinatorNotices notices_;
  std::optional<CoordinatorRecord> mirror_;
  LivenessLease lease_;
  FencedInbox fenced_;  // while the lease has run out
  SupportGiven support_;
  std::set<NodeId> linked_;  // peers with a connection
  RowNode rows_;
  RowLinks links_;
  CutPart cut_;
  std::set<TableId> loading_;

  bool coordinator_connected_ = false;
  MonotonicTime next_heartbeat_ = kNever;
  MonotonicTime join_sent_{};
  std::optional<MonotonicTime> map_asked_;
  uint64_t heartbeat_ = 0;
  uint64_t report_ = 0;
  LoadReports load_{options_.load_interval};
};

}  // namespace attune::ps
