#include "operator/tuner/models/loss_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "base/random.h"

namespace attune::tuner::loss_curve_test {
namespace {

struct Estimate {
  double low = 0, mid = 0, high = 0;
};

std::optional<Estimate> Quantiles(const CurveFit& fit) {
  if (fit.remaining.empty() || fit.outlook != Outlook::kEstimated) return std::nullopt;
  auto sorted = fit.remaining;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.steps < b.steps; });
  double total = 0;
  for (const auto& one : sorted) total += one.weight;
  const auto at = [&](double share) {
    double sum = 0;
    for (const auto& one : sorted) {
      sum += one.weight;
      if (sum >= share * total) return one.steps;
    }
    return sorted.back().steps;
  };
  return Estimate{at(0.05), at(0.5), at(0.95)};
}

std::array<double, kHypotheses> Pace(double seconds) {
  std::array<double, kHypotheses> pace{};
  pace.fill(seconds);
  return pace;
}

TEST(EfficiencyTest, FallsWithStalenessAndACollapseIsToldFromASlope) {
  const EfficiencyModel model(15);
  double sum = 0;
  for (size_t h = 0; h < kHypotheses; ++h) {
    sum += model.prior()[h];
    EXPECT_DOUBLE_EQ(model.Efficiency(h, 0), 1);
    EXPECT_LE(model.Efficiency(h, 15), model.Efficiency(h, 3));
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_LT(model.CollapseProbability(model.prior(), 15), 0.1);
  HypothesisWeights collapsed{};
  collapsed[kSlopes] = 1;
  EXPECT_DOUBLE_EQ(model.CollapseProbability(collapsed, 15), 1);
  EXPECT_LT(model.ExpectedLog(collapsed, 15), -2);
  EXPECT_GT(model.ExpectedLog(model.prior(), 15), -0.4) << "a mere possibility weighs little";
  EXPECT_DOUBLE_EQ(EfficiencyModel(0).ExpectedLog(EfficiencyModel(0).prior(), 9), 0) << "nothing to learn";
}

// Smooth curves of several kinds, seen to a fifth, with noise: how far off, and does the interval hold the truth.
TEST(LossCurveTest, RemainingStepsOfSmoothCurves) {
  const char* given = std::getenv("ATTUNE_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  std::cout << "seed " << seed << ", replay with ATTUNE_SEED=" << seed << "\n";
  Random random(seed);
  std::vector<double> errors, signs;
  int covered = 0;
  constexpr int kJobs = 60;
  for (int job = 0; job < kJobs; ++job) {
    const double length = 100 * std::pow(20.0, random.Uniform());  // windows
    const double floor = 0.1 + 0.6 * random.Uniform(), drop = 1 + 2 * random.Uniform();
    const bool power = random.Chance(0.6);
    const double exponent = power ? std::array{0.5, 1.0, 1.6}[random.Below(3)] : 0.6 + 0.4 * random.Uniform();
    const double tau = length * 100 * (power ? 0.02 * std::pow(15.0, random.Uniform()) : 0.1 + 0.3 * random.Uniform());
    const auto loss = [&](double steps) {
      return floor + drop * (power ? std::pow(1 + steps / tau, -exponent) : std::exp(-std::pow(steps / tau, exponent)));
    };
    LossCurve curve(EfficiencyModel(0), 1);
    double steps = 0, time = 0;
    while (steps < 0.2 * length * 100) {
      curve.Absorb(
          {.time = time += 1, .seconds = 1, .updates = 100, .loss = loss(steps + 50) * (1 + 0.05 * random.Normal())});
      steps += 100;
    }
    const auto estimate = Quantiles(curve.Fit(loss(length * 100), Pace(0.01)));
    if (!estimate) continue;
    const double truth = length * 100 - steps;
    errors.push_back(std::abs(estimate->mid / truth - 1));
    signs.push_back(std::log(estimate->mid / truth));
    covered += estimate->low <= truth && truth <= estimate->high ? 1 : 0;
  }
  ASSERT_GT(errors.size(), 40U);
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
  std::nth_element(signs.begin(), signs.begin() + static_cast<std::ptrdiff_t>(signs.size() / 2), signs.end());
  const double median = errors[errors.size() / 2], cover = covered / static_cast<double>(errors.size());
  std::cout << "median error " << median << ", median log ratio " << signs[signs.size() / 2] << ", cover " << cover
            << ", of " << errors.size() << "\n";
  EXPECT_LT(median, 0.4);
  EXPECT_GT(cover, 0.75);
}

TEST(LossCurveTest, SaysHowFastTheLossFallsAtPresent) {
  Random random(4);
  LossCurve curve(EfficiencyModel(15), 1);
  const auto loss = [](double steps) { return 0.3 + 2 / (1 + steps / 4000); };
  double time = 0, steps = 0;
  for (int i = 0; i < 80; ++i) {
    steps += 100;
    curve.Absorb({.time = time += 1,
                  .seconds = 1,
                  .updates = 100,
                  .loss = loss(steps) * (1 + 0.02 * random.Normal()),
                  .staleness = 3});
  }
  const CurveFit fit = curve.Fit(0.5, Pace(0.01));
  const double truth = (loss(steps) - loss(steps + 1)) / loss(steps), effective = curve.efficiency().Efficiency(4, 3);
  EXPECT_NEAR(fit.fall[0].mean, truth, 0.25 * truth);
  EXPECT_NEAR(fit.fall[4].mean, truth / effective, 0.25 * truth / effective) << "updates worth less are fewer steps";
  for (size_t h = 0; h < kHypotheses; ++h) EXPECT_GE(fit.fall[h].square, fit.fall[h].mean * fit.fall[h].mean);
}

// What so many windows of 100 fresh updates show of a loss, given by window, with relative noise.
template <typename Loss>
LossCurve Seen(int windows, Loss loss, double noise, uint64_t seed) {
  Random random(seed);
  LossCurve curve(EfficiencyModel(0), 1);
  for (int i = 0; i < windows; ++i)
    curve.Absorb({.time = i + 1.0, .seconds = 1, .updates = 100, .loss = loss(i) * (1 + noise * random.Normal())});
  return curve;
}

TEST(LossCurveTest, AFloorAboveTheTargetIsUnreachable) {
  const LossCurve curve = Seen(
      400, [](int i) { return 0.5 + 2 * std::exp(-i / 40.0); }, 0.02, 3);
  const CurveFit fit = curve.Fit(0.3, Pace(0.01));
  EXPECT_GT(fit.unreachable, 0.9);
  EXPECT_EQ(fit.outlook, Outlook::kUnreachable);
}

TEST(LossCurveTest, StepsOfAScheduleAreUnknownAndNotWrong) {
  const LossCurve curve = Seen(
      300, [](int i) { return i < 150 ? 2.0 : (i < 230 ? 1.2 : 0.7); }, 0.02, 5);
  EXPECT_EQ(curve.Fit(0.5, Pace(0.01)).outlook, Outlook::kUnknown);
}

// A schedule that will drop later, seen before: a curve that flattens out far above the target.
TEST(LossCurveTest, AScheduleThatHasNotDroppedYetIsNeverEstimated) {
  for (const int windows : {24, 36, 48, 60}) {
    for (const uint64_t seed : {1, 2, 3, 4, 5}) {
      const LossCurve curve = Seen(
          windows, [&](int i) { return 1.5 + std::exp(-10.0 * i / windows); }, 0.05, seed);
      EXPECT_NE(curve.Fit(0.9, Pace(0.01)).outlook, Outlook::kEstimated) << windows << " windows, seed " << seed;
    }
  }
}

TEST(LossCurveTest, ACollapseOfProgressIsSeenInTheLoss) {
  Random random(6);
  LossCurve curve(EfficiencyModel(15), 1);
  double time = 0, steps = 0;
  const auto train = [&](int windows, double staleness, double quality) {
    for (int i = 0; i < windows; ++i) {
      steps += 100 * quality;
      curve.Absorb({.time = time += 1,
                    .seconds = 1,
                    .updates = 100,
                    .loss = (0.3 + 2 / (1 + steps / 4000)) * (1 + 0.05 * random.Normal()),
                    .staleness = staleness});
    }
  };
  train(20, 3, 1);
  // What the ranking of settings uses: expected log efficiency at 13 workers against 4.
  const auto against = [&] {
    const HypothesisWeights weights = curve.Fit(0.5, Pace(0.01)).weights;
    return curve.efficiency().ExpectedLog(weights, 12) - curve.efficiency().ExpectedLog(weights, 3);
  };
  const double before = against();
  train(15, 12, 0.03);
  const double after = against();
  EXPECT_GT(before, -0.4);
  EXPECT_LT(after, -0.8) << "within 20 windows of the change";
}

// A loss that stands still first, while many workers train, and falls steeply while few do: the fall is the curve's.
TEST(LossCurveTest, APlateauAtTheBeginningIsNoCollapseOfProgress) {
  Random random(8);
  LossCurve curve(EfficiencyModel(15), 1);
  double time = 0, steps = 0;
  const auto train = [&](int windows, double staleness, double updates) {
    for (int i = 0; i < windows; ++i) {
      steps += updates;
      const double fall = 1 / (1 + std::pow(steps / 3000, 3));
      curve.Absorb({.time = time += 1,
                    .seconds = 1,
                    .updates = updates,
                    .loss = (2.2 + 4 * fall) * (1 + 0.003 * random.Normal()),
                    .staleness = staleness});
    }
  };
  train(10, 15, 100);  // stands still
  train(60, 3, 40);    // begins to fall
  const EfficiencyModel& model = curve.efficiency();
  const HypothesisWeights weights = curve.Fit(2.3, Pace(0.01)).weights;
  EXPECT_LT(model.CollapseProbability(weights, 15), 0.2);
  const auto against = [&](const HypothesisWeights& w) { return model.ExpectedLog(w, 15) - model.ExpectedLog(w, 3); };
  EXPECT_GT(against(weights), against(model.prior()) - 0.4) << "little worse than what was believed before";
}

TEST(LossCurveTest, AJobThatWouldTakeFarTooLongIsMoreLikelyAtACollapsedSetting) {
  Random random(9);
  LossCurve curve(EfficiencyModel(15), 1);
  double time = 0;
  for (int i = 0; i < 60; ++i)
    curve.Absorb({.time = time += 1,
                  .seconds = 1,
                  .updates = 100,
                  .loss = (0.3 + 2 / (1 + i / 3000.0)) * (1 + 0.02 * random.Normal()),
                  .staleness = 15});
  // By plain updates the loss would need tens of thousands of windows; fewer workers would be as fast or faster.
  const auto collapsed = [&](double slower_with_few_workers) {
    std::array<double, kHypotheses> pace = Pace(0.01);
    for (size_t h = kSlopes; h < kHypotheses; ++h) pace[h] *= slower_with_few_workers;
    return curve.efficiency().CollapseProbability(curve.Fit(0.5, pace).weights, 15);
  };
  EXPECT_GT(collapsed(1), 1.2 * collapsed(40)) << collapsed(1) << " against " << collapsed(40);
}

TEST(LossCurveTest, KeepsFewSegmentsAndAllSteps) {
  LossCurve curve(EfficiencyModel(15), 1);
  for (int i = 0; i < 3000; ++i)
    curve.Absorb({.time = 1.0 * i,
                  .seconds = 1,
                  .updates = 100,
                  .loss = 2 / (1 + i / 50.0),
                  .staleness = (i / 100) % 2 == 0 ? 3.0 : 9.0});
  EXPECT_LE(curve.size(), LossCurve::kSegmentsMax);
  const auto dump = curve.Save();
  EXPECT_NEAR(dump.total[0], 300'000, 1e-6);
  EXPECT_NEAR(dump.segments.back().before[0] + dump.segments.back().steps[0], 300'000, 1e-6);
}

}  // namespace
}  // namespace attune::tuner::loss_curve_test
