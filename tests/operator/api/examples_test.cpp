// The manifests below examples: README has people run them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "operator/api/manifest/manifest.h"

namespace attune::api::examples_test {
namespace {

TEST(Examples, AreValidAndTheTunedOneLeavesTheTunerRoom) {
  namespace fs = std::filesystem;
  std::vector<std::string> seen;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(ATTUNE_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto manifests = ReadManifests(entry.path());
    ASSERT_TRUE(manifests.ok()) << manifests.status();
    for (const Manifest& manifest : *manifests) {
      for (const FieldProblem& problem : manifest.problems) ADD_FAILURE() << ToString(problem, entry.path().string());
    }
    seen.push_back(entry.path().filename().string());
    if (seen.back() != "tuned.yaml") continue;
    const TrainingJobSpec spec = ParseTrainingJob(manifests->front().object).job.spec;
    EXPECT_EQ(spec.tuning.mode, TuningMode::kAuto);
    EXPECT_GE(spec.tuning.workers.max.value_or(0), 4) << "more than it begins with";
    EXPECT_GE(spec.goal.epochs.value_or(0), 60U) << "in some 20 s it would be over, too soon to gain from a change";
    EXPECT_GT(spec.goal.evaluate_every.epochs.value_or(0), 0U) << "so that the held-out loss is seen on the way";
  }
  EXPECT_GE(seen.size(), 4U);
  EXPECT_NE(std::find(seen.begin(), seen.end(), "tuned.yaml"), seen.end());
}

}  // namespace
}  // namespace attune::api::examples_test
