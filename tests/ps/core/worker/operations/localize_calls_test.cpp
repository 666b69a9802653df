#include "ps/core/worker/operations/localize_calls.h"

#include <gtest/gtest.h>

#include <variant>
#include <vector>

namespace attune::ps::localize_calls_test {
namespace {

using std::chrono::seconds;

constexpr TableId kTable{1};

using Keys = std::vector<Key>;

class LocalizeCallsTest : public testing::Test {
 protected:
  LocalizeCalls::Id Add(uint64_t call, Keys keys) {
    return calls_.Add({.call = CallId(call), .deadline = now_ + seconds(10), .table = kTable, .keys = {}},
                      std::move(keys));
  }
  auto Send() {
    return [this](TableId table, const Slice<Key>& keys) {
      EXPECT_EQ(table, kTable);
      asked_.emplace_back(keys.begin(), keys.end());
    };
  }
  void Begin(LocalizeCalls::Id id, const LocalizeCalls::Space& space = {.rows_max = 100}) {
    next_ = calls_.Begin(id, space, now_, Send(), completions_);
  }
  void Arrive(Keys keys) { calls_.Arrived(kTable, std::move(keys), completions_); }
  static LocalizeResult ResultOf(const Completion& completion) { return std::get<LocalizeResult>(completion.result); }
  void EndOverdue() {
    next_ = calls_.EndOverdue(
        now_, [] { return std::string("the coordinator is silent"); }, completions_);
  }

  LocalizeCalls calls_{
      {.keys_per_message_max = 2, .resend_after = seconds(2), .resend_after_max = seconds(3), .row_bytes_max = 4096}};
  std::vector<Keys> asked_;
  std::vector<Completion> completions_;
  MonotonicTime now_{seconds(100)}, next_{};
};

TEST_F(LocalizeCallsTest, ACallEndsWhenItsLastRowHasCome) {
  Begin(Add(7, {1, 2, 3}));
  EXPECT_EQ(asked_, (std::vector<Keys>{{1, 2}, {3}}));
  Arrive({2, 9});
  Arrive({2});
  EXPECT_TRUE(completions_.empty()) << "a row counts once";
  Arrive({3, 1});
  ASSERT_EQ(completions_.size(), 1U);
  EXPECT_EQ(completions_[0].call, CallId(7));
  EXPECT_TRUE(completions_[0].status.ok());
  EXPECT_EQ(ResultOf(completions_[0]), (LocalizeResult{.moved = 3}));
  EXPECT_TRUE(calls_.empty());
  Arrive({1, 2, 3});
  EXPECT_EQ(completions_.size(), 1U) << "they have gone and come again";
}

TEST_F(LocalizeCallsTest, OneRowCountsForEveryCallThatWaitsForIt) {
  Begin(Add(1, {5, 6}));
  Begin(Add(2, {6}));
  Arrive({6});
  ASSERT_EQ(completions_.size(), 1U);
  EXPECT_EQ(completions_[0].call, CallId(2));
  Arrive({5});
  EXPECT_EQ(completions_.size(), 2U);
}

TEST_F(LocalizeCallsTest, RowsThatAreHereAreNotAskedFor) {
  auto store = TableStore::Create({"rows", {.dim = 1}});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->CreateRows(Keys{1, 3}, RowVersion()).ok());
  Begin(Add(1, {1, 2, 3}), {.here = store->get(), .rows_max = 100});
  EXPECT_EQ(asked_, (std::vector<Keys>{{2}}));
  asked_.clear();
  Begin(Add(2, {3}), {.here = store->get(), .rows_max = 100});
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(next_, kNever);
  ASSERT_EQ(completions_.size(), 1U);
  EXPECT_EQ(ResultOf(completions_[0]), (LocalizeResult{.already_here = 1}));
}

TEST_F(LocalizeCallsTest, RowsWithoutMemoryStayWhereTheyAre) {
  Begin(Add(1, {1, 2, 3}), {.rows_max = 1});
  EXPECT_EQ(asked_, (std::vector<Keys>{{1}}));
  EXPECT_EQ(calls_.BytesComing([](TableId) { return 40; }), 40U);
  Arrive({1, 2});
  ASSERT_EQ(completions_.size(), 1U);
  EXPECT_EQ(completions_[0].status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ResultOf(completions_[0]), (LocalizeResult{.moved = 1, .refused = 2}));
}

TEST_F(LocalizeCallsTest, WhatHasNotComeIsAskedForAgain) {
  const LocalizeCalls::Id begun = Add(1, {1, 2, 3});
  Add(2, {8});
  ASSERT_EQ(calls_.NotBegun().size(), 2U);
  Begin(begun);
  EXPECT_EQ(next_, now_ + seconds(2));
  ASSERT_EQ(calls_.NotBegun().size(), 1U);
  Arrive({2});
  asked_.clear();
  EXPECT_EQ(calls_.SendAgain(now_, Send()), now_ + seconds(2));
  EXPECT_TRUE(asked_.empty());
  now_ += seconds(2);
  EXPECT_EQ(calls_.SendAgain(now_, Send()), now_ + seconds(3)) << "later and later, bounded";
  EXPECT_EQ(asked_, (std::vector<Keys>{{1, 3}}));
  calls_.SendAll(Send());
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(LocalizeCallsTest, ACallEndsAtItsDeadlineWithWhatHasCome) {
  Begin(Add(1, {1, 2}));
  Add(2, {3});
  Arrive({1});
  calls_.Postpone(seconds(1));
  now_ += seconds(10);
  EndOverdue();
  EXPECT_EQ(next_, now_ + seconds(1));
  EXPECT_TRUE(completions_.empty());
  now_ += seconds(1);
  EndOverdue();
  EXPECT_EQ(next_, kNever);
  ASSERT_EQ(completions_.size(), 2U);
  EXPECT_EQ(completions_[0].status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ResultOf(completions_[0]), (LocalizeResult{.moved = 1}));
  EXPECT_NE(attune::Message(completions_[0].status).find("1 of 2 rows"), std::string::npos) << completions_[0].status;
  EXPECT_NE(attune::Message(completions_[1].status).find("the coordinator is silent"), std::string::npos)
      << completions_[1].status;
  Arrive({2});
  EXPECT_EQ(completions_.size(), 2U) << "no call waits for it";
}

}  // namespace
}  // namespace attune::ps::localize_calls_test
