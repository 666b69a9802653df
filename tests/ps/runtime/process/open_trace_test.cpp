#include "ps/runtime/process/open_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "attune/v1/telemetry.pb.h"

namespace attune::ps::open_trace_test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::TraceRow Asked(const std::string& table, double for_seconds) {
  v1::TraceRow asked;
  asked.set_table(table);
  asked.set_key(17);
  asked.set_seconds(for_seconds);
  return asked;
}

class OpenTraceTest : public testing::Test {
 protected:
  OpenTraceTest() {
    callbacks_.begin = [this](const std::string& table, uint64_t key) {
      if (table != "input") return Error(StatusCode::kNotFound, "no table '" + table + "'");
      begun_.push_back(key);
      return OkStatus();
    };
    callbacks_.end = [] { return std::vector<std::string>{"0.001 s  read", "0.002 s  pushed"}; };
  }

  TraceCallbacks callbacks_;
  AnswerBox answers_{[] {}};
  std::vector<uint64_t> begun_;
  MonotonicTime now_ = MonotonicTime() + std::chrono::hours(1);
  OpenTrace trace_{callbacks_, answers_};
};

TEST_F(OpenTraceTest, IsAnsweredWhenItsTimeIsOver) {
  EXPECT_EQ(trace_.due(), kNever);
  trace_.Begin(7, Asked("input", 10), now_);
  EXPECT_THAT(begun_, ElementsAre(17));
  EXPECT_EQ(trace_.due(), now_ + seconds(10));
  trace_.AnswerWhenDue(now_ + seconds(9));
  EXPECT_THAT(answers_.TakeAll(), IsEmpty());
  trace_.AnswerWhenDue(now_ + seconds(10));
  const auto answers = answers_.TakeAll();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].directive, 7U);
  EXPECT_TRUE(answers[0].accepted);
  EXPECT_THAT(answers[0].lines, ElementsAre("0.001 s  read", "0.002 s  pushed"));
  EXPECT_EQ(trace_.due(), kNever);
}

TEST_F(OpenTraceTest, WhatCannotBeIsRefusedAndLeavesTheOpenOneAlone) {
  trace_.Begin(7, Asked("input", 10), now_);
  trace_.Begin(8, Asked("output", 10), now_);
  for (const double time : {0.0, -1.0, 61.0, std::numeric_limits<double>::quiet_NaN()}) {
    trace_.Begin(9, Asked("input", time), now_);
  }
  const auto answers = answers_.TakeAll();
  ASSERT_EQ(answers.size(), 5U);
  EXPECT_EQ(answers[0].text, "no table 'output'");
  for (size_t i = 1; i < answers.size(); ++i) {
    EXPECT_FALSE(answers[i].accepted);
    EXPECT_THAT(answers[i].text, HasSubstr("more than 0 and at most 60 seconds"));
  }
  EXPECT_EQ(trace_.due(), now_ + seconds(10));
}

TEST_F(OpenTraceTest, AnotherRowTakesThePlaceOfTheFirstWhichIsAnswered) {
  trace_.Begin(7, Asked("input", 10), now_);
  trace_.Begin(8, Asked("input", 20), now_ + seconds(1));
  const auto answers = answers_.TakeAll();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].directive, 7U);
  EXPECT_FALSE(answers[0].accepted);
  EXPECT_EQ(trace_.due(), now_ + seconds(21));
}

TEST_F(OpenTraceTest, AProcessWithoutRowsSaysSo) {
  const TraceCallbacks none;
  OpenTrace trace(none, answers_);
  trace.Begin(7, Asked("input", 10), now_);
  const auto answers = answers_.TakeAll();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_THAT(answers[0].text, HasSubstr("has no rows"));
}

}  // namespace
}  // namespace attune::ps::open_trace_test
