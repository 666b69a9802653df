// One coordinator after the other. It dies with the server it runs in; the operator appoints another one, whose server
// tells the others.
#include <algorithm>
#include <utility>

#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {

CoordinatorOptions JobSimulation::NextOptions(uint32_t term) const {
  CoordinatorOptions options;
  options.job_uid = kJob;
  options.term = term;
  options.shards = parameters_.shards;
  options.mutations = mutations_;
  return options;
}

void JobSimulation::StartLeader(CoordinatorOptions options, size_t host) {
  auto leader = std::make_unique<Leader>();
  leader->term = options.term;
  leader->host = host;
  leader->core = std::make_unique<CoordinatorCore>(std::move(options));
  leader->taking_over = leader->core->progress().taking_over;
  leaders_.push_back(std::move(leader));
  leader_ = leaders_.back().get();
  copy_ = {};
}

// What was asked of it is asked again of the next one by those who want it.
void JobSimulation::EndLeader() {
  Tell("the coordinator of term " + std::to_string(leader_->term) + " dies");
  Count("coordinators lost");
  leader_ = nullptr;
  commands_.clear();
  BreakAll(kCoordinatorsPlace, std::chrono::milliseconds(20));
}

// The operator's part: the server with the lowest index, under a higher term.
void JobSimulation::Appoint(uint32_t gone) {
  if (finished_) return;
  std::optional<size_t> host;
  const ShardMap* map = NewestMap();
  for (size_t i = first_server_; i < servers_.size(); ++i) {
    const Server& server = *servers_[i];
    if (server.fate != Fate::kRunning || !map->Contains(server.core->node())) continue;
    if (!host || server.index < servers_[*host]->index) host = i;
  }
  if (!host) return Violation("no server is left to run the coordinator");
  CoordinatorOptions options = NextOptions(leaders_.back()->term + 1);
  options.takeover = true;
  options.host_index = servers_[*host]->index;
  const uint32_t term = options.term;
  StartLeader(std::move(options), *host);
  Tell(Name(ServerPlace(*host)) + " runs the coordinator of term " + std::to_string(term));
  heard_[ServerPlace(*host)] = term;
  const CommandId id(next_command_++);
  commands_[id] = now() + std::chrono::seconds(100);
  StepCoordinator(
      FromOperator{.id = id, .command = NodeGone{Role::kServer, gone}, .timeout = std::chrono::seconds(100)});
  StepServer(*host, CoordinatorHere{.term = term, .port = 7400});
}

// The copy that answers have waited for is at a member that lives.
bool JobSimulation::CopyIsSafe(size_t but) const {
  if (copy_.number >> 32 != leader_->term || copy_.server == but) return false;
  const Server& server = *servers_[copy_.server];
  return server.fate == Fate::kRunning && leader_->core->map().Contains(server.core->node());
}

// Members hear of another coordinator from each other, newcomers from the platform.
bool JobSimulation::KnowsLeader(Place place) const {
  if (leader_ == nullptr) return false;
  if (NodeAt(place) == NodeId() || leader_->term == 1) return true;
  const auto heard = heard_.find(place);
  return heard != heard_.end() && heard->second >= leader_->term;
}

}  // namespace attune::ps::simulation
