#include "sidecar/relay/report_buffer.h"

#include <gtest/gtest.h>

#include <vector>

namespace attune::sidecar::report_buffer_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kMax = 3;
constexpr MonotonicTime At(int64_t time_ms) { return MonotonicTime{} + milliseconds(time_ms); }

v1::PodReport Numbered(uint64_t number) {
  v1::PodReport report;
  report.mutable_usage()->set_memory_bytes(number);
  return report;
}

// The numbers of all that wait, which are taken.
std::vector<uint64_t> TakeAll(ReportBuffer& buffer) {
  std::vector<uint64_t> numbers;
  while (const auto report = buffer.Take()) numbers.push_back(report->usage().memory_bytes());
  return numbers;
}

TEST(ReportBuffer, WithoutAnIntervalEveryReportCounts) {
  ReportBuffer buffer(kMax, true);
  for (const uint64_t number : {1, 2, 3}) buffer.Add(Numbered(number), At(0));
  EXPECT_EQ(TakeAll(buffer), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(buffer.sent(), 3U);
}

TEST(ReportBuffer, OfThoseThatComeTooSoonTheNewestIsHeldBack) {
  ReportBuffer buffer(kMax, true);
  buffer.SetInterval(seconds(1));
  buffer.Add(Numbered(1), At(1000));
  buffer.Add(Numbered(2), At(1300));
  buffer.Add(Numbered(3), At(1600));
  EXPECT_EQ(TakeAll(buffer), std::vector<uint64_t>{1});
  buffer.FlushHeld();
  EXPECT_EQ(TakeAll(buffer), std::vector<uint64_t>{3});
  buffer.FlushHeld();
  EXPECT_TRUE(buffer.empty()) << "it was held once";
}

TEST(ReportBuffer, OneThatIsALittleEarlyCountsAndReplacesWhatWasHeld) {
  ReportBuffer buffer(kMax, true);
  buffer.SetInterval(seconds(1));
  buffer.Add(Numbered(1), At(1000));
  buffer.Add(Numbered(2), At(1500));
  buffer.Add(Numbered(3), At(1900));
  buffer.FlushHeld();
  EXPECT_EQ(TakeAll(buffer), (std::vector<uint64_t>{1, 3}));
}

TEST(ReportBuffer, WhatACoordinatorSaysOfItsLeaseIsNotHeldBack) {
  ReportBuffer buffer(kMax, true);
  buffer.SetInterval(seconds(60));
  buffer.Add(Numbered(1), At(60'000));
  v1::PodReport news = Numbered(2);
  news.mutable_window()->mutable_leader_lease()->add_wanted_voters(7);
  buffer.Add(news, At(60'100));
  buffer.Add(news, At(60'200));
  EXPECT_EQ(TakeAll(buffer), (std::vector<uint64_t>{1, 2}));
}

TEST(ReportBuffer, TheOldestGiveWayAndTheirNumberIsReported) {
  ReportBuffer buffer(kMax, true);
  for (uint64_t number = 1; number <= 5; ++number) buffer.Add(Numbered(number), At(0));
  EXPECT_EQ(buffer.size(), kMax);
  const auto first = buffer.Take();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->usage().memory_bytes(), 3U);
  EXPECT_EQ(first->dropped_reports(), 2U);
}

TEST(ReportBuffer, OneThatWasNotSentAfterAllIsTheNextAgain) {
  ReportBuffer buffer(kMax, true);
  for (const uint64_t number : {1, 2, 3}) buffer.Add(Numbered(number), At(0));
  const auto taken = buffer.Take();
  buffer.PutBack(*taken);
  EXPECT_EQ(buffer.sent(), 0U);
  EXPECT_EQ(TakeAll(buffer), (std::vector<uint64_t>{1, 2, 3}));
}

TEST(ReportBuffer, OneThatWasNotSentIsDroppedWhereNewerOnesHaveTakenItsPlace) {
  ReportBuffer buffer(kMax, true);
  buffer.Add(Numbered(1), At(0));
  const auto taken = buffer.Take();
  for (const uint64_t number : {2, 3, 4}) buffer.Add(Numbered(number), At(0));
  buffer.PutBack(*taken);
  EXPECT_EQ(buffer.dropped(), 1U);
  EXPECT_EQ(TakeAll(buffer), (std::vector<uint64_t>{2, 3, 4}));
}

TEST(ReportBuffer, WithoutAnOperatorNothingIsKeptAndNothingCountsAsDropped) {
  ReportBuffer buffer(kMax, false);
  for (uint64_t number = 1; number <= 5; ++number) buffer.Add(Numbered(number), At(0));
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.dropped(), 0U);
}

}  // namespace
}  // namespace attune::sidecar::report_buffer_test
