#include "ps/core/rows/state/owner_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "ps/core/protocol/limits.h"

namespace attune::ps::owner_collection_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TableId kTable{1};
constexpr NodeId kAnna{1}, kBert{2};

DirectoryBatch Entry(Key key, NodeId owner, uint16_t move_number) {
  return {.table = kTable,
          .keys = std::vector<Key>{key},
          .owners = std::vector<NodeId>{owner},
          .move_numbers = std::vector<uint16_t>{move_number}};
}

std::map<Key, NodeId> OwnersIn(const OwnerCollection& collection) {
  std::map<Key, NodeId> owners;
  collection.ForEach([&](TableKey row, const OwnerClaim& claim) { owners[row.key] = claim.owner; });
  return owners;
}

TEST(OwnerCollection, WaitsForTheLastReportOfEveryMember) {
  OwnerCollection collection;
  EXPECT_FALSE(collection.open());
  collection.Begin();
  collection.Await(kAnna);
  collection.Await(kBert);
  collection.Add(kAnna, Entry(7, kAnna, 1), false);
  EXPECT_EQ(collection.missing(), 2U);
  collection.Add(kAnna, {}, true);
  EXPECT_EQ(collection.missing(), 1U);
  collection.Forget(kBert);
  EXPECT_EQ(collection.missing(), 0U) << "a member that is removed reports nothing";
}

TEST(OwnerCollection, TheLatestMoveOfARowCountsInWhicheverOrderItIsReported) {
  OwnerCollection collection;
  collection.Begin();
  collection.Add(kAnna, Entry(7, kAnna, 2), true);
  collection.Add(kBert, Entry(7, kBert, 3), true);
  collection.Add(kBert, Entry(8, kBert, 5), true);
  collection.Add(kAnna, Entry(8, kAnna, 4), true);
  EXPECT_EQ(OwnersIn(collection), (std::map<Key, NodeId>{{7, kBert}, {8, kBert}}));
}

TEST(OwnerCollection, MoveNumbersWrap) {
  OwnerCollection collection;
  collection.Begin();
  collection.Add(kAnna, Entry(7, kAnna, 65535), true);
  collection.Add(kBert, Entry(7, kBert, 0), true);
  EXPECT_EQ(OwnersIn(collection).at(7), kBert);
}

TEST(OwnerCollection, WhatTheNodeKnowsItselfCountsOnlyWhereNoMemberReports) {
  OwnerCollection collection;
  collection.Begin();
  collection.Add(kAnna, Entry(7, kAnna, 1), true);
  collection.AddOwn({.row = {kTable, 7}, .owner = kBert, .move_number = 9});
  collection.AddOwn({.row = {kTable, 8}, .owner = kBert, .move_number = 9});
  EXPECT_EQ(OwnersIn(collection), (std::map<Key, NodeId>{{7, kAnna}, {8, kBert}}));
}

TEST(OwnerCollection, ANewOneHasNothingOfTheLast) {
  OwnerCollection collection;
  collection.Begin();
  collection.Await(kAnna);
  collection.Add(kBert, Entry(7, kBert, 1), true);
  collection.End();
  EXPECT_FALSE(collection.open());
  collection.Begin();
  EXPECT_TRUE(collection.open());
  EXPECT_EQ(collection.missing(), 0U);
  EXPECT_FALSE(collection.Contains({kTable, 7}));
}

TEST(OwnerClaims, TravelInBatchesThatFitAMessage) {
  std::vector<OwnerClaim> claims(kKeysPerMessageMax + 1);
  for (size_t i = 0; i < claims.size(); ++i) {
    claims[i] = {.row = {kTable, i}, .owner = kAnna, .move_number = static_cast<uint16_t>(i % 7)};
  }
  const std::vector<DirectoryBatch> batches = InBatches(kTable, claims);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].keys.size(), kKeysPerMessageMax);
  ASSERT_EQ(batches[1].keys.size(), 1U);
  EXPECT_EQ(batches[1].table, kTable);
  EXPECT_EQ(batches[1].keys[0], claims.back().row.key);
  EXPECT_EQ(batches[1].move_numbers[0], claims.back().move_number);
  EXPECT_THAT(InBatches(kTable, {}), IsEmpty());
}

TEST(OwnerReports, AHomeIsAnsweredOnceWhenItsReportIsCertain) {
  OwnerReports reports;
  reports.Ask(kAnna);
  reports.Ask(kBert);
  reports.Ask(kAnna);
  EXPECT_THAT(reports.TakeReady([](NodeId home) { return home == kBert; }), ElementsAre(kBert));
  EXPECT_THAT(reports.TakeReady([](NodeId) { return true; }), ElementsAre(kAnna));
  EXPECT_THAT(reports.TakeReady([](NodeId) { return true; }), IsEmpty());
}

TEST(OwnerReports, AHomeThatIsRemovedIsNotAnswered) {
  OwnerReports reports;
  reports.Ask(kAnna);
  reports.Forget(kAnna);
  EXPECT_THAT(reports.TakeReady([](NodeId) { return true; }), IsEmpty());
}

TEST(OwnerReports, RowsThatHaveArrivedBelongToTheirReceiver) {
  OwnerReports reports;
  reports.AddArrived({.to = kBert,
                      .table = kTable,
                      .keys = std::vector<Key>{7, 8},
                      .move_numbers = std::vector<uint16_t>{3, 4},
                      .sent_under = {}});
  ASSERT_EQ(reports.claims().size(), 2U);
  EXPECT_EQ(reports.claims()[1].row, (TableKey{kTable, 8}));
  EXPECT_EQ(reports.claims()[1].owner, kBert);
  EXPECT_EQ(reports.claims()[1].move_number, 4U);
  reports.Clear();
  EXPECT_THAT(reports.claims(), IsEmpty());
}

}  // namespace
}  // namespace attune::ps::owner_collection_test
