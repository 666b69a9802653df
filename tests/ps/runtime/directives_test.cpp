#include "ps/runtime/process/directives.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "attune/v1/telemetry.pb.h"
#include "ps/core/protocol/incarnation.h"

namespace attune::ps::directives_test {
namespace {

using testing::HasSubstr;

v1::Directive Parse(const std::string& text) {
  v1::Directive directive;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &directive)) << text;
  return directive;
}

TEST(Directives, EachBecomesItsCommand) {
  const auto mode = [](const std::string& text) {
    return std::get<SetSynchronization>(*ToCommand(Parse("set_synchronization {synchronization {" + text + "}}"))).mode;
  };
  EXPECT_EQ(mode(""), SyncMode::Async());
  EXPECT_EQ(mode("mode: BSP"), SyncMode::Bsp());
  EXPECT_EQ(mode("mode: SSP staleness: 4"), SyncMode::Ssp(4));
  EXPECT_EQ(std::get<SetRowManagement>(*ToCommand(Parse("set_row_management {management: ROW_MANAGEMENT_STATIC}")))
                .management,
            RowManagement::kStatic);
  EXPECT_EQ(std::get<TakeCheckpoint>(*ToCommand(Parse("checkpoint {directory: '/c'}"))).directory, "/c");
  EXPECT_EQ(std::get<SetServers>(*ToCommand(Parse("set_servers {servers: 3}"))).servers, 3U);
  const auto gone = std::get<NodeGone>(*ToCommand(Parse("node_gone {role: 'worker' index: 2 pod_uid: 'a-b'}")));
  EXPECT_EQ(gone.role, Role::kWorker);
  EXPECT_EQ(gone.index, 2U);
  EXPECT_EQ(gone.pod, PodNumber("a-b"));
  const auto host = std::get<HostCoordinator>(*ToCommand(Parse("host_coordinator {term: 3}")));
  EXPECT_EQ(host.term, 3U);
  EXPECT_FALSE(host.voters);
}

TEST(Directives, VotersReachTheCoordinatorAsTheyWereRecorded) {
  const Voters recorded{.map_version = MapVersion(2, 7), .nodes = {NodeId(1), NodeId(4)}};
  const std::string text = "voters {map_version: " + std::to_string(recorded.map_version.value()) + " nodes: [1, 4]}";
  EXPECT_EQ(std::get<HostCoordinator>(*ToCommand(Parse("host_coordinator {term: 3 " + text + "}"))).voters, recorded);
  const auto confirmed = std::get<ConfirmLeader>(*ToCommand(Parse("confirm_leader {term: 2 " + text + "}")));
  EXPECT_EQ(confirmed.term, 2U);
  EXPECT_EQ(confirmed.voters, recorded);
}

TEST(Directives, WhatMakesNoSenseIsRefusedWithTheReason) {
  const std::pair<const char*, const char*> kTable[] = {
      {"set_synchronization {synchronization {mode: SSP}}", "a staleness of 0 steps; 1 to 1000000"},
      {"set_row_management {management: 7}", "a row management that this release does not know (7)"},
      {"set_servers {}", "at least one has to stay"},
      {"node_gone {role: 'evaluator'}", "'evaluator' is neither server nor worker"},
      {"host_coordinator {}", "terms are 1 to 4294967295"},
      {"host_coordinator {term: 1 voters {map_version: 7}}", "voters of map 7 that are 0 numbers"},
      {"confirm_leader {voters {map_version: 7 nodes: 1}}", "terms are 1 to 4294967295"},
      {"confirm_leader {term: 1}", "1 to 1024, ascending"},
      {"confirm_leader {term: 1 voters {map_version: 7 nodes: [2, 1]}}", "1 to 1024, ascending"},
      {"confirm_leader {term: 1 voters {map_version: 7 nodes: [2, 2]}}", "1 to 1024, ascending"},
      {"confirm_leader {term: 1 voters {map_version: 7 nodes: [0, 2]}}", "1 to 1024, ascending"},
      {"id: 7", "does not know the directive"}};
  for (const auto& [text, want] : kTable) {
    const StatusOr<Command> command = ToCommand(Parse(text));
    ASSERT_FALSE(command.ok()) << text;
    EXPECT_THAT(std::string(attune::Message(command.status())), HasSubstr(want));
  }
}

TEST(AnswerBox, IsBoundedAndSilentAfterItsEnd) {
  int woken = 0;
  AnswerBox box([&] { ++woken; });
  for (uint64_t id = 0; id < 2 * AnswerBox::kAnswersMax; ++id) box.Put(id, OkStatus(), std::string(1 << 16, 'x'));
  const auto answers = box.TakeAll();
  EXPECT_EQ(answers.size(), AnswerBox::kAnswersMax);
  EXPECT_EQ(answers.front().text.size(), AnswerBox::kTextBytesMax);
  EXPECT_EQ(woken, static_cast<int>(AnswerBox::kAnswersMax));
  box.Close();
  box.Put(1, OkStatus(), "late");
  EXPECT_TRUE(box.TakeAll().empty());
  EXPECT_EQ(woken, static_cast<int>(AnswerBox::kAnswersMax));
}

}  // namespace
}  // namespace attune::ps::directives_test
