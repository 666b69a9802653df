// From objects to what is in force.
#include "operator/policy/in_force.h"

#include <gtest/gtest.h>

namespace attune::policy::in_force_test {
namespace {

using kube::Json;

const WallTime kNow = WallTime() + std::chrono::seconds(1'784'116'800);

Json Job() {
  return {{"metadata", {{"name", "a"}, {"namespace", "research"}, {"labels", {{"priority", "low"}, {"odd", 3}}}}},
          {"spec", {{"tuning", {{"mode", "Auto"}}}}}};
}

TEST(InForce, FactsAreWhatTheObjectStates) {
  api::Tuning tuning;
  tuning.mode = api::TuningMode::kAuto;
  const JobFacts facts = FactsOf(Job(), api::Labels{{"tier", "a"}}, tuning);
  EXPECT_EQ(facts.name_space, "research");
  EXPECT_EQ(facts.labels, (api::Labels{{"priority", "low"}})) << "a label that is no string selects nothing";
  EXPECT_EQ(facts.namespace_labels, (api::Labels{{"tier", "a"}}));
  EXPECT_EQ(facts.tuning.mode, api::TuningMode::kAuto);
  EXPECT_TRUE(facts.states_mode);
  EXPECT_FALSE(facts.states_objective);
  Json cheap = Job();
  cheap["spec"]["tuning"] = {{"objective", {{"kind", "Cost"}}}};
  EXPECT_FALSE(FactsOf(cheap, {}).states_mode);
  EXPECT_TRUE(FactsOf(cheap, {}).states_objective);
  EXPECT_FALSE(FactsOf(Json::object(), {}).states_mode) << "and nothing is thrown";
}

TEST(InForce, NothingIsInForceWhereNoPolicySelectsTheJob) {
  api::Policy other;
  other.name = "other";
  other.spec.jobs.match_labels = {{"priority", "high"}};
  EXPECT_FALSE(InForce(FactsOf(Job(), {}), {other}, kNow));
  api::Policy low = other;
  low.name = "low";
  low.spec.jobs.match_labels = {{"priority", "low"}};
  const auto effective = InForce(FactsOf(Job(), {}), {other, low}, kNow);
  ASSERT_TRUE(effective);
  EXPECT_EQ(effective->policies, std::vector<std::string>{"ClusterTuningPolicy low"});
}

}  // namespace
}  // namespace attune::policy::in_force_test
