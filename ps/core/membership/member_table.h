// The members of a job as its coordinator knows them: who they are, over which connections they speak, when each was
// heard last, and what each has said of its steps and rows; and of those that are gone, what they hear should they
// speak again. A node's number is never given twice. Who counts as lost is the coordinator's to decide, from what is
// known here.
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
#include "ps/core/membership/answer_book.h"
#include "ps/core/membership/gone_members.h"
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
  struct Options {
    // A member that has been silent for so long can have no lease any more.
    Duration liveness_lease{};
    // One whose rows have no copy elsewhere is waited for so long.
    Duration uncovered_timeout{};
    // While none is heard for longer it may be the coordinator that is cut off.
    Duration pause_tolerance{};
  };
  using Map = std::map<NodeId, MemberState>;

  explicit MemberTable(const Options& options) : options_(options) {}

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

  // --- silence

  // Returns the time that is forgiven all members: while no other member at all is heard it is this process that is cut
  // off, or its machine that starves, and those that come back a moment later than the first have been no more silent
  // than that one. Each such gap counts as `pause_tolerance` of silence, for where only a worker that comes and goes is
  // heard now and then there is a gap before each time, and one that has died would never be lost. `is_host`: the
  // server that the coordinator runs in, which it always hears.
  Duration NoteHeard(MemberState& member, bool is_host, MonotonicTime now);
  // What no member could have said, or this process could not have heard, for so long is no evidence against any
  // member.
  void Forgive(Duration time, MonotonicTime now);
  // This process has stood still.
  void SkipPause(Duration pause, MonotonicTime now);
  // The platform's word: a process of this role and index is gone, of pod `pod` (0: not known). With its connection
  // there, or without a word which process it was, it may live: it has to be silent, too. True when it is a member.
  bool NoteSaidGone(Role role, uint32_t index, uint32_t pod, MonotonicTime now);
  // Whose end counts by that word: nothing has been heard for a moment, for a heartbeat meanwhile says that the word
  // was about another process.
  std::vector<NodeId> SaidGone(MonotonicTime now) const;
  struct Silent {
    std::set<NodeId> all;
    std::set<NodeId> lost;  // those of them that need not be waited for any longer
  };
  Silent FindSilent(const ShardMap& map, MonotonicTime now) const;
  // Rows would go back to a checkpoint, or be reinitialized: the server, or the worker, has some that no other server
  // that is heard of keeps a copy of.
  bool WouldCostRows(const MemberState& lost, const ShardMap& map, MonotonicTime now) const;

  // --- the last server

  // It is lost, and stays a member until another one has taken its place, or it is back.
  void NoteLastServerLost(MemberState& server, MonotonicTime now);
  bool NoteBack(MemberState& server);
  // Those that another one takes the place of.
  std::vector<NodeId> TakeLostServers();
  bool without_server() const { return last_server_lost_ != kNever; }
  bool WithoutServerFor(Duration time, MonotonicTime now) const {
    return without_server() && now - last_server_lost_ >= time;
  }

  // --- steps and rows

  // Of all workers, gone ones too.
  uint64_t TotalSteps() const;
  uint64_t steps_of_gone() const { return steps_of_gone_; }
  void AddStepsOfGone(uint64_t steps);
  void SetStepsOfGone(uint64_t steps) { steps_of_gone_ = steps; }
  // By how much the totals of a member have grown; nullopt: the report is an old one.
  struct RowsGrown {
    uint64_t shards_restored = 0, rows_restored = 0, reinitialized = 0;
  };
  std::optional<RowsGrown> OnRows(MemberState& member, const RowsReport& report);
  struct Rows {
    uint64_t held = 0, to_come = 0, copies_to_send = 0;
  };
  Rows RowsOfAll() const;
  // Received by members while this coordinator led.
  uint64_t rows_moved() const { return rows_moved_; }
  // All have the map, and no shard of theirs is incomplete.
  bool AllReady(const ShardMap& map) const;
  // It holds nothing under the map, which does not name it.
  static bool IsEmpty(const MemberState& member, const ShardMap& map);

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
  Options options_;
  Map members_;
  NodeId next_{1};
  std::map<ConnectionId, NodeId> connections_;
  GoneMembers gone_;
  std::map<NodeId, MonotonicTime> forgotten_;  // members that only an earlier coordinator knew, since they speak here
  MonotonicTime others_heard_ = kNever;        // when any member but the coordinator's own server was last heard
  MonotonicTime last_server_lost_ = kNever;
  uint64_t steps_of_gone_ = 0, rows_moved_ = 0;
};

}  // namespace attune::ps
