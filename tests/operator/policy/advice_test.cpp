// What a platform engineer is to know of a policy that is valid.
#include "operator/policy/advice.h"

#include <gtest/gtest.h>

#include "operator/api/manifest/yaml.h"

namespace attune::policy::advice_test {
namespace {

std::vector<std::string> AdviceTexts(const std::string& kind, const std::string& spec,
                                     const std::string& metadata = "{name: a}") {
  const auto documents = api::ParseYaml(
      "{apiVersion: attune.dev/v1alpha1, kind: " + kind + ", metadata: " + metadata + ", spec: " + spec + "}",
      "a.yaml");
  std::vector<std::string> texts;
  for (const Advice& advice : AdviceOn(documents->front().value))
    texts.push_back(std::string(advice.warning ? "warning " : "note ") + advice.path + ": " + advice.text);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Advice, APolicyThatSaysSomethingToSomeJobsNeedsNone) {
  EXPECT_EQ(AdviceTexts("ClusterTuningPolicy",
                        "{selector: {jobs: {matchLabels: {a: b}}}, mode: {allowed: [Recommend, Auto], default: Auto}, "
                        "knobs: {workers: {max: 4}, slack: {forbidden: true}}, onViolation: ShrinkNow, windows: "
                        "[{schedule: 'Mon 08:00-20:00 UTC', mode: Recommend}]}"),
            Texts());
}

TEST(Advice, ASelectorThatTakesAllIsANote) {
  EXPECT_EQ(AdviceTexts("ClusterTuningPolicy", "{limits: {trialsPerHour: 1}}"),
            Texts{"note spec.selector: it selects every job of the cluster"});
  EXPECT_EQ(AdviceTexts("TuningPolicy", "{limits: {trialsPerHour: 1}}", "{name: a, namespace: b}"),
            Texts{"note spec.selector: it selects every job of its namespace"});
  EXPECT_EQ(
      AdviceTexts("ClusterTuningPolicy", "{selector: {namespaces: {matchLabels: {a: b}}}, limits: {trialsPerHour: 1}}"),
      Texts());
}

TEST(Advice, WhatIsWithoutEffectOrAllowsNothingIsAWarning) {
  struct Case {
    const char *spec, *want;
  };
  const std::string selector = "{selector: {jobs: {matchLabels: {a: b}}}, ";
  for (const auto& [spec, want] : {
           Case{"mode: {allowed: ['Off']}}",
                "warning spec.mode.allowed: no mode is allowed but Off: the jobs that it selects are not tuned at all"},
           Case{"mode: {allowed: [], default: Auto}}",
                "warning spec.mode.allowed: an empty list allows all modes; [\"Off\"] allows none"},
           Case{"mode: {allowed: [Recommend], default: Auto}}",
                "warning spec.mode.default: Auto is not one of spec.mode.allowed: jobs without a mode have the next "
                "lower one"},
           Case{"windows: [{schedule: 'Mon 08:00-20:00 Europe/Nowhere', mode: Recommend}]}",
                "warning spec.windows[0].schedule: this machine knows no time zone Europe/Nowhere; where the "
                "operator's does not either, the window holds always"},
           Case{"windows: [{schedule: 'Mon 08:00-20:00 UTC', mode: Auto}]}",
                "warning spec.windows[0].mode: without effect: Auto is no lower than what is allowed at other hours"},
           Case{"mode: {allowed: [Recommend]}, windows: [{schedule: 'Mon 08:00-20:00 UTC', mode: InPlaceOnly}]}",
                "warning spec.windows[0].mode: without effect: InPlaceOnly is no lower than what is allowed at other "
                "hours"},
           Case{"knobs: {workers: {max: 4, forbidden: true}}}",
                "warning spec.knobs.workers: min and max are without effect beside forbidden: the knob keeps the value "
                "that it has"},
           Case{"onViolation: ShrinkNow}",
                "note spec.onViolation: this policy has no min and no max; ShrinkNow is about those of other policies, "
                "too"},
           Case{"knobs: {}}", "warning spec: it has no rule: jobs that it selects are tuned as without it"},
       }) {
    EXPECT_EQ(AdviceTexts("ClusterTuningPolicy", selector + spec), Texts{want}) << spec;
  }
}

TEST(Advice, AClusterPolicyInANamespaceIsAboutAllOfThem) {
  EXPECT_EQ(AdviceTexts("ClusterTuningPolicy", "{selector: {jobs: {matchLabels: {a: b}}}, limits: {trialsPerHour: 1}}",
                        "{name: a, namespace: b}"),
            Texts{"warning metadata.namespace: a ClusterTuningPolicy is in no namespace and about all of them; for one "
                  "write kind: TuningPolicy"});
}

// A selector that could not be read is not one that takes all, and a rule that could not be read is a rule.
TEST(Advice, WhatIsWrongIsNotAdvisedOnAsWell) {
  EXPECT_EQ(AdviceTexts("ClusterTuningPolicy", "{selector: {job: {matchLabels: {a: b}}}, limits: {trialsPerHuor: 1}}"),
            Texts());
  EXPECT_EQ(AdviceOn(kube::Json{{"kind", "Pod"}}).size(), 0U);
  EXPECT_EQ(AdviceOn(kube::Json()).size(), 0U);
}

}  // namespace
}  // namespace attune::policy::advice_test
