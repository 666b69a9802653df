#include "ps/core/rows/context/row_context.h"

#include <gtest/gtest.h>

#include <utility>
#include <variant>

namespace attune::ps::row_context_test {
namespace {

constexpr NodeId kSelf{1}, kMember{2}, kStranger{3};

class RowContextTest : public testing::Test {
 protected:
  RowContextTest() : node_(RowOptions{}) {
    node_.SetSelf(kSelf);
    node_.Adopt(MapOf(MapVersion(1, 1)));
  }
  static ShardMap MapOf(MapVersion version) {
    ShardMap map;
    map.version = version;
    map.shards.resize(2);
    map.members = {{.node = kSelf, .role = Role::kServer}, {.node = kMember, .role = Role::kServer, .index = 1}};
    return map;
  }

  RowContext node_;
  RowOutputs out_;
};

TEST_F(RowContextTest, MembersGetMessagesUnderTheCurrentMapAndOthersGetNone) {
  EXPECT_EQ(node_.Adopt(MapOf(MapVersion(1, 2))).version, MapVersion(1, 1));
  node_.Send(kMember, InstallWanted{.map_version = {}, .table = TableId(1), .keys = {}}, out_);
  node_.Send(kStranger, InstallWanted{.map_version = {}, .table = TableId(1), .keys = {}}, out_);
  ASSERT_EQ(out_.send.size(), 1U);
  EXPECT_EQ(out_.send[0].to, kMember);
  EXPECT_EQ(MapVersionOf(out_.send[0].message), MapVersion(1, 2));
}

TEST_F(RowContextTest, AnswersToItsOwnOperationsLeaveAndOtherMessagesToItselfWaitInTheirOrder) {
  node_.Send(kSelf, PushAck{.sequence = SequenceNumber(9), .map_version = {}, .positions = {}}, out_);
  node_.Send(kSelf, InstallWanted{.map_version = {}, .table = TableId(1), .keys = {}}, out_);
  node_.Send(kSelf, InstallWanted{.map_version = {}, .table = TableId(2), .keys = {}}, out_);
  ASSERT_EQ(out_.send.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<PushAck>(out_.send[0].message));
  for (const TableId table : {TableId(1), TableId(2)}) {
    const std::optional<Message> own = node_.TakeOwn();
    ASSERT_TRUE(own.has_value());
    EXPECT_EQ(std::get<InstallWanted>(*own).table, table);
  }
  EXPECT_FALSE(node_.TakeOwn().has_value());
}

TEST_F(RowContextTest, RejectedMessagesAreCountedAndNamed) {
  node_.Reject(kMember, "Install", "it is too long", out_);
  EXPECT_EQ(node_.counters().rejected, 1U);
  ASSERT_EQ(out_.rejected.size(), 1U);
  EXPECT_EQ(out_.rejected[0].from, kMember);
  EXPECT_EQ(out_.rejected[0].why, "Install: it is too long");
}

TEST_F(RowContextTest, TheFirstErrorEndsTheNode) {
  RowContext::Lose(OkStatus(), out_);
  EXPECT_FALSE(out_.lost.has_value());
  RowContext::Lose(Error(StatusCode::kResourceExhausted, "no memory"), out_);
  RowContext::Lose(Error(StatusCode::kInternal, "what follows from it"), out_);
  ASSERT_TRUE(out_.lost.has_value());
  EXPECT_EQ(out_.lost->code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace attune::ps::row_context_test
