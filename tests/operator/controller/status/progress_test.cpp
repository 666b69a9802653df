// The remaining time that a status shows, from the history of a job's progress.
#include "operator/controller/status/telemetry/progress.h"

#include <gtest/gtest.h>

#include <vector>

namespace attune::controller::progress_test {
namespace {

using std::chrono::seconds;

// One point a second, the last one now.
std::optional<double> Remaining(const std::vector<uint64_t>& items_done, bool by_steps) {
  Observed observed;
  const Now now{.monotonic = MonotonicTime{} + seconds(1000)};
  observed.sample.job.emplace();
  if (by_steps) {
    observed.job.spec.goal.steps = 1000;
  } else {
    observed.job.spec.goal.epochs = 1;
    observed.sample.job->set_items_total(1000);
    observed.sample.job->set_items_done(items_done.back());
  }
  MonotonicTime at = now.monotonic - seconds(items_done.size() - 1);
  for (const uint64_t done : items_done) {
    observed.sample.history.push_back({at, by_steps ? 0 : done, by_steps ? done : 0});
    at += seconds(1);
  }
  return MakeProgress(observed, now)->remaining_seconds;
}

TEST(ProgressTest, RemainingTimeComesFromTheProgressOfThisRunAlone) {
  struct Case {
    const char* name;
    std::vector<uint64_t> done;
    std::optional<double> seconds;
  };
  for (const Case& c : std::vector<Case>{
           {"a job that has just begun", {0, 0, 0, 0}, std::nullopt},
           {"a job that trains since a while", {100, 110, 120, 130, 140, 150}, 85},
           {"a job whose first steps took long to come", {0, 0, 0, 0, 0, 0, 0, 0, 10, 20, 30}, 97},
           {"a job that has read its checkpoint in the last second", {0, 0, 600}, std::nullopt},
           {"a job that continues from its checkpoint", {0, 0, 600, 610, 620}, 38},
           {"a job that began again without a checkpoint", {600, 700, 800, 0, 10, 20, 30}, 97},
       }) {
    for (const bool by_steps : {false, true}) {
      const std::optional<double> remaining = Remaining(c.done, by_steps);
      ASSERT_EQ(remaining.has_value(), c.seconds.has_value()) << c.name << (by_steps ? ", steps" : ", items");
      if (!remaining) continue;
      EXPECT_NEAR(*remaining, *c.seconds, 0.5) << c.name << (by_steps ? ", steps" : ", items");
    }
  }
}

}  // namespace
}  // namespace attune::controller::progress_test
