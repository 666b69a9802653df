// Members that the coordinator hears, and that do not reach each other.
#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "tests/ps/core/coordinator/coordinated_job.h"

namespace attune::ps::coordinator_links_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr ConnectionId kServer2{7}, kServer3{8}, kWorker1{9};

// Three servers and two workers; every row has its copy. All are heard all the time.
class CoordinatorLinksTest : public CoordinatedJob {
 protected:
  explicit CoordinatorLinksTest(uint32_t backups = 1, bool third_server = true)
      : CoordinatedJob({.job_uid = "job", .servers = 2, .shards = 8, .backups = backups, .host_index = 0}) {
    if (third_server) Say(kServer2, JoinOf(Role::kServer, 2));
    Say(kWorker1, JoinOf(Role::kWorker, 1));
    Hear(seconds(5));
  }

  // Of each member the others to which it has no link.
  std::map<ConnectionId, std::vector<ConnectionId>> missing_;

  void Hear(Duration time) {
    for (const MonotonicTime end = now_ + time; now_ < end; now_ += milliseconds(500)) {
      Step(CoordinatorTimer{});
      Collect();
      for (const auto& [connection, node] : std::map(nodes_)) {
        if (lost_.contains(connection)) continue;
        ++number_;
        Heartbeat heartbeat{.number = number_, .map_version = map_.version, .unreached = {}};
        for (const ConnectionId other : missing_[connection]) heartbeat.unreached.push_back(nodes_.at(other));
        Say(connection, heartbeat);
        Collect();
        Say(connection, RowsReport{.number = number_, .map_version = map_.version, .joins_done = Joins()});
        Collect();
      }
    }
  }
  bool IsMember(ConnectionId connection) const { return map_.Contains(nodes_.at(connection)); }
  auto ShardsAt(ConnectionId server) const {
    return std::ranges::count_if(map_.shards, [&](const Shard& shard) { return shard.home == nodes_.at(server); });
  }

  std::map<ConnectionId, Status> lost_;
  std::vector<std::string> events_;

 private:
  std::vector<MapVersion> Joins() const {
    std::set<MapVersion> joins;
    for (const Shard& shard : map_.shards) {
      if (shard.next_backup != NodeId()) joins.insert(shard.join_id);
    }
    return {joins.begin(), joins.end()};
  }
  void Collect() {
    events_.insert(events_.end(), out_.events.begin(), out_.events.end());
    for (const ToConnection& sent : out_.send) {
      if (const auto* lost = std::get_if<SessionLost>(&sent.message)) lost_[sent.to] = lost->status;
    }
  }
  uint64_t number_ = 1;
};

TEST_F(CoordinatorLinksTest, OfAWorkerAndAServerThatDoNotReachEachOtherTheWorkerGoes) {
  missing_[kWorker] = {kServer1};
  Hear(seconds(9));
  EXPECT_TRUE(IsMember(kWorker)) << "it may be back in a moment";
  Hear(seconds(6));
  EXPECT_FALSE(IsMember(kWorker));
  EXPECT_THAT(std::string(lost_[kWorker].message()), HasSubstr("no connection for 10 s to server 1"));
  EXPECT_TRUE(IsMember(kServer1));
  EXPECT_TRUE(IsMember(kWorker1));
}

TEST_F(CoordinatorLinksTest, AServerThatNoWorkerReachesGoesAndItsCopiesBecomeTheRows) {
  missing_[kWorker] = missing_[kWorker1] = {kServer1};
  Hear(seconds(15));
  EXPECT_FALSE(IsMember(kServer1));
  EXPECT_EQ(ShardsAt(kServer0) + ShardsAt(kServer2), 8);
  EXPECT_TRUE(IsMember(kWorker));
  EXPECT_TRUE(IsMember(kWorker1));
  ASSERT_FALSE(core_->progress().lost_pods.empty());
  EXPECT_EQ(core_->progress().lost_pods[0], PodOf(JoinOf(Role::kServer, 1).incarnation));
}

// Its lease has to run out before others take its place: until then nothing it says is answered.
TEST_F(CoordinatorLinksTest, TheLeaseOfTheOneThatGoesRunsOutFirst) {
  missing_[kWorker] = missing_[kWorker1] = {kServer1};
  MonotonicTime answered{};
  while (IsMember(kServer1)) {
    Hear(milliseconds(500));
    Say(kServer1, Heartbeat{.number = 1'000'000 + static_cast<uint64_t>(now_.time_since_epoch().count()),
                            .map_version = map_.version,
                            .unreached = {}});
    if (Sent<HeartbeatAck>(kServer1) != nullptr) answered = now_;
    ASSERT_LT(now_, MonotonicTime(seconds(60)));
  }
  EXPECT_GE(now_ - answered, CoordinatorOptions().liveness_lease);
}

// Its connection may break at any time.
TEST_F(CoordinatorLinksTest, TheOneThatGoesIsNotHeardByJoiningAgain) {
  missing_[kWorker] = {kServer1};
  Hear(seconds(11));
  for (int i = 0; i < 8 && !lost_.contains(kWorker); ++i) {
    Say(kWorker, JoinOf(Role::kWorker, 0, nodes_.at(kWorker)));
    Hear(milliseconds(500));
  }
  EXPECT_FALSE(IsMember(kWorker));
}

TEST_F(CoordinatorLinksTest, ALinkThatComesBackInTimeCostsNothing) {
  missing_[kWorker] = {kServer1};
  Hear(seconds(11));
  missing_.clear();
  Hear(seconds(20));
  EXPECT_TRUE(IsMember(kWorker));
  EXPECT_TRUE(lost_.empty());
}

TEST_F(CoordinatorLinksTest, TheServerOfTheCoordinatorStaysAndSoDoAllWhoMissIt) {
  missing_[kWorker] = missing_[kWorker1] = {kServer0};
  Hear(seconds(30));
  EXPECT_TRUE(lost_.empty());
}

TEST_F(CoordinatorLinksTest, ASecondTimeTheOtherEndGoes) {
  missing_[kWorker] = {kServer1};
  Hear(seconds(15));
  ASSERT_FALSE(IsMember(kWorker));
  constexpr ConnectionId kNext{30};
  Join next = JoinOf(Role::kWorker, 0);
  next.incarnation = NewIncarnation(77, 1);
  Say(kNext, next);
  missing_[kNext] = {kServer1};
  Hear(seconds(15));
  EXPECT_TRUE(IsMember(kNext));
  EXPECT_FALSE(IsMember(kServer1));
}

TEST_F(CoordinatorLinksTest, ANewServerWithoutAllItsLinksIsGivenNoShards) {
  Say(kServer3, JoinOf(Role::kServer, 3));
  missing_[kWorker] = {kServer3};
  Hear(seconds(5));
  EXPECT_EQ(ShardsAt(kServer3), 0);
  missing_.clear();
  Hear(seconds(5));
  EXPECT_GT(ShardsAt(kServer3), 0);
}

TEST_F(CoordinatorLinksTest, ANewServerThatAWorkerNeverReachesGoesAndNotTheWorker) {
  Say(kServer3, JoinOf(Role::kServer, 3));
  missing_[kWorker] = {kServer3};
  Hear(seconds(20));
  EXPECT_FALSE(IsMember(kServer3));
  EXPECT_TRUE(IsMember(kWorker));
}

class OfTwoServers : public CoordinatorLinksTest {
 protected:
  OfTwoServers() : CoordinatorLinksTest(1, false) {}
};

TEST_F(OfTwoServers, TheOneThatNoWorkerReachesGoesWhenTheOperatorHasConfirmedTheOther) {
  missing_[kWorker] = missing_[kWorker1] = {kServer1};
  for (int i = 0; i < 20; ++i) {
    Hear(seconds(1));
    ConfirmWhenWanted();
  }
  EXPECT_FALSE(IsMember(kServer1));
  EXPECT_EQ(ShardsAt(kServer0), 8);
}

TEST_F(OfTwoServers, WithoutAnOperatorTheJobGoesOnWhenTheLinkIsBack) {
  missing_[kWorker] = missing_[kWorker1] = {kServer1};
  Hear(seconds(30));
  EXPECT_TRUE(IsMember(kServer1));
  missing_.clear();
  Hear(seconds(3));
  EXPECT_TRUE(core_->MayAct(now_));
  EXPECT_TRUE(lost_.empty());
}

class WithoutBackups : public CoordinatorLinksTest {
 protected:
  WithoutBackups() : CoordinatorLinksTest(0) {}
};

TEST_F(WithoutBackups, NoServerGoesWithRowsThatHaveNoCopy) {
  missing_[kWorker] = missing_[kWorker1] = {kServer1};
  Hear(seconds(60));
  EXPECT_TRUE(IsMember(kServer1));
  EXPECT_TRUE(lost_.empty()) << "without either worker the other one would not be helped";
}

}  // namespace
}  // namespace attune::ps::coordinator_links_test
