// A tuned job whose spec is another controller's: it is never written, and what was chosen is in the status and holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/operator/controller/execute/tuned_rig.h"

namespace attune::controller::kept_spec_test {
namespace {

using kube::Json;

class KeptSpec : public ::testing::Test {
 protected:
  // As a GitOps controller applies what its repository says, whenever the spec differs from it.
  void Reconcile(const Json& replicas) {
    const Json object = {{"apiVersion", kube::kTrainingJobs.api_version()},
                         {"kind", kube::kTrainingJobs.kind},
                         {"metadata", {{"name", "j"}, {"namespace", "default"}}},
                         {"spec", {{"workers", {{"replicas", replicas}}}}}};
    kube::ApplyOptions options;
    options.field_manager = "kustomize-controller";
    ASSERT_TRUE(rig_.real.Apply(kube::kTrainingJobs, object, options).ok());
  }
  size_t WorkerPods() {
    const auto names = rig_.PodNames();
    return static_cast<size_t>(
        std::ranges::count_if(names, [](const std::string& name) { return name.starts_with("j-worker-"); }));
  }
  std::string Chosen(const std::string& field) {
    for (const api::ChosenSetting& setting : rig_.Status().settings) {
      if (setting.field == field) return setting.value + " instead of " + setting.instead;
    }
    return "";
  }

  TunedRig rig_;
};

TEST_F(KeptSpec, TheTunerChoosesBesideIt) {
  Reconcile(1);
  rig_.Train(120, [&] { return !Chosen("spec.workers.replicas").empty() && WorkerPods() > 1; });
  EXPECT_NE(Chosen("spec.workers.replicas"), "") << rig_.Condition(api::kTuning);
  EXPECT_GT(WorkerPods(), 1U);
  for (int i = 0; i < 60; ++i) {
    Reconcile(1);  // changes nothing: there is nothing to correct
    rig_.Train(5);
  }
  EXPECT_EQ(rig_.Workers(), 1) << "what the repository says";
  EXPECT_EQ(Chosen("spec.workers.replicas"), "2 instead of 1") << "the best of the table";
  EXPECT_EQ(WorkerPods(), 2U);
  EXPECT_EQ(rig_.CallsWith("patch TrainingJob j"), 0U);
}

TEST_F(KeptSpec, ANewOperatorContinuesWithWhatWasChosen) {
  Reconcile(1);
  rig_.Train(120, [&] { return WorkerPods() > 1; });
  ASSERT_GT(WorkerPods(), 1U);
  const std::string chosen = Chosen("spec.workers.replicas");
  rig_.RestartOperator();
  rig_.Train(3);
  EXPECT_EQ(Chosen("spec.workers.replicas"), chosen);
  EXPECT_GT(WorkerPods(), 1U) << "no pod has left";
}

TEST_F(KeptSpec, WhatTheOwnerChangesCounts) {
  Reconcile(1);
  rig_.Train(120, [&] { return WorkerPods() > 1; });
  ASSERT_GT(WorkerPods(), 1U);
  rig_.SetSpec({{"tuning", {{"paused", true}}}});
  Reconcile(5);
  rig_.Train(30, [&] { return WorkerPods() == 5; });
  EXPECT_EQ(WorkerPods(), 5U);
  EXPECT_EQ(Chosen("spec.workers.replicas"), "") << "the choice of before is forgotten";
  Reconcile(1);
  rig_.Train(60, [&] { return WorkerPods() == 1; });
  EXPECT_EQ(WorkerPods(), 1U) << "and does not come back when the spec says what it said then";
}

TEST_F(KeptSpec, MovedIntoTheSpecWhenItIsToBeThere) {
  Reconcile(1);
  rig_.Train(120, [&] { return WorkerPods() > 1; });
  ASSERT_GT(WorkerPods(), 1U);
  rig_.SetSpec({{"tuning", {{"writeTo", "Spec"}, {"paused", true}}}});
  rig_.Train(10);
  EXPECT_GT(rig_.Workers(), 1);
  EXPECT_EQ(static_cast<size_t>(rig_.Workers()), WorkerPods());
  EXPECT_TRUE(rig_.Status().settings.empty());
}

TEST_F(KeptSpec, OfAPersonsJobTheSpecIsWritten) {
  rig_.Train(120, [&] { return rig_.IsChanged(); });
  EXPECT_TRUE(rig_.IsChanged());
  EXPECT_TRUE(rig_.Status().settings.empty());
}

}  // namespace
}  // namespace attune::controller::kept_spec_test
