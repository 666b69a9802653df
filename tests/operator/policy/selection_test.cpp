#include "operator/policy/selection.h"

#include <gtest/gtest.h>

namespace attune::policy::selection_test {
namespace {

TEST(Selection, TheFirstPartThatFailsIsNamedWithWhatWasFound) {
  api::Policy policy;
  policy.name = "night";
  const JobFacts job{.name_space = "research",
                     .labels = {{"priority", "high"}},
                     .namespace_labels = api::Labels{{"tier", "lab"}},
                     .tuning = {}};
  EXPECT_FALSE(WhyNotSelected(policy, job));

  policy.spec.namespaces.match_labels = {{"tier", "research"}};
  auto why = WhyNotSelected(policy, job);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->field, "spec.selector.namespaces");
  EXPECT_EQ(why->why, "namespace research has label tier=lab; asked for is tier=research");

  policy.spec.jobs.match_labels = {{"priority", "low"}};
  why = WhyNotSelected(policy, job);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->field, "spec.selector.jobs");
  EXPECT_EQ(why->why, "the job has label priority=high; asked for is priority=low");

  policy.name_space = "production";
  why = WhyNotSelected(policy, job);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->field, "metadata.namespace");
  EXPECT_EQ(why->why, "it is about jobs of namespace production");
}

TEST(Selection, LabelsOfANamespaceThatAreNotReadableAreNoReason) {
  api::Policy policy;
  policy.spec.namespaces.match_labels = {{"tier", "research"}};
  const JobFacts job{.name_space = "research", .labels = {}, .namespace_labels = std::nullopt, .tuning = {}};
  EXPECT_FALSE(WhyNotSelected(policy, job));
}

}  // namespace
}  // namespace attune::policy::selection_test
