// The network between the processes: connections open, break and come back; the coordinator's carry streams.
#include <algorithm>
#include <utility>

#include "ps/core/check/message_check.h"
#include "tests/simulation/describe.h"
#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {

JobSimulation::Wire JobSimulation::WireBetween(Place a, Place b) {
  if (a > b) std::swap(a, b);
  if (IsLeader(b)) return {a, b};
  return IsServer(a) == IsServer(b) ? Wire{a, b} : IsWorker(a) ? Wire{a, b} : Wire{b, a};
}

bool JobSimulation::Runs(Place place) const {
  if (IsLeader(place)) return leaders_[place - kFirstLeadersPlace]->alive;
  return (IsServer(place) ? servers_[IndexOf(place)]->fate : workers_[IndexOf(place)]->fate) == Fate::kRunning;
}

NodeId JobSimulation::NodeAt(Place place) const {
  if (IsLeader(place)) return kCoordinator;
  return IsServer(place) ? servers_[IndexOf(place)]->core->node() : workers_[IndexOf(place)]->core->node();
}

std::optional<Place> JobSimulation::PlaceOf(Place from, NodeId node) const {
  if (node == kCoordinator) {
    const auto heard = heard_.find(from);
    return heard == heard_.end() ? std::nullopt : std::optional(LeaderOfTerm(heard->second).place);
  }
  const auto it = places_.find(node);
  return it == places_.end() ? std::nullopt : std::optional(it->second);
}

std::string JobSimulation::Name(Place place) const {
  if (IsLeader(place)) {
    return "coordinator of term " + std::to_string(leaders_[place - kFirstLeadersPlace]->term);
  }
  const NodeId node = NodeAt(place);
  return (IsServer(place) ? "server " : "worker ") +
         std::to_string(IsServer(place) ? servers_[IndexOf(place)]->index : workers_[IndexOf(place)]->index) +
         (node == NodeId() ? "" : " (node " + std::to_string(node.value()) + ")");
}

void JobSimulation::Step(Place place, NodeId peer, bool connected) {
  if (!Runs(place)) return;
  if (IsServer(place)) {
    return StepServer(IndexOf(place),
                      connected ? ServerInput(PeerConnected{peer}) : ServerInput(PeerDisconnected{peer}));
  }
  StepWorker(IndexOf(place), connected ? WorkerInput(PeerConnected{peer}) : WorkerInput(PeerDisconnected{peer}));
}

void JobSimulation::Open(Wire wire) {
  const auto [dials, listens] = wire;
  Connection& connection = connections_[wire];
  const bool to_leader = IsLeader(listens);
  if (connection.up || !Runs(dials) || !Runs(listens)) return;
  const bool unknown = !to_leader && (NodeAt(listens) == NodeId() || NodeAt(dials) == NodeId());
  if (unknown || network_.Apart(dials, listens)) {  // no handshake yet
    return After(std::chrono::milliseconds(5), [this, wire] { OpenAgain(wire); });
  }
  connection.up = true;
  connection.id = ConnectionId(next_connection_++);
  connection.dialer = NodeAt(dials);
  connection.listener = NodeAt(listens);
  if (to_leader) {
    to_coordinator_[connection.id] = wire;
    Obeys(dials, leaders_[listens - kFirstLeadersPlace]->term);
  }
  if (!to_leader) Step(listens, NodeAt(dials), true);
  Step(dials, NodeAt(listens), true);
}

void JobSimulation::OpenToLeader(Place from) {
  if (!Runs(from)) return;
  const Leader* leader = LeaderOf(from);
  if (leader != nullptr && leader->alive) return Open({from, leader->place});
  After(std::chrono::milliseconds(5), [this, from] { OpenToLeader(from); });
}

// Which coordinator that is may have changed meanwhile.
void JobSimulation::OpenAgain(Wire wire) {
  if (IsLeader(wire.second)) return OpenToLeader(wire.first);
  Open(wire);
}

// A member that has not heard its own id yet does not answer.
void JobSimulation::OpenTo(Place from, NodeId node) {
  if (!Runs(from)) return;
  if (const auto to = PlaceOf(from, node)) return Open(WireBetween(from, *to));
  After(std::chrono::milliseconds(5), [this, from, node] { OpenTo(from, node); });
}

// As a transport does it: who dials has given the other one up, and the one that was dialed is dialed again.
void JobSimulation::Disconnect(Place place, NodeId peer) {
  const auto to = PlaceOf(place, peer);
  if (!to) return;
  const bool dials = WireBetween(place, *to).first == place;
  Break(place, *to, dials ? kForGood : network_.Delay());
}

void JobSimulation::Break(Place a, Place b, Duration away) {
  const Wire wire = WireBetween(a, b);
  const auto [dials, listens] = wire;
  const auto it = connections_.find(wire);
  if (it == connections_.end() || !it->second.up) return;
  it->second.up = false;
  network_.Cut(a, b);
  BreakReceiving(wire);
  Count("breaks");
  Trace("the connection of " + Name(dials) + " to " + Name(listens) + " breaks");
  if (IsLeader(listens)) {
    to_coordinator_.erase(it->second.id);
    After(network_.Delay(), [this, leader = leaders_[listens - kFirstLeadersPlace].get(), id = it->second.id] {
      StepCoordinator(*leader, ConnectionClosed{.connection = id});
    });
  } else {
    After(Duration(0), [this, listens = listens, node = it->second.dialer] { Step(listens, node, false); });
  }
  Step(dials, it->second.listener, false);
  if (away != kForGood) After(away, [this, wire] { OpenAgain(wire); });
}

void JobSimulation::BreakAll(Place place, Duration away) {
  std::vector<Wire> wires;
  for (const auto& [wire, connection] : connections_) {
    if (wire.first == place || wire.second == place) wires.push_back(wire);
  }
  for (const auto& [a, b] : wires) Break(a, b, away);
}

void JobSimulation::BreakFromLeaders(Place place, Duration away) {
  for (size_t i = first_leader_; i < leaders_.size(); ++i) Break(place, leaders_[i]->place, away);
}

namespace {

// The second count of a CountingStore is no state of its table's optimizer, by which a worker keeps its copies.
void LeaveCountsOut(RoundReply& reply) {
  const size_t columns = kColumns;
  std::vector<float> rows;
  for (size_t i = 0; i < reply.keys.size(); ++i) {
    const std::span<const float> row = reply.rows.view().subspan(2 * i * columns, columns);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  reply.rows = std::move(rows);
}

}  // namespace

void JobSimulation::Carry(Place from, Place to, Message message, LinkHeader header) {
  const auto it = connections_.find(WireBetween(from, to));
  if (it == connections_.end() || !it->second.up) return;
  if (auto* reply = std::get_if<RoundReply>(&message)) LeaveCountsOut(*reply);
  Status status = CheckMessage(message);
  if (status.ok()) status = CheckOrder(message, header);
  if (!status.ok()) {
    return Violation("Checked: " + Name(from) + " sends what " + Name(to) +
                     " refuses: " + std::string(status.message()));
  }
  const auto carried = std::make_shared<const Message>(std::move(message));
  const NodeId sender = it->first.first == from ? it->second.dialer : it->second.listener;
  const auto arrive = [this, from, to, sender, id = it->second.id, header, carried] {
    Deliver(from, to, sender, id, *carried, header);
  };
  // Where the coordinator is, is said once on each connection, whose bytes come in order and wait while nothing passes.
  const bool said_once = std::holds_alternative<CoordinatorAt>(*carried);
  if (said_once && network_.Apart(from, to)) {
    return After(std::chrono::milliseconds(50), [this, from, to, id = it->second.id, carried] {
      const Connection& connection = connections_[WireBetween(from, to)];
      if (connection.up && connection.id == id) Carry(from, to, Message(*carried));
    });
  }
  if (!IsLeader(from) && !IsLeader(to) && !said_once) return network_.Send(from, to, arrive);
  network_.SendInOrder(from, to, arrive);
  network_.MayBreak(from, to);
}

void JobSimulation::Deliver(Place from, Place to, NodeId sender, ConnectionId connection, const Message& message,
                            LinkHeader header) {
  if (!Runs(to)) return;
  ++outcome().messages;
  Digest(static_cast<uint64_t>((now() - MonotonicTime{}).count()));
  Digest(message.index() * 1000003 + from * 8191 + to);
  if (keeps_history()) Trace(Name(from) + " -> " + Name(to) + "  " + Describe(message));
  const uint32_t term = IsLeader(from) ? leaders_[from - kFirstLeadersPlace]->term : 0;
  if (IsLeader(to)) {
    const auto* copied = std::get_if<MirrorAck>(&message);
    if (copied != nullptr && copied->number >= copy_.number) copy_ = {copied->number, IndexOf(from)};
    StepCoordinator(*leaders_[to - kFirstLeadersPlace], FromConnection{.from = connection, .message = message});
  } else if (IsServer(to)) {
    // Servers end with the job; here they stay until its rows have been looked at.
    if (std::holds_alternative<Finished>(message) && StaysWhenFinished(IndexOf(to))) return;
    StepServer(IndexOf(to), Received{.from = sender, .message = message, .link = header, .term = term});
  } else if (const auto* reply = std::get_if<PullReply>(&message);
             reply == nullptr || !BeginReceiving(from, to, *reply)) {
    StepWorker(IndexOf(to), Received{.from = sender, .message = message, .link = header, .term = term});
  }
  if (++deliveries_ % 64 == 0) CheckOwners();
}

}  // namespace attune::ps::simulation
