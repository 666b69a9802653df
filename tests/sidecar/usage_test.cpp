#include "sidecar/usage.h"

#include <gtest/gtest.h>

namespace attune::sidecar::usage_test {
namespace {

// Recorded text; the name in the second one is hostile on purpose.
constexpr char kStat[] =
    "16417 (head) R 16414 16414 26528 0 -1 4194304 102 0 0 0 7 3 2 1 20 0 1 0 166710 2998272 422 18446744073709551615 "
    "93942320078848 93942320102953 140729758775120 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 93942320118800 93942320120416 "
    "93942727786496 140729758775975 140729758776003 140729758776003 140729758777322 0\n";
constexpr char kHostileStat[] =
    "7 (a) S 1 (b) 2) S 1 7 7 0 -1 4194560 102 0 0 0 11 5 0 0 20 0 1 0 99 2998272 10 18446744073709551615 0 0 0 0 0 0 "
    "0 0\n";

TEST(ProcessStatTest, ReadsARecordedLine) {
  const auto stat = ParseProcessStat(kStat);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 16417);
  EXPECT_EQ(stat->parent, 16414);
  EXPECT_EQ(stat->cpu_ticks, 7u + 3 + 2 + 1);
  EXPECT_EQ(stat->resident_pages, 422u);
  EXPECT_EQ(stat->start_ticks, 166710u);
}

TEST(ProcessStatTest, ANameWithSpacesAndParenthesesDoesNotShiftTheFields) {
  const auto stat = ParseProcessStat(kHostileStat);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 7);
  EXPECT_EQ(stat->parent, 1);
  EXPECT_EQ(stat->cpu_ticks, 16u);
}

TEST(ProcessStatTest, TextOfAnotherFormIsRefused) {
  for (const char* text :
       {"", "7", "7 (a", "7 (a) S 1", ") 7 (", "x (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"}) {
    EXPECT_FALSE(ParseProcessStat(text)) << text;
  }
}

TEST(ProcessStatTest, EveryTruncationIsRefusedOrWhole) {
  const std::string text = kStat;
  for (size_t size = 0; size < text.size(); ++size) ParseProcessStat(text.substr(0, size));  // must not read beyond
  EXPECT_EQ(ParseChildren("12 13 \n"), (std::vector<int>{12, 13}));
  EXPECT_TRUE(ParseChildren("").empty());
}

TEST(TreeTest, SumsTheRootAndEverythingBelowAndNothingElse) {
  const std::vector<ProcessStat> processes{
      {.pid = 10, .parent = 1, .cpu_ticks = 1, .resident_pages = 100},
      {.pid = 11, .parent = 10, .cpu_ticks = 2, .resident_pages = 10},
      {.pid = 12, .parent = 11, .cpu_ticks = 4, .resident_pages = 1},
      {.pid = 20, .parent = 1, .cpu_ticks = 8, .resident_pages = 1000},
  };
  const auto sum = SumTree(10, processes);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->cpu_ticks, 7u);
  EXPECT_EQ(sum->resident_pages, 111u);
  EXPECT_FALSE(SumTree(30, processes));
}

TEST(TreeTest, ACircleReadWhileNumbersAreReusedEnds) {
  const auto sum = SumTree(1, {{.pid = 1, .parent = 2, .cpu_ticks = 1}, {.pid = 2, .parent = 1, .cpu_ticks = 1}});
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->cpu_ticks, 2u);
}

// Recorded text, with numbers that touch the colon, as older kernels print them.
TEST(NetworkTotalsTest, AreOfAllInterfacesButLoopback) {
  const auto totals = ParseNetworkTotals(
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
      "compressed\n"
      "    lo: 1153174554123 145643192    0    0    0     0          0         0 1153174554123 145643192    0    0    "
      "0   "
      "  0       0          0\n"
      "  eth0:      42      10    0    0    0     0          0         0     5678       11    0    0    0     0       "
      "0    "
      "      0\n"
      "  net1:18446744073709551 10 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->received_bytes, 42u + 18446744073709551u);
  EXPECT_EQ(totals->sent_bytes, 5679u);
}

TEST(NetworkTotalsTest, TextOfAnotherFormIsRefused) {
  for (const char* text :
       {"", "eth0", "eth0: 1 2 3", "eth0: x 0 0 0 0 0 0 0 1", "eth0: 1 0 0 0 0 0 0 0 y", ": 1 0 0 0 0 0 0 0 1"}) {
    EXPECT_FALSE(ParseNetworkTotals(text)) << text;
  }
}

}  // namespace
}  // namespace attune::sidecar::usage_test
