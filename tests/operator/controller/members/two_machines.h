// A running job on a cluster of two machines, for stories of pods that move.
#pragma once

#include <string>
#include <vector>

#include "operator/controller/members/move.h"
#include "tests/operator/controller/notes.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller {

inline scheduler::Machine Machine(const std::string& name, double cores = 8) {
  return {name, {.cpu_cores = cores, .memory_bytes = 1e10}};
}

// Two servers and two workers on node-1; node-2 takes pods, too.
inline FakeCluster TwoMachines(JobBuilder job = MakeTrainingJob("a").Servers(2).Workers(2)) {
  FakeCluster cluster = Running(job);
  cluster.machines = {Machine("node-1"), Machine("node-2")};
  cluster.nodes = {{"node-1", {}}, {"node-2", {}}};
  return cluster;
}

inline void StartOn(FakeCluster& cluster, const std::string& pod, const std::string& node) {
  cluster.pod(pod)["spec"]["nodeName"] = node;
  cluster.Start(pod);
}

// Its program has finished a step, says its sidecar.
inline void Train(FakeCluster& cluster, const std::string& pod) {
  cluster.Connect(pod);
  telemetry::PodSample& sample = cluster.sample.pods.back();
  sample.pod_uid = kube::Uid(cluster.pod(pod));
  sample.window.mutable_worker()->set_clock(1);
}

inline void Ask(FakeCluster& cluster, const std::string& request) { cluster.job().move_request = request; }

inline std::string State(const FakeCluster& cluster) {
  const auto& move = cluster.status().move;
  return move ? move->state + ": " + move->message : "";
}

}  // namespace attune::controller
