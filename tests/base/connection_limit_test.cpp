#include "base/net/connection_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/os/random_seed.h"
#include "base/random.h"

namespace attune::connection_limit_test {
namespace {

TEST(ConnectionLimitTest, ANewConnectionAlwaysGetsInAndTheSourceWithTheMostPays) {
  ConnectionLimit limit(4);
  EXPECT_EQ(limit.Enter(1, "probe"), std::nullopt);
  for (uint64_t id : {2, 3, 4}) EXPECT_EQ(limit.Enter(id, "slow"), std::nullopt);
  EXPECT_EQ(limit.Enter(5, "probe"), 2U) << "the oldest of the source with three";
  EXPECT_EQ(limit.Enter(6, "probe"), 1U) << "two each: the oldest of all";
  EXPECT_EQ(limit.size(), 4U);
}

TEST(ConnectionLimitTest, WhoHasProvedItselfNeitherCountsNorPays) {
  ConnectionLimit limit(2);
  limit.Enter(1, "a");
  limit.Leave(1);
  limit.Enter(2, "a");
  EXPECT_EQ(limit.Enter(3, "b"), std::nullopt);
  limit.Leave(7);
  EXPECT_EQ(limit.size(), 2U) << "an unknown one changes nothing";
}

// The obvious form of the rule: a list in order of arrival.
class Twin {
 public:
  explicit Twin(size_t max) : max_(max) {}
  std::optional<uint64_t> Enter(uint64_t id, const std::string& source) {
    std::optional<uint64_t> victim;
    if (all_.size() >= max_) {
      std::map<std::string, size_t> count;
      size_t most = 0;
      for (const auto& [known, of] : all_) most = std::max(most, ++count[of]);
      for (const auto& [known, of] : all_) {
        if (count[of] == most && !victim) victim = known;
      }
      Leave(*victim);
    }
    all_.emplace_back(id, source);
    return victim;
  }
  void Leave(uint64_t id) {
    std::erase_if(all_, [&](const auto& entry) { return entry.first == id; });
  }
  size_t size() const { return all_.size(); }

 private:
  const size_t max_;
  std::deque<std::pair<uint64_t, std::string>> all_;
};

TEST(ConnectionLimitTest, DecidesAsTheObviousForm) {
  const uint64_t seed = RandomSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  ConnectionLimit limit(10);
  Twin twin(10);
  for (uint64_t id = 1; id <= 20'000; ++id) {
    const std::string source = std::to_string(random.Below(5));
    ASSERT_EQ(limit.Enter(id, source), twin.Enter(id, source)) << "id " << id;
    if (random.Below(3) == 0) {
      const uint64_t gone = id - random.Below(std::min<uint64_t>(id, 20));
      limit.Leave(gone);
      twin.Leave(gone);
    }
    ASSERT_EQ(limit.size(), twin.size());
  }
}

}  // namespace
}  // namespace attune::connection_limit_test
