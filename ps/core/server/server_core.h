// A server's side of the protocol: what it says to the coordinator, links to the other servers, and around them a
// RowNode, which applies pushes, answers pulls and moves rows. No sockets, threads or clock.
//
// Externally synchronized: one Step at a time. Nothing waits: a pull whose own pushes have not arrived is parked and
// dropped at its deadline (the worker ends its call by itself).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/link/fenced_inbox.h"
#include "ps/core/link/heartbeats.h"
#include "ps/core/link/row_links.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/message_rights.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/cut_part.h"
#include "ps/core/rows/row_node.h"
#include "ps/core/server/load_reports.h"
#include "ps/core/server/server_ending.h"
#include "ps/core/server/server_io.h"
#include "ps/core/server/server_membership.h"
#include "ps/core/server/server_peers.h"
#include "ps/core/server/server_terms.h"
#include "ps/core/server/table_loads.h"

namespace attune::ps {

class ServerCore {
 public:
  explicit ServerCore(ServerOptions options);

  void Step(ServerInput input, MonotonicTime now, ServerOutputs& out);
  MonotonicTime WakeAt() const;

  NodeId node() const { return membership_.node(); }
  const ShardMap& map() const { return rows_.map(); }
  const RowNode& rows() const { return rows_; }
  size_t links() const { return links_.size(); }
  const ServerTerms& terms() const { return terms_; }
  // Messages dropped because their senders may not say such a thing (message_rights.h).
  uint64_t without_right() const { return rights_.refused(); }
  // What the coordinator that ran in this process knew when it ended.
  void KeepRecord(CoordinatorRecord record) { terms_.Keep(std::move(record), map()); }
  // Whether the coordinator's answers allow it to serve at this time (docs/protocol.md#another-coordinator).
  bool MayServe(MonotonicTime now) const { return heartbeats_.lease().Valid(now); }
  // A coordinator has said so to this server.
  bool goal_reached() const { return ending_.goal_reached(); }

 private:
  void On(Received input, MonotonicTime now, ServerOutputs& out);
  void On(PeerConnected input, MonotonicTime now, ServerOutputs& out);
  void On(PeerDisconnected input, MonotonicTime now, ServerOutputs& out);
  void On(SnapshotWritten input, MonotonicTime now, ServerOutputs& out);
  void On(CoordinatorHere input, MonotonicTime now, ServerOutputs& out);
  void On(TableLoaded input, MonotonicTime now, ServerOutputs& out);
  void On(RowsRead input, MonotonicTime now, ServerOutputs& out);
  void On(Timer input, MonotonicTime now, ServerOutputs& out);

  // What the coordinator says of checkpoints, and messages that a server never gets, which are ignored.
  template <typename Other>
  void OnMessage(NodeId, Other&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, Welcome&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, JoinRefused&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, SessionLost&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, MapUpdate&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, InstallTable&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, GoalReached&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, Finished&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, HeartbeatAck&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, MirrorUpdate&& message, MonotonicTime now, ServerOutputs& out);
  void OnMessage(NodeId from, Promise&& message, MonotonicTime now, ServerOutputs& out);
  void OnCoordinatorAt(NodeId from, const CoordinatorAt& message, ServerOutputs& out);

  void AdoptMap(ShardMap map, MonotonicTime now, ServerOutputs& out);
  void AskForMap(MonotonicTime now, ServerOutputs& out);
  void Install(const InstallTable& install, LoadedTable loaded, ServerOutputs& out);
  void OnRowMessage(Received input, MonotonicTime now, ServerOutputs& out);
  // Send on what a step of the rows, or of a checkpoint's cut, has brought.
  void Forward(RowOutputs& rows, MonotonicTime now, ServerOutputs& out);
  void Forward(CutPart::Outputs& cut, MonotonicTime now, ServerOutputs& out);
  void SendReport(ServerOutputs& out);
  void SendHeartbeat(MonotonicTime now, ServerOutputs& out);

  ServerOptions options_;
  MonotonicTime now_{};  // of the step in progress
  ServerMembership membership_;
  ServerTerms terms_;
  RightsCheck rights_{Party::kServer};
  Heartbeats heartbeats_;
  FencedInbox fenced_;  // row messages that came while the lease had run out
  RowNode rows_;
  RowLinks links_;
  ServerPeers peers_;
  CutPart cut_;
  TableLoads loads_;
  uint64_t reports_ = 0;  // RowsReports that have been sent
  LoadReports load_;
  ServerEnding ending_;
};

}  // namespace attune::ps
