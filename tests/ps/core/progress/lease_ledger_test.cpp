#include "ps/core/progress/lease_ledger.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "ps/core/protocol/limits.h"
#include "tests/base/seeds.h"

namespace attune::ps::lease_ledger_test {
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

TEST(LeaseLedger, EpochsThatMayNotBeginYetAreNotHandedOut) {
  LeaseId next{1};
  LeaseLedger ledger(1, 0, 1, &next);
  ledger.BeginUpTo(0);
  EXPECT_FALSE(ledger.Grant(kAnna));
  ledger.BeginUpTo(1);
  const auto first = ledger.Grant(kAnna);
  ASSERT_TRUE(first);
  EXPECT_FALSE(ledger.Grant(kBert));
  EXPECT_TRUE(ledger.Return(kAnna, first->id, 0).ok());
  const auto again = ledger.Grant(kBert);
  ASSERT_TRUE(again) << "one that was handed back may be done whenever that is";
  EXPECT_TRUE(ledger.Done(kBert, again->id).ok());
  EXPECT_EQ(ledger.epoch(), 1U);
  EXPECT_FALSE(ledger.Grant(kBert));
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

// What a ledger has still to hand out, item by item.
std::multiset<std::pair<uint64_t, uint64_t>> Rest(LeaseLedger ledger) {
  std::multiset<std::pair<uint64_t, uint64_t>> rest;
  while (const auto lease = ledger.Grant(kBert)) {
    for (uint64_t item = lease->begin; item < lease->end; ++item) rest.insert({lease->epoch, item});
  }
  return rest;
}

TEST(LeaseLedger, ACutRecordKeepsWhatIsDoneAndFreesTheRest) {
  LeaseId next{1};
  LeaseLedger ledger(25, 2, 10, &next);
  const auto a = ledger.Grant(kAnna), b = ledger.Grant(kBert), c = ledger.Grant(kAnna), d = ledger.Grant(kBert);
  ASSERT_TRUE(a && b && c && d);
  EXPECT_TRUE(ledger.Advance(kAnna, a->id, 4).ok());
  EXPECT_TRUE(ledger.Done(kBert, b->id).ok());
  EXPECT_TRUE(ledger.Return(kAnna, c->id, 22).ok());
  EXPECT_TRUE(ledger.Advance(kBert, d->id, 3).ok());
  const CutRecord::DataSet record = ledger.Record();
  EXPECT_TRUE(Validate(record).ok()) << Validate(record);
  EXPECT_EQ(record.open.size(), 2U);

  const LeaseLedger exact(record, true, 2, 10, &next);
  EXPECT_EQ(exact.items_done(), ledger.items_done());
  EXPECT_EQ(exact.reprocessed_items(), 0U);
  const auto rest = Rest(exact);
  EXPECT_EQ(rest.size(), 50 - ledger.items_done());
  EXPECT_FALSE(rest.contains({0, 3}));
  EXPECT_TRUE(rest.contains({0, 4}));
  EXPECT_FALSE(rest.contains({0, 15}));
  EXPECT_TRUE(rest.contains({0, 22}));
  EXPECT_FALSE(rest.contains({1, 2}));
  EXPECT_TRUE(rest.contains({1, 3}));

  const LeaseLedger rough(record, false, 2, 10, &next);
  EXPECT_EQ(rough.reprocessed_items(), 6U + 7U) << "items of open leases may be in the rows";
}

// A worker reports to the next coordinator that it is at the end of a lease, and is lost before it says that it is
// done.
TEST(LeaseLedger, AnEpochThatWorkersKnowToBeDoneIsFinished) {
  LeaseId next{1};
  LeaseLedger ledger(25, 1, 10, &next);
  for (int lease = 0; lease < 2; ++lease) EXPECT_TRUE(ledger.Done(kAnna, ledger.Grant(kAnna)->id).ok());
  ASSERT_TRUE(ledger.Grant(kBert));
  CutRecord::DataSet record = ledger.Record(true);
  ASSERT_EQ(record.open.size(), 1U);
  record.open[0].position = record.open[0].end;
  const LeaseLedger next_one(record, true, 1, 10, &next);
  EXPECT_EQ(next_one.items_done(), 25U);
  EXPECT_TRUE(next_one.AllDone());
}

// Any history: a ledger that continues from a record hands out exactly what was not done, each once.
TEST(LeaseLedger, AnyRecordGoesOnWithExactlyTheRest) {
  ForSeeds(300, [](uint64_t seed) {
    Random random(seed);
    LeaseId next{1};
    const uint64_t items = 1 + random.Below(60), epochs = 1 + random.Below(3), lease_items = 1 + random.Below(20);
    LeaseLedger ledger(items, epochs, lease_items, &next);
    std::set<std::pair<uint64_t, uint64_t>> done;
    for (uint64_t action = random.Below(40); action > 0; --action) {
      const NodeId worker = random.Chance(0.5) ? kAnna : kBert;
      if (random.Chance(0.5) || ledger.leases().empty()) {
        (void)ledger.Grant(worker);
        continue;
      }
      const Lease lease =
          std::next(ledger.leases().begin(), static_cast<long>(random.Below(ledger.leases().size())))->second;
      const uint64_t position = lease.position + random.Below(lease.end - lease.position + 1);
      for (uint64_t item = lease.position; item < position; ++item) done.insert({lease.epoch, item});
      (void)ledger.Advance(lease.worker, lease.id, position);
      if (random.Chance(0.5)) (void)ledger.Return(lease.worker, lease.id, position);
      if (random.Chance(0.1)) (void)ledger.ReleaseAll(worker);
    }
    const CutRecord::DataSet record = ledger.Record();
    ASSERT_TRUE(Validate(record).ok()) << Validate(record);
    const LeaseLedger restored(record, true, epochs, 1 + random.Below(20), &next);
    ASSERT_EQ(restored.items_done(), done.size());
    ASSERT_EQ(restored.AllDone(), done.size() == items * epochs);
    std::multiset<std::pair<uint64_t, uint64_t>> expected;
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
      for (uint64_t item = 0; item < items; ++item) {
        if (!done.contains({epoch, item})) expected.insert({epoch, item});
      }
    }
    ASSERT_EQ(Rest(restored), expected);
  });
}

// For another coordinator: their workers are still in a step with them, maybe of an epoch that is finished.
TEST(LeaseLedger, ARecordCanKeepLeasesWhoseItemsAreDone) {
  LeaseId next{1};
  LeaseLedger ledger(/*items=*/10, /*epochs=*/2, /*lease_items=*/5, &next);
  const auto a = ledger.Grant(kAnna), b = ledger.Grant(kBert), c = ledger.Grant(kAnna);
  ASSERT_TRUE(ledger.Advance(kAnna, a->id, a->end).ok());
  ASSERT_TRUE(ledger.Advance(kBert, b->id, b->end).ok());
  ASSERT_TRUE(ledger.Advance(kAnna, c->id, c->end).ok());
  EXPECT_TRUE(ledger.Record().open.empty());
  const CutRecord::DataSet record = ledger.Record(true);
  EXPECT_EQ(record.open.size(), 3U);
  EXPECT_EQ(record.finished_epochs, 1U);
  EXPECT_TRUE(Validate(record).ok());
  LeaseLedger restored(record, true, 2, 5, &next);
  EXPECT_EQ(restored.items_done(), 15U);
  const auto d = restored.Grant(kBert);
  ASSERT_TRUE(d.has_value());
  EXPECT_EQ(d->epoch, 1U);
  EXPECT_EQ(d->begin, 5U);
  EXPECT_FALSE(restored.HasFree());
}

TEST(LeaseLedger, RecordsThatContradictThemselvesAreRefused) {
  const CutRecord::DataSet good{.name = "train", .items = 10, .done = {{0, 2, 4}}, .open = {{0, 4, 8, 6}}};
  EXPECT_TRUE(Validate(good).ok());
  CutRecord::DataSet bad = good;
  bad.items = 0;
  EXPECT_EQ(Validate(bad).code(), StatusCode::kDataLoss) << "no items";
  bad = good;
  bad.done.push_back({0, 3, 5});
  EXPECT_EQ(Validate(bad).code(), StatusCode::kDataLoss) << "items done twice";
  bad = good;
  bad.done.push_back({1, 8, 11});
  EXPECT_EQ(Validate(bad).code(), StatusCode::kDataLoss) << "beyond the items";
  bad = good;
  bad.open[0].position = 9;
  EXPECT_EQ(Validate(bad).code(), StatusCode::kDataLoss) << "a position beyond its lease";
  bad = good;
  bad.finished_epochs = 1;
  EXPECT_EQ(Validate(bad).code(), StatusCode::kDataLoss) << "ranges of a finished epoch";
  // Both ends of two leases of the same items would be counted: more items done than there are ends the process.
  bad = good;
  bad.open.push_back({0, 6, 9, 6});
  EXPECT_EQ(Validate(bad).code(), StatusCode::kDataLoss) << "items leased twice";
  bad = good;
  bad.open.push_back({0, 1, 3, 1});
  EXPECT_EQ(Validate(bad).code(), StatusCode::kDataLoss) << "items that are done are leased";
  // A ledger keeps what is free of every epoch between.
  bad = good;
  bad.done.push_back({uint64_t{1} << 40, 0, 1});
  EXPECT_EQ(Validate(bad).code(), StatusCode::kDataLoss) << "an epoch that cannot have begun";
  bad = {.name = "train", .items = 10, .finished_epochs = kNumberMax, .done = {{kNumberMax, 0, 1}}};
  EXPECT_EQ(Validate(bad).code(), StatusCode::kDataLoss) << "an epoch without a number";
}

// What is finished is in the record that is copied to another server, whose check would refuse a larger number.
TEST(LeaseLedger, EpochsEndWhereNumbersDo) {
  LeaseId next(1);
  const CutRecord::DataSet last{.name = "train", .items = 10, .finished_epochs = kNumberMax - 1};
  ASSERT_TRUE(Validate(last).ok());
  LeaseLedger ledger(last, true, 0, 10, &next);
  while (const auto lease = ledger.Grant(NodeId(1))) {
    ASSERT_LT(lease->epoch, kNumberMax);
    ASSERT_TRUE(ledger.Done(NodeId(1), lease->id).ok());
  }
  EXPECT_EQ(ledger.epoch(), kNumberMax);
  EXPECT_TRUE(Validate(ledger.Record(true)).ok());
}

}  // namespace
}  // namespace attune::ps::lease_ledger_test
