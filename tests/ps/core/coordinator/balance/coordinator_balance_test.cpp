// A coordinator and three servers whose load is known: that it relieves the hot one, and leaves well alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/protocol/incarnation.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::coordinator_balance_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint32_t kServers = 3, kShards = 1024;
constexpr ConnectionId kWorker{9};
ConnectionId To(uint32_t server) { return ConnectionId(server + 1); }

class CoordinatorBalanceTest : public testing::Test {
 protected:
  static CoordinatorOptions Options() {
    return {.job_uid = "job", .servers = kServers, .shards = kShards, .items = 1'000'000, .host_index = 0};
  }

  void Begin(const CoordinatorOptions& options) {
    core_.emplace(options);
    rates_.assign(options.shards, 0);
    for (uint32_t i = 0; i < kServers; ++i) Say(To(i), JoinOf(Role::kServer, i));
    Say(kWorker, JoinOf(Role::kWorker, 0));
    Live(seconds(5));
    ASSERT_TRUE(map_.formed());
    shards_moved_ = 0;
  }

  Join JoinOf(Role role, uint32_t index) {
    const ConnectionId from = role == Role::kServer ? To(index) : kWorker;
    return {.incarnation = NewIncarnation((role == Role::kServer ? 10U : 20U) + index, 1),
            .job_uid = "job",
            .role = role,
            .index = index,
            .address = "127.0.0.1:1",
            .node = nodes_.contains(from) ? nodes_.at(from) : NodeId(),
            .term = term_};
  }

  void Say(ConnectionId from, Message message) {
    if (auto* heartbeat = std::get_if<Heartbeat>(&message)) heartbeat->supports = questions_[from];
    if (auto* promised = std::get_if<Promised>(&message)) promised->standing.supports = questions_[from];
    Step(FromConnection{from, std::move(message)});
  }
  void Step(CoordinatorInput input) {
    CoordinatorOutputs out;
    core_->Step(std::move(input), now_, out);
    events_.insert(events_.end(), out.events.begin(), out.events.end());
    for (ToConnection& sent : out.send) {
      std::visit([&](const auto& message) { NoteQuestion(sent.to, message); }, sent.message);
      if (const auto* map = std::get_if<MapUpdate>(&sent.message)) Adopt(map->map);
      if (const auto* welcome = std::get_if<Welcome>(&sent.message)) {
        nodes_[sent.to] = welcome->node;
        if (welcome->map.formed()) Adopt(welcome->map);
      }
      if (const auto* mirror = std::get_if<MirrorUpdate>(&sent.message)) {
        record_ = mirror->record;
        record_at_ = sent.to;
      }
      if (std::holds_alternative<Promise>(sent.message)) asked_.push_back(sent.to);
    }
  }
  template <typename Kind>
  void NoteQuestion(ConnectionId to, const Kind& message) {
    if constexpr (requires { message.support.number; }) questions_[to] = message.support.number;
  }
  void Adopt(const ShardMap& map) {
    if (map.version <= map_.version) return;
    for (size_t i = 0; i < map_.shards.size(); ++i) shards_moved_ += map.shards[i].home != map_.shards[i].home ? 1 : 0;
    map_ = map;
  }

  // Everybody answers and serves for so long: rows and copies come at once, keys as rates_ says.
  void Live(Duration time) {
    for (const MonotonicTime until = now_ + time; now_ < until;) {
      now_ += milliseconds(500);
      ++ticks_;
      Step(CoordinatorTimer{});
      for (const ConnectionId to : std::exchange(asked_, {})) Answer(to);
      for (uint32_t i = 0; i < kServers; ++i) Heartbeats(To(i));
      Heartbeats(kWorker);
      for (uint32_t i = 0; i < kServers && ticks_ % 2 == 0 && reporting_; ++i) ReportLoad(To(i));
      if (record_) Say(record_at_, MirrorAck{.number = record_->number});
    }
  }
  void Heartbeats(ConnectionId from) {
    if (!nodes_.contains(from)) return;
    Say(from, Heartbeat{.number = ++number_, .map_version = map_.version, .acked_below = {}, .leases = {}});
    if (from == kWorker) return;
    RowsReport report{.number = ++number_, .map_version = map_.version, .rows_held = 100'000};
    std::set<MapVersion> joins;
    for (const Shard& shard : map_.shards) {
      if (shard.next_backup != NodeId()) joins.insert(shard.join_id);
    }
    report.joins_done = {joins.begin(), joins.end()};
    Say(from, std::move(report));
  }
  void ReportLoad(ConnectionId from) {
    LoadReport report{.number = ++number_, .map_version = map_.version, .lasted = seconds(1)};
    for (uint32_t i = 0; i < map_.shards.size(); ++i) {
      const auto keys = static_cast<uint64_t>(rates_[i] * (0.8 + 0.4 * random_.Uniform()));
      if (map_.shards[i].home == nodes_.at(from) && keys > 0) report.shards.push_back({ShardId(i), keys});
    }
    if (!report.shards.empty()) Say(from, std::move(report));
  }

  // Zipf's law over so many keys, of which the hottest ones are at server 0: three times the load of the others.
  void AskByZipf(double exponent, double keys_per_second) {
    for (uint64_t first = 1;; ++first) {
      rates_.assign(kShards, 0);
      double total = 0;
      for (uint64_t rank = 0; rank < 20'000; ++rank) {
        const double rate = std::pow(1.0 + static_cast<double>(rank), -exponent);
        rates_[ShardMap::ShardIndex(first * 1'000'003 + rank, kShards)] += rate;
        total += rate;
      }
      for (double& rate : rates_) rate *= keys_per_second / total;
      if (OfServer(0) > 2.9 * OfServer(1) && OfServer(0) > 2.9 * OfServer(2)) return;
    }
  }
  double OfServer(uint32_t server) const {
    double sum = 0;
    for (uint32_t i = 0; i < kShards; ++i) {
      if (map_.shards[i].home == nodes_.at(To(server))) sum += rates_[i];
    }
    return sum;
  }
  double TimesMean() const {
    const double total = std::accumulate(rates_.begin(), rates_.end(), 0.0);
    return std::max({OfServer(0), OfServer(1), OfServer(2)}) * kServers / total;
  }
  size_t HomesAt(uint32_t server) const {
    return static_cast<size_t>(std::ranges::count(map_.shards, nodes_.at(To(server)), &Shard::home));
  }
  bool HasEvent(const std::string& part) const {
    return std::ranges::any_of(events_,
                               [&](const std::string& event) { return event.find(part) != std::string::npos; });
  }

  // Another one leads, in server 1; all processes live.
  void TakeOver() {
    term_ = 2;
    questions_.clear();
    asked_.clear();
    core_.emplace(CoordinatorOptions{.job_uid = "job", .term = 2, .takeover = true, .host_index = 1});
    for (uint32_t i = 0; i < kServers; ++i) Say(To(i), JoinOf(Role::kServer, i));
    Say(kWorker, JoinOf(Role::kWorker, 0));
    for (int i = 0; i < 20 && core_->progress().taking_over; ++i) {
      for (const ConnectionId to : std::exchange(asked_, {})) Answer(to);
      ConfirmWhenWanted();
      now_ += milliseconds(500);
      Step(CoordinatorTimer{});
    }
    ASSERT_FALSE(core_->progress().taking_over);
    events_.clear();
  }
  void Answer(ConnectionId to) {
    Say(to, Promised{.map = map_,
                     .standing = {.number = ++number_, .map_version = map_.version, .leases = {}},
                     .sync = {},
                     .tables = {},
                     .mirror = to == record_at_ ? record_ : std::nullopt});
  }
  void ConfirmWhenWanted() {
    const auto lease = core_->progress().lease;
    if (lease.wanted.empty()) return;
    Voters voters{.map_version = lease.map_version, .nodes = {}};
    for (const uint32_t node : lease.wanted) voters.nodes.emplace_back(node);
    Step(FromOperator{.id = CommandId(1000), .command = ConfirmLeader{term_, voters}});
  }

  std::optional<CoordinatorCore> core_;
  uint32_t term_ = 1;
  std::map<ConnectionId, uint64_t> questions_;
  std::map<ConnectionId, NodeId> nodes_;
  std::vector<ConnectionId> asked_;  // for promises
  std::optional<CoordinatorRecord> record_;
  ConnectionId record_at_;
  ShardMap map_;
  size_t shards_moved_ = 0;
  std::vector<double> rates_;  // of keys, by shard
  bool reporting_ = true;
  std::vector<std::string> events_;
  MonotonicTime now_{seconds(1)};
  uint64_t number_ = 0, ticks_ = 0;
  Random random_{TestSeed("load reports vary by a fifth")};
};

TEST_F(CoordinatorBalanceTest, AServerWithThreeTimesTheLoadIsRelievedWithinThirtySeconds) {
  Begin(Options());
  AskByZipf(1.3, 300'000);
  const double before = TimesMean();
  EXPECT_GT(before, 1.7);
  Live(seconds(30));
  EXPECT_LE(TimesMean(), 1.15);
  EXPECT_TRUE(HasEvent("server 0 (node 1) is asked for "));
  EXPECT_TRUE(HasEvent("to relieve server 0"));
  const Relief relief = core_->progress().relief;
  EXPECT_EQ(relief.number, 1U);
  EXPECT_EQ(relief.server, 0U);
  EXPECT_EQ(relief.shards, shards_moved_);
  EXPECT_NEAR(relief.times_mean, before, 0.1);
  EXPECT_FALSE(relief.takers.empty());
  std::cout << shards_moved_ << " of " << kShards << " shards moved, the hottest server has " << TimesMean()
            << " times the mean" << std::endl;

  const size_t moved = shards_moved_;
  Live(minutes(10));
  EXPECT_EQ(shards_moved_, moved) << "and they stay";
  for (uint32_t i = 0; i < kServers; ++i) EXPECT_LE(HomesAt(i), 456U) << "a third more than the mean";
}

TEST_F(CoordinatorBalanceTest, WithCopiesToo) {
  CoordinatorOptions options = Options();
  options.backups = 1;
  Begin(options);
  AskByZipf(1.3, 300'000);
  Live(seconds(30));
  EXPECT_LE(TimesMean(), 1.2);
  Live(minutes(5));
  const size_t moved = shards_moved_;
  Live(minutes(10));
  EXPECT_EQ(shards_moved_, moved);
  for (const Shard& shard : map_.shards) EXPECT_NE(shard.backup, NodeId());
}

TEST_F(CoordinatorBalanceTest, AnIdleJobNeverMoves) {
  Begin(Options());
  AskByZipf(1.3, 3'000);
  Live(minutes(20));
  EXPECT_EQ(shards_moved_, 0U);
  EXPECT_EQ(core_->progress().relief, Relief());
}

TEST_F(CoordinatorBalanceTest, SwitchedOffItNeverMoves) {
  CoordinatorOptions options = Options();
  options.rebalance.enabled = false;
  Begin(options);
  AskByZipf(1.3, 300'000);
  Live(minutes(5));
  EXPECT_EQ(shards_moved_, 0U);
}

TEST_F(CoordinatorBalanceTest, ServersThatReportNothingShareEvenly) {
  reporting_ = false;
  Begin(Options());
  AskByZipf(1.3, 300'000);
  Live(minutes(5));
  EXPECT_EQ(shards_moved_, 0U);
}

TEST_F(CoordinatorBalanceTest, OneHotRowIsNotedAndNothingMoves) {
  Begin(Options());
  rates_.assign(kShards, 10);
  rates_[0] = 500'000;
  Live(minutes(5));
  EXPECT_EQ(shards_moved_, 0U);
  EXPECT_TRUE(HasEvent("% of them in shard 0"));
  EXPECT_EQ(std::ranges::count_if(
                events_, [](const std::string& event) { return event.find("in shard 0") != std::string::npos; }),
            1);
}

// The coordinator's process is stopped in the middle of the five seconds: it has heard nothing that would count.
TEST_F(CoordinatorBalanceTest, APauseOfTheCoordinatorIsNoHotTime) {
  Begin(Options());
  AskByZipf(1.3, 300'000);
  Live(seconds(3));
  now_ += seconds(30);
  Step(CoordinatorTimer{});
  Live(seconds(1));
  EXPECT_EQ(shards_moved_, 0U);
  Live(seconds(30));
  EXPECT_GT(shards_moved_, 0U);
  EXPECT_LE(TimesMean(), 1.15);
}

TEST_F(CoordinatorBalanceTest, AServerThatIsAddedLaterSharesByLoadToo) {
  Begin(Options());
  AskByZipf(1.3, 300'000);
  Live(seconds(30));
  const size_t before = shards_moved_;
  Step(FromOperator{.id = CommandId(7), .command = DrainServer{.index = 2}});
  for (int i = 0; i < 60 && HomesAt(2) > 0; ++i) Live(seconds(1));
  EXPECT_EQ(HomesAt(2), 0U);
  EXPECT_GT(shards_moved_, before);
  const double total = std::accumulate(rates_.begin(), rates_.end(), 0.0);
  EXPECT_LE(std::max(OfServer(0), OfServer(1)) / total, 0.6);
}

// The next coordinator places by the weights of the last one, though it knows no load yet: nothing goes back.
TEST_F(CoordinatorBalanceTest, AnotherCoordinatorInTheMiddleGoesOnWithTheSameWeights) {
  CoordinatorOptions options = Options();
  options.shard_changes_max = 1;
  options.row_changes_max = 1;
  Begin(options);
  AskByZipf(1.3, 300'000);
  while (shards_moved_ == 0 && now_ < MonotonicTime(seconds(60))) Live(milliseconds(500));
  Live(seconds(1));
  ASSERT_GT(shards_moved_, 0U);
  ASSERT_FALSE(core_->settled()) << "in the middle";
  ASSERT_TRUE(record_);
  ASSERT_EQ(record_->shard_weights.size(), kShards);
  const double at_takeover = TimesMean();
  TakeOver();
  Live(seconds(30));
  EXPECT_LE(TimesMean(), std::min(1.15, at_takeover));
  const size_t moved = shards_moved_;
  Live(minutes(10));
  EXPECT_EQ(shards_moved_, moved);
}

TEST_F(CoordinatorBalanceTest, AnotherCoordinatorAfterwardsLeavesShardsWhereTheyAre) {
  Begin(Options());
  AskByZipf(1.3, 300'000);
  Live(seconds(30));
  ASSERT_GT(shards_moved_, 0U);
  ASSERT_TRUE(core_->settled());
  const size_t moved = shards_moved_;
  TakeOver();
  reporting_ = false;
  Live(minutes(5));
  EXPECT_EQ(shards_moved_, moved);
}

}  // namespace
}  // namespace attune::ps::coordinator_balance_test
