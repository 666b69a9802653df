// The world of this simulation: RowNodes and the links between them, with programs of workers that issue pushes and
// pulls by hand. The parts of the class are in files of their own: links, maps, script (what is done to the nodes), bad
// luck, workload, holders (copies at workers), checkers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/link/link.h"
#include "ps/core/rows/row_node.h"
#include "tests/simulation/counting_store.h"
#include "tests/simulation/network.h"
#include "tests/simulation/rows/holder.h"
#include "tests/simulation/rows/parameters.h"
#include "tests/simulation/world.h"

namespace attune::ps::simulation {

constexpr uint32_t kColumnsMax = 40;  // pushes of a run

struct SimPush {
  NodeId origin;
  SequenceNumber sequence;
  TableId table;
  uint32_t column = 0;
  std::vector<Key> keys;
  std::vector<bool> acked;
  std::vector<FoldCounts> folds;  // empty, or by key: pushes to copies, added up
  bool is_open = false;           // more may be added to the folds, and nothing has been sent
  bool All() const {
    return !is_open && std::ranges::all_of(acked, [](bool one) { return one; });
  }
};

struct SimPull {
  RequestId request;
  TableId table;
  std::vector<Key> keys;
  std::vector<std::vector<uint32_t>> must;  // per key: columns
  std::vector<After> after;
  std::vector<RowVersion> seen;  // per key, when issued
  std::vector<bool> answered;
  bool open = true;
};

class RowSimulation : public World {
 public:
  RowSimulation(const RowParameters& parameters, const Mutations& mutations, bool keep_history)
      : World(SplitMix64(parameters.seed ^ 0x10ad), keep_history),
        p_(parameters),
        mutations_(mutations),
        network_(*this,
                 {.delay_max = parameters.delay_max,
                  .loss = parameters.loss,
                  .duplicate = parameters.duplicate,
                  .break_chance = parameters.break_chance,
                  .late_copy = parameters.late_copy,
                  .queue = parameters.queue},
                 [this](Place a, Place b) { Break(NodeId(a), NodeId(b)); }) {}

  Outcome Simulate();

 private:
  struct Node {
    NodeId id;
    Role role = Role::kServer;
    bool alive = true;
    bool suspected = false;  // taken for dead, but running
    std::unique_ptr<RowNode> rows;
    std::map<NodeId, Link> links;
    std::set<NodeId> gone;  // peers that were dropped from the map
    std::optional<MonotonicTime> wake;
    bool asked_map = false;
    // A worker's program.
    std::vector<size_t> pushes;  // indexes into pushes_
    uint64_t next_sequence = 1;
    uint64_t next_request = 1;
    std::map<RequestId, SimPull> pulls;
    std::map<TableKey, RowVersion> seen;
    SimHolder holder;
  };
  Duration Sometime(double share = 1) { return FromMilliseconds(random().Uniform() * p_.span * share); }
  bool RowMutant(RowMutation mutation) const { return mutations_.row == mutation; }
  using World::At;
  Node& At(NodeId id) { return *nodes_.at(id.value()); }
  bool Alive(NodeId id) const { return nodes_.contains(id.value()) && nodes_.at(id.value())->alive; }

  // --- network
  static constexpr Place kCoordinatorPlace = 0;  // a partition may leave nodes without it
  Link& LinkTo(Node& node, NodeId peer);
  void Carry(NodeId from, NodeId to, LinkFrame frame);
  void Deliver(NodeId from, NodeId to, const LinkFrame& frame);
  void Break(NodeId a, NodeId b);
  void Reconnect(NodeId from, NodeId to);
  bool Runs(NodeId id) const { return Alive(id) && !network_.IsPaused(id.value()); }
  void SendAll(Node& node, RowOutputs& out);
  void SendFrames(Node& node, NodeId to, std::vector<LinkFrame> frames);
  void Arm(Node& node);
  void Stepped(Node& node, RowOutputs& out);
  void Hear(NodeId from, const RowsReport& report);

  // --- maps
  void AddNode(Role role);
  void Publish(ShardMap map, const char* why);
  void DeliverMap(NodeId to, const std::shared_ptr<const ShardMap>& map);
  void Adopt(Node& node, const ShardMap& map);
  bool Quiet() const;  // planned changes may happen
  void Script();
  void MoveHome();
  void LoseMachine(size_t shard);
  void NoteExposed(const std::vector<NodeId>& victims);
  void BeginJoin();
  void Advance();
  void Crash(bool only_suspect);
  void Pause();
  void Part();
  bool MayCrash(NodeId victim) const;
  void CrashNode(NodeId victim, bool only_suspect);
  void SlowDownOne();
  NodeId SpareServer() const;
  void Chain();
  void Detour();
  void Outrun();
  void StaleMarker();
  void ComesBack();
  void WhenQuiet(const std::function<void()>& then, int tries = 200);
  void MoveFirstHome(NodeId to);
  void BeginFirstJoin(NodeId next_backup);
  void Declare(const std::vector<NodeId>& failed);
  void BeginDrain();
  std::vector<NodeId> Members(Role role) const;

  // --- programs of workers
  void IssuePush();
  void SendPush(Node& node, const SimPush& push, bool to_home);
  void IssuePull();
  void SendPull(Node& node, SimPull& pull, bool to_home);
  void PullAgainWhatWasLost();
  void Reissue();
  void Recover(Node& node, bool somebody_gone);
  void IssueLocalize();
  void LocalizeAt(NodeId from, TableId table, std::vector<Key> keys, NodeId to);
  void Answer(Node& node, NodeId from, const Message& message);
  SequenceNumber AckedBelow(const Node& node) const;
  NodeId AnyMember(const Node& node);
  void ToNode(Node& node, NodeId to, Message message);

  // --- workers that have copies
  SimPush* FoldFor(Node& node, NodeId home, TableId table);
  void PushToCopies(Node& node, TableId table, std::vector<Key>& keys);
  void ReadCopies(Node& node, TableId table, std::vector<Key>& keys);
  static void UsedElsewhere(Node& node, TableId table, std::span<const Key> keys);
  void IssueRound();
  AnnouncedUse DrawUse();
  void SendRound(Node& node, NodeId to, const std::vector<TableKey>& rows, const std::function<AnnouncedUse()>& use);
  void CloseFolds(Node& node, SimHolder::Home& home);
  void Announce(Node& node, TableKey row, AnnouncedUse use, Round& round);
  void NoteHad(const Node& node, NodeId to, SimHolder::Home& home, TableKey row);
  void TakeReply(Node& node, NodeId from, const RoundReply& reply);
  void EndRound(Node& node, NodeId from);
  void GiveUpCopies(Node& node);
  void RoundsWithAll(bool withdraw);
  void CheckOwnPushes(const Node& node, TableKey row);
  void CheckCopiesAtWorkers();
  void CheckNoInterests();

  // --- checkers
  const CountingStore* Store(const Node& node, TableId table, bool copies) const;
  void CheckNode(const Node& node);
  void CheckRows();
  bool InFlight(TableKey key, const SimPush* push, bool& contains);
  void CheckEnd();

  RowParameters p_;
  Mutations mutations_;
  Network network_;
  std::map<uint32_t, std::unique_ptr<Node>> nodes_;
  NodeId slow_map_;
  NodeId push_to_;                                // where workers think rows are; 0: anywhere
  bool cancelled_ = false, tried_again_ = false;  // a join, see RowParameters::slow_spare
  bool delivering_ = false;
  uint64_t next_report_ = 0;
  uint32_t next_node_ = 1;

  std::shared_ptr<const ShardMap> map_;
  std::map<NodeId, RowsReport> reports_;  // as the coordinator has heard
  std::map<NodeId, bool> declared_;
  std::optional<NodeId> draining_;
  uint32_t home_moves_left_ = 0, joins_left_ = 0, drains_left_ = 0;
  std::vector<SimPush> pushes_;
  std::set<uint32_t> exposed_;  // shards that lost, or may have lost, rows without a backup
};

}  // namespace attune::ps::simulation
