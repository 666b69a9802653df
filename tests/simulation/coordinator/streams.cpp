#include "tests/simulation/coordinator/simulation.h"

#include <algorithm>
#include <utility>

#include "ps/core/check/message_check.h"
#include "tests/simulation/describe.h"

namespace attune::ps::simulation {

void CoordinatorSimulation::Connect(Party party) {
  Stream& stream = StreamOf(party);
  if (!Alive(party) || stream.connected) return;
  if (IsStopped(party)) return network_.WhenAwake(PlaceOf(party), [this, party] { Connect(party); });
  if (!leaders_[stream.leader]->alive) return After(std::chrono::milliseconds(50), [this, party] { Connect(party); });
  stream.connected = true;
  stream.connection = ConnectionId(next_connection_++);
  connections_[stream.connection] = {party, stream.leader};
  if (!party.is_server) return StepWorker(party.place, PeerConnected{.peer = kCoordinator});
  if (Server& server = servers_[party.place]; !server.map.formed()) server.node = NodeId();
  SayJoin(party.place);
}

void CoordinatorSimulation::Break(Party party, Duration away) {
  Stream& stream = StreamOf(party);
  if (!stream.connected) return;
  stream.connected = false;
  Count("breaks");
  Trace(Name(party) + " loses its connection to the coordinator");
  const ConnectionId id = stream.connection;
  const size_t leader = connections_.at(id).leader;
  connections_.erase(id);
  After(network_.Delay(), [this, leader, id] { StepCoordinator(leader, ConnectionClosed{.connection = id}); });
  if (!party.is_server && Alive(party)) StepWorker(party.place, PeerDisconnected{.peer = kCoordinator});
  if (Alive(party)) After(away, [this, party] { Connect(party); });
}

std::string CoordinatorSimulation::Name(Party party) const {
  return (party.is_server ? "server process " : "worker process ") + std::to_string(party.place);
}

void CoordinatorSimulation::Check(const Message& message) {
  const Status status = CheckMessage(message);
  if (!status.ok()) Violation("Checked: what is sent is refused: " + std::string(status.message()));
}

void CoordinatorSimulation::ToCoordinator(Party party, Message message) {
  const Stream& stream = StreamOf(party);
  if (!stream.connected) return;
  Check(message);
  const Place place = PlaceOf(party);
  network_.SendInOrder(place, LeaderPlace(connections_.at(stream.connection).leader),
                       [this, party, id = stream.connection, message = std::move(message)]() mutable {
                         const auto it = connections_.find(id);
                         if (it == connections_.end()) return;
                         if (keeps_history()) Trace(Name(party) + " -> coordinator  " + Describe(message));
                         StepCoordinator(it->second.leader, FromConnection{.from = id, .message = std::move(message)});
                       });
  network_.MayBreak(0, place);
}

void CoordinatorSimulation::FromCoordinator(ConnectionId connection, Message message) {
  const auto it = connections_.find(connection);
  if (it == connections_.end()) return;
  Check(message);
  const Party party = it->second.party;
  const uint32_t term = leaders_[it->second.leader]->term;
  const Place leader = LeaderPlace(it->second.leader);
  network_.SendInOrder(leader, PlaceOf(party), [this, party, connection, term, message = std::move(message)]() mutable {
    if (connections_.contains(connection)) return Arrive(party, term, message);
    if (!left_.contains(connection)) return;
    After(network_.Delay(12), [this, party, term, message = std::move(message)] { Arrive(party, term, message); });
  });
}

void CoordinatorSimulation::Arrive(Party party, uint32_t term, const Message& message) {
  if (!Alive(party)) return;
  if (IsStopped(party)) {
    return network_.WhenAwake(PlaceOf(party), [this, party, term, message] { Arrive(party, term, message); });
  }
  ++outcome().messages;
  Digest(message.index() * 31 + party.place);
  if (keeps_history()) {
    Trace("coordinator of term " + std::to_string(term) + " -> " + Name(party) + "  " + Describe(message));
  }
  if (!party.is_server) {
    return StepWorker(party.place, Received{.from = kCoordinator, .message = message, .term = term});
  }
  Server& server = servers_[party.place];
  if (term < server.term && !mutations_.old_term_not_refused) return;
  server.term = std::max(server.term, term);
  OnServer(party.place, message);
}

// A member knows of a table then, and no copy does.
void CoordinatorSimulation::CrashAtTable(const CoordinatorOutputs& out) {
  const bool orders_table = std::ranges::any_of(out.send, [](const ToConnection& message) {
    const auto* install = std::get_if<InstallTable>(&message.message);
    return install != nullptr && install->spec.name != "rows";
  });
  if (!orders_table || crashed_at_table_ || !random().Chance(0.2)) return;
  crashed_at_table_ = true;
  After(network_.Delay(), [this] { CrashCoordinator(true); });
}

void CoordinatorSimulation::StepCoordinator(size_t leader, CoordinatorInput input) {
  Leader& here = *leaders_[leader];
  if (!here.alive) return;
  if (const Party host{true, here.host}; IsStopped(host)) {
    return network_.WhenAwake(PlaceOf(host), [this, leader, input = std::move(input)]() mutable {
      StepCoordinator(leader, std::move(input));
    });
  }
  CoordinatorOutputs out;
  here.core->Step(std::move(input), ClockOf(here.host), out);
  for (const std::string& event : out.events) Trace("event: " + event);
  for (const RejectedMessage& rejected : out.rejected) {
    Violation("Checked: the coordinator rejects a message: " + rejected.why);
  }
  if (out.superseded && !out.send.empty()) return KillServer(here.host);  // it is asked to end
  if (out.superseded) return EndLeader(leader);
  CheckOneLeader();
  if (!here.leads && !here.core->progress().taking_over) {
    Count("takeovers");
    here.leads = true;
    chief_ = std::max(chief_, leader);
  }
  OnMapPublished(leader);
  for (const ToConnection& message : out.send) {
    const auto* mark = std::get_if<Mark>(&message.message);
    if (mark == nullptr || mark->cut == here.cut.id) continue;
    here.cut = {.id = mark->cut, .at = now(), .members = here.core->map(), .copied = moved_};
  }
  if (parameters_.crash_at_table && here.leads) CrashAtTable(out);
  for (ToConnection& message : out.send) FromCoordinator(message.to, std::move(message.message));
  for (const ConnectionId connection : out.close) {
    const auto closed = connections_.find(connection);
    if (closed == connections_.end()) continue;
    Count("connections closed");
    Break(Party(closed->second.party), network_.Delay());
  }
  for (const CommandResult& result : out.command_results) {
    const auto it = commands_.find(result.id);
    if (it == commands_.end()) {
      Violation("EveryCallEnds: a command was answered twice");
      continue;
    }
    Trace("command " + std::to_string(result.id.value()) + ": " + attune::ToString(result.status) + " " + result.text);
    if (now() > it->second.until + std::chrono::seconds(1)) Violation("EveryCallEnds: a command ended after its time");
    if (result.status.code() == StatusCode::kDeadlineExceeded) {
      Violation("EveryCallEnds: a command was not carried out: " + attune::ToString(result.status));
    }
    words_.erase(result.id);
    const auto scaling = scalings_.extract(result.id);
    if (result.status.ok() && !scaling.empty() && scaling.mapped() == servers_wanted_) CheckEven();
    commands_.erase(it);
  }
  if (out.begin_checkpoint) {
    const CutId cut = out.begin_checkpoint->cut;
    After(FromMilliseconds(random().Uniform() * 20), [this, leader, cut] {
      StepCoordinator(leader, CheckpointBegun{.cut = cut, .status = OkStatus(), .checkpoint = cut.value()});
    });
  }
  if (out.commit_checkpoint) {
    Count("checkpoints");
    CheckCut(out.commit_checkpoint->record, leader);
    CheckBest(*out.commit_checkpoint, leader);
    const CutId cut = out.commit_checkpoint->cut;
    After(FromMilliseconds(random().Uniform() * 20),
          [this, leader, cut] { StepCoordinator(leader, CheckpointCommitted{.cut = cut, .status = OkStatus()}); });
  }
  if (out.failed) Violation("the job failed: " + attune::ToString(*out.failed));
  finished_ = finished_ || out.finished;
  WakeAt(here.wake, WhenClockShows(here.host, here.core->WakeAt()),
         [this, leader] { StepCoordinator(leader, CoordinatorTimer{}); });
}

}  // namespace attune::ps::simulation
