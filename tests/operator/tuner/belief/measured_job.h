// A small job of which some settings were measured, for tests of what is believed and chosen.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "operator/tuner/belief/evidence.h"
#include "operator/tuner/belief/view.h"

namespace attune::tuner {

// 1..4 servers and 1..8 workers; 60,000 steps; windows of 5 s.
inline JobDescription SmallJob() {
  JobDescription job;
  job.space.knobs = {{"servers", 1, 4}, {"workers", 1, 8}};
  job.space.current = Setting{1, 1};
  job.goal = {.kind = GoalKind::kSteps, .target = 60'000};
  job.costs = {.live = 0.2, .relocation = 2, .pods = 5, .crash = 40};
  job.window_seconds = 5;
  job.signature = "small";
  return job;
}

class MeasuredJob {
 public:
  explicit MeasuredJob(JobDescription job = SmallJob()) : evidence(Make(std::move(job))) {}

  int Id(const Setting& setting) const { return evidence.space().Find(setting).value(); }
  // Windows at a setting, all at one speed.
  void Measure(const Setting& setting, double steps_per_second, int windows, Report like = {}) {
    like.setting = setting;
    like.seconds = evidence.job().window_seconds;
    like.steps = steps_per_second * like.seconds;
    for (int i = 0; i < windows; ++i) {
      time += like.seconds;
      like.time = time;
      const Status taken = evidence.Absorb(like);
      EXPECT_TRUE(taken.ok()) << taken;
    }
  }
  void Crash(const Setting& setting) {
    const Status taken = evidence.Absorb({.ok = false, .setting = setting, .time = time});
    EXPECT_TRUE(taken.ok()) << taken;
  }
  View LookFrom(const Setting& current) { return Look(evidence, evidence.Advance(time), Id(current)); }

  Evidence evidence;
  double time = 0;

 private:
  static Evidence Make(JobDescription job) {
    static PriorCache priors;  // making one takes a while
    return Evidence::Create(std::move(job), priors).value();
  }
};

}  // namespace attune::tuner
