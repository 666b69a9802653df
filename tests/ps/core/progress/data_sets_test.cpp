#include "ps/core/progress/data_sets.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ps/core/protocol/limits.h"

namespace attune::ps::data_sets_test {
namespace {

using std::chrono::seconds;
constexpr NodeId kAnna{8}, kBert{9};  // workers
constexpr MonotonicTime kStart{};

class DataSetsTest : public testing::Test {
 protected:
  StatusOr<DataSets::Opened> Open(const std::string& name, DataSetOptions options = {.items = 10, .lease_items = 5}) {
    return data_sets_.Open({.header = {}, .name = name, .options = options},
                           {.goal = goal_, .resume = resume_ ? &*resume_ : nullptr, .steps = steps_}, evaluations_);
  }
  DataSetId IdOf(const std::string& name, DataSetOptions options = {.items = 10, .lease_items = 5}) {
    return Open(name, options)->data_set->id;
  }
  void Ask(NodeId worker, uint64_t request, DataSetId id, MonotonicTime deadline = kNever) {
    data_sets_.Wait({.worker = worker, .request = RequestId(request), .data_set = id, .deadline = deadline});
  }
  // The answers by request.
  std::map<uint64_t, DataSets::Answer> Serve(bool goal_reached = false, MonotonicTime now = kStart,
                                             bool may_begin = true) {
    std::map<uint64_t, DataSets::Answer> answers;
    data_sets_.Serve(
        now, goal_reached, evaluations_.any(), [&](NodeId, const DataSet&) { return may_begin; },
        [&](const WaitingLease& waiting, const DataSets::Answer& answer) {
          answers[waiting.request.value()] = answer;
        });
    return answers;
  }
  Lease Granted(NodeId worker, DataSetId id, bool goal_reached = false) {
    Ask(worker, 1, id);
    const auto answers = Serve(goal_reached);
    EXPECT_TRUE(answers.contains(1) && answers.at(1).granted);
    return answers.contains(1) ? answers.at(1).granted.value_or(Lease()) : Lease();
  }
  void Process(NodeId worker, DataSetId id, int leases, bool goal_reached = false) {
    for (int i = 0; i < leases; ++i) data_sets_.Done(worker, Granted(worker, id, goal_reached).id);
  }

  JobGoal goal_;
  std::optional<CutRecord> resume_;
  uint64_t steps_ = 0;
  EvaluationSchedule evaluations_{1, std::nullopt};  // after each epoch
  DataSets data_sets_{3};
};

constexpr DataSetOptions kWithEpochs{.items = 10, .epochs = 1, .lease_items = 5};
constexpr DataSetOptions kWhenDue{.items = 4, .lease_items = 4, .when_due = true};

TEST_F(DataSetsTest, AllOpenersMustAskForTheSame) {
  const auto first = Open("train");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->data_set->asked.epochs, 1U) << "without any goal there is one epoch";
  EXPECT_EQ(Open("train")->data_set, first->data_set);
  const auto other = Open("train", {.items = 11, .lease_items = 5});
  EXPECT_EQ(other.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(attune::Message(other.status()),
            "items is 11 here and was 10 when it was opened first; all workers must say the same");
}

TEST_F(DataSetsTest, TheNumberOfItemsMustComeFromSomewhere) {
  EXPECT_EQ(Open("train", {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Open("", {.items = 1}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Open("both", {.items = 1, .epochs = 1, .when_due = true}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(DataSetsTest, LeaseNumbersOfDifferentTermsAndDataSetsNeverMeet) {
  const Lease train = Granted(kAnna, IdOf("train")), side = Granted(kAnna, IdOf("side", kWithEpochs));
  EXPECT_EQ(train.id, LeaseId((uint64_t{2} << 32) + 1));
  EXPECT_EQ(side.id, LeaseId((uint64_t{2} << 32) + 2));
}

TEST_F(DataSetsTest, AResumedJobContinuesWhereTheCheckpointWasCut) {
  CutRecord::DataSet record{.name = "train", .items = 10, .epochs = 1, .lease_items = 5};
  record.done = {{.epoch = 0, .begin = 0, .end = 5}};
  resume_ = CutRecord{.synchronization = "bsp", .data_sets = {record}};
  const auto other = Open("train", {.items = 12, .lease_items = 5});
  EXPECT_EQ(other.status().code(), StatusCode::kFailedPrecondition) << "the checkpoint is of other data";
  const auto opened = Open("train");
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(opened->continues);
  EXPECT_EQ(opened->data_set->items_in_newest, 5U);
  EXPECT_EQ(Granted(kAnna, opened->data_set->id).begin, 5U);
}

TEST_F(DataSetsTest, AWorkerHoldsABoundedNumberOfLeases) {
  EXPECT_EQ(data_sets_.CheckRequest(kAnna, DataSetId(1)).code(), StatusCode::kNotFound);
  const DataSetId id = IdOf("train", {.items = 2 * kLeasesPerWorkerMax, .lease_items = 1});
  for (size_t held = 0; held < kLeasesPerWorkerMax; ++held) {
    ASSERT_TRUE(data_sets_.CheckRequest(kAnna, id).ok());
    (void)Granted(kAnna, id);
  }
  EXPECT_EQ(data_sets_.CheckRequest(kAnna, id).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(data_sets_.CheckRequest(kBert, id).ok());
}

TEST_F(DataSetsTest, FirstComeFirstServedAndTheOthersWaitUntilTheirDeadlines) {
  const DataSetId id = IdOf("train");
  Ask(kAnna, 1, id);
  Ask(kBert, 2, id);
  Ask(kBert, 3, id, kStart + seconds(5));
  EXPECT_TRUE(Serve(false, kStart, false).empty()) << "none may begin";
  const auto answers = Serve();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers.at(1).granted->begin, 0U);
  EXPECT_EQ(answers.at(2).granted->begin, 5U);
  EXPECT_TRUE(Serve(false, kStart + seconds(4)).empty());
  const auto late = Serve(false, kStart + seconds(5));
  ASSERT_EQ(late.size(), 1U);
  EXPECT_FALSE(late.at(3).granted || late.at(3).ended);
}

TEST_F(DataSetsTest, WhatALostWorkerHeldGoesToTheNextOne) {
  const DataSetId id = IdOf("train");
  const Lease lease = Granted(kAnna, id);
  data_sets_.Advance(kAnna, {{.lease = lease.id, .position = 2}});
  EXPECT_EQ(data_sets_.ReleaseAll(kAnna), 3U);
  EXPECT_EQ(Granted(kBert, id).begin, 2U);
}

TEST_F(DataSetsTest, AWorkerThatLeavesHandsItsLeasesBackAndItsRequestsEnd) {
  const DataSetId id = IdOf("train");
  (void)Granted(kAnna, id);
  (void)Granted(kAnna, id);
  Ask(kAnna, 7, id);
  Ask(kBert, 8, id);
  data_sets_.ReturnAll(kAnna);
  EXPECT_FALSE(data_sets_.HoldsTrainingLease(kAnna));
  EXPECT_EQ(data_sets_.TakeWaiting(kAnna), std::vector<RequestId>{RequestId(7)});
  EXPECT_EQ(Serve().at(8).granted->begin, 0U);
}

TEST_F(DataSetsTest, SideWorkIsTrainingOnlyWhenThereIsNothingElse) {
  const DataSetId side = IdOf("side", kWithEpochs);
  EXPECT_TRUE(data_sets_.IsTraining(*data_sets_.Find(side)));
  (void)Granted(kAnna, side);
  EXPECT_TRUE(data_sets_.HoldsTrainingLease(kAnna));
  (void)Open("train");
  EXPECT_FALSE(data_sets_.IsTraining(*data_sets_.Find(side)));
  EXPECT_FALSE(data_sets_.HoldsTrainingLease(kAnna));
}

TEST_F(DataSetsTest, TrainingEndsWithTheLastDataSetOfTheGoal) {
  const DataSetId train = IdOf("train"), more = IdOf("more");
  (void)Open("side", kWithEpochs);
  Process(kAnna, train, 2);
  EXPECT_EQ(data_sets_.TrainedToTheEnd(), nullptr);
  EXPECT_EQ(data_sets_.current()->id, train);
  Process(kAnna, more, 2);
  ASSERT_NE(data_sets_.TrainedToTheEnd(), nullptr);
  EXPECT_EQ(data_sets_.TrainedToTheEnd()->id, train);
  EXPECT_EQ(data_sets_.current()->id, more) << "leases were last taken from it";
  Ask(kAnna, 5, train);
  EXPECT_EQ(Serve().at(5).ended, LeasesEndReason::kAllDone);
}

TEST_F(DataSetsTest, ClosingWorkWaitsUntilNoWorkerHoldsDataThatTheGoalHasEnded) {
  const DataSetId train = IdOf("train"), side = IdOf("side", kWithEpochs);
  const Lease lease = Granted(kAnna, train);
  Ask(kBert, 2, train);
  Ask(kBert, 3, side);
  data_sets_.BeginClosing();
  auto answers = Serve(true);
  EXPECT_EQ(answers.at(2).ended, LeasesEndReason::kGoalReached);
  EXPECT_FALSE(answers.contains(3));
  data_sets_.Return(kAnna, lease.id, lease.begin);
  answers = Serve(true);
  EXPECT_TRUE(answers.at(3).granted);
}

TEST_F(DataSetsTest, ClosingWorkIsWhatIsAskedForAfterTheGoalAndWasNotDoneBefore) {
  const DataSetId train = IdOf("train"), before = IdOf("before", kWithEpochs), after = IdOf("after", kWithEpochs);
  (void)Open("unused", kWithEpochs);
  Process(kAnna, before, 2);
  data_sets_.BeginClosing();
  EXPECT_FALSE(data_sets_.HasClosingWork());
  EXPECT_FALSE(data_sets_.NoteClosing(train));
  EXPECT_FALSE(data_sets_.NoteClosing(before));
  EXPECT_TRUE(data_sets_.NoteClosing(after));
  EXPECT_FALSE(data_sets_.NoteClosing(after)) << "it is already";
  ASSERT_NE(data_sets_.OpenClosingWork(), nullptr);
  EXPECT_EQ(data_sets_.OpenClosingWork()->name, "after");
  Process(kAnna, after, 2, true);
  EXPECT_EQ(data_sets_.OpenClosingWork(), nullptr);
  EXPECT_TRUE(data_sets_.HasClosingWork());
}

TEST_F(DataSetsTest, TheNextEvaluationIsDueWhenAllHaveDoneTheLastOne) {
  goal_.epochs = 3;
  const DataSetId train = IdOf("train");
  EXPECT_FALSE(data_sets_.AdvanceEvaluations(evaluations_, 0)) << "none is asked for";
  const DataSetId held_out = IdOf("held-out", kWhenDue);
  Ask(kBert, 4, held_out);
  EXPECT_TRUE(Serve().empty()) << "nothing is due";
  Process(kAnna, train, 2);
  EXPECT_TRUE(data_sets_.AdvanceEvaluations(evaluations_, 0));
  const auto granted = Serve().at(4).granted;
  ASSERT_TRUE(granted);
  Process(kAnna, train, 2);
  EXPECT_FALSE(data_sets_.AdvanceEvaluations(evaluations_, 0)) << "the first one is in progress";
  data_sets_.Done(kBert, granted->id);
  EXPECT_TRUE(data_sets_.AdvanceEvaluations(evaluations_, 0));
}

TEST_F(DataSetsTest, ItemsThatTheNewestCheckpointDoesNotContainWereTrainedSince) {
  const DataSetId train = IdOf("train");
  EXPECT_FALSE(data_sets_.TrainedSinceNewest(true));
  const Lease lease = Granted(kAnna, train);
  EXPECT_TRUE(data_sets_.TrainedSinceNewest(true)) << "rows may have been trained of which nothing was reported";
  EXPECT_FALSE(data_sets_.TrainedSinceNewest(false));
  data_sets_.Done(kAnna, lease.id);
  EXPECT_TRUE(data_sets_.TrainedSinceNewest(false));
  data_sets_.NoteNewest({.data_sets = data_sets_.Records()});
  EXPECT_FALSE(data_sets_.TrainedSinceNewest(false));
}

TEST_F(DataSetsTest, ASuccessorKeepsLeasesThatTheirWorkersKnowAndFreesTheOthers) {
  const DataSetId train = IdOf("train", {.items = 15, .lease_items = 5});
  const Lease annas = Granted(kAnna, train), berts = Granted(kBert, train);
  const auto records = data_sets_.RecordsWithHolders();
  ASSERT_EQ(records.size(), 1U);
  DataSets next(4);
  const std::vector<LeasePosition> known = {{.lease = annas.id, .position = annas.begin + 3}};
  const auto held_by = [&](NodeId worker) { return worker == kAnna ? &known : nullptr; };
  EXPECT_EQ(next.Restore(records[0], 0, held_by), berts.end - berts.begin);
  const DataSet& restored = *next.Find(train);
  EXPECT_EQ(restored.name, "train");
  ASSERT_EQ(restored.ledger.leases().size(), 1U);
  EXPECT_EQ(restored.ledger.leases().begin()->second.position, annas.begin + 3);
  EXPECT_EQ(restored.ledger.items_done(), 3U);
  EXPECT_EQ(next.current(), &restored);
}

// What a program that asks for nothing else gets: steps of a millisecond, two leases open at a time.
uint64_t ItemsOfLastLease(DataSets& data_sets, DataSetId id, int leases) {
  uint64_t items = 0;
  MonotonicTime now = kStart;
  std::deque<Lease> held;
  for (int i = 0; i < leases; ++i) {
    data_sets.Wait({.worker = kAnna, .request = RequestId(1), .data_set = id, .deadline = kNever});
    data_sets.Serve(
        now, false, false, [](NodeId, const DataSet&) { return true; },
        [&](const WaitingLease&, const DataSets::Answer& answer) { held.push_back(answer.granted.value()); });
    items = held.back().end - held.back().begin;
    now += std::chrono::milliseconds(items);
    if (held.size() < 2) continue;
    data_sets.Done(kAnna, held.front().id);
    held.pop_front();
  }
  return items;
}

TEST_F(DataSetsTest, LeasesWhoseSizeIsChosenGrowAndThoseOfAGivenSizeDoNot) {
  goal_.epochs = 100;
  const DataSetId chosen = IdOf("chosen", {.items = 512}), given = IdOf("given", {.items = 512, .lease_items = 2});
  EXPECT_EQ(ItemsOfLastLease(data_sets_, chosen, 200), 32U);
  EXPECT_EQ(ItemsOfLastLease(data_sets_, given, 200), 2U);
  EXPECT_TRUE(Open("chosen", {.items = 512}).ok()) << "a worker that comes later asks as the first one did";
}

TEST_F(DataSetsTest, LeasesOfAChosenSizeGrowUnderASuccessorToo) {
  goal_.epochs = 100;
  const DataSetId chosen = IdOf("chosen", {.items = 512}), given = IdOf("given", {.items = 512, .lease_items = 2});
  ItemsOfLastLease(data_sets_, chosen, 200);
  DataSets next(4);
  for (const auto& record : data_sets_.RecordsWithHolders()) next.Restore(record, 0, [](NodeId) { return nullptr; });
  EXPECT_EQ(ItemsOfLastLease(next, chosen, 200), 32U);
  EXPECT_EQ(ItemsOfLastLease(next, given, 200), 2U);
  EXPECT_TRUE(
      next.Open({.header = {}, .name = "chosen", .options = {.items = 512}}, {.goal = goal_}, evaluations_).ok());
}

}  // namespace
}  // namespace attune::ps::data_sets_test
