#include "operator/tuner/models/cpu_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace attune::tuner::cpu_model_test {
namespace {

SearchSpace Space() {
  return *SearchSpace::Create(
      {.knobs = {
           {"servers", 1, 4}, {"workers", 1, 4}, {"worker_millicores", 500, 4000}, {"server_millicores", 1000, 1000}}});
}

std::vector<double> NothingMeasured(const SearchSpace& space) {
  return std::vector<double>(static_cast<size_t>(space.size()), 0);
}

// What is believed of the speed at `to` against `from`: log seconds, as the differences say; nothing where none does.
std::optional<double> Believed(const std::vector<Difference>& differences, int from, int to) {
  for (const Difference& d : differences) {
    if (d.from == from && d.to == to) return d.log_ratio;
  }
  return std::nullopt;
}

TEST(CpuModelTest, WhoIsThrottledWouldBeFasterByThatShare) {
  const SearchSpace space = Space();
  CpuModel cpu;
  const int here = *space.Find({2, 2, 500, 1000}), most = *space.Find({2, 2, 4000, 1000});
  cpu.Absorb(space, here, {.throttled = 0.6, .use = 1.0}, {}, 100, 5, 1);
  const auto differences = cpu.Differences(space, NothingMeasured(space));
  const auto gain = Believed(differences, here, most);
  ASSERT_TRUE(gain.has_value());
  EXPECT_NEAR(*gain, std::log(0.4), 1e-9);
  // 1.25 cores are what it needs; the quarter above them is room for peaks.
  int least = 4000;
  for (const Difference& d : differences) {
    if (d.from != most) continue;
    EXPECT_NEAR(d.log_ratio, 0, 0.06);
    least = std::min(least, space.Value(d.to, "worker_millicores", 0));
  }
  EXPECT_GE(least, 1250 * 1.25);
  EXPECT_LE(least, 2000);
}

TEST(CpuModelTest, ServersWithoutCpuLeftBoundWhatWorkersCanGain) {
  const SearchSpace space = Space();
  CpuModel cpu;
  const int here = *space.Find({2, 2, 500, 1000}), most = *space.Find({2, 2, 4000, 1000});
  cpu.Absorb(space, here, {.throttled = 0.6, .use = 1.0}, {.throttled = 0.0, .use = 0.9}, 100, 5, 1);
  const auto gain = Believed(cpu.Differences(space, NothingMeasured(space)), here, most);
  ASSERT_TRUE(gain.has_value());
  EXPECT_NEAR(*gain, std::log(0.9), 1e-9);
}

TEST(CpuModelTest, ALimitFarAboveTheUseIsWorthNothing) {
  const SearchSpace space = Space();
  CpuModel cpu;
  const int here = *space.Find({2, 2, 2000, 1000});
  cpu.Absorb(space, here, {.throttled = 0.0, .use = 0.3}, {}, 100, 5, 1);
  const auto differences = cpu.Differences(space, NothingMeasured(space));
  EXPECT_EQ(Believed(differences, here, *space.Find({2, 2, 4000, 1000})), 0.0);
  bool spared = false;
  for (const Difference& d : differences) {
    const int cores = space.Value(d.to, "worker_millicores", 0);
    if (d.from != here || cores >= 2000 || cores < 750) continue;
    spared = true;
    EXPECT_NEAR(d.log_ratio, 0, 0.06) << cores;
    EXPECT_GE(std::sqrt(d.variance), 0.05) << "peaks of the use are not known";
  }
  EXPECT_TRUE(spared) << "0.6 cores are used";
  const auto slower = Believed(differences, here, *space.Find({2, 2, 500, 1000}));
  ASSERT_TRUE(slower.has_value());
  EXPECT_NEAR(*slower, std::log(0.6 / 0.5), 1e-9);
}

TEST(CpuModelTest, AnUpdateTakesAsMuchCpuTimeEverywhere) {
  const SearchSpace space = Space();
  CpuModel cpu;
  EXPECT_TRUE(cpu.LeastLogSeconds(space).empty());
  // Two workers of two cores, half used: 2 cores for 20 updates a second.
  cpu.Absorb(space, *space.Find({2, 2, 2000, 1000}), {.throttled = 0.0, .use = 0.5}, {}, 100, 5, 1);
  const auto least = cpu.LeastLogSeconds(space);
  ASSERT_EQ(least.size(), static_cast<size_t>(space.size()));
  const auto at = [&](const Setting& setting) { return std::exp(least[static_cast<size_t>(*space.Find(setting))]); };
  EXPECT_NEAR(at({2, 1, 500, 1000}), 0.85 * 0.1 / 0.5, 1e-9);
  EXPECT_NEAR(at({2, 4, 4000, 1000}), 0.85 * 0.1 / 16, 1e-9);
}

TEST(CpuModelTest, WhatWasMeasuredIsNotArguedWith) {
  const SearchSpace space = Space();
  CpuModel cpu;
  const int here = *space.Find({2, 2, 2000, 1000}), most = *space.Find({2, 2, 4000, 1000});
  cpu.Absorb(space, here, {.throttled = 0.0, .use = 0.3}, {}, 100, 5, 1);
  std::vector<double> windows = NothingMeasured(space);
  windows[static_cast<size_t>(here)] = 2;
  EXPECT_TRUE(Believed(cpu.Differences(space, windows), here, most).has_value());
  windows[static_cast<size_t>(most)] = 1;
  EXPECT_FALSE(Believed(cpu.Differences(space, windows), here, most).has_value());
}

TEST(CpuModelTest, RoomIsHalfOfTheUseAboveIt) {
  const SearchSpace space = Space();
  CpuModel cpu;
  const int here = *space.Find({2, 2, 2000, 1000});
  const auto with = [&](int cores) { return *space.Find({2, 2, cores, 1000}); };
  EXPECT_FALSE(cpu.LeavesRoom(space, here, with(1000))) << "nothing is known";
  cpu.Absorb(space, here, {.throttled = 0.0, .use = 0.45}, {}, 100, 5, 1);
  for (const int cores : space.levels(2)) EXPECT_EQ(cpu.LeavesRoom(space, here, with(cores)), cores >= 1350) << cores;
  cpu.Absorb(space, here, {.throttled = 0.9, .use = 0.45}, {}, 100, 5, 1);
  EXPECT_FALSE(cpu.LeavesRoom(space, here, with(1260)));
  EXPECT_TRUE(cpu.LeavesRoom(space, here, with(4000)));
}

TEST(CpuModelTest, ThrottlingAloneSaysWhatMoreIsWorth) {
  const SearchSpace space = Space();
  for (const double throttled : {0.0, 0.5}) {
    CpuModel cpu;
    const int here = *space.Find({2, 2, 500, 1000}), most = *space.Find({2, 2, 4000, 1000});
    cpu.Absorb(space, here, {.throttled = throttled}, {}, 100, 5, 1);
    const auto gain = Believed(cpu.Differences(space, NothingMeasured(space)), here, most);
    ASSERT_TRUE(gain.has_value()) << throttled;
    EXPECT_NEAR(*gain, std::log(1 - throttled), 1e-9) << throttled;
    EXPECT_TRUE(cpu.LeastLogSeconds(space).empty());
  }
}

TEST(CpuModelTest, WithoutReadingsNothingIsSaid) {
  const SearchSpace space = Space();
  CpuModel cpu;
  for (int id = 0; id < space.size(); ++id) cpu.Absorb(space, id, {}, {}, 100, 5, 1);
  EXPECT_TRUE(cpu.entries().empty());
  EXPECT_TRUE(cpu.Differences(space, NothingMeasured(space)).empty());
  for (int id = 0; id < space.size(); ++id) cpu.Absorb(space, id, {.throttled = 0.5}, {}, 100, 5, 1);
  EXPECT_EQ(cpu.entries().size(), CpuModel::kEntriesMax) << "the newest ones are kept";
}

}  // namespace
}  // namespace attune::tuner::cpu_model_test
