// A server that workers ask for more than the others is relieved while they train: over real sockets, with real time.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/time_source.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/shard_map.h"
#include "tests/local/ps/session_fixture.h"

namespace attune::ps::hot_server_test {
namespace {

using std::chrono::seconds;

constexpr uint32_t kServers = 3;

// Keys as draws from Zipf's law over those of one server, chosen so that server 0 has three times the load of another.
class SkewedKeys {
 public:
  explicit SkewedKeys(uint64_t seed) : random_(seed) {
    for (Key key = 0; std::ranges::any_of(of_server_, [](const auto& keys) { return keys.size() < 5000; }); ++key) {
      of_server_[ShardMap::ShardIndex(key, kShardsDefault) % kServers].push_back(key);
    }
    double sum = 0;
    for (size_t rank = 0; rank < 5000; ++rank)
      by_rank_.push_back(sum += std::pow(1.0 + static_cast<double>(rank), -1.3));
  }
  std::vector<Key> Draw(size_t count) {
    std::vector<Key> keys;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t of_five = random_.Below(5);
      const double place = random_.Uniform() * by_rank_.back();
      const auto rank = static_cast<size_t>(std::ranges::upper_bound(by_rank_, place) - by_rank_.begin());
      keys.push_back(of_server_[of_five < 3 ? 0 : of_five - 2][std::min<size_t>(rank, 4999)]);
    }
    return keys;
  }

 private:
  Random random_;
  std::vector<std::vector<Key>> of_server_{kServers};
  std::vector<double> by_rank_;  // summed
};

class HotServerTest : public SessionTest {
 protected:
  // What each server was asked for, so far.
  std::vector<double> Served() const {
    std::vector<double> keys;
    for (const auto& server : servers_) {
      const ServerCounters counters = server->counters();
      keys.push_back(static_cast<double>(counters.pulled_keys + counters.pushed_keys));
    }
    return keys;
  }
  static double TimesMean(const std::vector<double>& before, const std::vector<double>& after) {
    std::vector<double> keys;
    for (size_t i = 0; i < after.size(); ++i) keys.push_back(after[i] - before[i]);
    return std::ranges::max(keys) * static_cast<double>(keys.size()) / std::accumulate(keys.begin(), keys.end(), 0.0);
  }
};

TEST_F(HotServerTest, IsRelievedWhileWorkersTrain) {
  StartServers(kServers);
  const auto session = Connect();
  ASSERT_NE(session, nullptr);
  auto table = session->OpenTable("rows", {.dim = 4, .optimizer = Sgd{.rate = 1.0F}});
  ASSERT_TRUE(table.ok()) << table.status();
  SkewedKeys skewed(20261);
  uint64_t pushed = 0;
  const auto train = [&](Duration time) {
    const MonotonicTime until = time_.Now() + time;
    while (time_.Now() < until) {
      const std::vector<Key> keys = skewed.Draw(64);
      std::vector<float> rows(keys.size() * 4);
      ASSERT_TRUE(table->Pull(keys, rows).ok());
      ASSERT_TRUE(table->Push(keys, std::vector<float>(keys.size() * 4, -1.0F)).ok());
      pushed += keys.size();
    }
  };
  std::vector<double> at = Served();
  train(seconds(4));
  const double before = TimesMean(at, Served());
  const MonotonicTime began = time_.Now();
  double now = before;
  while (now > 1.2 && time_.Now() - began < seconds(30)) {
    at = Served();
    train(seconds(3));
    now = TimesMean(at, Served());
  }
  std::cout << "the hottest server had " << before << " times the mean's keys, and " << now << " after another "
            << Seconds(time_.Now() - began) << " s" << std::endl;
  EXPECT_GT(before, 1.35);
  EXPECT_LE(now, 1.2);

  // Every push is there once.
  double sum = 0;
  std::vector<Key> all(20'000);
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> rows(all.size() * 4);
  ASSERT_TRUE(table->Pull(all, rows).ok());
  for (size_t i = 0; i < rows.size(); i += 4) sum += rows[i];
  EXPECT_EQ(sum, static_cast<double>(pushed));
}

}  // namespace
}  // namespace attune::ps::hot_server_test
