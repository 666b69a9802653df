// One coordinator after the other. It dies with the server it runs in, or is followed in order; the operator appoints
// another one, whose server informs the others.
#include <algorithm>
#include <utility>

#include "tests/simulation/eager_relief.h"
#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {

CoordinatorOptions JobSimulation::NextOptions(uint32_t term) const {
  CoordinatorOptions options;
  options.job_uid = kJob;
  options.term = term;
  options.shards = parameters_.shards;
  options.liveness_lease = std::chrono::seconds(10);
  options.leader_lease = std::chrono::seconds(13);
  options.uncovered_timeout = std::chrono::seconds(15);
  options.mutations = mutations_;
  if (parameters_.eager_relief) options.rebalance = EagerRelief();
  return options;
}

void JobSimulation::StartLeader(CoordinatorOptions options, size_t host) {
  auto leader = std::make_unique<Leader>();
  leader->term = options.term;
  leader->place = kFirstLeadersPlace + static_cast<Place>(leaders_.size());
  leader->host = host;
  leader->core = std::make_unique<CoordinatorCore>(std::move(options));
  leader->taking_over = leader->core->progress().taking_over;
  if (parameters_.late_map_factor > 1) {
    network_.SlowDown(leader->place, WorkerPlace(0), parameters_.late_map_factor);
  }
  leaders_.push_back(std::move(leader));
  leader_ = leaders_.back().get();
  copy_ = {};
}

JobSimulation::Leader& JobSimulation::LeaderOfTerm(uint32_t term) const {
  size_t found = leaders_.size() - 1;
  while (found > first_leader_ && leaders_[found]->term != term) --found;
  return *leaders_[found];
}

// Its server dies, or obeys another one and keeps what it knew last. What was asked of it is asked again of the next
// one by those who want it.
void JobSimulation::EndLeader(Leader& leader) {
  if (!std::exchange(leader.alive, false)) return;
  Trace("the coordinator of term " + std::to_string(leader.term) + " ends");
  if (leader_ == &leader) leader_ = nullptr;
  if (leader.host < servers_.size() && servers_[leader.host]->fate == Fate::kRunning) {
    if (std::optional<CoordinatorRecord> record = leader.core->LastRecord()) {
      servers_[leader.host]->core->KeepRecord(std::move(*record));
    }
  }
  std::erase_if(commands_, [&](const auto& entry) { return entry.second.leader == &leader; });
  BreakAll(leader.place, std::chrono::milliseconds(20));
}

// The operator's part: the server with the lowest index, under a higher term. `gone`: of the one before, if it is.
void JobSimulation::Appoint(std::optional<NodeGone> gone, uint32_t index_below) {
  if (finished_) return;
  std::optional<size_t> host;
  const ShardMap* map = NewestMap();
  for (size_t i = first_server_; i < servers_.size(); ++i) {
    const Server& server = *servers_[i];
    if (server.fate != Fate::kRunning || server.index >= index_below || IsHost(i)) continue;
    if (!server.core->map().formed() || !map->Contains(server.core->node())) continue;  // it would refuse
    if (!gone && leader_ != nullptr) {  // the operator hears from the coordinator who leaves or has left
      const Member* member = leader_->core->map().Find(server.core->node());
      if (member == nullptr || member->leaving) continue;
    }
    if (!host || server.index < servers_[*host]->index) host = i;
  }
  if (!host && !gone) return;
  if (!host) return Violation("no server is left to run the coordinator");
  Count(gone ? "coordinators lost" : "handovers");
  CoordinatorOptions options = NextOptions(leaders_.back()->term + 1);
  options.takeover = true;
  options.host_index = servers_[*host]->index;
  options.voters = confirmed_;
  const uint32_t term = options.term;
  StartLeader(std::move(options), *host);
  Trace(Name(ServerPlace(*host)) + " runs the coordinator of term " + std::to_string(term));
  if (gone) {
    const CommandId id(next_command_++);
    commands_[id] = {now() + std::chrono::seconds(100), leader_};
    StepCoordinator(*leader_, FromOperator{.id = id, .command = *gone, .timeout = std::chrono::seconds(100)});
  }
  Hears(ServerPlace(*host), term);
  StepServer(*host, CoordinatorHere{.term = term, .port = 7400});
}

// The operator's part: what it records for the coordinator that it has appointed last comes before any other
// appointment, and the coordinator hears of it later.
void JobSimulation::ConfirmWhenWanted() {
  if (finished_) return;
  After(std::chrono::milliseconds(300), [this, life = life_] {
    if (life == life_) ConfirmWhenWanted();
  });
  Leader& last = *leaders_.back();
  if (!last.alive) return;
  const auto lease = last.core->progress().lease;
  if (lease.wanted.empty()) return;
  Voters voters{.map_version = lease.map_version, .nodes = {}};
  for (const uint32_t node : lease.wanted) voters.nodes.emplace_back(node);
  confirmed_ = voters;
  Count("confirmations");
  After(FromMilliseconds(random().Uniform() * 500), [this, &last, voters, life = life_] {
    if (!last.alive || life != life_) return;
    const CommandId id(next_command_++);
    commands_[id] = {now() + std::chrono::seconds(100), &last};
    StepCoordinator(
        last,
        FromOperator{.id = id, .command = ConfirmLeader{last.term, voters}, .timeout = std::chrono::seconds(100)});
  });
}

// In order: the old one leads until its server has heard of the new one.
void JobSimulation::HandOver(uint32_t index_below) {
  if (!finished_ && Leads() && leader_->core->map().formed()) Appoint({}, index_below);
}

// The copy that answers have waited for is at a member that lives.
bool JobSimulation::CopyIsSafe(size_t but) const {
  if (copy_.number >> 32 != leader_->term || copy_.server == but) return false;
  const Server& server = *servers_[copy_.server];
  return server.fate == Fate::kRunning && leader_->core->map().Contains(server.core->node());
}

// Where its stream is to go. Members hear of another coordinator from each other; who has no map yet, from the
// platform.
JobSimulation::Leader* JobSimulation::LeaderOf(Place place) const {
  const bool has_map =
      IsServer(place) ? servers_[IndexOf(place)]->core->map().formed() : workers_[IndexOf(place)]->core->map().formed();
  if (!has_map || NodeAt(place) == NodeId()) return leader_;
  const auto heard = heard_.find(place);
  return heard == heard_.end() ? leader_ : &LeaderOfTerm(heard->second);
}

// It keeps what a coordinator that ran there knew last.
void JobSimulation::Obeys(Place place, uint32_t term) {
  heard_[place] = term;
  for (size_t i = first_leader_; IsServer(place) && i < leaders_.size(); ++i) {
    if (MayMove() && leaders_[i]->term < term && leaders_[i]->host == IndexOf(place)) EndLeader(*leaders_[i]);
  }
}

void JobSimulation::Hears(Place place, uint32_t term) {
  Obeys(place, term);
  After(Duration(0), [this, place, term] {  // its step is not over
    for (size_t i = first_leader_; i < leaders_.size(); ++i) {
      if (leaders_[i]->term < term) Break(place, leaders_[i]->place, network_.Delay());
    }
  });
}

}  // namespace attune::ps::simulation
