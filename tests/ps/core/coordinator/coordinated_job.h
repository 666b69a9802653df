// A coordinator and the members it hears, for tests: what it sends is noted as they would note it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/protocol/incarnation.h"

namespace attune::ps {

// Two servers and a worker; the coordinator runs in server 0.
class CoordinatedJob : public testing::Test {
 protected:
  static constexpr ConnectionId kServer0{1}, kServer1{2}, kWorker{3};

  // `machine`: of both servers.
  explicit CoordinatedJob(CoordinatorOptions options, const std::string& machine = "") {
    core_.emplace(std::move(options));
    Say(kServer0, JoinFrom(machine, 0));
    Say(kServer1, JoinFrom(machine, 1));
    Say(kWorker, JoinOf(Role::kWorker, 0));
    Say(kServer0, Heartbeat{.number = 1, .map_version = map_.version});
    Say(kServer1, Heartbeat{.number = 1, .map_version = map_.version});
  }

  static Join JoinOf(Role role, uint32_t index, NodeId node = {}, uint32_t term = 0) {
    return {.incarnation = NewIncarnation((role == Role::kServer ? 10U : 20U) + index, 1),
            .job_uid = "job",
            .role = role,
            .index = index,
            .address = "127.0.0.1:1",
            .node = node,
            .term = term};
  }
  static Join JoinFrom(const std::string& machine, uint32_t index) {
    Join join = JoinOf(Role::kServer, index);
    join.machine = machine;
    return join;
  }
  // As a member of an earlier coordinator's time.
  void JoinAgain(ConnectionId from) {
    const bool server = from != kWorker;
    Say(from, JoinOf(server ? Role::kServer : Role::kWorker, from == kServer1 ? 1 : 0, nodes_.at(from), 2));
  }
  // What it has to say then.
  Promised AnswerOf(std::vector<InstallTable> tables = {}, std::optional<CoordinatorRecord> mirror = {}) const {
    return {.map = map_, .standing = {}, .sync = {}, .tables = std::move(tables), .mirror = std::move(mirror)};
  }
  // The next coordinator, in server 1; the first one, in server 0, is gone or only followed.
  void Follow() {
    term_ = 2;
    questions_.clear();
    promised_.clear();
    core_.emplace(CoordinatorOptions{.job_uid = "job",
                                     .term = 2,
                                     .takeover = true,
                                     .liveness_lease = std::chrono::seconds(10),
                                     .leader_lease = std::chrono::seconds(12),
                                     .uncovered_timeout = std::chrono::seconds(10),
                                     .host_index = 1});
  }

  void Step(CoordinatorInput input) {
    out_.Clear();
    core_->Step(std::move(input), now_, out_);
    for (const ToConnection& sent : out_.send) {
      std::visit([&](const auto& message) { NoteQuestion(sent.to, message); }, sent.message);
      if (const auto* mirror = std::get_if<MirrorUpdate>(&sent.message)) {
        record_ = mirror->record;
        record_at_ = sent.to;
      }
      if (const auto* map = std::get_if<MapUpdate>(&sent.message)) map_ = map->map;
      if (const auto* order = std::get_if<InstallTable>(&sent.message)) orders_[sent.to] = *order;
      if (const auto* welcome = std::get_if<Welcome>(&sent.message)) {
        nodes_[sent.to] = welcome->node;
        map_ = welcome->map;
      }
    }
  }
  // Heartbeats and promises answer the newest question for support, as servers do.
  void Say(ConnectionId from, Message message) {
    if (auto* heartbeat = std::get_if<Heartbeat>(&message)) heartbeat->supports = questions_[from];
    if (auto* promised = std::get_if<Promised>(&message)) {
      promised->standing.supports = questions_[from];
      promised_[from] = *promised;
    }
    Step(FromConnection{from, std::move(message)});
  }
  // Those who have promised are asked again, so that their support does not age.
  void PromiseAgain() {
    const std::vector<ToConnection> sent = out_.send;
    for (const ToConnection& question : sent) {
      const auto answer = promised_.find(question.to);
      if (std::holds_alternative<Promise>(question.message) && answer != promised_.end()) {
        Say(question.to, Promised(answer->second));
      }
    }
  }
  // As an operator that has recorded it.
  void ConfirmWhenWanted() {
    const auto lease = core_->progress().lease;
    if (lease.wanted.empty()) return;
    Voters voters{.map_version = lease.map_version, .nodes = {}};
    for (const uint32_t node : lease.wanted) voters.nodes.emplace_back(node);
    Step(FromOperator{.id = CommandId(1000), .command = ConfirmLeader{term_, voters}});
  }
  // The copy arrives and is acknowledged, until there is nothing new in it.
  void Mirror() {
    for (int i = 0; i < 3; ++i) Say(kServer1, MirrorAck{.number = record_.number});
  }

  template <typename Kind>
  const Kind* Sent(ConnectionId to) const {
    for (const ToConnection& sent : out_.send) {
      if (sent.to == to && std::holds_alternative<Kind>(sent.message)) return &std::get<Kind>(sent.message);
    }
    return nullptr;
  }

  template <typename Kind>
  void NoteQuestion(ConnectionId to, const Kind& message) {
    if constexpr (requires { message.support.number; }) questions_[to] = message.support.number;
  }

  std::optional<CoordinatorCore> core_;
  uint32_t term_ = 1;                           // of the coordinator
  std::map<ConnectionId, uint64_t> questions_;  // for support, the newest of each
  std::map<ConnectionId, Promised> promised_;
  CoordinatorOutputs out_;
  CoordinatorRecord record_;  // the newest copy
  ConnectionId record_at_;    // of the server that was sent it
  ShardMap map_;              // the newest
  std::map<ConnectionId, NodeId> nodes_;
  std::map<ConnectionId, InstallTable> orders_;
  MonotonicTime now_{std::chrono::seconds(1)};
};

}  // namespace attune::ps
