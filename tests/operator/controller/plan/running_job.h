// A job of FakeCluster in the middle of its training, for stories that begin there.
#pragma once

#include <string>
#include <vector>

#include "tests/operator/controller/execute/fake_cluster.h"
#include "tests/operator/controller/plan/abilities.h"

namespace attune::controller {

// What the coordinator says of its servers from now on.
inline void Say(FakeCluster& cluster, const std::vector<v1::ServerState::State>& states) {
  v1::JobWindow& window = *cluster.sample.job;
  window.clear_server_states();
  for (size_t i = 0; i < states.size(); ++i) {
    window.add_server_states()->set_index(static_cast<uint32_t>(i));
    window.mutable_server_states(static_cast<int>(i))->set_state(states[i]);
  }
  window.set_servers(static_cast<uint32_t>(states.size()));
}
inline constexpr auto kServing = v1::ServerState::SERVING;
inline constexpr auto kJoining = v1::ServerState::JOINING;
inline constexpr auto kDraining = v1::ServerState::DRAINING;
inline constexpr auto kDrained = v1::ServerState::DRAINED;

// All pods run and are connected, and the coordinator has spoken.
inline FakeCluster Running(JobBuilder job, const v1::Abilities& abilities = AllAbilities()) {
  FakeCluster cluster(job.Build());
  for (int round = 0; round < 3; ++round) {
    cluster.Settle();
    cluster.StartAll();
  }
  cluster.Settle();
  for (const std::string& name : cluster.PodNames()) cluster.Connect(name);
  cluster.sample.job.emplace();
  *cluster.sample.job->mutable_abilities() = abilities;
  Say(cluster, std::vector<v1::ServerState::State>(static_cast<size_t>(cluster.job().spec.servers.replicas), kServing));
  cluster.Settle();
  return cluster;
}

inline void Scale(FakeCluster& cluster, int32_t servers) {
  cluster.job().spec.servers.replicas = servers;
  ++cluster.job().generation;
}

inline std::vector<std::string> Servers(const FakeCluster& cluster) {
  std::vector<std::string> names = cluster.PodNames();
  std::erase_if(names, [](const std::string& name) { return name.find("server") == std::string::npos; });
  return names;
}

}  // namespace attune::controller
