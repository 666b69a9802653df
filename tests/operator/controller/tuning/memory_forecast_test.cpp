// Curves of memory as they are seen, and when each is found to reach its limit.
#include "operator/controller/tuning/memory_forecast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace attune::controller::memory_forecast_test {
namespace {

constexpr double kWindow = 5;
constexpr double kMebibyte = 1 << 20;
constexpr int64_t kLimit = 1024 << 20;

using Curve = std::function<double(double)>;  // MiB by seconds

// When the first alarm came, by this curve; nothing within `seconds`.
std::optional<double> FirstAlarm(const Curve& curve, double seconds, std::optional<MemoryAlarm>* alarm = nullptr) {
  MemoryForecast forecast;
  for (double time = 0; time <= seconds; time += kWindow) {
    const PodMemory pod{.pod = "a-server-0",
                        .uid = "u0",
                        .role = RoleName::kServer,
                        .index = 0,
                        .used = static_cast<int64_t>(curve(time) * kMebibyte),
                        .limit = kLimit,
                        .max = 4 * kLimit};
    forecast.Look(time, kWindow, {pod});
    const std::vector<MemoryAlarm> alarms = forecast.Alarms();
    if (alarms.empty()) continue;
    if (alarm != nullptr) *alarm = alarms.front();
    return time;
  }
  return std::nullopt;
}

// When the limit is reached.
double Killed(const Curve& curve, double seconds) {
  double time = 0;
  while (time < seconds && curve(time) < 1024) time += 0.1;
  return time;
}

double Doubling(double seconds, double first, double per_second) {
  // A table that doubles when it is full; rows come evenly.
  double slots = first;
  while (first + per_second * seconds > slots) slots *= 2;
  return slots;
}

double NoiseAt(double time, double deviation) {
  std::mt19937 random(static_cast<uint32_t>(time * 10) + 1);
  return std::normal_distribution<double>(0, deviation)(random);
}

TEST(MemoryForecast, WhatGrowsIsSeenBeforeARaiseWouldComeTooLate) {
  struct Case {
    const char* name;
    Curve curve;
    double lead;  // seconds between the alarm and the kill, at least
  };
  const Case cases[] = {
      {"evenly", [](double t) { return 200 + 2 * t; }, 60},
      {"evenly, with noise", [](double t) { return 200 + 2 * t + NoiseAt(t, 8); }, 60},
      {"slowly, for long", [](double t) { return 500 + 0.4 * t; }, 60},
      {"flat for long, then evenly", [](double t) { return t < 400 ? 300 : 300 + 4 * (t - 400); }, 60},
      {"ever faster", [](double t) { return 100 * std::exp(t / 150); }, 20},
      {"a reading in five is nonsense", [](double t) { return std::fmod(t, 25) < kWindow ? 20 : 300 + 2 * t; }, 60},
      {"in jumps of one size", [](double t) { return 250 + 150 * std::floor(t / 60); }, 5},
      {"a table that doubles", [](double t) { return 60 + Doubling(t, 64, 2); }, 5},
      {"fast, from the start", [](double t) { return 100 + 20 * t; }, 10},
  };
  for (const Case& c : cases) {
    const double killed = Killed(c.curve, 10'000);
    const auto alarm = FirstAlarm(c.curve, killed);
    ASSERT_TRUE(alarm) << c.name << ": killed after " << killed << " s";
    EXPECT_LE(*alarm, killed - c.lead) << c.name;
  }
}

TEST(MemoryForecast, WhatDoesNotGrowIsLeftAlone) {
  const std::pair<const char*, Curve> cases[] = {
      {"flat", [](double) { return 800; }},
      {"flat, with noise", [](double t) { return 800 + NoiseAt(t, 15); }},
      {"read in at the start, then flat", [](double t) { return std::min(450.0, 50 + 10 * t); }},
      {"a checkpoint's buffers every minute", [](double t) { return std::fmod(t, 60) < 10 ? 750 : 500; }},
      {"falling", [](double t) { return std::max(200.0, 900 - t); }},
      {"one jump", [](double t) { return t < 200 ? 300 : 700; }},
      {"so slowly that it takes days", [](double t) { return 600 + t / 600; }},
      {"one peak above the limit's share", [](double t) { return t == 300 ? 1000 : 500; }},
      {"two jumps, the next of which fits", [](double t) { return 100 + 60 * std::min(2.0, std::floor(t / 60)); }},
  };
  for (const auto& [name, curve] : cases) {
    const auto alarm = FirstAlarm(curve, 1200);
    EXPECT_FALSE(alarm) << name << ": after " << alarm.value_or(0) << " s";
  }
}

TEST(MemoryForecast, TheAlarmSaysHowFastAndWhen) {
  std::optional<MemoryAlarm> alarm;
  ASSERT_TRUE(FirstAlarm([](double t) { return 200 + 2 * t; }, 1000, &alarm));
  EXPECT_NEAR(alarm->bytes_per_second, 2 * kMebibyte, kMebibyte / 100);
  EXPECT_NEAR(alarm->seconds, 90, 6) << "a minute and six windows";
  EXPECT_FALSE(alarm->by_jumps);
  ASSERT_TRUE(FirstAlarm([](double t) { return 250 + 150 * std::floor(t / 60); }, 1000, &alarm));
  EXPECT_TRUE(alarm->by_jumps);
  ASSERT_TRUE(FirstAlarm([](double) { return 1000; }, 1000, &alarm));
  EXPECT_EQ(alarm->seconds, 0) << "it is there";
}

TEST(MemoryForecast, ANewLimitIsGivenTimeAndAnotherPodBeginsAnew) {
  MemoryForecast forecast;
  PodMemory pod{.pod = "w", .uid = "1", .role = RoleName::kWorker, .index = 0, .used = 0, .limit = kLimit, .max = {}};
  double time = 0;
  const auto look = [&](double mebibytes) {
    pod.used = static_cast<int64_t>(mebibytes * kMebibyte);
    forecast.Look(time += kWindow, kWindow, {pod});
    return !forecast.Alarms().empty();
  };
  for (int i = 0; i < 12; ++i) look(700 + 10 * i);
  EXPECT_TRUE(look(820));
  pod.limit = kLimit * 3 / 2;
  EXPECT_FALSE(look(830)) << "this limit is a window old";
  EXPECT_FALSE(look(840)) << "it is far away now";
  for (int i = 0; i < 48; ++i) look(840 + 10 * i);
  EXPECT_TRUE(look(1320)) << "the next one";
  pod.uid = "2";
  EXPECT_FALSE(look(1320)) << "nothing is known of this process";
}

TEST(MemoryForecast, PodsThatAreNotHeardAreNotJudgedAndForgotten) {
  MemoryForecast forecast;
  const auto pod = [](const std::string& uid, double mebibytes) {
    return PodMemory{
        .pod = "p" + uid, .uid = uid, .used = static_cast<int64_t>(mebibytes * kMebibyte), .limit = kLimit};
  };
  double time = 0;
  for (int i = 0; i < 10; ++i) forecast.Look(time += kWindow, kWindow, {pod("1", 700 + 20 * i), pod("2", 100)});
  EXPECT_EQ(forecast.Alarms().size(), 1u);
  forecast.Look(time += kWindow, kWindow, {pod("2", 100)});
  EXPECT_TRUE(forecast.Alarms().empty());
}

}  // namespace
}  // namespace attune::controller::memory_forecast_test
