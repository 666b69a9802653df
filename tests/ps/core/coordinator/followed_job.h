// A job whose coordinator may be lost and followed by another one, for tests. Times are longer than by default, so that
// each test says how long what takes.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tests/ps/core/coordinator/coordinated_job.h"

namespace attune::ps {

class FollowedJob : public CoordinatedJob {
 protected:
  FollowedJob()
      : CoordinatedJob({.job_uid = "job",
                        .servers = 2,
                        .shards = 4,
                        .goal = {.epochs = 1},
                        .items = 100,
                        .lease_items = 10,
                        .liveness_lease = std::chrono::seconds(10),
                        .leader_lease = std::chrono::seconds(12),
                        .host_index = 0}) {}

  // As a process that runs all the time.
  void Wait(Duration time) {
    CoordinatorOutputs all;
    const MonotonicTime until = now_ + time;
    while (now_ < until) {
      now_ = std::min(until, now_ + std::chrono::milliseconds(500));
      Step(CoordinatorTimer{});
      for (const ToConnection& sent : out_.send) all.send.push_back(sent);
      all.events.insert(all.events.end(), out_.events.begin(), out_.events.end());
      all.command_results.insert(all.command_results.end(), out_.command_results.begin(), out_.command_results.end());
      PromiseAgain();
    }
    out_ = std::move(all);
  }
  // As one that is stopped meanwhile.
  void Sleep(Duration time) {
    now_ += time;
    Step(CoordinatorTimer{});
  }
  // All nodes say that they live.
  void Live(std::vector<ConnectionId> nodes) {
    for (const ConnectionId node : nodes) Say(node, Heartbeat{.number = ++heartbeat_, .map_version = map_.version});
  }

  // By the newest voters of the newest map.
  bool Votes(NodeId node) const {
    const std::vector<NodeId>& voters = map_.voters.back().nodes;
    return std::ranges::find(voters, node) != voters.end();
  }

  RequestHeader NextHeader() { return {.request = RequestId(++request_), .remaining = std::chrono::seconds(30)}; }

  LeaseGrant TakeLease() {
    Say(kWorker, OpenDataSet{.header = NextHeader(), .name = "train", .options = {}});
    Mirror();
    Say(kWorker, LeaseRequest{.header = NextHeader(), .data_set = DataSetId(1)});
    Say(kServer1, MirrorAck{.number = record_.number});
    const auto* grant = Sent<LeaseGrant>(kWorker);
    EXPECT_NE(grant, nullptr);
    return grant == nullptr ? LeaseGrant{} : *grant;
  }

  // Server 0 is gone; server 1 runs the next one.
  void Appoint(std::vector<NodeGone> gone) {
    Follow();
    for (const NodeGone& node : gone) Step(FromOperator{.id = CommandId(++command_), .command = node});
    JoinAgain(kServer1);
    EXPECT_NE(Sent<Promise>(kServer1), nullptr);
    Say(kServer1, AnswerOf({}, record_));
    ConfirmWhenWanted();
  }
  Promised WorkersAnswer(std::vector<LeasePosition> leases) const {
    return {
        .map = map_, .standing = {.number = 9, .leases = std::move(leases)}, .sync = {}, .tables = {}, .mirror = {}};
  }

  // Another process of server 1's index, while that one is silent: half of the voters are missing until the operator
  // confirms the other half.
  void Replace(ConnectionId replacement, const Join& join) {
    Say(replacement, join);
    for (int i = 0; i < 8; ++i) {
      Wait(std::chrono::seconds(1));
      Live({kServer0, kWorker});
    }
    ConfirmWhenWanted();
    Say(replacement, join);
  }

  uint64_t request_ = 0, heartbeat_ = 100, command_ = 0;
};

}  // namespace attune::ps
