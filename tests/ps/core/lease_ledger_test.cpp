#include "ps/core/lease_ledger.h"

#include <gtest/gtest.h>

namespace attune::ps {
namespace {

constexpr NodeId kAnna{1}, kBert{2};

TEST(LeaseLedger, AnEpochIsHandedOutInOrderAndEndsWhenAllIsDone) {
  LeaseId next{1};
  LeaseLedger ledger(/*items=*/25, /*epochs=*/1, /*lease_items=*/10, &next);
  const auto a = ledger.Grant(kAnna), b = ledger.Grant(kBert), c = ledger.Grant(kAnna);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->begin, 0U);
  EXPECT_EQ(b->begin, 10U);
  EXPECT_EQ(c->end, 25U);
  EXPECT_FALSE(ledger.Grant(kBert));
  EXPECT_TRUE(ledger.Done(kAnna, a->id).ok());
  EXPECT_TRUE(ledger.Done(kBert, b->id).ok());
  EXPECT_FALSE(ledger.AllDone());
  EXPECT_TRUE(ledger.Done(kAnna, c->id).ok());
  EXPECT_TRUE(ledger.AllDone());
  EXPECT_EQ(ledger.items_done(), 25U);
  EXPECT_EQ(ledger.reprocessed_items(), 0U);
}

TEST(LeaseLedger, ALostWorkersRestGoesToOthersAndIsCounted) {
  LeaseId next{1};
  LeaseLedger ledger(20, 1, 10, &next);
  const auto a = ledger.Grant(kAnna);
  ASSERT_TRUE(ledger.Advance(kAnna, a->id, 4).ok());
  EXPECT_EQ(ledger.ReleaseAll(kAnna), 6U);
  EXPECT_EQ(ledger.reprocessed_items(), 6U);
  EXPECT_EQ(ledger.Done(kAnna, a->id).code(), StatusCode::kNotFound) << "a lost worker ends nothing";
  const auto again = ledger.Grant(kBert);
  EXPECT_EQ(again->begin, 4U);
  EXPECT_EQ(again->end, 10U);
}

TEST(LeaseLedger, WhatIsHandedBackIsNotCountedAsReprocessed) {
  LeaseId next{1};
  LeaseLedger ledger(10, 1, 10, &next);
  const auto a = ledger.Grant(kAnna);
  EXPECT_TRUE(ledger.Return(kAnna, a->id, 7).ok());
  EXPECT_EQ(ledger.reprocessed_items(), 0U);
  EXPECT_EQ(ledger.items_done(), 7U);
  EXPECT_EQ(ledger.Grant(kBert)->begin, 7U);
}

TEST(LeaseLedger, TheNextEpochStartsWhileTheLastLeasesOfTheFormerAreOpen) {
  LeaseId next{1};
  LeaseLedger ledger(10, 2, 10, &next);
  const auto first = ledger.Grant(kAnna), second = ledger.Grant(kBert);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->epoch, 1U);
  EXPECT_TRUE(ledger.Done(kBert, second->id).ok());
  EXPECT_EQ(ledger.epoch(), 0U) << "the first epoch has an open lease";
  EXPECT_TRUE(ledger.Done(kAnna, first->id).ok());
  EXPECT_TRUE(ledger.AllDone());
}

TEST(LeaseLedger, PositionsNeverGoBackOrBeyondTheEnd) {
  LeaseId next{1};
  LeaseLedger ledger(10, 0, 10, &next);
  const auto a = ledger.Grant(kAnna);
  EXPECT_TRUE(ledger.Advance(kAnna, a->id, 8).ok());
  EXPECT_TRUE(ledger.Advance(kAnna, a->id, 3).ok());
  EXPECT_EQ(ledger.items_done(), 8U);
  EXPECT_TRUE(ledger.Advance(kAnna, a->id, 99).ok());
  EXPECT_EQ(ledger.items_done(), 10U);
  EXPECT_FALSE(ledger.AllDone()) << "epochs 0 never ends by itself";
}

}  // namespace
}  // namespace attune::ps
