#include "tests/simulation/rows/rows_simulation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <sstream>

#include "base/random.h"
#include "ps/core/link.h"
#include "ps/core/rows/row_node.h"
#include "tests/simulation/rows/counting_store.h"
#include "tests/simulation/rows/describe.h"

namespace attune::ps::simulation {
namespace {

constexpr uint32_t kColumnsMax = 40;  // pushes of a run

Duration FromMilliseconds(double value) { return Duration(static_cast<int64_t>(value * 1e6)); }

struct SimPush {
  NodeId origin;
  SequenceNumber sequence;
  TableId table;
  uint32_t column = 0;
  std::vector<Key> keys;
  std::vector<bool> acked;
  bool All() const {
    return std::ranges::all_of(acked, [](bool one) { return one; });
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

}  // namespace

class RowSimulation {
 public:
  RowSimulation(const RowParameters& parameters, const Mutations& mutations, bool trace)
      : p_(parameters), mutations_(mutations), random_(SplitMix64(parameters.seed ^ 0x10ad)), trace_(trace) {}

  RowResult Run();

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
  };
  struct Event {
    MonotonicTime at;
    uint64_t order;
    std::function<void()> run;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return std::tie(a.at, a.order) > std::tie(b.at, b.order); }
  };

  void At(MonotonicTime at, std::function<void()> run) { events_.push({at, next_order_++, std::move(run)}); }
  void After(Duration delay, std::function<void()> run) { At(now_ + delay, std::move(run)); }
  Duration Delay(double factor = 1) {
    return FromMilliseconds(random_.Uniform() * p_.delay_max * factor) + Duration(1);
  }
  Duration Sometime(double share = 1) { return FromMilliseconds(random_.Uniform() * p_.span * share); }
  void Violation(const std::string& text) {
    if (result_.violations.size() < 3) {
      result_.violations.push_back("at " + std::to_string(Seconds(now_ - MonotonicTime{}) * 1e3) + " ms: " + text);
    }
  }
  void Trace(const std::string& text) {
    if (trace_) std::printf("%9.3f ms  %s\n", Seconds(now_ - MonotonicTime{}) * 1e3, text.c_str());
  }
  bool RowMutant(RowMutation mutation) const { return mutations_.row == mutation; }
  Node& At(NodeId id) { return *nodes_.at(id.value()); }
  bool Alive(NodeId id) const { return nodes_.contains(id.value()) && nodes_.at(id.value())->alive; }

  // --- network
  Link& LinkTo(Node& node, NodeId peer);
  void Carry(NodeId from, NodeId to, LinkFrame frame);
  void Deliver(NodeId from, NodeId to, const LinkFrame& frame, uint64_t generation, bool late);
  void Break(NodeId a, NodeId b);
  uint64_t& Generation(NodeId a, NodeId b) { return generations_[{std::min(a, b), std::max(a, b)}]; }
  void SendAll(Node& node, RowOutputs& out);
  void SendFrames(Node& node, NodeId to, std::vector<LinkFrame> frames);
  void Arm(Node& node);
  void Stepped(Node& node, RowOutputs& out);

  // --- maps
  void AddNode(Role role);
  void Publish(ShardMap map, const char* why);
  void DeliverMap(NodeId to, const std::shared_ptr<const ShardMap>& map);
  void Adopt(Node& node, const ShardMap& map);
  bool Quiet() const;  // planned changes may happen
  void Script();
  void MoveHome();
  void BeginJoin();
  void Advance();
  void Crash(bool only_suspect);
  void Declare(NodeId id);
  void BeginDrain();
  std::vector<NodeId> Members(Role role) const;

  // --- programs of workers
  void IssuePush();
  void SendPush(Node& node, const SimPush& push, bool to_home);
  void IssuePull();
  void SendPull(Node& node, SimPull& pull, bool to_home);
  void Reissue();
  void Recover(Node& node, bool somebody_gone);
  void IssueLocalize();
  void Answer(Node& node, const Message& message);
  SequenceNumber AckedBelow(const Node& node) const;
  NodeId AnyMember(const Node& node);
  void ToNode(Node& node, NodeId to, Message message);

  // --- checkers
  const CountingStore* Store(const Node& node, TableId table, bool copies) const;
  void CheckNode(const Node& node);
  void CheckRows();
  bool InFlight(TableKey key, const SimPush* push, bool& contains);
  void CheckEnd();

  RowParameters p_;
  Mutations mutations_;
  Random random_;
  bool trace_;
  RowResult result_;
  MonotonicTime now_{};
  uint64_t next_order_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::map<uint32_t, std::unique_ptr<Node>> nodes_;
  std::map<std::pair<NodeId, NodeId>, uint64_t> generations_;
  std::pair<NodeId, NodeId> slow_{};
  NodeId slow_map_;
  bool calm_ = false;
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

// ------------------------------------------------------------------------------------------------------ network

Link& RowSimulation::LinkTo(Node& node, NodeId peer) {
  const auto [it, is_new] = node.links.try_emplace(peer,
                                                   LinkOptions{.window = 8,
                                                               .ahead_max = 4,
                                                               .acknowledge_every = 4,
                                                               .acknowledge_after = FromMilliseconds(p_.delay_max),
                                                               .resend_after = FromMilliseconds(p_.delay_max * 4 + 1)},
                                                   mutations_.link);
  if (is_new) {
    std::vector<LinkFrame> frames;
    it->second.Connected(now_, frames);
  }
  return it->second;
}

void RowSimulation::SendFrames(Node& node, NodeId to, std::vector<LinkFrame> frames) {
  for (LinkFrame& frame : frames) Carry(node.id, to, std::move(frame));
}

void RowSimulation::Carry(NodeId from, NodeId to, LinkFrame frame) {
  if (!calm_ && random_.Chance(p_.loss)) return;
  const uint64_t generation = Generation(from, to);
  const auto shared = std::make_shared<const LinkFrame>(std::move(frame));
  const int copies = !calm_ && random_.Chance(p_.duplicate) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    const double factor = slow_ == std::pair(from, to) ? p_.slow_link : 1;
    const bool late = random_.Chance(p_.late_copy);
    After(Delay(std::max(1.0, factor)),
          [this, from, to, shared, generation, late] { Deliver(from, to, *shared, generation, late); });
  }
  if (!calm_ && random_.Chance(p_.break_chance)) After(Delay(), [this, from, to] { Break(from, to); });
}

void RowSimulation::Break(NodeId a, NodeId b) {
  if (!Alive(a) || !Alive(b)) return;
  ++Generation(a, b);
  Trace("link " + std::to_string(a.value()) + "-" + std::to_string(b.value()) + " breaks");
  const Duration away = Delay(6);
  for (const auto& [self, peer] : {std::pair(a, b), std::pair(b, a)}) {
    Node& node = At(self);
    const auto it = node.links.find(peer);
    if (it == node.links.end()) continue;
    it->second.Disconnected();
    After(away, [this, self = self, peer = peer] {
      if (!Alive(self)) return;
      Node& again = At(self);
      const auto link = again.links.find(peer);
      if (link == again.links.end() || link->second.connected()) return;
      std::vector<LinkFrame> frames;
      link->second.Connected(now_, frames);
      SendFrames(again, peer, std::move(frames));
      Arm(again);
    });
  }
}

void RowSimulation::Deliver(NodeId from, NodeId to, const LinkFrame& frame, uint64_t generation, bool late) {
  if (!Alive(to)) return;
  if (Generation(from, to) != generation && !late) return;
  Node& node = At(to);
  const bool accept_gone =
      RowMutant(RowMutation::kRemovedNodeAccepted) || RowMutant(RowMutation::kRemovedNodesHandoverAccepted);
  if (node.gone.contains(from) && !accept_gone) return;
  ++result_.messages;
  std::vector<Message> delivered;
  std::vector<LinkFrame> frames;
  LinkTo(node, from).Receive(frame, now_, delivered, frames);
  SendFrames(node, from, std::move(frames));
  delivering_ = true;  // what a link gives at once is neither in flight nor in a row until all of it is handled
  for (Message& message : delivered) {
    result_.digest = SplitMix64(result_.digest ^ (message.index() * 1000003 + from.value() * 8191 + to.value()) ^
                                static_cast<uint64_t>((now_ - MonotonicTime{}).count()));
    if (trace_) {
      Trace(std::to_string(from.value()) + " -> " + std::to_string(to.value()) + "  " + Describe(message));
    }
    const bool answer = std::holds_alternative<PushAck>(message) || std::holds_alternative<PullReply>(message);
    if (answer) {
      // The view rule holds for answers too: a worker that takes one has the map it was sent under.
      if (MapVersionOf(message) > node.rows->map().version && map_->Contains(to)) Adopt(node, *map_);
      if (node.rows->map().Contains(from) || accept_gone) Answer(node, message);
      continue;
    }
    RowOutputs out;
    node.rows->Receive(from, std::move(message), now_, out);
    Stepped(node, out);
  }
  delivering_ = false;
  if (!delivered.empty()) CheckRows();
  Arm(node);
}

void RowSimulation::SendAll(Node& node, RowOutputs& out) {
  for (Outgoing& outgoing : out.send) {
    if (outgoing.to == node.id) {
      if (trace_) Trace(std::to_string(node.id.value()) + " itself  " + Describe(outgoing.message));
      Answer(node, outgoing.message);
    } else {
      if (trace_ && std::getenv("ATTUNE_TRACE_SENDS") != nullptr) {
        Trace("    " + std::to_string(node.id.value()) + " sends to " + std::to_string(outgoing.to.value()) + "  " +
              Describe(outgoing.message));
      }
      ToNode(node, outgoing.to, std::move(outgoing.message));
    }
  }
}

void RowSimulation::ToNode(Node& node, NodeId to, Message message) {
  std::vector<LinkFrame> frames;
  LinkTo(node, to).Send(std::move(message), now_, frames);
  SendFrames(node, to, std::move(frames));
  Arm(node);
}

void RowSimulation::Arm(Node& node) {
  MonotonicTime wake = node.rows->WakeAt();
  for (const auto& [peer, link] : node.links) wake = std::min(wake, link.WakeAt());
  if (wake == kNever || (node.wake && *node.wake <= wake)) return;
  node.wake = wake;
  At(wake, [this, id = node.id, wake] {
    if (!Alive(id)) return;
    Node& again = At(id);
    if (again.wake != wake) return;
    again.wake.reset();
    again.rows->OnTimer(now_);
    for (auto& [peer, link] : again.links) {
      std::vector<LinkFrame> frames;
      if (now_ >= link.WakeAt()) link.OnTimer(now_, frames);
      SendFrames(again, peer, std::move(frames));
    }
    Arm(again);
  });
}

// After every step of a RowNode.
void RowSimulation::Stepped(Node& node, RowOutputs& out) {
  SendAll(node, out);
  if (out.lost) Violation("node " + std::to_string(node.id.value()) + " gave up: " + attune::ToString(*out.lost));
  if (out.need_map && !node.asked_map) {
    node.asked_map = true;
    After(Delay(2), [this, id = node.id] {
      if (!Alive(id)) return;
      At(id).asked_map = false;
      DeliverMap(id, map_);
    });
  }
  if (out.report || draining_) {
    RowsReport report = node.rows->Report();
    report.number = ++next_report_;
    After(Delay(2), [this, id = node.id, report] {
      if (report.number < reports_[id].number) return;
      reports_[id] = report;
      Advance();
    });
  }
  CheckNode(node);
  if (!delivering_) CheckRows();
}

// --------------------------------------------------------------------------------------------------------- maps

void RowSimulation::AddNode(Role role) {
  auto node = std::make_unique<Node>();
  node->id = NodeId(next_node_++);
  node->role = role;
  const auto report = [this](const std::string& text) { Violation(text); };
  RowOptions options;
  options.create_store = [report](const TableSpec& spec) -> StatusOr<std::unique_ptr<TableStore>> {
    return std::make_unique<CountingStore>(spec, true, report);
  };
  options.create_copies = [report](const TableSpec& spec) -> StatusOr<std::unique_ptr<TableStore>> {
    return std::make_unique<CountingStore>(spec, false, report);
  };
  options.rows_per_message_max = p_.rows_per_message;
  options.rows_called_back_max = 2;
  options.installs_in_flight_max = 1;
  options.call_back_from_servers = p_.call_back;
  options.mutation = mutations_.row;
  node->rows = std::make_unique<RowNode>(std::move(options));
  node->rows->SetSelf(node->id);
  RowOutputs out;
  for (uint32_t table = 1; table <= p_.tables; ++table) {
    TableSpec spec{.name = "t" + std::to_string(table), .options = {.dim = kColumnsMax}};
    if (!node->rows->InstallTable(TableId(table), spec, out).ok()) Violation("a table could not be installed");
  }
  nodes_[node->id.value()] = std::move(node);
}

std::vector<NodeId> RowSimulation::Members(Role role) const {
  std::vector<NodeId> members;
  for (const Member& member : map_->members) {
    if (member.role == role) members.push_back(member.node);
  }
  return members;
}

void RowSimulation::Publish(ShardMap map, const char* why) {
  ++result_.maps;
  map_ = std::make_shared<const ShardMap>(std::move(map));
  if (const Status status = Validate(*map_); !status.ok()) Violation("bad map: " + attune::ToString(status));
  if (trace_) Trace(std::string("map ") + Describe(*map_) + ": " + why);
  for (const auto& [id, node] : nodes_) {
    if (!node->alive) continue;
    const double factor = node->suspected ? 12 : node->id == slow_map_ ? std::max(2.0, p_.slow_map) : 2;
    After(Delay(factor), [this, to = node->id, map = map_] { DeliverMap(to, map); });
  }
}

void RowSimulation::DeliverMap(NodeId to, const std::shared_ptr<const ShardMap>& map) {
  if (Alive(to)) Adopt(At(to), *map);
}

void RowSimulation::Adopt(Node& node, const ShardMap& map) {
  if (map.version <= node.rows->map().version) return;
  if (!map.Contains(node.id)) {
    Trace(std::to_string(node.id.value()) + " hears that it is out");
    node.alive = false;
    return;
  }
  if (trace_) Trace(std::to_string(node.id.value()) + " adopts map " + std::to_string(map.version.counter()));
  for (const Member& member : node.rows->map().members) {
    if (map.Contains(member.node)) continue;
    node.gone.insert(member.node);
    if (!RowMutant(RowMutation::kRemovedNodeAccepted) && !RowMutant(RowMutation::kRemovedNodesHandoverAccepted)) {
      node.links.erase(member.node);
    }
  }
  RowOutputs out;
  const ShardMap old = node.rows->map();
  node.rows->AdoptMap(map, now_, out);
  Stepped(node, out);
  Recover(node, std::ranges::any_of(old.members, [&](const Member& member) { return !map.Contains(member.node); }));
  Arm(node);
}

bool RowSimulation::Quiet() const {
  for (const Member& member : map_->members) {
    if (!Alive(member.node) || nodes_.at(member.node.value())->suspected) return false;
    const auto report = reports_.find(member.node);
    if (report == reports_.end() || report->second.map_version != map_->version) {
      return false;
    }
    if (report->second.shards_not_ready > 0 && !RowMutant(RowMutation::kPlannedChangeBeforeRecoveryDone)) return false;
  }
  return std::ranges::all_of(map_->shards, [](const Shard& shard) { return shard.next_backup == NodeId(); });
}

void RowSimulation::MoveHome() {
  ShardMap next = *map_;
  next.version = next.version.Next();
  const std::vector<NodeId> servers = Members(Role::kServer);
  bool any = false;
  for (size_t i = 0; i < next.shards.size(); ++i) {
    Shard& shard = next.shards[i];
    const NodeId to = servers[random_.Below(servers.size())];
    if (to == shard.home || to == shard.backup || map_->Find(to)->leaving || (any && random_.Chance(0.5))) continue;
    shard.home = to;
    shard.routing_since = next.version;
    any = true;
  }
  if (!any) return;
  --home_moves_left_;
  ++result_.home_moves;
  Publish(std::move(next), "a home moves");
}

void RowSimulation::BeginJoin() {
  ShardMap next = *map_;
  next.version = next.version.Next();
  const std::vector<NodeId> servers = Members(Role::kServer);
  bool any = false;
  for (size_t i = 0; i < next.shards.size(); ++i) {
    Shard& shard = next.shards[i];
    const NodeId to = servers[random_.Below(servers.size())];
    if (to == shard.home || to == shard.backup || map_->Find(to)->leaving || (any && random_.Chance(0.5))) continue;
    shard.next_backup = to;
    shard.join_id = next.version;
    any = true;
  }
  if (!any) return;
  --joins_left_;
  ++result_.joins;
  Publish(std::move(next), "a backup joins");
}

void RowSimulation::BeginDrain() {
  const std::vector<NodeId> servers = Members(Role::kServer);
  if (servers.size() < (p_.backups ? 3U : 2U)) return;
  ShardMap next = *map_;
  next.version = next.version.Next();
  const size_t index = random_.Below(next.members.size());
  Member& member = next.members[index];
  member.leaving = true;
  draining_ = member.node;
  --drains_left_;
  Publish(std::move(next), "a node leaves");
}

// The coordinator looks at the reports: joins that are complete, planned changes that may begin, a drain's next step.
void RowSimulation::Advance() {
  std::set<MapVersion> complete;
  for (const Shard& shard : map_->shards) {
    if (shard.next_backup != NodeId()) complete.insert(shard.join_id);
  }
  for (const MapVersion join : std::set(complete)) {
    for (const Member& member : map_->members) {
      const auto report = reports_.find(member.node);
      const bool done = report != reports_.end() && report->second.map_version >= join && Alive(member.node) &&
                        std::ranges::find(report->second.joins_done, join) != report->second.joins_done.end();
      if (!done) complete.erase(join);
    }
  }
  if (!complete.empty()) {
    ShardMap next = *map_;
    next.version = next.version.Next();
    for (Shard& shard : next.shards) {
      if (!complete.contains(shard.join_id) || shard.next_backup == NodeId()) continue;
      shard.backup = std::exchange(shard.next_backup, NodeId());
    }
    return Publish(std::move(next), "a backup is complete");
  }
  if (!Quiet()) return;
  if (draining_) {
    const NodeId node = *draining_;
    if (!map_->Contains(node)) {
      draining_.reset();
      return;
    }
    ShardMap next = *map_;
    next.version = next.version.Next();
    std::vector<NodeId> others = Members(Role::kServer);
    std::erase(others, node);
    if (others.empty()) {  // a crash has taken the others: it stays
      draining_.reset();
      return;
    }
    bool changed = false;
    for (Shard& shard : next.shards) {
      if (shard.home != node && shard.backup != node) continue;
      const NodeId other = others[random_.Below(others.size())];
      if (shard.home == node && other != shard.backup) {
        shard.home = other;
        shard.routing_since = next.version;
        changed = true;
      } else if (shard.backup == node && other != shard.home) {
        shard.next_backup = other;
        shard.join_id = next.version;
        changed = true;
      }
    }
    if (changed) return Publish(std::move(next), "shards leave a draining node");
    const RowsReport& report = reports_.at(node);
    bool named = false, to_come = false;
    for (const Shard& shard : map_->shards) named = named || shard.home == node || shard.backup == node;
    for (const auto& [id, other] : reports_) to_come = to_come || (map_->Contains(id) && other.rows_to_come > 0);
    const bool idle = std::ranges::all_of(At(node).pushes, [&](size_t i) { return pushes_[i].All(); });
    // What it has sent must have arrived: orders it gave as a home, for example.
    const bool sent = std::ranges::all_of(At(node).links, [](const auto& link) { return link.second.queued() == 0; });
    if (named || to_come || !sent || report.rows_held > 0 || report.handovers_open > 0 ||
        report.operations_waiting > 0 || !idle) {
      After(Delay(4), [this, node] {
        if (Alive(node)) {
          reports_[node] = At(node).rows->Report();
          reports_[node].number = ++next_report_;
        }
        if (draining_) Advance();
      });
      return;
    }
    std::erase_if(next.members, [&](const Member& member) { return member.node == node; });
    draining_.reset();
    ++result_.drains;
    At(node).alive = false;
    return Publish(std::move(next), "a node has left");
  }
}

void RowSimulation::Script() {
  const auto planned = [this](uint32_t count, void (RowSimulation::*begin)(), uint32_t& left) {
    left = count;
    for (uint32_t i = 0; i < count * 3; ++i) {  // some come at a bad time
      After(Sometime(), [this, begin, &left] {
        if (left > 0 && Quiet() && !draining_) (this->*begin)();
      });
    }
  };
  planned(p_.home_moves, &RowSimulation::MoveHome, home_moves_left_);
  planned(p_.joins, &RowSimulation::BeginJoin, joins_left_);
  planned(p_.drains, &RowSimulation::BeginDrain, drains_left_);
  for (uint32_t i = 0; i < p_.crashes; ++i) After(Sometime(), [this] { Crash(false); });
  for (uint32_t i = 0; i < p_.suspicions; ++i) After(Sometime(), [this] { Crash(true); });
  for (uint32_t i = 0; i < p_.pushes; ++i) After(Sometime(), [this] { IssuePush(); });
  for (uint32_t i = 0; i < p_.pulls; ++i) After(Sometime(), [this] { IssuePull(); });
  for (uint32_t i = 0; i < p_.reissues; ++i) After(Sometime(), [this] { Reissue(); });
  for (uint32_t i = 0; i < p_.localizes; ++i) After(Sometime(), [this] { IssueLocalize(); });
  After(FromMilliseconds(p_.span * 1.2), [this] { calm_ = true; });
}

void RowSimulation::Crash(bool only_suspect) {
  const size_t servers = Members(Role::kServer).size();
  std::vector<NodeId> victims;
  for (const Member& member : map_->members) {
    if (!Alive(member.node) || At(member.node).suspected) continue;
    if (member.role == Role::kServer && servers < 2) continue;
    victims.push_back(member.node);
  }
  size_t live_servers = 0, live_workers = 0;
  for (const NodeId node : victims) (At(node).role == Role::kServer ? live_servers : live_workers) += 1;
  if (victims.empty() || declared_.size() > 0) return;  // one at a time
  const NodeId victim = victims[random_.Below(victims.size())];
  if (At(victim).role == Role::kServer ? live_servers < 2 : live_workers < 2) return;
  // A shard without a complete backup may lose what this node holds; so may all, while an earlier loss is not healed.
  const bool healed = std::ranges::all_of(map_->members, [&](const Member& member) {
    const auto report = reports_.find(member.node);
    return report != reports_.end() && report->second.map_version >= map_->recovered_at &&
           report->second.shards_not_ready == 0;
  });
  for (uint32_t i = 0; i < map_->shard_count(); ++i) {
    if (map_->shards[i].backup == NodeId() || !healed) exposed_.insert(i);
  }
  declared_[victim] = true;
  // Readers see what the node did last, and look again when others have taken over.
  for (uint32_t i = 0; i < p_.pulls / 2; ++i) {
    After(Delay(), [this] { IssuePull(); });
    After(Delay(12), [this] { IssuePull(); });
  }
  if (!only_suspect) {  // of what it has sent last, some peers get less than others
    for (const auto& [peer, link] : At(victim).links) {
      if (random_.Chance(0.5)) ++Generation(victim, peer);
    }
  }
  Trace(std::to_string(victim.value()) + (only_suspect ? " is suspected" : " crashes"));
  if (only_suspect) {
    At(victim).suspected = true;
  } else {
    At(victim).alive = false;
  }
  After(Delay(4), [this, victim] { Declare(victim); });
}

void RowSimulation::Declare(NodeId id) {
  ++result_.recoveries;
  const NodeId failed[] = {id};
  ShardMap next = WithoutFailed(*map_, failed);
  if (RowMutant(RowMutation::kFailureKeepsNextBackup)) {
    for (size_t i = 0; i < next.shards.size(); ++i) {
      const Shard& before = map_->shards[i];
      if (before.next_backup == NodeId() || before.next_backup == id || before.next_backup == next.shards[i].home)
        continue;
      next.shards[i].next_backup = before.next_backup;
      next.shards[i].join_id = before.join_id;
    }
  }
  if (draining_ == id) draining_.reset();
  declared_.clear();
  Publish(std::move(next), "a node has failed");
}

// ------------------------------------------------------------------------------------------------------ programs

NodeId RowSimulation::AnyMember(const Node& node) {
  const auto& members = node.rows->map().members;
  return members[random_.Below(members.size())].node;
}

SequenceNumber RowSimulation::AckedBelow(const Node& node) const {
  SequenceNumber below;
  for (const size_t index : node.pushes) {
    const SimPush& push = pushes_[index];
    const bool settled = RowMutant(RowMutation::kAckedBelowCountsFirstKey)
                             ? std::ranges::find(push.acked, true) != push.acked.end()
                             : push.All();
    if (!settled) break;
    below = push.sequence;
  }
  return below;
}

void RowSimulation::IssuePush() {
  const std::vector<NodeId> workers = Members(Role::kWorker);
  if (workers.empty() || pushes_.size() >= kColumnsMax) return;
  const NodeId worker = workers[random_.Below(workers.size())];
  if (!Alive(worker) || !At(worker).rows->map().formed() || map_->Find(worker)->leaving) return;
  Node& node = At(worker);
  SimPush push{.origin = worker,
               .sequence = SequenceNumber(node.next_sequence++),
               .table = TableId(static_cast<uint32_t>(1 + random_.Below(p_.tables))),
               .column = static_cast<uint32_t>(pushes_.size())};
  for (Key key = 1; key <= p_.keys; ++key) {
    if (random_.Chance(0.6)) push.keys.push_back(key);
  }
  if (push.keys.empty()) push.keys.push_back(1 + random_.Below(p_.keys));
  push.acked.resize(push.keys.size());
  pushes_.push_back(push);
  node.pushes.push_back(pushes_.size() - 1);
  SendPush(node, pushes_.back(), random_.Chance(0.4));
}

// Open keys, in pieces, each to its home or to anybody.
void RowSimulation::SendPush(Node& node, const SimPush& push, bool to_home) {
  std::map<NodeId, std::vector<uint32_t>> parts;
  const NodeId one = AnyMember(node);
  for (uint32_t i = 0; i < push.keys.size(); ++i) {
    if (push.acked[i]) continue;
    parts[to_home ? node.rows->map().HomeOf(push.keys[i]) : random_.Chance(0.8) ? one : AnyMember(node)].push_back(i);
  }
  for (const auto& [to, places] : parts) {
    Push message{.origin = node.id,
                 .sequence = push.sequence,
                 .table = push.table,
                 .map_version = node.rows->map().version,
                 .acked_below = AckedBelow(node)};
    message.positions.list = places;
    std::vector<Key> keys;
    std::vector<float> gradients(places.size() * kColumnsMax);
    for (size_t i = 0; i < places.size(); ++i) {
      keys.push_back(push.keys[places[i]]);
      gradients[i * kColumnsMax + push.column] = 1;
    }
    message.keys = std::move(keys);
    message.gradients = std::move(gradients);
    ToNode(node, to, std::move(message));
  }
}

void RowSimulation::IssuePull() {
  const std::vector<NodeId> workers = Members(Role::kWorker);
  if (workers.empty()) return;
  const NodeId worker = workers[random_.Below(workers.size())];
  if (!Alive(worker) || !At(worker).rows->map().formed()) return;
  Node& node = At(worker);
  SimPull pull{.request = RequestId(node.next_request++),
               .table = TableId(static_cast<uint32_t>(1 + random_.Below(p_.tables)))};
  for (Key key = 1; key <= p_.keys; ++key) {
    if (random_.Chance(0.6)) pull.keys.push_back(key);
  }
  if (pull.keys.empty()) pull.keys.push_back(1 + random_.Below(p_.keys));
  pull.must.resize(pull.keys.size());
  pull.answered.resize(pull.keys.size());
  for (uint32_t i = 0; i < pull.keys.size(); ++i) {
    pull.seen.push_back(node.seen[{pull.table, pull.keys[i]}]);
    std::vector<ps::After> after;
    for (const size_t index : node.pushes) {
      const SimPush& push = pushes_[index];
      const auto it = std::ranges::find(push.keys, pull.keys[i]);
      if (push.table != pull.table || it == push.keys.end()) continue;
      const auto position = static_cast<uint32_t>(it - push.keys.begin());
      pull.must[i].push_back(push.column);
      if (!push.acked[position]) after.push_back({.sequence = push.sequence, .position = position, .key_index = i});
    }
    if (RowMutant(RowMutation::kAfterHoldsLastOnly) && after.size() > 1) after = {after.back()};
    pull.after.insert(pull.after.end(), after.begin(), after.end());
  }
  SimPull& open = node.pulls[pull.request] = std::move(pull);
  SendPull(node, open, random_.Chance(0.4));
}

void RowSimulation::SendPull(Node& node, SimPull& pull, bool to_home) {
  std::erase_if(pull.after, [&](const ps::After& after) {
    const SimPush& push = pushes_[node.pushes[after.sequence.value() - 1]];
    return static_cast<bool>(push.acked[after.position]);
  });
  std::map<NodeId, std::vector<uint32_t>> parts;
  const NodeId one = AnyMember(node);
  for (uint32_t i = 0; i < pull.keys.size(); ++i) {
    if (!pull.answered[i]) parts[to_home ? node.rows->map().HomeOf(pull.keys[i]) : one].push_back(i);
  }
  for (const auto& [to, places] : parts) {
    Pull message{.origin = node.id,
                 .request = pull.request,
                 .table = pull.table,
                 .map_version = node.rows->map().version,
                 .acked_below = AckedBelow(node),
                 .remaining = std::chrono::hours(1)};
    std::vector<Key> keys;
    for (uint32_t i = 0; i < places.size(); ++i) {
      keys.push_back(pull.keys[places[i]]);
      for (const ps::After& after : pull.after) {
        if (after.key_index == places[i]) {
          message.after.push_back({.sequence = after.sequence, .position = after.position, .key_index = i});
        }
      }
    }
    message.keys = std::move(keys);
    message.positions.list = places;
    ToNode(node, to, std::move(message));
  }
}

// Any time, by any route.
void RowSimulation::Reissue() {
  std::vector<size_t> open;
  for (size_t i = 0; i < pushes_.size(); ++i) {
    if (!pushes_[i].All() && Alive(pushes_[i].origin)) open.push_back(i);
  }
  if (open.empty()) return;
  const SimPush& push = pushes_[open[random_.Below(open.size())]];
  SendPush(At(push.origin), push, random_.Chance(0.3));
}

// What the node that is gone had in hand is lost, however it went.
void RowSimulation::Recover(Node& node, bool somebody_gone) {
  if (node.role != Role::kWorker || !somebody_gone) return;
  if (RowMutant(RowMutation::kNoReissueAtRecovery)) return;
  for (const size_t index : node.pushes) {
    if (!pushes_[index].All()) SendPush(node, pushes_[index], true);
  }
  for (auto& [request, pull] : node.pulls) {
    if (pull.open) SendPull(node, pull, true);
  }
}

void RowSimulation::IssueLocalize() {
  const auto& members = map_->members;
  const NodeId from = members[random_.Below(members.size())].node;
  const NodeId to = members[random_.Below(members.size())].node;
  if (!Alive(from) || !At(from).rows->map().formed()) return;
  Node& node = At(from);
  std::vector<Key> keys;
  for (Key key = 1; key <= p_.keys; ++key) {
    if (random_.Chance(0.6)) keys.push_back(key);
  }
  if (keys.empty()) return;
  RowOutputs out;
  node.rows->Receive(from,
                     Localize{.map_version = node.rows->map().version,
                              .table = TableId(static_cast<uint32_t>(1 + random_.Below(p_.tables))),
                              .to = to,
                              .keys = std::move(keys)},
                     now_, out);
  Trace(std::to_string(from.value()) + " wants rows at " + std::to_string(to.value()));
  Stepped(node, out);
  Arm(node);
}

void RowSimulation::Answer(Node& node, const Message& message) {
  if (const auto* ack = std::get_if<PushAck>(&message)) {
    SimPush& push = pushes_[node.pushes.at(ack->sequence.value() - 1)];
    for (size_t i = 0; i < ack->positions.size(); ++i) push.acked.at(ack->positions.At(i)) = true;
    return;
  }
  const auto* reply = std::get_if<PullReply>(&message);
  if (reply == nullptr) return Violation(std::string("a refusal: ") + Describe(message));
  const auto it = node.pulls.find(reply->request);
  if (it == node.pulls.end() || !it->second.open) return;
  SimPull& pull = it->second;
  for (size_t i = 0; i < reply->positions.size(); ++i) {
    const uint32_t place = reply->positions.At(i);
    if (pull.answered[place]) continue;
    pull.answered[place] = true;
    const TableKey key{pull.table, pull.keys[place]};
    const RowVersion version = reply->versions[i];
    if (version < pull.seen[place]) {
      std::ostringstream text;
      text << "VersionsRise: worker " << node.id << " saw key " << key.key << " at " << pull.seen[place] << ", now "
           << version;
      Violation(text.str());
    }
    node.seen[key] = std::max(node.seen[key], version);
    if (exposed_.contains(ShardMap::ShardIndex(key.key, p_.shards))) continue;
    for (const uint32_t column : pull.must[place]) {
      if (reply->rows[i * kColumnsMax + column] < 0.5F) {
        Violation("OwnPushes: worker " + std::to_string(node.id.value()) + " misses its push " +
                  std::to_string(column) + " in key " + std::to_string(key.key));
      }
    }
  }
  pull.open = !std::ranges::all_of(pull.answered, [](bool one) { return one; });
}

// ------------------------------------------------------------------------------------------------------ checkers

const CountingStore* RowSimulation::Store(const Node& node, TableId table, bool copies) const {
  const auto& tables = copies ? node.rows->copies() : node.rows->tables();
  return static_cast<const CountingStore*>(tables[table.value() - 1].get());
}

void RowSimulation::CheckNode(const Node& node) {
  using Held = DuplicateFilter::Held;
  for (uint32_t t = 1; t <= p_.tables; ++t) {
    for (const bool copies : {false, true}) {
      for (const auto& [key, row] : Store(node, TableId(t), copies)->rows()) {
        if (row.values != row.state) Violation("StateTravels: key " + std::to_string(key) + " has lost its state");
        for (const SimPush& push : pushes_) {
          if (push.table != TableId(t) || row.values[push.column] < 0.5F) continue;
          if (!node.rows->map().Contains(push.origin) || node.rows->filter().Covered(push.origin, push.sequence))
            continue;
          const auto position = static_cast<uint32_t>(std::ranges::find(push.keys, key) - push.keys.begin());
          if (node.rows->filter().Find(push.origin, push.sequence, position, copies ? Held::kCopy : Held::kRow) !=
              DuplicateFilter::Decision::kApplied) {
            Violation("FilterSound: node " + std::to_string(node.id.value()) + " does not know that key " +
                      std::to_string(key) + (copies ? "'s copy" : "") + " contains push " +
                      std::to_string(push.column));
          }
        }
      }
    }
  }
}

bool RowSimulation::InFlight(TableKey key, const SimPush* push, bool& contains) {
  bool found = false;
  const auto look = [&](const Node& receiver, const Message& message) {
    const RowBatch* rows = nullptr;
    if (const auto* handover = std::get_if<Handover>(&message)) rows = &handover->rows;
    if (const auto* fetched = std::get_if<FetchedRows>(&message);
        fetched != nullptr && fetched->recovered_at >= receiver.rows->map().recovered_at) {
      rows = &fetched->rows;
    }
    if (rows == nullptr || rows->table != key.table) return;
    for (size_t i = 0; i < rows->keys.size(); ++i) {
      if (rows->keys[i] != key.key) continue;
      found = true;
      const size_t width = rows->values.size() / rows->keys.size();
      if (push != nullptr) contains = rows->values[i * width + push->column] > 0.5F;
    }
  };
  for (const auto& [id, node] : nodes_) {
    for (const auto& [peer, link] : node->links) {
      if (!Alive(peer)) continue;
      Node& receiver = At(peer);
      if (receiver.gone.contains(node->id)) continue;
      const auto back = receiver.links.find(node->id);
      const uint64_t delivered = back == receiver.links.end() ? 0 : back->second.delivered();
      for (size_t i = 0; i < link.queue().size(); ++i) {
        if (link.first_queued() + i > delivered) look(receiver, link.queue()[i]);
      }
    }
    if (node->alive) {
      node->rows->ForEachStalled([&](NodeId from, const Message& message) {
        if (!node->gone.contains(from)) look(*node, message);
      });
    }
  }
  return found;
}

// OneOwner and AckedPresent, over all nodes.
void RowSimulation::CheckRows() {
  for (uint32_t t = 1; t <= p_.tables; ++t) {
    for (Key key = 1; key <= p_.keys; ++key) {
      const CountingStore::Row* row = nullptr;
      int holders = 0;
      uint32_t holder = 0;
      for (const auto& [id, node] : nodes_) {
        if (!node->alive || !map_->Contains(node->id)) continue;
        const auto& rows = Store(*node, TableId(t), false)->rows();
        if (const auto it = rows.find(key); it != rows.end()) {
          ++holders;
          holder = id;
          row = &it->second;
        }
      }
      if (holders > 1) Violation("OneOwner: " + std::to_string(holders) + " nodes own key " + std::to_string(key));
      if (exposed_.contains(ShardMap::ShardIndex(key, p_.shards))) continue;
      for (const SimPush& push : pushes_) {
        if (push.table != TableId(t)) continue;
        const auto it = std::ranges::find(push.keys, key);
        if (it == push.keys.end() || !push.acked[static_cast<size_t>(it - push.keys.begin())]) continue;
        bool present = row != nullptr && row->values[push.column] > 0.5F;
        if (row == nullptr && !InFlight({TableId(t), key}, &push, present)) {
          for (const auto& [id, node] : nodes_) {
            if (!node->alive || !map_->Contains(node->id)) continue;
            const auto& copies = Store(*node, TableId(t), true)->rows();
            const auto found = copies.find(key);
            present = present || (found != copies.end() && found->second.values[push.column] > 0.5F);
          }
        }
        if (!present) {
          Violation("AckedPresent: acknowledged push " + std::to_string(push.column) + " is not in key " +
                    std::to_string(key) +
                    (row == nullptr ? " (nobody holds the row)" : ", held by node " + std::to_string(holder)));
        }
      }
    }
  }
}

void RowSimulation::CheckEnd() {
  if (!result_.violations.empty()) return;
  for (const auto& [id, node] : nodes_) {
    if (!node->alive || !map_->Contains(node->id)) continue;
    const std::string name = "node " + std::to_string(id);
    if (node->rows->map().version != map_->version) Violation("NoStaleWait: " + name + " has an old map");
    if (const std::string waits = node->rows->WhatWaits(); !waits.empty()) {
      Violation("NoStaleWait: " + name + " still has " + waits);
    }
    for (const auto& [request, pull] : node->pulls) {
      if (pull.open)
        Violation("NoStaleWait: pull " + std::to_string(request.value()) + " of " + name + " is unanswered");
    }
    for (const size_t index : node->pushes) {
      if (!pushes_[index].All()) Violation("AllApplied: push " + std::to_string(index) + " is not acknowledged");
    }
  }
  for (const Shard& shard : map_->shards) {
    if (shard.next_backup != NodeId()) Violation("NoStaleWait: a join never ended");
  }
  for (uint32_t t = 1; t <= p_.tables && result_.violations.empty(); ++t) {
    const TableId table(t);
    for (Key key = 1; key <= p_.keys; ++key) {
      const uint32_t shard = ShardMap::ShardIndex(key, p_.shards);
      const Node* owner = nullptr;
      for (const auto& [id, node] : nodes_) {
        if (node->alive && map_->Contains(node->id) && Store(*node, table, false)->rows().contains(key)) {
          owner = node.get();
        }
      }
      const std::string name = "key " + std::to_string(key);
      Node& home = At(map_->shards[shard].home);
      const NodeId said = home.rows->DirectoryOwner(table, key);
      if (said != (owner == nullptr ? home.id : owner->id)) {
        Violation("NoStaleWait: the directory says " + name + " is at node " + std::to_string(said.value()) +
                  ", it is at " + std::to_string(owner == nullptr ? 0 : owner->id.value()));
      }
      if (owner != nullptr && (owner->id == map_->shards[shard].backup)) {
        Violation("NoStaleWait: the backup owns " + name);
      }
      if (exposed_.contains(shard)) continue;
      const CountingStore::Row* row = owner == nullptr ? nullptr : &Store(*owner, table, false)->rows().at(key);
      for (const SimPush& push : pushes_) {
        if (push.table != table || !map_->Contains(push.origin) ||
            std::ranges::find(push.keys, key) == push.keys.end()) {
          continue;
        }
        if (row == nullptr || row->values[push.column] < 0.5F) {
          Violation("AllApplied: push " + std::to_string(push.column) + " is not in " + name);
        }
      }
      const NodeId backup = map_->shards[shard].backup;
      if (backup == NodeId() || row == nullptr || row->version.counter() == 0) continue;
      const auto& copies = Store(At(backup), table, true)->rows();
      const auto copy = copies.find(key);
      // A removed owner may have applied its own last push and handed the row over without the backup hearing of that
      // push: the row is ahead until the next push shows the gap.
      bool equal = copy != copies.end();
      const bool same_version = equal && copy->second.version == row->version;
      for (const SimPush& push : pushes_) {
        if (!equal || (!same_version && !map_->Contains(push.origin))) continue;
        equal = copy->second.values[push.column] == row->values[push.column] &&
                copy->second.state[push.column] == row->state[push.column];
      }
      const bool all_live = std::ranges::all_of(
          pushes_, [&](const SimPush& push) { return push.table != table || map_->Contains(push.origin); });
      if (!equal || (all_live && !same_version)) Violation("CopiesEqual: the copy of " + name + " is not the row");
    }
  }
}

RowResult RowSimulation::Run() {
  for (uint32_t i = 0; i < p_.servers; ++i) AddNode(Role::kServer);
  for (uint32_t i = 0; i < p_.workers; ++i) AddNode(Role::kWorker);
  if (p_.slow_link > 0) {
    slow_ = {NodeId(static_cast<uint32_t>(1 + random_.Below(nodes_.size()))),
             NodeId(static_cast<uint32_t>(1 + random_.Below(nodes_.size())))};
  }
  if (p_.slow_map > 0) slow_map_ = NodeId(static_cast<uint32_t>(1 + random_.Below(nodes_.size())));
  ShardMap map;
  map.version = MapVersion(1, 0);
  std::vector<NodeId> servers;
  for (const auto& [id, node] : nodes_) {
    map.members.push_back({.node = node->id, .role = node->role, .index = id, .address = "", .takes_rows = true});
    if (node->role == Role::kServer) servers.push_back(node->id);
  }
  map.shards = EvenShards(p_.shards, servers, p_.backups, map.version);
  map_ = std::make_shared<const ShardMap>(std::move(map));
  for (const auto& [id, node] : nodes_) Adopt(*node, *map_);
  Script();
  // An idle network has no events. The limit is far beyond what any run needs.
  const MonotonicTime limit =
      now_ + FromMilliseconds(p_.span * 3 + p_.delay_max * 2000 + p_.slow_link * p_.delay_max * 500);
  while (!events_.empty() && result_.violations.empty() && events_.top().at < limit) {
    Event event = std::move(const_cast<Event&>(events_.top()));
    events_.pop();
    now_ = event.at;
    event.run();
  }
  CheckEnd();
  for (const auto& [id, node] : nodes_) {
    const RowCounters& counters = node->rows->counters();
    result_.handovers += counters.rows_sent;
    result_.forwarded += counters.forwarded;
    result_.waited += counters.waited;
    result_.parked += counters.parked_pulls;
    result_.replicated += counters.replicated_keys;
    for (const auto& [peer, link] : node->links) result_.resent += link.resent();
  }
  return result_;
}

RowParameters RowParameters::FromSeed(uint64_t seed) {
  Random random(SplitMix64(seed ^ 0x0905));
  const auto below = [&](uint64_t bound) { return static_cast<uint32_t>(random.Below(bound)); };
  RowParameters p;
  p.seed = seed;
  p.servers = 2 + below(3);
  p.workers = 1 + below(3);
  p.shards = random.Chance(0.6) ? 1 : 1 + below(4);
  p.keys = 1 + below(random.Chance(0.7) ? 2 : 6);
  p.tables = random.Chance(0.85) ? 1 : 2;
  p.backups = random.Chance(0.75);
  p.pushes = 2 + below(random.Chance(0.5) ? 8 : 24);
  p.pulls = below(8);
  p.reissues = below(5);
  p.localizes = below(random.Chance(0.5) ? 6 : 16);
  p.home_moves = random.Chance(0.4) ? 1 + below(2) : 0;
  p.joins = random.Chance(0.5) ? 1 + below(2) : 0;
  p.crashes = random.Chance(0.55) ? 1 + below(2) : 0;
  p.suspicions = random.Chance(0.2) ? 1 : 0;
  p.drains = random.Chance(0.15) ? 1 : 0;
  p.call_back = random.Chance(0.3);
  p.delay_max = random.Chance(0.5) ? 1.0 : 0.2 + random.Uniform() * 3;
  p.span = 4 + random.Uniform() * 30;
  p.rows_per_message = random.Chance(0.7) ? 4096 : 1 + below(2);
  p.slow_link = random.Chance(0.5) ? 5 + random.Uniform() * 30 : 0;
  p.slow_map = random.Chance(0.5) ? 4 + random.Uniform() * 20 : 0;
  if (random.Chance(0.5)) {  // little happens, but at once: what the protocol's own checker looked at
    p.servers = 2 + below(3);
    p.workers = 2 + below(2);
    p.shards = 1;
    p.keys = 1 + below(2);
    p.tables = 1;
    p.pushes = 3 + below(6);
    p.pulls = below(2) * (2 + below(8));
    p.reissues = below(6);
    p.localizes = 2 + below(8);
    p.drains = 0;
    const uint32_t kind = below(5);  // crash; homes move; both and joins; two crashes and joins; dead or not
    p.backups = kind != 1 && random.Chance(0.85);
    p.crashes = kind == 3 ? 2 : kind == 0 || kind == 2 ? 1 : 0;
    p.suspicions = kind == 4 ? 1 : 0;
    p.home_moves = kind == 1 ? 2 + below(2) : kind == 2 ? below(3) : 0;
    p.joins = kind >= 2 ? 1 + below(3) : 0;
    p.call_back = random.Chance(0.15);
    p.span = 3 + random.Uniform() * 12 * (1 + p.joins / 2.0);
    p.slow_link = random.Chance(0.6) ? 3 + random.Uniform() * 12 : 0;
    p.slow_map = random.Chance(0.5) ? 3 + random.Uniform() * 10 : 0;
    return p;
  }
  if (random.Chance(0.3)) return p;  // a network in good order
  p.loss = random.Chance(0.6) ? random.Uniform() * 0.15 : 0;
  p.duplicate = random.Chance(0.6) ? random.Uniform() * 0.2 : 0;
  p.break_chance = random.Chance(0.6) ? random.Uniform() * 0.05 : 0;
  p.late_copy = random.Chance(0.5) ? random.Uniform() : 0;
  return p;
}

std::string ToString(const RowParameters& p) {
  std::ostringstream text;
  text << "seed=" << p.seed << " servers=" << p.servers << " workers=" << p.workers << " shards=" << p.shards
       << " keys=" << p.keys << " tables=" << p.tables << " backups=" << p.backups << " pushes=" << p.pushes
       << " pulls=" << p.pulls << " reissues=" << p.reissues << " localizes=" << p.localizes
       << " home_moves=" << p.home_moves << " joins=" << p.joins << " crashes=" << p.crashes
       << " suspicions=" << p.suspicions << " drains=" << p.drains << " call_back=" << p.call_back
       << " delay_max=" << p.delay_max << " span=" << p.span << " loss=" << p.loss << " duplicate=" << p.duplicate
       << " break_chance=" << p.break_chance << " late_copy=" << p.late_copy << " slow_link=" << p.slow_link
       << " slow_map=" << p.slow_map << " rows_per_message=" << p.rows_per_message;
  return text.str();
}

RowResult SimulateRows(const RowParameters& parameters, const Mutations& mutations, bool trace) {
  return RowSimulation(parameters, mutations, trace).Run();
}

}  // namespace attune::ps::simulation
