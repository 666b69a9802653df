#include "ps/core/coordinator/table_service.h"

#include <gtest/gtest.h>

#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::table_service_test {
namespace {

class TableServiceTest : public CoordinatorParts {
 protected:
  static TableSpec Spec(const std::string& name, uint32_t dim = 2) { return {.name = name, .options = {.dim = dim}}; }
  void Open(const TableSpec& spec) { Request(tables_, OpenTable{.spec = spec}); }
  bool Installs(NodeId server, const Status& status = OkStatus()) {
    return tables_.OnInstalled(At(server), {.table = TableId(1), .status = status}, out_);
  }
};

TEST_F(TableServiceTest, ATableIsOpenOnceAllServersHaveInstalledIt) {
  Open(Spec("rows"));
  for (const NodeId server : {kServer0, kServer1}) EXPECT_NE(Sent<InstallTable>(server), nullptr);
  EXPECT_EQ(Sent<InstallTable>(kWorker), nullptr);
  EXPECT_TRUE(Installs(kServer0));
  EXPECT_FALSE(Installs(kServer0)) << "it has said so before";
  EXPECT_EQ(Sent<TableOpened>(kWorker), nullptr);
  EXPECT_TRUE(Installs(kServer1));
  ASSERT_NE(Sent<TableOpened>(kWorker), nullptr);
  EXPECT_EQ(Sent<TableOpened>(kWorker)->table, TableId(1));
}

TEST_F(TableServiceTest, OpenersMustAskForTheSame) {
  Open(Spec("rows", 2));
  Open(Spec("rows", 3));
  ASSERT_NE(Sent<Refused>(kWorker), nullptr);
  EXPECT_NE(std::string(Sent<Refused>(kWorker)->status.message()).find("dim"), std::string::npos);
  out_.Clear();
  Open(Spec(""));
  ASSERT_NE(Sent<Refused>(kWorker), nullptr);
  EXPECT_EQ(Sent<Refused>(kWorker)->status.code(), StatusCode::kInvalidArgument);
}

TEST_F(TableServiceTest, AServerThatCannotInstallItRefusesTheOpener) {
  Open(Spec("rows"));
  Installs(kServer1, Error(StatusCode::kResourceExhausted, "no memory"));
  ASSERT_NE(Sent<Refused>(kWorker), nullptr);
  EXPECT_NE(std::string(Sent<Refused>(kWorker)->status.message()).find("server 1"), std::string::npos);
}

TEST_F(TableServiceTest, AServerThatIsGoneIsNotWaitedFor) {
  Open(Spec("rows"));
  Installs(kServer0);
  job_.members().Remove(kServer1, OkStatus(), job_.now());
  tables_.StopWaitingForTheGone(out_);
  EXPECT_EQ(Sent<TableOpened>(kWorker), nullptr) << "no loss was noted";
  tables_.NoteGone();
  tables_.StopWaitingForTheGone(out_);
  EXPECT_NE(Sent<TableOpened>(kWorker), nullptr);
}

TEST_F(TableServiceTest, WhatAServerHasNotReportedIsSentAgain) {
  Open(Spec("rows"));
  Installs(kServer0);
  out_.Clear();
  for (const NodeId server : {kServer0, kServer1}) tables_.SendOpenOrders(At(server), out_);
  EXPECT_EQ(Sent<InstallTable>(kServer0), nullptr);
  EXPECT_NE(Sent<InstallTable>(kServer1), nullptr);
}

TEST_F(TableServiceTest, ASuccessorKnowsTablesThatOnlyServersHave) {
  PreviousMembers previous;
  previous[kServer0].answer = Promised{.map = {},
                                       .standing = {},
                                       .sync = {},
                                       .tables = {{.table = TableId(1), .spec = Spec("rows"), .load = {}}},
                                       .mirror = {}};
  tables_.Restore(CoordinatorRecord{}, previous);
  ASSERT_EQ(tables_.Specs().size(), 1U);
  EXPECT_EQ(tables_.Specs()[0].name, "rows");
}

}  // namespace
}  // namespace attune::ps::table_service_test
