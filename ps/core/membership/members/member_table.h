// The members of a job as its coordinator knows them: who they are and over which connections they speak, with what
// each has reported last; and of those that are gone, what they hear should they speak again. A node's number is never
// given twice. Who has been silent for too long: silence_watch.h; what reports of rows say together: row_reports.h.
//
// Pure; externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/membership/members/answer_book.h"
#include "ps/core/membership/members/gone_members.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

struct MemberState {
  Member member;
  std::optional<ConnectionId> connection;
  MonotonicTime silent_since;  // last heartbeat or join; moved by the time that this process has stood still since
  Heartbeat last;              // totals
  bool uses_leases = false;    // of training data: without one it has no work
  std::optional<RowsReport> rows;
  std::optional<MonotonicTime> said_gone;  // by the platform; it counts once the node is silent, too
  bool proven_gone = false;                // it has named the very process
  bool lost = false;                       // the last server: stays in the map until there is another one
  std::optional<Leave> leave;              // waits until the rows it held have gone home
  AnswerBook requests;

  bool is_server() const { return member.role == Role::kServer; }
  // It says where it stands with rows.
  bool reports() const { return member.may_own_rows(); }
  // The newest map that it has said to have.
  MapVersion known_map() const { return std::max(last.map_version, rows ? rows->map_version : MapVersion()); }
};

class MemberTable {
 public:
  using Map = std::map<NodeId, MemberState>;

  // `liveness_lease`: a member that has been silent for so long can have no lease any more.
  explicit MemberTable(Duration liveness_lease) : liveness_lease_(liveness_lease) {}

  // --- members, ascending

  Map::iterator begin() { return members_.begin(); }
  Map::iterator end() { return members_.end(); }
  Map::const_iterator begin() const { return members_.begin(); }
  Map::const_iterator end() const { return members_.end(); }
  size_t size() const { return members_.size(); }
  bool contains(NodeId node) const { return members_.contains(node); }
  MemberState& at(NodeId node) { return members_.at(node); }
  const MemberState& at(NodeId node) const { return members_.at(node); }
  // nullptr: it is none.
  MemberState* Find(NodeId node);
  const MemberState* Find(NodeId node) const;
  // The one that this process is.
  MemberState* FindProcess(uint64_t incarnation);
  // "server 1 (node 3)", for messages.
  std::string Name(NodeId node) const;
  // As maps list them.
  std::vector<Member> Members() const;
  std::set<NodeId> Servers() const;
  bool AnyServerBelow(uint32_t index) const;
  bool AnyWorker() const;

  // A new one, under the next number.
  MemberState& Admit(const Join& join, ConnectionId from);
  // One of an earlier coordinator's time, under its number.
  MemberState& Restore(const Member& member, std::optional<ConnectionId> connection);
  // `why` OK: it has left.
  void Remove(NodeId node, Status why, MonotonicTime now);
  NodeId next() const { return next_; }
  // Numbers below this one have been given.
  void ReserveBelow(NodeId next) { next_ = std::max(next_, next); }

  // --- connections

  void Connect(ConnectionId connection, NodeId node) { connections_[connection] = node; }
  // It speaks over this connection from now on.
  void Attach(MemberState& member, ConnectionId connection);
  // nullopt: none has named itself there.
  std::optional<NodeId> NodeAt(ConnectionId connection) const;
  void Close(ConnectionId connection);

  // --- steps

  // Of all workers, gone ones too.
  uint64_t TotalSteps() const;
  uint64_t steps_of_gone() const { return steps_of_gone_; }
  void AddStepsOfGone(uint64_t steps);
  void SetStepsOfGone(uint64_t steps) { steps_of_gone_ = steps; }

  // --- those that are gone

  const GoneMembers& gone() const { return gone_; }
  void NoteGone(NodeId node, uint64_t incarnation, Status why, MonotonicTime now);
  // A member of another coordinator's time that has left, or was lost, without this one having seen it.
  void ForgetFormer(ConnectionId from, const Join& join, MonotonicTime now);
  // One that left under an earlier coordinator asks so within its first moments here; one that continues with
  // heartbeats was lost there, does not know it, and would wait for a lease for ever.
  bool WaitsInVain(NodeId node, MonotonicTime now) const;
  // Forgets what is too old. Returns the connections of those, should they be open still.
  std::vector<ConnectionId> Expire(MonotonicTime now);

 private:
  const Duration liveness_lease_;
  Map members_;
  NodeId next_{1};
  std::map<ConnectionId, NodeId> connections_;
  GoneMembers gone_;
  std::map<NodeId, MonotonicTime> forgotten_;  // members that only an earlier coordinator knew, since they speak here
  uint64_t steps_of_gone_ = 0;
};

}  // namespace attune::ps
