#include "ps/runtime/control/coordinator_codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "proto/contract.h"
#include "ps/core/protocol/limits.h"
#include "tests/ps/runtime/control_samples.h"

namespace attune::ps::coordinator_codec_test {
namespace {

TEST(CoordinatorCodecTest, EveryMessageOfANodeComesBack) {
  for (const Message& message : MessagesOfNodes()) {
    const StatusOr<v1::NodeMessage> encoded = ToNodeMessage(message);
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    const StatusOr<Message> decoded = FromNodeMessage(*encoded);
    ASSERT_TRUE(decoded.ok()) << NameOf(message) << ": " << decoded.status();
    EXPECT_TRUE(*decoded == message) << NameOf(message);
  }
}

TEST(CoordinatorCodecTest, EveryMessageOfTheCoordinatorComesBack) {
  for (const Message& message : MessagesOfCoordinators()) {
    const StatusOr<v1::CoordinatorMessage> encoded = ToCoordinatorMessage(message);
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    const StatusOr<Message> decoded = FromCoordinatorMessage(*encoded);
    ASSERT_TRUE(decoded.ok()) << NameOf(message) << ": " << decoded.status();
    EXPECT_TRUE(*decoded == message) << NameOf(message);
  }
}

TEST(CoordinatorCodecTest, ACopyThatContradictsItselfIsRefused) {
  const v1::CoordinatorMessage good = *ToCoordinatorMessage(MirrorUpdate{SomeRecord()});
  ASSERT_TRUE(FromCoordinatorMessage(good).ok());
  v1::CoordinatorMessage message = good;
  message.mutable_mirror_update()->mutable_data_sets(0)->clear_workers();
  EXPECT_FALSE(FromCoordinatorMessage(message).ok()) << "a lease that no worker holds";
  message = good;
  message.mutable_mirror_update()->mutable_data_sets(0)->mutable_progress()->mutable_open(0)->set_end(101);
  EXPECT_FALSE(FromCoordinatorMessage(message).ok()) << "beyond the last item";
  message = good;
  message.mutable_mirror_update()->mutable_data_sets(0)->mutable_progress()->set_lease_items(0);
  EXPECT_FALSE(FromCoordinatorMessage(message).ok()) << "leases of no items";
  message = good;
  for (size_t i = 0; i <= kMembersMax; ++i) message.mutable_mirror_update()->add_nodes();
  EXPECT_FALSE(FromCoordinatorMessage(message).ok()) << "too many members";
}

TEST(CoordinatorCodecTest, WrongDirectionIsRefused) {
  EXPECT_FALSE(ToNodeMessage(Finished{}).ok());
  EXPECT_FALSE(ToCoordinatorMessage(Join{}).ok());
  EXPECT_FALSE(ToNodeMessage(PushAck{}).ok());
}

TEST(CoordinatorCodecTest, OtherProtocolVersionIsRefusedWithBothNumbers) {
  v1::NodeMessage message = *ToNodeMessage(Join{});
  message.mutable_join()->set_protocol_version(42);
  const Status status = FromNodeMessage(message).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(attune::Message(status).find("42"), std::string_view::npos);
}

struct BadMessageCase {
  const char* name;
  void (*spoil)(v1::NodeMessage&);
};

TEST(CoordinatorCodecTest, MessagesBeyondTheLimitsAreRefused) {
  const BadMessageCase cases[] = {
      {"nothing set", [](v1::NodeMessage&) {}},
      {"no role", [](v1::NodeMessage& m) { m.mutable_join()->set_protocol_version(contract::kProtocolVersion); }},
      {"long job id",
       [](v1::NodeMessage& m) {
         m = *ToNodeMessage(Join{});
         m.mutable_join()->set_job_uid(std::string(kNameBytesMax + 1, 'x'));
       }},
      {"many leases",
       [](v1::NodeMessage& m) {
         for (size_t i = 0; i <= kLeasesPerWorkerMax; ++i) m.mutable_heartbeat()->add_leases();
       }},
      {"table of an unknown value type",
       [](v1::NodeMessage& m) {
         auto* spec = m.mutable_open_table()->mutable_spec();
         spec->mutable_sgd();
         spec->mutable_constant();
         spec->set_value_type(3);
       }},
      {"a loss that is no number",
       [](v1::NodeMessage& m) {
         m = *ToNodeMessage(Heartbeat{.number = 1});
         m.mutable_heartbeat()->set_loss_sum(std::numeric_limits<double>::quiet_NaN());
       }},
      {"table without optimizer", [](v1::NodeMessage& m) { m.mutable_open_table()->mutable_spec()->set_name("a"); }},
      {"many files of a checkpoint",
       [](v1::NodeMessage& m) {
         for (size_t i = 0; i <= kFilesPerSnapshotMax; ++i) m.mutable_snapshot_done()->add_files();
       }},
      {"long file name",
       [](v1::NodeMessage& m) {
         m.mutable_snapshot_done()->add_files()->set_name(std::string(kPathBytesMax + 1, 'x'));
       }},
      {"long path",
       [](v1::NodeMessage& m) { m.mutable_save_tables()->set_directory(std::string(kPathBytesMax + 1, '/')); }},
  };
  for (const BadMessageCase& test : cases) {
    v1::NodeMessage message;
    test.spoil(message);
    EXPECT_EQ(FromNodeMessage(message).status().code(), StatusCode::kInvalidArgument) << test.name;
  }
}

TEST(CoordinatorCodecTest, MapThatContradictsItselfIsRefused) {
  v1::CoordinatorMessage message = *ToCoordinatorMessage(MapUpdate{SomeMap()});
  message.mutable_map_update()->set_homes(0, 99);
  EXPECT_FALSE(FromCoordinatorMessage(message).ok());
}

}  // namespace
}  // namespace attune::ps::coordinator_codec_test
