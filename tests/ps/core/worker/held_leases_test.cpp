#include "ps/core/worker/held_leases.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace attune::ps::held_leases_test {
namespace {

constexpr DataSetId kTraining{1}, kEvaluation{2};
constexpr LeaseId kLease{7}, kOther{8};

class HeldLeasesTest : public testing::Test {
 protected:
  bool Grant(LeaseId lease, DataSetId data_set = kTraining) {
    return leases_.Add({.request = {}, .lease = lease, .data_set = data_set, .begin = 100, .end = 200});
  }
  static HeldLeases::Pushes Pushes(uint64_t issued, uint64_t settled) {
    return {.issued = SequenceNumber(issued), .settled = SequenceNumber(settled)};
  }
  std::vector<Message> Settle(uint64_t settled) {
    std::vector<Message> sent;
    leases_.Settle(SequenceNumber(settled), [&](Message message) { sent.push_back(std::move(message)); });
    return sent;
  }
  std::vector<std::pair<LeaseId, uint64_t>> Positions() const {
    std::vector<std::pair<LeaseId, uint64_t>> positions;
    leases_.ForEach([&](LeaseId id, uint64_t position) { positions.emplace_back(id, position); });
    return positions;
  }

  HeldLeases leases_;
};

using PositionsOf = std::vector<std::pair<LeaseId, uint64_t>>;

TEST_F(HeldLeasesTest, ItemsAreDoneOnceTheirPushesAreSettled) {
  Grant(kLease);
  EXPECT_FALSE(leases_.Advance(kLease, 150, false, Pushes(5, 3)).has_value());
  EXPECT_EQ(Positions(), (PositionsOf{{kLease, 100}}));
  EXPECT_TRUE(Settle(5).empty()) << "the program is not through with it";
  EXPECT_EQ(Positions(), (PositionsOf{{kLease, 150}}));
}

TEST_F(HeldLeasesTest, ALeaseIsDoneWhenItsLastPushIsSettled) {
  Grant(kLease);
  EXPECT_FALSE(leases_.Advance(kLease, 200, true, Pushes(5, 3)).has_value());
  EXPECT_TRUE(Settle(4).empty());
  const std::vector<Message> sent = Settle(5);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(std::get<LeaseDone>(sent[0]).lease, kLease);
  EXPECT_TRUE(leases_.empty());
}

TEST_F(HeldLeasesTest, WithoutOpenPushesALeaseEndsAtOnce) {
  Grant(kLease);
  const std::optional<Message> report = leases_.Advance(kLease, 200, true, Pushes(5, 5));
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(std::holds_alternative<LeaseDone>(*report));
  EXPECT_FALSE(leases_.Advance(kLease, 200, true, Pushes(5, 5)).has_value()) << "it has ended";
}

TEST_F(HeldLeasesTest, WhatIsNotProcessedGoesBack) {
  Grant(kLease);
  const std::optional<Message> report = leases_.Advance(kLease, 120, true, Pushes(5, 5));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(std::get<LeaseReturn>(*report).position, 120U);
}

TEST_F(HeldLeasesTest, AnEndedLeaseDoesNotAdvance) {
  Grant(kLease);
  leases_.Advance(kLease, 120, true, Pushes(5, 3));
  leases_.Advance(kLease, 200, false, Pushes(5, 3));
  const std::vector<Message> sent = Settle(5);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(std::get<LeaseReturn>(sent[0]).position, 120U);
}

TEST_F(HeldLeasesTest, AWorkerThatLeavesGivesEachLeaseBackFromWhereItIs) {
  Grant(kLease);
  Grant(kOther);
  leases_.Advance(kLease, 150, false, Pushes(5, 3));
  std::vector<Message> sent;
  leases_.EndAll(Pushes(5, 5), [&](Message message) { sent.push_back(std::move(message)); });
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(std::get<LeaseReturn>(sent[0]).position, 150U);
  EXPECT_EQ(std::get<LeaseReturn>(sent[1]).position, 100U);
}

TEST_F(HeldLeasesTest, OnlyLeasesOfTrainingMakeTheCoordinatorCountAWorker) {
  leases_.MarkWhenDue(kEvaluation);
  EXPECT_TRUE(Grant(kLease, kEvaluation));
  EXPECT_TRUE(Grant(kOther, kTraining)) << "the first of training";
  EXPECT_FALSE(Grant(LeaseId(9), kTraining));
}

}  // namespace
}  // namespace attune::ps::held_leases_test
