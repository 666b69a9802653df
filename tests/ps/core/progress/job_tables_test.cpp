#include "ps/core/progress/job_tables.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace attune::ps::job_tables_test {
namespace {

using std::chrono::seconds;
constexpr NodeId kA{1}, kB{2};  // servers
constexpr JobTables::Waiter kOpener{.node = NodeId(8), .request = RequestId(5)};
constexpr JobTables::Waiter kOther{.node = NodeId(9), .request = RequestId(6)};
constexpr MonotonicTime kStart{};
constexpr Duration kLoadTimeout = seconds(60);
constexpr MapVersion kMap{1, 4};

class JobTablesTest : public testing::Test {
 protected:
  static TableSpec Spec(const std::string& name) {
    TableSpec spec;
    spec.name = name;
    return spec;
  }
  static Status Problem() { return Error(StatusCode::kResourceExhausted, "server 1: no memory"); }
  TableId Open(const std::string& name) { return tables_.Open(Spec(name), kOpener, {kA, kB}, kStart); }
  TableId OpenByAll(const std::string& name) {
    const TableId table = Open(name);
    (void)tables_.OnInstalled(kA, table, OkStatus());
    (void)tables_.OnInstalled(kB, table, OkStatus());
    return table;
  }

  JobTables tables_{{}, kLoadTimeout};
};

TEST_F(JobTablesTest, ATableIsOpenWhenAllServersHaveIt) {
  const TableId table = Open("rows");
  EXPECT_EQ(table, TableId(1));
  EXPECT_TRUE(tables_.Wait("rows", kOther).empty());
  const auto first = tables_.OnInstalled(kA, table, OkStatus());
  EXPECT_TRUE(first.changes);
  EXPECT_TRUE(first.answers.empty());
  EXPECT_FALSE(tables_.OnInstalled(kA, table, OkStatus()).changes) << "it has said so before";
  const auto second = tables_.OnInstalled(kB, table, OkStatus());
  ASSERT_EQ(second.answers.size(), 2U);
  EXPECT_EQ(second.answers[1].to.node, kOther.node);
  EXPECT_TRUE(second.answers[1].status.ok());
  EXPECT_EQ(tables_.Wait("rows", kOther).size(), 1U) << "it is open";
}

TEST_F(JobTablesTest, ATableThatAServerCannotInstallKeepsItsNumberAndMayBeOpenedAgain) {
  const TableId failed = Open("rows");
  const auto installed = tables_.OnInstalled(kB, failed, Problem());
  ASSERT_EQ(installed.answers.size(), 1U);
  EXPECT_EQ(installed.answers[0].status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(tables_.Find("rows"), nullptr);
  EXPECT_EQ(Open("rows"), TableId(2));
  EXPECT_NE(tables_.Find("rows"), nullptr);
}

TEST_F(JobTablesTest, AServerThatComesLaterMustHaveATableBeforeItIsGivenRows) {
  const TableId table = OpenByAll("rows");
  constexpr NodeId kLate{3};
  EXPECT_TRUE(tables_.HasAll(kLate)) << "it has not joined";
  tables_.NoteJoined(kLate);
  EXPECT_FALSE(tables_.HasAll(kLate));
  EXPECT_EQ(tables_.ServersWithout(), std::vector<NodeId>{kLate});
  const auto problem = tables_.OnInstalled(kLate, table, Problem());
  EXPECT_EQ(problem.event, "table \"rows\": server 1: no memory");
  EXPECT_FALSE(tables_.HasAll(kLate)) << "it gets no rows";
  EXPECT_NE(tables_.Find("rows"), nullptr) << "the others serve it";
  (void)tables_.OnInstalled(kLate, table, OkStatus());
  EXPECT_TRUE(tables_.HasAll(kLate));
  EXPECT_TRUE(tables_.ServersWithout().empty());
}

TEST_F(JobTablesTest, AServerThatIsGoneIsWaitedForNoMore) {
  const TableId table = Open("rows");
  (void)tables_.OnInstalled(kA, table, OkStatus());
  const auto is_here = [](NodeId server) { return server != kB; };
  EXPECT_TRUE(tables_.StopWaitingForTheGone(is_here).empty()) << "none has gone";
  tables_.NoteGone();
  const auto answers = tables_.StopWaitingForTheGone(is_here);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_TRUE(answers[0].status.ok());
}

TEST_F(JobTablesTest, OnlyThoseThatHaveNotInstalledATableAreAskedAgain) {
  const TableId table = Open("rows");
  (void)Open("more");
  (void)tables_.OnInstalled(kA, table, OkStatus());
  EXPECT_EQ(tables_.OrdersFor(kA, kMap).size(), 1U);
  EXPECT_EQ(tables_.OrdersFor(kB, kMap).size(), 2U);
  EXPECT_EQ(tables_.OrdersFor(kB, kMap)[0].map_version, kMap);
}

TEST_F(JobTablesTest, ATableThatBeginsWithACheckpointIsLoadedUntilItIsOpen) {
  tables_.SetLoad({.directory = "/checkpoints", .checkpoint = 7});
  EXPECT_FALSE(tables_.IsLoading());
  const TableId table = Open("rows");
  EXPECT_TRUE(tables_.IsLoading());
  EXPECT_EQ(tables_.OrderOf(table, kMap).load.checkpoint, 7U);
  EXPECT_EQ(tables_.StillWaiting(kStart + kLoadTimeout - Duration(1)).size(), 1U);
  EXPECT_TRUE(tables_.StillWaiting(kStart + kLoadTimeout).empty());
  tables_.SkipPause(seconds(5));
  EXPECT_EQ(tables_.StillWaiting(kStart + kLoadTimeout).size(), 1U) << "the coordinator stood still for a while";
  (void)tables_.OnInstalled(kA, table, OkStatus());
  (void)tables_.OnInstalled(kB, table, OkStatus());
  EXPECT_FALSE(tables_.IsLoading());
  EXPECT_EQ(tables_.OrderOf(table, kMap).load.checkpoint, 0U) << "who comes later is given rows by the others";
}

TEST_F(JobTablesTest, ASuccessorKnowsTablesThatOnlyServersKnow) {
  (void)OpenByAll("rows");
  (void)tables_.OnInstalled(kB, Open("failed"), Problem());
  JobTables next({}, kLoadTimeout);
  next.Restore(tables_.Records(), {{TableId(4), Spec("late")}}, {kA, kB}, kStart);
  const auto records = next.Records();
  ASSERT_EQ(records.size(), 4U);
  EXPECT_TRUE(records[0].opened);
  EXPECT_TRUE(records[1].failed);
  EXPECT_TRUE(records[2].failed) << "its number may be known to a server";
  EXPECT_EQ(records[3].spec.name, "late");
  EXPECT_FALSE(records[3].opened);
  EXPECT_EQ(next.OrdersFor(kA, kMap).size(), 2U) << "servers may not have them";
}

}  // namespace
}  // namespace attune::ps::job_tables_test
