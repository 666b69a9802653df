#include "operator/tuner/models/throughput_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "operator/tuner/models/normal.h"

namespace attune::tuner::throughput_model_test {
namespace {

SearchSpace SmallSpace() {
  auto space = SearchSpace::Create({.knobs = {{"servers", 1, 4}, {"workers", 1, 8}, {"threads", 1, 2}}});
  EXPECT_TRUE(space.ok());
  return *std::move(space);
}

TEST(StructuralPriorTest, KnowsThatHelpersHelp) {
  const SearchSpace space = SmallSpace();
  PriorCache cache;
  const auto prior = cache.Get(space, SyncMode::Async());
  EXPECT_EQ(prior, cache.Get(space, SyncMode::Async())) << "computed once";
  EXPECT_NE(prior, cache.Get(space, SyncMode::Bsp()));
  const auto mean = [&](Setting s) { return prior->mean(*space.Find(s)); };
  EXPECT_LT(mean({2, 4, 1}), mean({1, 1, 1})) << "on average more of both is faster";
  EXPECT_GT(mean({4, 1, 1}), mean({4, 8, 1}));
  const int a = *space.Find({2, 4, 1}), b = *space.Find({2, 5, 1}), c = *space.Find({4, 1, 1});
  const auto correlation = [&](int x, int y) {
    return prior->structure_row(x)[y] / std::sqrt(prior->structure_row(x)[x] * prior->structure_row(y)[y]);
  };
  EXPECT_GT(correlation(a, b), correlation(a, c)) << "neighbors are alike";
  EXPECT_FLOAT_EQ(prior->matern_row(a)[a], 1);
}

TEST(StructuralPriorTest, KnowsWhoWaitsForWhom) {
  const auto space = SearchSpace::Create({.knobs = {{"slack", 0, kSlackAsync}, {"workers", 1, 8}}});
  ASSERT_TRUE(space.ok());
  PriorCache cache;
  const auto prior = cache.Get(*space, SyncMode::Async());
  const auto mean = [&](Setting s) { return prior->mean(*space->Find(s)); };
  EXPECT_GT(mean({0, 8}), mean({1, 8})) << "chance delays";
  EXPECT_GT(mean({1, 8}), mean({64, 8}));
  EXPECT_GT(mean({64, 8}), mean({kSlackAsync, 8}) + 0.05) << "a worker that is slow for good binds all";
  EXPECT_NEAR(mean({0, 1}), mean({kSlackAsync, 1}), 1e-5) << "one worker waits for no other";
  // What is learned of one bound says much about another, little about none.
  const int bsp = *space->Find({0, 8}), ssp = *space->Find({16, 8}), async = *space->Find({kSlackAsync, 8});
  const auto correlation = [&](int x, int y) {
    return prior->structure_row(x)[y] / std::sqrt(prior->structure_row(x)[x] * prior->structure_row(y)[y]);
  };
  EXPECT_GT(correlation(bsp, ssp), correlation(bsp, async));
}

TEST(StructuralPriorTest, KnowsWhatCoresAreWorth) {
  const auto space = SearchSpace::Create({.knobs = {{"workers", 1, 4}, {"worker_millicores", 250, 4000}}});
  ASSERT_TRUE(space.ok());
  PriorCache cache;
  const auto prior = cache.Get(*space, SyncMode::Async());
  const auto gain = [&](int from, int to) {
    return prior->mean(*space->Find({2, from})) - prior->mean(*space->Find({2, to}));
  };
  EXPECT_GT(gain(250, 500), 0.35) << "under a core nearly twice the speed";
  EXPECT_GT(gain(500, 1000), 2 * gain(2000, 4000)) << "threads are no longer found for all of them";
  EXPECT_NEAR(gain(2000, 4000), 0, 0.1) << "and machines become crowded";
  // Of memory limits no speed is expected.
  const auto memory = SearchSpace::Create({.knobs = {{"workers", 1, 4}, {"worker_memory_mib", 256, 1024}}});
  ASSERT_TRUE(memory.ok());
  const auto flat = cache.Get(*memory, SyncMode::Async());
  EXPECT_NEAR(flat->mean(*memory->Find({2, 256})), flat->mean(*memory->Find({2, 1024})), 1e-5);
}

TEST(ThroughputModelTest, DifferencesJoinWhatWasMeasured) {
  const auto space = SearchSpace::Create({.knobs = {{"workers", 1, 4}, {"worker_millicores", 250, 4000}}});
  ASSERT_TRUE(space.ok());
  PriorCache cache;
  const ThroughputModel model(cache.Get(*space, SyncMode::Async()), {});
  BlockLog log(10);
  const int here = *space->Find({2, 500}), more = *space->Find({2, 1000}), most = *space->Find({2, 4000});
  for (int i = 1; i <= 3; ++i) log.Absorb({.setting = here, .time = 10.0 * i, .seconds = 10, .updates = 100});
  const Posterior before = model.Fit(log, 30, 600);
  const Posterior after = model.Fit(log, 30, 600,
                                    {{.from = here, .to = most, .log_ratio = -0.4, .variance = 0.01},
                                     {.from = more, .to = most, .log_ratio = 0, .variance = 0.001}});
  EXPECT_NEAR(after.mean(here) - after.mean(most), 0.4, 0.1);
  EXPECT_NEAR(after.mean(more), after.mean(most), 0.05);
  EXPECT_LT(after.DifferenceVariance(more, most), 0.2 * before.DifferenceVariance(more, most));
  EXPECT_NEAR(after.mean(here), std::log(0.1), 0.05) << "what was measured stands";
  Posterior bounded = after;
  std::vector<double> least(static_cast<size_t>(space->size()), 0), windows(least.size(), 0);
  windows[static_cast<size_t>(here)] = 3;
  bounded.BoundMeans(least, windows);
  EXPECT_EQ(bounded.mean(most), 0) << "no faster than possible";
  EXPECT_EQ(bounded.mean(here), after.mean(here)) << "but where it was measured";
}

TEST(ThroughputModelTest, LearnsASurfaceFromFewPoints) {
  const SearchSpace space = SmallSpace();
  PriorCache cache;
  const auto truth = [&](int id) {
    const double p = space.Value(id, "servers", 1), w = space.Value(id, "workers", 1),
                 t = space.Value(id, "threads", 1);
    return std::log((0.3 + 0.7 / t) / w + 0.4 / p + 0.02 * w);
  };
  BlockLog log(1);
  double time = 0;
  for (const Setting& s :
       {Setting{2, 4, 1}, Setting{1, 8, 2}, Setting{4, 8, 2}, Setting{1, 1, 1}, Setting{4, 2, 2}, Setting{3, 6, 1}}) {
    const int id = *space.Find(s);
    for (int i = 0; i < 3; ++i)
      log.Absorb({.setting = id, .time = time += 1, .seconds = 1, .updates = 1000 / std::exp(truth(id)) / 1000});
  }
  const ThroughputModel model(cache.Get(space, SyncMode::Async()), {});
  const Posterior posterior = model.Fit(log, time, 60);
  const int reference = *space.Find({2, 4, 1});
  double worst = 0, outside = 0;
  for (int id = 0; id < space.size(); ++id) {
    const double error = (posterior.mean(id) - posterior.mean(reference)) - (truth(id) - truth(reference));
    worst = std::max(worst, std::abs(error));
    outside += std::abs(error) > 3 * std::sqrt(posterior.DifferenceVariance(id, reference)) ? 1 : 0;
  }
  EXPECT_LT(worst, 0.35);
  EXPECT_LE(outside, 3);
  EXPECT_LT(posterior.DifferenceVariance(*space.Find({4, 8, 2}), reference),
            posterior.DifferenceVariance(*space.Find({4, 1, 1}), reference))
      << "measured settings are known better";
}

TEST(ThroughputModelTest, WithoutMeasurementsThePriorStands) {
  const SearchSpace space = SmallSpace();
  PriorCache cache;
  const auto prior = cache.Get(space, SyncMode::Async());
  const Posterior posterior = ThroughputModel(prior, {}).Fit(BlockLog(1), 0, 60);
  for (int id = 0; id < space.size(); ++id) EXPECT_DOUBLE_EQ(posterior.mean(id), prior->mean(id));
}

TEST(ThroughputModelTest, FollowsDrift) {
  const SearchSpace space = SmallSpace();
  PriorCache cache;
  BlockLog log(1);
  const int id = *space.Find({2, 4, 1});
  double time = 0;
  for (int i = 0; i < 120; ++i)
    log.Absorb({.setting = id, .time = time += 1, .seconds = 1, .updates = i < 60 ? 100.0 : 50.0});
  const Posterior posterior = ThroughputModel(cache.Get(space, SyncMode::Async()), {}).Fit(log, time, 60);
  EXPECT_NEAR(posterior.mean(id), std::log(1.0 / 50), 0.05);
  EXPECT_GT(posterior.drift(), 0.05);
}

// The slow twin: E[max(0, 1 - exp(-D))] by summing over the density.
TEST(NormalTest, ExpectedSavingIsTheIntegral) {
  for (const double mean : {-0.5, -0.05, 0.0, 0.1, 0.8}) {
    for (const double deviation : {0.01, 0.1, 0.6}) {
      double sum = 0;
      const double step = deviation / 2000;
      for (double d = std::max(0.0, mean - 8 * deviation); d < mean + 8 * deviation; d += step) {
        const double z = (d + step / 2 - mean) / deviation;
        sum += (1 - std::exp(-(d + step / 2))) * std::exp(-z * z / 2) / std::sqrt(2 * M_PI) / deviation * step;
      }
      EXPECT_NEAR(ExpectedSaving(mean, deviation), sum, 1e-4) << mean << ' ' << deviation;
    }
  }
}

}  // namespace
}  // namespace attune::tuner::throughput_model_test
