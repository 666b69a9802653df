// One coordinator after the other: what the operator, the platform and the servers do about them.
#include <algorithm>
#include <utility>

#include "tests/simulation/coordinator/simulation.h"

namespace attune::ps::simulation {

void CoordinatorSimulation::StartLeader(CoordinatorOptions options, size_t host) {
  auto leader = std::make_unique<Leader>();
  leader->term = options.term;
  leader->host = host;
  leader->leads = !options.takeover;
  leader->core = std::make_unique<CoordinatorCore>(std::move(options));
  leaders_.push_back(std::move(leader));
}

// Its process is gone, or another one is obeyed: what was asked of it is asked again of the next one.
void CoordinatorSimulation::EndLeader(size_t leader) {
  if (!std::exchange(leaders_[leader]->alive, false)) return;
  if (Server& host = servers_[leaders_[leader]->host]; host.alive) {  // it keeps what the coordinator knew
    std::optional<CoordinatorRecord> record = leaders_[leader]->core->LastRecord();
    const bool counts = record && record->number >= host.map.records_from;
    if (counts && (!host.mirror || host.mirror->number < record->number)) host.mirror = std::move(record);
  }
  Trace("the coordinator of term " + std::to_string(leaders_[leader]->term) + " ends");
  std::vector<Party> parties;
  for (const auto& [id, connection] : connections_) {
    if (connection.leader == leader) parties.push_back(connection.party);
  }
  for (const Party party : parties) Break(party, std::chrono::milliseconds(20));
  bool scaling = false;
  std::erase_if(commands_, [&](const auto& entry) {
    if (entry.second.leader != leader) return false;
    scaling = scalings_.erase(entry.first) > 0 || scaling;
    if (const auto word = words_.extract(entry.first); !word.empty()) {
      After(std::chrono::milliseconds(100), [this, gone = word.mapped()] { Order(gone); });
    }
    return true;
  });
  if (scaling) After(std::chrono::milliseconds(300), [this] { Scale(); });
}

// The copy that answers have waited for is at a member that lives.
bool CoordinatorSimulation::CopyIsSafe(size_t but) const {
  uint64_t newest = 0;
  for (const Server& server : servers_) newest = std::max(newest, server.mirror ? server.mirror->number : 0);
  if (newest >> 32 != leaders_[chief_]->term) return false;
  for (size_t place = 0; place < servers_.size(); ++place) {
    const Server& server = servers_[place];
    if (place == but || !server.alive || server.finished || !Chief().map().Contains(server.node)) continue;
    if (server.mirror && server.mirror->number == newest) return true;
  }
  return false;
}

// The operator's part: the server with the lowest index that fits, under a higher term.
void CoordinatorSimulation::Appoint(std::vector<NodeGone> gone, uint32_t index_below) {
  appointing_ = false;
  if (finished_) return;
  size_t host = servers_.size();
  for (size_t place = 0; place < servers_.size(); ++place) {
    const Server& server = servers_[place];
    if (place == leaders_.back()->host || !server.alive || server.finished || server.index >= index_below) continue;
    if (!Chief().map().Contains(server.node) || !server.map.formed()) continue;  // it refuses without a map
    if (IsStopped({true, place}) && random().Chance(0.9)) continue;              // silent as well
    if (host == servers_.size() || server.index < servers_[host].index) host = place;
  }
  if (host == servers_.size()) {
    if (gone.empty()) return;
    appointing_ = true;  // the operator asks again
    return After(std::chrono::milliseconds(500), [this, gone, index_below] { Appoint(gone, index_below); });
  }
  Count(gone.empty() ? "handovers" : "coordinators lost");
  const bool hears_late = parameters_.hears_late && gone.empty();
  StartLeader({.job_uid = kJob,
               .term = leaders_.back()->term + 1,
               .takeover = true,
               .voters = confirmed_,
               .shards = parameters_.shards,
               .liveness_lease = std::chrono::seconds(2),
               .leader_lease = std::chrono::seconds(3),
               .uncovered_timeout = std::chrono::seconds(4),
               .shard_changes_max = 4,
               .row_changes_max = 0,
               .host_index = servers_[host].index,
               .rebalance = Rules(),
               .mutations = mutations_},
              host);
  const size_t leader = leaders_.size() - 1;
  for (const NodeGone& node : gone) {
    const CommandId id(next_command_++);
    commands_[id] = {now() + kCallTimeout, leader};
    words_.emplace(id, node);
    StepCoordinator(leader, FromOperator{.id = id, .command = node, .timeout = kCallTimeout});
  }
  Trace("server " + std::to_string(servers_[host].index) + " runs the coordinator of term " +
        std::to_string(leaders_.back()->term));
  Redirect({true, host}, leader);
  // Those who stay with the old one longest: its own server, another one that lets it continue, and workers.
  const auto stays = [&](Party party) { return party.is_server || random().Chance(0.5); };
  const auto later = [&](Party party) {
    Duration delay = network_.Delay();
    if (hears_late && stays(party)) {
      delay = FromMilliseconds(3000 + random().Uniform() * 6000);
      any_failure_ = true;
    } else if (random().Chance(0.05)) {  // so long that it may count as dead
      delay = FromMilliseconds(random().Uniform() * 9000);
      any_failure_ = true;
    }
    After(delay, [this, party, leader] { Redirect(party, leader); });
  };
  for (size_t place = 0; place < servers_.size(); ++place) {
    if (place != host && servers_[place].alive) later({true, place});
  }
  for (size_t place = 0; place < workers_.size(); ++place) later({false, place});
}

// The operator's part: what it records for the coordinator that it has appointed last comes before any other
// appointment, and the coordinator hears of it later.
void CoordinatorSimulation::ConfirmWhenWanted() {
  if (finished_) return;
  After(std::chrono::milliseconds(300), [this] { ConfirmWhenWanted(); });
  const size_t last = leaders_.size() - 1;
  if (!leaders_[last]->alive || appointing_) return;
  const auto lease = leaders_[last]->core->progress().lease;
  if (lease.wanted.empty()) return;
  Voters voters{.map_version = lease.map_version, .nodes = {}};
  for (const uint32_t node : lease.wanted) voters.nodes.emplace_back(node);
  // What the operator has read may be old when it records it.
  After(FromMilliseconds(random().Uniform() * 800), [this, last, voters] { Confirm(last, voters); });
}

void CoordinatorSimulation::Confirm(size_t leader, const Voters& voters) {
  if (finished_ || leader + 1 != leaders_.size() || appointing_) return;
  if (confirmed_ && voters.map_version < confirmed_->map_version) return;
  confirmed_ = voters;
  Count("confirmations");
  const CommandId id(next_command_++);
  commands_[id] = {now() + kCallTimeout, leader};
  After(FromMilliseconds(random().Uniform() * 500), [this, leader, id, voters, term = leaders_[leader]->term] {
    StepCoordinator(leader, FromOperator{.id = id, .command = ConfirmLeader{term, voters}, .timeout = kCallTimeout});
  });
}

// The coordinator's server was lost before the job had formed: its replacement begins the job again, at the same
// address.
void CoordinatorSimulation::BeginAnew() {
  Count("started over");
  appointing_ = false;
  const size_t host = StartServer(servers_[leaders_[chief_]->host].index);
  confirmed_.reset();
  StartLeader(first_options_, host);
  chief_ = leaders_.size() - 1;
  for (Server& server : servers_) {
    server.stream.leader = chief_;
    if (!server.alive) server.node = NodeId();  // numbers begin again too
  }
  for (const auto& worker : workers_) worker->stream.leader = chief_;
}

// It hears where the new coordinator is.
void CoordinatorSimulation::Redirect(Party party, size_t leader) {
  if (!Alive(party) || StreamOf(party).leader >= leader) return;
  if (IsStopped(party)) {
    return network_.WhenAwake(PlaceOf(party), [this, party, leader] { Redirect(party, leader); });
  }
  const NodeId host = servers_[leaders_[leader]->host].node;
  if (party.is_server) {
    Server& server = servers_[party.place];
    server.term = std::max(server.term, leaders_[leader]->term);
    for (size_t older = 0; older < leader; ++older) {
      if (leaders_[older]->host == party.place) EndLeader(older);
    }
  } else {
    StepWorker(
        party.place,
        Received{.from = host, .message = CoordinatorAt{.term = leaders_[leader]->term, .host = host, .port = 7400}});
    if (!Alive(party)) return;
  }
  if (StreamOf(party).connected) left_.insert(StreamOf(party).connection);
  StreamOf(party).leader = leader;
  Break(party, network_.Delay());
}

// The coordinator and its copy at once are the end of the job, and not of interest here.
void CoordinatorSimulation::KillWhenSafe(size_t place) {
  const bool safe = Settled() && !any_stopped_ && (place != leaders_[chief_]->host || CopyIsSafe(place));
  if (safe || finished_) return KillServer(place);
  After(std::chrono::milliseconds(500), [this, place] { KillWhenSafe(place); });
}

// The server that runs the coordinator dies, or (not really) the platform says so and it runs on for a while. A wrong
// word names no pod: that a pod's container has ended is said by its own machine, which knows.
void CoordinatorSimulation::CrashCoordinator(bool really) {
  if (finished_ || any_stopped_ || !Settled()) return;
  const size_t host = leaders_[chief_]->host;
  if (!CopyIsSafe(host)) return;
  any_failure_ = true;
  any_server_died_ = true;
  if (really) return KillServer(host);
  const NodeGone gone{.role = Role::kServer, .index = servers_[host].index, .pod = 0};
  Trace("the coordinator is said to be dead");
  appointing_ = true;
  After(std::chrono::seconds(12), [this, host] { KillWhenSafe(host); });
  After(FromMilliseconds(random().Uniform() * 1500), [this, gone] { Appoint({gone}, UINT32_MAX); });
}

}  // namespace attune::ps::simulation
