#include "operator/controller/tuning/job_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace attune::controller::job_space_test {
namespace {

using testing::HasSubstr;

TuningInput Elastic() {
  TuningInput input;
  input.policy.mode = api::TuningMode::kAuto;
  input.wanted = {.servers = 2, .workers = 3};
  input.low = {.servers = 1, .workers = 1};
  input.high = {.servers = 100, .workers = 100};
  input.elastic_servers = true;
  return input;
}

// "servers 1-16 workers 1-16 at 2 3"
std::string Text(const tuner::SpaceDescription& space) {
  std::string text;
  for (const tuner::KnobRange& knob : space.knobs)
    text += knob.name + " " + std::to_string(knob.low) + "-" + std::to_string(knob.high) + " ";
  text += "at";
  for (const int32_t value : *space.current) text += " " + std::to_string(value);
  return text;
}

TEST(JobSpaceTest, PoliciesNarrowRangesAndNeverOpenThem) {
  TuningInput input = Elastic();
  const auto bounds = [&](api::PolicyKnob knob) -> policy::KnobRange& {
    return input.rules.knobs.at(static_cast<size_t>(knob));
  };
  bounds(api::PolicyKnob::kWorkers) = {.min = 2, .max = 64};
  bounds(api::PolicyKnob::kWorkerCpu) = {.max = 4000};
  EXPECT_EQ(Text(SpaceOf(input, input.room, 0)), "servers 1-16 workers 2-16 at 2 3");
  bounds(api::PolicyKnob::kWorkers) = {.max = 2};  // the job has 3: it stays until something is changed
  EXPECT_EQ(Text(SpaceOf(input, input.room, 0)), "servers 1-16 workers 1-2 at 2 3");
  bounds(api::PolicyKnob::kServers).fixed = true;
  EXPECT_EQ(Text(SpaceOf(input, input.room, 0)), "servers 2-2 workers 1-2 at 2 3");
  bounds(api::PolicyKnob::kWorkers) = {.min = 200};  // beyond the role's own max
  EXPECT_EQ(Text(SpaceOf(input, input.room, 0)), "servers 2-2 workers 3-3 at 2 3");
}

TEST(JobSpaceTest, EachKnobHasTheRangeThatItsRoleAndThePolicyAllow) {
  struct Row {
    const char* name;
    std::function<void(TuningInput&)> change;
    const char* expected;
  };
  const Row rows[] = {
      {"nothing said: up to 16", [](TuningInput&) {}, "servers 1-16 workers 1-16 at 2 3"},
      {"a job that is larger already may stay so", [](TuningInput& input) { input.wanted.workers = 40; },
       "servers 1-16 workers 1-40 at 2 40"},
      {"the policy names more than the default, the role less than the policy",
       [](TuningInput& input) {
         input.policy.workers.max = 200;
         input.policy.servers.max = 3;
       },
       "servers 1-3 workers 1-100 at 2 3"},
      {"pinned", [](TuningInput& input) { input.policy.workers.pinned = 5; }, "servers 1-16 workers 5-5 at 2 3"},
      {"least above most: the range is not empty",
       [](TuningInput& input) {
         input.policy.workers.min = 9;
         input.policy.workers.max = 7;
       },
       "servers 1-16 workers 7-7 at 2 3"},
      {"copies need two servers", [](TuningInput& input) { input.backups = 1; }, "servers 2-16 workers 1-16 at 2 3"},
      {"servers that cannot be scaled stay", [](TuningInput& input) { input.elastic_servers = false; },
       "servers 2-2 workers 1-16 at 2 3"},
      {"in place: threads only",
       [](TuningInput& input) {
         input.policy.mode = api::TuningMode::kInPlaceOnly;
         input.wanted.threads = 2;
       },
       "servers 2-2 threads 1-8 workers 3-3 at 2 2 3"},
      {"limits of CPU that the policy narrows",
       [](TuningInput& input) {
         input.wanted.worker_millicores = 500;
         input.high.worker_millicores = 4000;
         input.policy.worker_cpu = {.min = 300, .max = 2000, .pinned = {}};
       },
       "servers 1-16 worker_millicores 300-2000 workers 1-16 at 2 500 3"},
      {"a limit of CPU that only the policy bounds, and one that is pinned",
       [](TuningInput& input) {
         input.wanted.worker_millicores = 500;
         input.wanted.server_millicores = 500;
         input.policy.worker_cpu.max = 2000;
         input.policy.server_cpu.pinned = 750;
       },
       "server_millicores 750-750 servers 1-16 worker_millicores 50-2000 workers 1-16 at 500 2 500 3"},
      {"limits of CPU, each between its bounds",
       [](TuningInput& input) {
         input.wanted.worker_millicores = 500;
         input.wanted.server_millicores = 250;
         input.low.worker_millicores = 100;
         input.high.worker_millicores = 4000;
         input.high.server_millicores = 2000;
       },
       "server_millicores 50-2000 servers 1-16 worker_millicores 100-4000 workers 1-16 at 250 2 500 3"},
      {"a pace that the manifest allows",
       [](TuningInput& input) {
         input.policy.slack.max = 4;
         input.wanted.slack = 0;
       },
       "servers 1-16 slack 0-4 workers 1-16 at 2 0 3"},
  };
  for (const Row& row : rows) {
    TuningInput input = Elastic();
    row.change(input);
    EXPECT_EQ(Text(SpaceOf(input, input.room, 8)), row.expected) << row.name;
  }
}

TEST(JobSpaceTest, ASettingComesBackFromTheTunersNumbers) {
  TuningInput input = Elastic();
  input.wanted = {.servers = 2, .workers = 3, .threads = 4, .worker_millicores = 500, .server_millicores = 250};
  input.high.worker_millicores = input.high.server_millicores = 1000;
  const auto space = tuner::SearchSpace::Create(SpaceOf(input, input.room, 8));
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_EQ(FromSetting(*space, ToSetting(input.wanted)), input.wanted);
  EXPECT_EQ(ToString(input.wanted), "2 servers, 3 workers, 4 threads each, 500m cpu per worker, 250m cpu per server");
  EXPECT_EQ(SpecPatch(input.wanted)["workers"]["resources"]["cpu"]["target"], "500m");
  EXPECT_EQ(SpecPatch(input.wanted)["servers"]["resources"]["cpu"]["target"], "250m");
}

TEST(JobSpaceTest, ThePaceIsTheTunersOnlyWhereTheManifestNamesARangeAndThePlatformSwitches) {
  TuningInput input = Elastic();
  EXPECT_FALSE(AllowsSlack(input));
  input.policy.slack.max = 4;
  EXPECT_FALSE(AllowsSlack(input));
  input.switches_modes = true;
  EXPECT_TRUE(AllowsSlack(input));
}

TEST(JobSpaceTest, TheNearestBoundEndsTheJob) {
  TuningInput input = Elastic();
  input.items_total = 1000;
  EXPECT_FALSE(EndingOf(input).has_value()) << "no item done yet: steps per item are not known";
  input.items_done = 100;
  input.job_steps = 50;
  EXPECT_DOUBLE_EQ(EndingOf(input)->steps, 450);
  input.goal.steps = 80;
  EXPECT_DOUBLE_EQ(EndingOf(input)->steps, 30);
  input.goal.max_duration_seconds = 60;
  input.trained_seconds = 90;
  EXPECT_DOUBLE_EQ(EndingOf(input)->seconds, 0) << "over its time, never less than nothing";
}

TEST(JobSpaceTest, WhyNothingCanBeTriedNamesWhatHoldsTheJob) {
  TuningInput input = Elastic();
  EXPECT_THAT(WhyNothingToTry(input), HasSubstr("widen min and max"));
  input.policy.mode = api::TuningMode::kInPlaceOnly;
  EXPECT_THAT(WhyNothingToTry(input), HasSubstr("OfferThreads"));
  input.policy.servers.pinned = 2;
  EXPECT_THAT(WhyNothingToTry(input), HasSubstr("servers=2 is pinned"));
  input.policy.workers.pinned = 3;
  EXPECT_THAT(WhyNothingToTry(input), HasSubstr("servers=2 and workers=3 are pinned"));
}

}  // namespace
}  // namespace attune::controller::job_space_test
