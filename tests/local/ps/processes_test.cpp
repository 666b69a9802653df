// Server and worker programs as processes: killed, drained, misconfigured.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "attune/ps/session.h"
#include "attune/v1/telemetry.pb.h"
#include "proto/contract.h"
#include "tests/local/ps/child_process.h"
#include "tests/local/ps/stand_in_sidecar.h"

namespace attune::ps::processes_test {
namespace {

using std::chrono::seconds;
using Variables = std::map<std::string, std::string>;

constexpr char kJobUid[] = "uid-of-processes";

Variables VariablesOf(uint32_t index, const std::string& coordinator = "") {
  Variables variables = {{contract::kEnvJob, "test"},
                         {contract::kEnvJobUid, kJobUid},
                         {contract::kEnvIndex, std::to_string(index)},
                         {contract::kEnvPodIp, "127.0.0.1"}};
  if (!coordinator.empty()) variables[contract::kEnvCoordinator] = coordinator;
  return variables;
}

// Servers as processes on free ports; the coordinator's address is read from the first one's log.
class ServersTest : public testing::Test {
 protected:
  void StartServers(int count, const std::vector<std::string>& more = {}) {
    for (int i = 0; i < count; ++i) StartServer(i, count, "0", more);
  }
  // Server 0 runs the coordinator, with `more` for it.
  void StartServer(int index, int count, const std::string& coordinator_port = "0",
                   const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {ATTUNE_SERVER, "--servers",          std::to_string(count), "--data-port",
                                        "0",           "--coordinator-port", coordinator_port};
    Variables variables = VariablesOf(static_cast<uint32_t>(index), coordinator_);
    variables[contract::kEnvPodUid] = "pod-of-server-" + std::to_string(index);
    if (index == 0) {
      command.push_back("--coordinator-here");
      command.insert(command.end(), more.begin(), more.end());
    } else {
      variables[contract::kEnvSidecarSocket] = sidecar_.path();
    }
    servers_.push_back(std::make_unique<ChildProcess>(command, variables));
    ASSERT_TRUE(servers_.back()->AwaitOutput(" serving ")) << servers_.back()->output();
    if (index == 0) coordinator_ = ValueOf(servers_.back()->output(), "coordinator=");
    ASSERT_FALSE(coordinator_.empty());
  }
  static std::string ValueOf(const std::string& log, const std::string& key) {
    const size_t at = log.find(key);
    if (at == std::string::npos) return "";
    std::string value = log.substr(at + key.size(), log.find_first_of(" \n", at) - at - key.size());
    std::erase(value, '"');
    return value;
  }
  std::unique_ptr<ChildProcess> StartWorker(uint32_t index, uint64_t items, int pause_ms, const char* mode = "") {
    return std::make_unique<ChildProcess>(
        std::vector<std::string>{COUNTING_WORKER, std::to_string(items), std::to_string(pause_ms), mode},
        VariablesOf(index, coordinator_));
  }
  StatusOr<std::unique_ptr<Session>> Connect(Duration call_timeout) {
    return Session::Connect({.job = "test",
                             .job_uid = kJobUid,
                             .index = 9,
                             .coordinator = coordinator_,
                             .connect_timeout = seconds(30),
                             .call_timeout = call_timeout,
                             .drain_on_sigterm = false});
  }
  // How often each item was counted.
  std::vector<float> Counts(Session& session, uint64_t items) {
    std::vector<Key> keys(items);
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<float> counts(items);
    const auto table = session.OpenTable("counts", {.dim = 1, .optimizer = Sgd{.rate = 1.0F}});
    EXPECT_TRUE(table.ok()) << table.status();
    if (table.ok()) {
      const Status status = table->Pull(keys, counts);
      EXPECT_TRUE(status.ok()) << status;
    }
    return counts;
  }

  // As the operator does it when server 0 is gone or is to leave. The word that it is gone comes early, and is kept.
  std::optional<v1::DirectiveResult> Appoint(bool gone) {
    v1::Directive word, order;
    word.set_id(1);
    word.mutable_node_gone()->set_role(contract::kRoleServer);
    word.mutable_node_gone()->set_pod_uid("pod-of-server-0");
    if (gone) {
      EXPECT_FALSE(sidecar_.Ask(word, seconds(1))) << "answered by a server that does not run the coordinator";
    }
    order.set_id(2);
    order.mutable_host_coordinator()->set_term(2);
    return sidecar_.Ask(order, seconds(20));
  }

  StandInSidecar sidecar_;  // of server 1
  std::string coordinator_;
  std::vector<std::unique_ptr<ChildProcess>> servers_;
};

TEST_F(ServersTest, ProcessesTrainAndServersEndWithTheJob) {
  StartServers(2, {"--epochs", "2"});
  const auto observer = Connect(seconds(20));  // stays, so that servers serve on
  ASSERT_TRUE(observer.ok()) << observer.status();
  auto one = StartWorker(0, 3000, 0), two = StartWorker(1, 3000, 0);
  EXPECT_EQ(one->Wait(), 0) << one->output();
  EXPECT_EQ(two->Wait(), 0) << two->output();
  for (const float count : Counts(**observer, 3000)) ASSERT_EQ(count, 2.0F);
}

TEST_F(ServersTest, ServersEndWithZeroWhenTheLastWorkerLeft) {
  StartServers(2);
  auto worker = StartWorker(0, 200, 0);
  EXPECT_EQ(worker->Wait(), 0) << worker->output();
  for (const auto& server : servers_) EXPECT_EQ(server->Wait(), 0) << server->output();
}

TEST_F(ServersTest, DrainBySigtermHandsBackTheRestAndCountsStayExact) {
  constexpr uint64_t kItems = 3000;
  StartServers(2);
  const auto observer = Connect(seconds(20));
  ASSERT_TRUE(observer.ok()) << observer.status();
  auto leaver = StartWorker(0, kItems, 20);
  ASSERT_TRUE(leaver->AwaitOutput("lease ")) << leaver->output();
  leaver->Signal(SIGTERM);
  EXPECT_EQ(leaver->Wait(), 0) << leaver->output();
  EXPECT_NE(leaver->output().find("left"), std::string::npos);
  auto stayer = StartWorker(1, kItems, 0);
  EXPECT_EQ(stayer->Wait(), 0) << stayer->output();
  for (const float count : Counts(**observer, kItems)) ASSERT_EQ(count, 1.0F);
}

TEST_F(ServersTest, ItemsOfAKilledWorkerAreDoneByAnother) {
  constexpr uint64_t kItems = 2000;
  StartServers(2);
  const auto observer = Connect(seconds(20));
  ASSERT_TRUE(observer.ok()) << observer.status();
  auto victim = StartWorker(0, kItems, 20);
  ASSERT_TRUE(victim->AwaitOutput("lease ")) << victim->output();
  victim->Signal(SIGKILL);
  EXPECT_EQ(victim->Wait(), 128 + SIGKILL);
  auto other = StartWorker(1, kItems, 0);
  EXPECT_EQ(other->Wait(seconds(60)), 0) << other->output();
  for (const float count : Counts(**observer, kItems)) ASSERT_GE(count, 1.0F) << "no item is forgotten";
}

TEST_F(ServersTest, RowsThatWorkersFetchFromEachOtherCountEveryPush) {
  constexpr uint64_t kItems = 3000;
  StartServers(2, {"--epochs", "2"});
  const auto observer = Connect(seconds(20));
  ASSERT_TRUE(observer.ok()) << observer.status();
  auto one = StartWorker(0, kItems, 0, "localize"), two = StartWorker(1, kItems, 0, "localize");
  EXPECT_EQ(one->Wait(seconds(90)), 0) << one->output();
  EXPECT_EQ(two->Wait(seconds(90)), 0) << two->output();
  for (const float count : Counts(**observer, kItems)) ASSERT_EQ(count, 2.0F);
}

TEST_F(ServersTest, RowsOfAKilledWorkerComeFromTheirCopies) {
  constexpr uint64_t kItems = 2000;
  StartServers(2, {"--backups", "1"});
  const auto observer = Connect(seconds(20));
  ASSERT_TRUE(observer.ok()) << observer.status();
  auto victim = StartWorker(0, kItems, 20, "localize");
  ASSERT_TRUE(victim->AwaitOutput("lease ")) << victim->output();
  ASSERT_TRUE(victim->AwaitOutput("lease ")) << victim->output();
  victim->Signal(SIGKILL);
  EXPECT_EQ(victim->Wait(), 128 + SIGKILL);
  auto other = StartWorker(1, kItems, 0, "localize");
  EXPECT_EQ(other->Wait(seconds(90)), 0) << other->output();
  for (const float count : Counts(**observer, kItems)) ASSERT_GE(count, 1.0F) << "no item is forgotten";
}

TEST_F(ServersTest, KilledServerEndsCallsWithItsName) {
  StartServers(2);
  const auto session = Connect(seconds(2));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto table = (*session)->OpenTable("a", {.dim = 4});
  ASSERT_TRUE(table.ok());
  servers_[1]->Signal(SIGKILL);
  EXPECT_EQ(servers_[1]->Wait(), 128 + SIGKILL);
  std::vector<Key> keys(100);
  std::iota(keys.begin(), keys.end(), 0);
  std::vector<float> rows(400);
  const Status status = table->Pull(keys, rows);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(attune::Message(status).find("server 1"), std::string_view::npos) << status;
}

TEST_F(ServersTest, AnotherServerTakesOverFromAKilledCoordinatorAndCountsStayExact) {
  constexpr uint64_t kItems = 4000;
  StartServers(2, {"--backups", "1"});
  const auto observer = Connect(seconds(40));
  ASSERT_TRUE(observer.ok()) << observer.status();
  auto one = StartWorker(0, kItems, 20), two = StartWorker(1, kItems, 20);
  ASSERT_TRUE(one->AwaitOutput("lease ")) << one->output();
  ASSERT_TRUE(two->AwaitOutput("lease ")) << two->output();
  servers_[0]->Signal(SIGKILL);
  EXPECT_EQ(servers_[0]->Wait(), 128 + SIGKILL);
  const auto answer = Appoint(/*gone=*/true);
  ASSERT_TRUE(answer && answer->accepted()) << (answer ? answer->message() : servers_[1]->output());
  EXPECT_EQ(one->Wait(seconds(60)), 0) << one->output();
  EXPECT_EQ(two->Wait(seconds(60)), 0) << two->output();
  for (const float count : Counts(**observer, kItems)) ASSERT_EQ(count, 1.0F) << servers_[1]->output();
}

TEST_F(ServersTest, ACoordinatorLostBeforeAllServersHaveJoinedBeginsAnew) {
  StartServer(0, 3);
  StartServer(1, 3);
  ASSERT_TRUE(servers_[0]->AwaitOutput("server 1 (node ")) << servers_[0]->output();
  servers_[0]->Signal(SIGKILL);
  EXPECT_EQ(servers_[0]->Wait(), 128 + SIGKILL);
  StartServer(0, 3, coordinator_.substr(coordinator_.rfind(':') + 1));
  StartServer(2, 3);
  auto worker = StartWorker(0, 500, 0);
  EXPECT_EQ(worker->Wait(seconds(60)), 0) << worker->output();
  for (size_t i = 1; i < servers_.size(); ++i) EXPECT_EQ(servers_[i]->Wait(), 0) << servers_[i]->output();
}

TEST_F(ServersTest, TheCoordinatorMovesWhileItsServerLives) {
  constexpr uint64_t kItems = 2000;
  StartServers(2);
  auto worker = StartWorker(0, kItems, 10);
  ASSERT_TRUE(worker->AwaitOutput("lease ")) << worker->output();
  const auto answer = Appoint(/*gone=*/false);
  ASSERT_TRUE(answer && answer->accepted()) << (answer ? answer->message() : servers_[1]->output());
  EXPECT_EQ(worker->Wait(seconds(60)), 0) << worker->output();
  for (const auto& server : servers_) EXPECT_EQ(server->Wait(), 0) << server->output();
  EXPECT_NE(servers_[0]->output().find("no longer the job's coordinator"), std::string::npos);
}

TEST_F(ServersTest, SigtermEndsAServerCleanlyButNotAsIfTheJobWereFinished) {
  StartServers(1);
  servers_[0]->Signal(SIGTERM);
  EXPECT_EQ(servers_[0]->Wait(), 128 + SIGTERM) << servers_[0]->output();
}

TEST_F(ServersTest, OccupiedPortIsNamed) {
  StartServers(1);
  const std::string port = coordinator_.substr(coordinator_.rfind(':') + 1);
  ChildProcess second({ATTUNE_SERVER, "--coordinator-here", "--coordinator-port", port, "--data-port", "0"},
                      VariablesOf(0));
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_NE(second.output().find("port " + port), std::string::npos) << second.output();
}

TEST_F(ServersTest, MissingEnvironmentIsListedAtOnce) {
  ChildProcess server({ATTUNE_SERVER}, {{contract::kEnvIndex, "one"}});
  EXPECT_EQ(server.Wait(), 2);
  for (const char* name : {contract::kEnvJobUid, contract::kEnvIndex, contract::kEnvCoordinator}) {
    EXPECT_NE(server.output().find(name), std::string::npos) << server.output();
  }
  ChildProcess worker({COUNTING_WORKER}, {});
  EXPECT_EQ(worker.Wait(), 1);
  for (const char* name : {contract::kEnvJob, contract::kEnvJobUid, contract::kEnvIndex, contract::kEnvCoordinator}) {
    EXPECT_NE(worker.output().find(name), std::string::npos) << worker.output();
  }
}

TEST_F(ServersTest, HelpTeaches) {
  ChildProcess server({ATTUNE_SERVER, "--help"}, {});
  EXPECT_EQ(server.Wait(), 0);
  for (const char* text : {"--coordinator-here", "ATTUNE_JOB_UID", "--load"}) {
    EXPECT_NE(server.output().find(text), std::string::npos) << server.output();
  }
}

}  // namespace
}  // namespace attune::ps::processes_test
