// Keys that a session draws, and their rows: sessions against servers in the same process.
#include "attune/ps/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "tests/local/ps/session_fixture.h"

namespace attune::ps::sampler_test {
namespace {

constexpr uint64_t kKeys = 200;

// Each row has two values, both the number of its key.
class SamplerTest : public SessionTest {
 protected:
  void TearDown() override {
    table_.reset();
    session_.reset();  // it leaves the job while there is one
    SessionTest::TearDown();
  }
  void Train() {
    StartServers(2);
    session_ = Connect();
    ASSERT_NE(session_, nullptr);
    auto table = session_->OpenTable("numbers", {.dim = 2, .optimizer = Sgd{.rate = 1.0F}});
    ASSERT_TRUE(table.ok()) << table.status();
    table_ = *std::move(table);
    const std::vector<Key> keys = KeysFrom(0, kKeys);
    std::vector<float> gradients;
    for (const Key key : keys) gradients.insert(gradients.end(), 2, -static_cast<float>(key));
    ASSERT_TRUE(table_->Push(keys, gradients).ok());
  }
  Sampler Open(SamplingMode mode) const {
    auto sampler = table_->OpenSampler({.distribution = ZipfKeys{.keys = kKeys, .exponent = 0.5}, .mode = mode});
    EXPECT_TRUE(sampler.ok()) << sampler.status();
    return *std::move(sampler);
  }
  // The keys of a draw, whose rows must be theirs.
  std::vector<Key> Pull(Sampler& sampler, const Draw& draw) const {
    std::vector<Key> keys(draw.size());
    std::vector<float> rows(draw.size() * 2);
    const Status pulled = sampler.Pull(draw, keys, rows);
    EXPECT_TRUE(pulled.ok()) << pulled;
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], static_cast<float>(keys[i / 2]));
    return keys;
  }

  std::unique_ptr<Session> session_;
  std::optional<Table> table_;
};

TEST_F(SamplerTest, RowsAreThoseOfTheKeysInEveryMode) {
  Train();
  for (const SamplingMode mode : {SamplingMode::kIndependent, SamplingMode::kPool, SamplingMode::kLocal}) {
    Sampler sampler = Open(mode);
    const Draw now = sampler.Prepare(100), later = sampler.Prepare(50, session_->clock() + 2);
    const std::vector<Key> keys = Pull(sampler, now);
    EXPECT_GT(std::set<Key>(keys.begin(), keys.end()).size(), 10U);
    for (int step = 0; step < 2; ++step) ASSERT_TRUE(session_->Step({}).ok());
    EXPECT_EQ(Pull(sampler, later).size(), 50U);
    EXPECT_EQ(sampler.report().drawn, 150U);
    EXPECT_EQ(sampler.report().restricted, 0U) << "nothing is at hand that a draw could be restricted to";
    EXPECT_EQ(sampler.report().total_variation, 0);
  }
}

TEST_F(SamplerTest, DrawsAreRestrictedToRowsAtHandWhereThoseAreMostOfTheDistribution) {
  Train();
  ASSERT_TRUE(table_->Localize(KeysFrom(0, 120)).Wait().ok());
  Sampler sampler = Open(SamplingMode::kLocal);
  (void)Pull(sampler, sampler.Prepare(500));
  const std::vector<Key> keys = Pull(sampler, sampler.Prepare(500));
  EXPECT_LT(std::ranges::max(keys), 120U);
  const SamplingReport report = sampler.report();
  EXPECT_GE(report.restricted, 500U);
  EXPECT_NEAR(report.here, 0.77, 0.12) << "the square root of 120 / 200";
  EXPECT_GT(report.total_variation, 0.05);
  EXPECT_LT(report.total_variation, 0.4);
}

TEST_F(SamplerTest, ADrawWithoutRoomIsRefusedAndCanBePulledAgain) {
  Train();
  Sampler sampler = Open(SamplingMode::kIndependent);
  const Draw draw = sampler.Prepare(3);
  std::vector<Key> keys(3);
  std::vector<float> rows(5);
  const Status refused = sampler.Pull(draw, keys, rows);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(refused.message()),
            "table 'numbers': pulling a draw of 3 keys with 6 values: there is room for 3 and 5");
  EXPECT_EQ(Pull(sampler, draw), Pull(sampler, draw));
}

TEST_F(SamplerTest, WhatIsNoDistributionIsRefusedWithTheTablesName) {
  Train();
  const auto refused = table_->OpenSampler({.distribution = UniformKeys{}});
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(refused.status().message()),
            "table 'numbers': sampling keys: there are none to draw from; say how many there are");
}

}  // namespace
}  // namespace attune::ps::sampler_test
