#include "ps/core/trace/row_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace attune::ps::row_trace_test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr TableId kTable{2}, kOther{3};
constexpr Key kRow = 17, kElse = 18;
constexpr NodeId kServer{1}, kWorker{8};

ShardMap MapOfBoth() {
  ShardMap map;
  map.members = {{.node = kServer, .role = Role::kServer, .index = 0},
                 {.node = kWorker, .role = Role::kWorker, .index = 3}};
  return map;
}

class RowTraceTest : public testing::Test {
 protected:
  RowTraceTest() { trace_.Begin({kTable, kRow}, now_); }
  MonotonicTime At(int ms) const { return now_ + milliseconds(ms); }
  std::vector<std::string> End() { return trace_.End(MapOfBoth()); }
  Round AnnouncementOf(Key key, AnnouncedUse use) const {
    return {
        .number = 1, .table = kTable, .keys = std::vector<Key>{kElse, key}, .uses = std::vector{AnnouncedUse{}, use}};
  }

  const MonotonicTime now_ = MonotonicTime() + std::chrono::hours(1);
  RowTrace trace_;
};

TEST_F(RowTraceTest, SeesNothingUntilItBeginsAndAfterItsEnd) {
  RowTrace trace;
  EXPECT_FALSE(trace.active());
  trace.Read(kTable, std::vector<Key>{kRow}, now_);
  EXPECT_THAT(trace.End(MapOfBoth()), IsEmpty());
  EXPECT_TRUE(trace_.active());
  trace_.Read(kTable, std::vector<Key>{kRow}, now_);
  EXPECT_THAT(End(), SizeIs(1));
  EXPECT_FALSE(trace_.active());
}

TEST_F(RowTraceTest, SeesThatRowOnly) {
  trace_.Read(kTable, std::vector<Key>{kElse}, now_);
  trace_.Pushed(kOther, std::vector<Key>{kRow}, now_);
  trace_.Announced(kTable, {}, 3, 4, now_);
  trace_.Received(kWorker, Pull{.origin = kWorker, .table = kOther, .keys = std::vector<Key>{kRow}}, now_);
  trace_.Sent(kServer, Push{.table = kTable, .keys = std::vector<Key>{kElse}}, now_);
  trace_.Received(kServer, Message(GoalReached{}), now_);
  EXPECT_THAT(End(), IsEmpty());
}

TEST_F(RowTraceTest, AFetchedRowAtAWorkerAsItsCallsAndMessagesSay) {
  const std::vector<Key> keys = {kElse, kRow};
  const Pull ask{.origin = kWorker, .request = RequestId(5), .table = kTable, .keys = keys};
  trace_.Announced(kTable, keys, 40, 41, At(1));
  trace_.Announced(kTable, keys, 42, 44, At(2));
  trace_.Sent(kServer, ask, At(3));
  trace_.Received(kServer, PullReply{.request = RequestId(4)}, At(4));
  trace_.Received(kServer, PullReply{.request = RequestId(5)}, At(12));
  trace_.Read(kTable, keys, At(20));
  trace_.Sent(kServer, Push{.origin = kWorker, .table = kTable, .keys = keys}, At(21));
  trace_.Sent(kServer, ask, {.table = kTable, .keys = keys}, At(22));
  EXPECT_THAT(End(), ElementsAre("0.001 s  announced by the program, for steps 40 to 43; 2 times, the last at 0.002 s",
                                 "0.003 s  fetched ahead from server 0", "0.012 s  values came from server 0",
                                 "0.020 s  read by the program", "0.021 s  a push went to server 0",
                                 "0.022 s  asked for at server 0, by a pull that waits for it"));
}

TEST_F(RowTraceTest, ACopyFromItsAnnouncementToItsEnd) {
  trace_.Sent(kServer, AnnouncementOf(kRow, {.reads = 3, .writes = 2, .milliseconds = 40}), At(1));
  const RoundReply copied{.table = kTable, .keys = std::vector<Key>{kRow}};
  trace_.Received(kServer, copied, At(2));
  for (int i = 3; i < 10; ++i) trace_.Read(kTable, std::vector<Key>{kRow}, At(i));
  trace_.Received(kServer, copied, At(10));
  trace_.Received(kServer, RoundReply{.table = kTable, .left = {kRow}}, At(11));
  trace_.Read(kTable, std::vector<Key>{kRow}, At(12));
  EXPECT_THAT(
      End(), ElementsAre("0.001 s  announced to its home, server 0: at most 3 of the steps ahead read it, 2 push to it",
                         "0.002 s  a copy came from its home, server 0",
                         "0.003 s  read by the program; 7 times, the last at 0.009 s",
                         "0.010 s  the copy was refreshed by server 0", "0.011 s  the copy was taken back by server 0",
                         "0.012 s  read by the program"));
}

TEST_F(RowTraceTest, TheHomeSeesTheOtherSide) {
  trace_.Received(kWorker, AnnouncementOf(kRow, {.reads = 1}), At(1));
  trace_.Sent(kWorker, RoundReply{.table = kTable, .keys = std::vector<Key>{kRow}}, At(2));
  trace_.Received(kWorker,
                  Push{.origin = kWorker, .table = kTable, .keys = std::vector<Key>{kRow}, .folds = {FoldCounts()}},
                  At(3));
  trace_.Received(kWorker, Push{.origin = NodeId(77), .table = kTable, .keys = std::vector<Key>{kRow}}, At(4));
  trace_.Received(kWorker, AnnouncementOf(kRow, {}), At(5));
  trace_.Sent(kWorker, RoundReply{.table = kTable, .left = {kRow}}, At(6));
  EXPECT_THAT(End(),
              ElementsAre("0.001 s  announced by worker 3: at most 1 of the steps ahead read it, 0 push to it",
                          "0.002 s  values went to worker 3, for its copy",
                          "0.003 s  pushes to the copy at worker 3 came, added up", "0.004 s  a push of node 77 came",
                          "0.005 s  announced no more by worker 3", "0.006 s  the copy at worker 3 was taken back"));
}

TEST_F(RowTraceTest, ARowThatMoves) {
  const std::vector<Key> keys = {kRow};
  trace_.Received(kWorker, Localize{.table = kTable, .to = kWorker, .keys = keys}, At(1));
  Handover moved;
  moved.rows = {.table = kTable, .keys = keys};
  trace_.Sent(kWorker, moved, At(2));
  trace_.Sent(kWorker, MoveOrder{.table = kTable, .to = kServer, .keys = keys}, At(3));
  trace_.Received(kWorker, moved, At(4));
  EXPECT_THAT(End(), ElementsAre("0.001 s  wanted as its own by worker 3", "0.002 s  handed over to worker 3",
                                 "0.003 s  worker 3 was ordered to hand it over", "0.004 s  handed over by worker 3"));
}

TEST_F(RowTraceTest, ARowThatNeverRestsTakesNoMoreRoomThanThereIs) {
  Handover moved;
  moved.rows = {.table = kTable, .keys = std::vector<Key>{kRow}};
  for (int i = 0; i < 500; ++i) {
    trace_.Sent(kWorker, moved, At(2 * i));
    trace_.Received(kWorker, moved, At(2 * i + 1));
  }
  const std::vector<std::string> lines = End();
  ASSERT_THAT(lines, SizeIs(RowTrace::kEventsMax + 1));
  EXPECT_EQ(lines.back(), "and 800 events more than there is room for");
  size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  EXPECT_LE(bytes, 32U << 10);
}

TEST_F(RowTraceTest, AnotherRowTakesThePlaceOfTheFirst) {
  trace_.Read(kTable, std::vector<Key>{kRow}, At(1));
  trace_.Begin({kTable, kElse}, At(2));
  trace_.Read(kTable, std::vector<Key>{kRow}, At(3));
  trace_.Read(kTable, std::vector<Key>{kElse}, At(4));
  EXPECT_THAT(End(), ElementsAre("0.002 s  read by the program"));
}

}  // namespace
}  // namespace attune::ps::row_trace_test
