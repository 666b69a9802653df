// What comes must go: workers join, ask, and leave or die by the ten thousand, and nothing of them stays behind.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/core/server/server_core.h"
#include "tests/ps/core/rows/map_store.h"

namespace attune::ps::churn_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TableId kTable{1};
constexpr uint32_t kServers = 2, kWorkersAtATime = 16;

// In use, as the allocator counts it; 0 under a sanitizer, where entries alone are counted.
size_t BytesInUse() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// A coordinator and its servers over a network without delay. Workers are the test's own words.
class Churn : public testing::Test {
 protected:
  Churn() : coordinator_({.job_uid = "job", .servers = kServers, .shards = 16, .backups = 1, .host_index = 0}) {
    for (uint32_t i = 0; i < kServers; ++i) {
      servers_.push_back(std::make_unique<ServerCore>(ServerOptions{.job_uid = "job",
                                                                    .incarnation = NewIncarnation(1 + i, 1),
                                                                    .index = i,
                                                                    .address = "127.0.0.1:1",
                                                                    .create_store = MapStore::Make}));
    }
    for (uint32_t i = 0; i < kServers; ++i) ToServer(i, PeerConnected{kCoordinator});
    Deliver();
    OpenTable();
  }

  // --- the network

  void ToServer(uint32_t index, ServerInput input) {
    ServerOutputs out;
    servers_[index]->Step(std::move(input), now_, out);
    ASSERT_FALSE(out.lost) << *out.lost;
    for (const Member& member : out.connect) {
      if (member.index >= index) continue;  // the later one dials
      const NodeId self = servers_[index]->node(), peer = member.node;
      under_way_.push_back([this, index, peer] { ToServer(index, PeerConnected{peer}); });
      under_way_.push_back([this, other = member.index, self] { ToServer(other, PeerConnected{self}); });
    }
    for (Outgoing& outgoing : out.send) Carry(index, std::move(outgoing));
  }
  void Carry(uint32_t from, Outgoing outgoing) {
    if (outgoing.to == kCoordinator) {
      under_way_.push_back([this, from, message = std::move(outgoing.message)]() mutable {
        ToCoordinator(FromConnection{ConnectionId(1 + from), std::move(message)});
      });
      return;
    }
    for (uint32_t to = 0; to < kServers; ++to) {
      if (servers_[to]->node() != outgoing.to) continue;
      const NodeId self = servers_[from]->node();
      under_way_.push_back([this, to, self, outgoing = std::move(outgoing)]() mutable {
        ToServer(to, Received{.from = self, .message = std::move(outgoing.message), .link = outgoing.link});
      });
      return;
    }
  }
  void ToCoordinator(CoordinatorInput input) {
    CoordinatorOutputs out;
    coordinator_.Step(std::move(input), now_, out);
    ASSERT_FALSE(out.failed) << *out.failed;
    for (ToConnection& sent : out.send) {
      if (sent.to.value() <= kServers) {
        const auto index = static_cast<uint32_t>(sent.to.value() - 1);
        under_way_.push_back([this, index, message = std::move(sent.message)]() mutable {
          ToServer(index, Received{.from = kCoordinator, .message = std::move(message), .term = 1});
        });
      } else if (const auto* welcome = std::get_if<Welcome>(&sent.message)) {
        welcomed_ = welcome->node;
      }
    }
    for (const ConnectionId closed : out.close) ToCoordinator(ConnectionClosed{closed});
  }
  void Deliver() {
    while (!under_way_.empty()) {
      const auto next = std::move(under_way_.front());
      under_way_.pop_front();
      next();
    }
  }
  void Wait(Duration time) {
    for (const MonotonicTime until = now_ + time; now_ < until;) {
      now_ += milliseconds(500);
      Tick();
    }
  }
  // The whole job is stopped meanwhile, so that no step has to be taken for hours.
  void Sleep(Duration time) {
    now_ += time;
    Tick();
    Wait(seconds(20));
  }
  void Tick() {
    ToCoordinator(CoordinatorTimer{});
    for (uint32_t i = 0; i < kServers; ++i) ToServer(i, Timer{});
    Deliver();
  }

  // --- workers

  struct Worker {
    ConnectionId connection;
    NodeId node;
  };
  Worker Join(uint32_t index) {
    const Worker worker{ConnectionId(++connections_), {}};
    welcomed_ = NodeId();
    ToCoordinator(FromConnection{worker.connection, ps::Join{.incarnation = NewIncarnation(100 + index, connections_),
                                                             .job_uid = "job",
                                                             .role = Role::kWorker,
                                                             .index = index,
                                                             .address = "127.0.0.1:1"}});
    Deliver();
    return {worker.connection, welcomed_};
  }
  void OpenTable() {
    const Worker worker = Join(0);
    ToCoordinator(FromConnection{
        worker.connection, ps::OpenTable{.header = {RequestId(1), {}, seconds(30)}, .spec = {"rows", {.dim = 1}}}});
    Deliver();
    Leave(worker);
    ASSERT_EQ(servers_[0]->rows().tables().size(), 1U);
  }
  // A push, and a pull that waits for another push, which never comes.
  void PushAndPull(const Worker& worker, uint32_t server) {
    const ShardMap& map = servers_[server]->map();
    Key key = 0;
    while (map.HomeOf(key) != servers_[server]->node()) ++key;
    ToServer(server, PeerConnected{worker.node});
    ToServer(server, Received{.from = worker.node,
                              .message = Push{.origin = worker.node,
                                              .sequence = SequenceNumber(1),
                                              .table = kTable,
                                              .map_version = map.version,
                                              .positions = {0, 1, {}},
                                              .keys = std::vector<Key>{key},
                                              .gradients = std::vector<float>{1}}});
    ToServer(server, Received{.from = worker.node,
                              .message = Pull{.origin = worker.node,
                                              .request = RequestId(1),
                                              .table = kTable,
                                              .map_version = map.version,
                                              .remaining = hours(100),
                                              .keys = std::vector<Key>{key},
                                              .after = {{.sequence = SequenceNumber(2)}},
                                              .positions = {0, 1, {}}}});
    Deliver();
  }
  void Leave(const Worker& worker) {
    ToCoordinator(FromConnection{worker.connection, ps::Leave{.header = {RequestId(2), {}, seconds(30)}}});
    Deliver();
    ToCoordinator(ConnectionClosed{worker.connection});
  }
  void CloseAtServers(const Worker& worker) {
    for (uint32_t i = 0; i < kServers; ++i) ToServer(i, PeerDisconnected{worker.node});
  }
  // In one of the ways in which workers go; those that do not say so are replaced by the next of their index.
  void Go(const Worker& worker, uint64_t way) {
    switch (way % 4) {
      case 0:
        Leave(worker);
        break;
      case 1:  // killed
        ToCoordinator(ConnectionClosed{worker.connection});
        break;
      case 2:  // silent: its connection to the coordinator stays
        return;
      default:  // it is declared lost, dials the servers once more, and only then is gone
        ToCoordinator(FromOperator{.id = CommandId(++commands_),
                                   .command = NodeGone{.role = Role::kWorker, .index = 0, .pod = 0}});
        ToCoordinator(ConnectionClosed{worker.connection});
        Wait(seconds(3));
        CloseAtServers(worker);
        for (uint32_t i = 0; i < kServers; ++i) ToServer(i, PeerConnected{worker.node});
        break;
    }
    CloseAtServers(worker);
  }
  void ComeAndGo(uint64_t workers) {
    for (uint64_t i = 0; i < workers; i += kWorkersAtATime) {
      std::vector<Worker> now;
      for (uint32_t index = 0; index < kWorkersAtATime; ++index) now.push_back(Join(index));
      for (const Worker& worker : now) {
        ASSERT_NE(worker.node, NodeId());
        for (uint32_t server = 0; server < kServers; ++server) PushAndPull(worker, server);
      }
      for (uint32_t index = 0; index < kWorkersAtATime; ++index) Go(now[index], index);
      Wait(seconds(1));
    }
    // The last ones are lost, too; then all are so old that they are forgotten. A last one brings the map that says so.
    Wait(seconds(30));
    Sleep(hours(25));
    Leave(Join(0));
    Wait(seconds(5));
  }

  MonotonicTime now_{seconds(1)};
  CoordinatorCore coordinator_;
  std::vector<std::unique_ptr<ServerCore>> servers_;
  std::deque<std::function<void()>> under_way_;
  uint64_t connections_ = kServers, commands_ = 0;
  NodeId welcomed_;
};

TEST_F(Churn, TenThousandWorkersEndWhereMemoryBegan) {
  ComeAndGo(2000);
  const size_t bytes = BytesInUse(), links = servers_[0]->links();
  EXPECT_EQ(servers_[0]->rows().parked(), 0U) << "pulls of workers that died";
  ComeAndGo(10'000);
  EXPECT_EQ(coordinator_.progress().workers, 0U);
  EXPECT_EQ(coordinator_.progress().servers, kServers);
  for (const auto& server : servers_) {
    EXPECT_EQ(server->links(), links);
    EXPECT_EQ(server->rows().parked(), 0U);
  }
  EXPECT_LE(BytesInUse(), bytes + bytes / 20);
}

}  // namespace
}  // namespace attune::ps::churn_test
