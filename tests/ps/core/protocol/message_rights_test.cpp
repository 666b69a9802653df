// Who may say what: the table itself, and that each core drops what has no right to come before it looks at it.
#include "ps/core/protocol/message_rights.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/check/message_check.h"
#include "ps/core/server/server_core.h"
#include "ps/core/worker/worker_core.h"
#include "tests/ps/core/coordinator/coordinated_job.h"
#include "tests/ps/core/rows/map_store.h"

namespace attune::ps::message_rights_test {
namespace {

using std::chrono::seconds;

constexpr std::array kSenders = {Party::kCoordinator, Party::kServer, Party::kWorker, Party::kUnknown};
constexpr std::array kReceivers = {Party::kServer, Party::kWorker, Party::kCoordinator};

// One message of every kind, as empty as it can be.
template <size_t... kKinds>
std::vector<Message> OneOfEachKind(std::index_sequence<kKinds...>) {
  std::vector<Message> messages;
  (messages.emplace_back(std::variant_alternative_t<kKinds, MessageVariant>()), ...);
  return messages;
}
std::vector<Message> OneOfEachKind() {
  return OneOfEachKind(std::make_index_sequence<std::variant_size_v<MessageVariant>>());
}
bool MayCome(const Message& message, Party from, Party to) { return ps::MayCome(message.index(), from, to); }

TEST(MessageRightsTest, EveryKindHasASenderAndAReceiver) {
  for (const Message& message : OneOfEachKind()) {
    bool any = false;
    for (const Party from : kSenders) {
      for (const Party to : kReceivers) any = any || MayCome(message, from, to);
    }
    EXPECT_TRUE(any) << NameOf(message);
  }
}

TEST(MessageRightsTest, ANodeOutsideTheMapSaysWhatSomeMemberMayAndNoMore) {
  for (const Message& message : OneOfEachKind()) {
    for (const Party to : {Party::kServer, Party::kWorker}) {
      const bool of_members = MayCome(message, Party::kServer, to) || MayCome(message, Party::kWorker, to);
      EXPECT_EQ(MayCome(message, Party::kUnknown, to), of_members) << NameOf(message) << " to " << NameOf(to);
    }
    const bool introduces = std::holds_alternative<Join>(message) || std::holds_alternative<Promised>(message);
    EXPECT_EQ(MayCome(message, Party::kUnknown, Party::kCoordinator), introduces) << NameOf(message);
  }
}

TEST(MessageRightsTest, OrdersComeFromTheCoordinatorAloneAndRowsNeverDo) {
  for (const Message& message : OneOfEachKind()) {
    for (const Party to : {Party::kServer, Party::kWorker}) {
      EXPECT_NE(MayCome(message, Party::kCoordinator, to) && MayCome(message, Party::kUnknown, to), true)
          << NameOf(message) << " is an order or is of rows, not both";
      if (IsRowMessage(message)) {
        EXPECT_FALSE(MayCome(message, Party::kCoordinator, to)) << NameOf(message);
      } else {
        EXPECT_FALSE(MayCome(message, Party::kServer, to)) << NameOf(message);
        EXPECT_FALSE(MayCome(message, Party::kWorker, to)) << NameOf(message);
      }
    }
    EXPECT_FALSE(MayCome(message, Party::kCoordinator, Party::kCoordinator)) << NameOf(message);
    if (IsRowMessage(message)) {
      EXPECT_FALSE(MayCome(message, Party::kServer, Party::kCoordinator)) << NameOf(message);
    }
  }
}

TEST(MessageRightsTest, WhatWorkersMayNotSay) {
  for (const Message& message : std::vector<Message>{MoveOrder{}, ReplicateRefused{}, InstallAck{}, HomeHandoff{},
                                                     CollectOwners{}, FetchRows{}, FetchedRows{}, CoordinatorAt{}}) {
    EXPECT_FALSE(MayCome(message, Party::kWorker, Party::kServer)) << NameOf(message);
    EXPECT_FALSE(MayCome(message, Party::kWorker, Party::kWorker)) << NameOf(message);
  }
  for (const Message& message : std::vector<Message>{TableInstalled{}, MirrorAck{}}) {
    EXPECT_FALSE(MayCome(message, Party::kWorker, Party::kCoordinator)) << NameOf(message);
  }
}

TEST(MessageRightsTest, WhatServersMayNotAskTheCoordinator) {
  for (const Message& message : std::vector<Message>{OpenTable{}, OpenDataSet{}, LeaseRequest{}, LeaseDone{},
                                                     LeaseReturn{}, SaveTables{}, Leave{}}) {
    EXPECT_FALSE(MayCome(message, Party::kServer, Party::kCoordinator)) << NameOf(message);
    EXPECT_TRUE(MayCome(message, Party::kWorker, Party::kCoordinator)) << NameOf(message);
  }
}

// --- every kind from every role to real cores

constexpr NodeId kServer{1}, kOtherServer{2}, kWorker{3}, kOtherWorker{4}, kStranger{77};

NodeId NodeOf(Party party) {
  switch (party) {
    case Party::kCoordinator:
      return kCoordinator;
    case Party::kServer:
      return kOtherServer;
    case Party::kWorker:
      return kOtherWorker;
    case Party::kUnknown:
      return kStranger;
  }
  return kStranger;
}

ShardMap SmallMap() {
  ShardMap map;
  map.version = MapVersion(1, 0);
  map.shards = {{.home = kServer}};
  map.members = {{kServer, Role::kServer, 0, "127.0.0.1:1"},
                 {kOtherServer, Role::kServer, 1, "127.0.0.9:2"},
                 {kWorker, Role::kWorker, 0, "127.0.0.1:3", false, true},
                 {kOtherWorker, Role::kWorker, 1, "127.0.0.1:4", false, true}};
  return map;
}

// A core that has just joined hears one message.
template <typename Core, typename Outputs>
void HearsOnlyWhatMayCome(Party receiver, const std::function<void(Core&, MonotonicTime, Outputs&)>& join,
                          const std::function<std::unique_ptr<Core>()>& make) {
  constexpr MonotonicTime kNow{seconds(1)};
  for (const Message& message : OneOfEachKind()) {
    for (const Party from : kSenders) {
      const std::string what = std::string(NameOf(message)) + " from " + NameOf(from) + " to " + NameOf(receiver);
      const std::unique_ptr<Core> core = make();
      Outputs out;
      join(*core, kNow, out);
      out.Clear();
      const bool allowed = MayCome(message, from, receiver);
      if (allowed && !CheckMessage(message).ok()) continue;  // what a decoder refuses
      const uint32_t term = from == Party::kCoordinator ? 1 : 0;
      core->Step(Received{.from = NodeOf(from), .message = message, .term = term}, kNow, out);
      EXPECT_EQ(core->without_right(), allowed ? 0U : 1U) << what;
      if (allowed) continue;
      EXPECT_EQ(out.rejected.size(), 1U) << what;
      EXPECT_TRUE(out.send.empty()) << what;
      EXPECT_FALSE(out.lost.has_value()) << what;
      EXPECT_FALSE(out.coordinator.has_value()) << what;
      EXPECT_EQ(core->map().version, MapVersion(1, 0)) << what;
    }
  }
}

TEST(MessageRightsTest, AServerDropsWhatHasNoRightToComeAndGoesOn) {
  HearsOnlyWhatMayCome<ServerCore, ServerOutputs>(
      Party::kServer,
      [](ServerCore& core, MonotonicTime now, ServerOutputs& out) {
        core.Step(PeerConnected{kCoordinator}, now, out);
        Welcome welcome{.node = kServer, .map = SmallMap()};
        core.Step(Received{.from = kCoordinator, .message = std::move(welcome), .term = 1}, now, out);
      },
      [] {
        return std::make_unique<ServerCore>(ServerOptions{
            .job_uid = "job", .incarnation = 7, .address = "127.0.0.1:1", .create_store = MapStore::Make});
      });
}

TEST(MessageRightsTest, AWorkerDropsWhatHasNoRightToComeAndGoesOn) {
  HearsOnlyWhatMayCome<WorkerCore, WorkerOutputs>(
      Party::kWorker,
      [](WorkerCore& core, MonotonicTime now, WorkerOutputs& out) {
        core.Step(PeerConnected{kCoordinator}, now, out);
        Welcome welcome{.node = kWorker, .map = SmallMap()};
        core.Step(Received{.from = kCoordinator, .message = std::move(welcome), .term = 1}, now, out);
      },
      [] {
        return std::make_unique<WorkerCore>(WorkerOptions{
            .job_uid = "job", .incarnation = 7, .address = "127.0.0.1:3", .create_store = MapStore::Make});
      });
}

// What came under a map that the receiver did not have waits for it, and is looked at again under that map.
TEST(MessageRightsTest, WhatWaitedForAMapIsCheckedUnderIt) {
  ServerCore core({.job_uid = "job", .incarnation = 7, .address = "127.0.0.1:1", .create_store = MapStore::Make});
  ServerOutputs out;
  constexpr MonotonicTime kNow{seconds(1)};
  ShardMap map = SmallMap();
  const Member joining = {kStranger, Role::kWorker, 2, "127.0.0.1:5", false, true};
  core.Step(PeerConnected{kCoordinator}, kNow, out);
  core.Step(Received{.from = kCoordinator, .message = Welcome{.node = kServer, .map = map}, .term = 1}, kNow, out);
  map.version = MapVersion(1, 1);
  out.Clear();
  core.Step(Received{.from = kStranger, .message = CollectOwners{.map_version = map.version, .recovered_at = {}}}, kNow,
            out);
  EXPECT_TRUE(out.rejected.empty()) << "it may be a server that this one does not know yet";
  map.members.push_back(joining);
  out.Clear();
  core.Step(Received{.from = kCoordinator, .message = MapUpdate{.map = map}, .term = 1}, kNow, out);
  ASSERT_EQ(out.rejected.size(), 1U);
  EXPECT_EQ(out.rejected[0].why, "CollectOwners: may not come from a worker to a server");
  for (const Outgoing& sent : out.send) EXPECT_NE(sent.to, kStranger) << NameOf(sent.message);
}

class CoordinatorRightsTest : public CoordinatedJob {
 protected:
  CoordinatorRightsTest() : CoordinatedJob({.job_uid = "job", .servers = 2, .shards = 4}) {}
};

TEST_F(CoordinatorRightsTest, TheCoordinatorDropsWhatHasNoRightToCome) {
  uint64_t dropped = 0;
  const MapVersion version = core_->map().version;
  for (const Message& message : OneOfEachKind()) {
    for (const auto& [from, party] :
         {std::pair(kServer1, Party::kServer), std::pair(CoordinatedJob::kWorker, Party::kWorker)}) {
      if (MayCome(message, party, Party::kCoordinator)) continue;
      Say(from, message);
      EXPECT_EQ(core_->without_right(), ++dropped) << NameOf(message) << " from " << NameOf(party);
      EXPECT_EQ(out_.rejected.size(), 1U);
      EXPECT_TRUE(out_.events.empty());
      EXPECT_EQ(Sent<Done>(from), nullptr);
    }
  }
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(core_->map().version, version);
  EXPECT_EQ(core_->progress().servers, 2U);
  EXPECT_EQ(core_->progress().workers, 1U);
}

// A server that says that it leaves would be taken out of the job like a worker, with its rows.
TEST_F(CoordinatorRightsTest, AServerThatSaysItLeavesStays) {
  Say(kServer1, Leave{.header = {.request = RequestId(1)}});
  EXPECT_EQ(core_->progress().servers, 2U);
  EXPECT_EQ(core_->without_right(), 1U);
}

}  // namespace
}  // namespace attune::ps::message_rights_test
