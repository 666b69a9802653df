#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/os/file.h"
#include "cli/commands/commands.h"
#include "tests/cli/golden.h"

namespace attune::cli::validate_test {
namespace {

// Paths in the recorded text are relative: the test works inside the directory of its samples.
class Validation : public ::testing::Test {
 protected:
  Validation() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(std::string(ATTUNE_SOURCE_DIR) + "/tests/cli/samples");
  }
  ~Validation() override { std::filesystem::current_path(before_); }

  int Run(const ValidateArguments& arguments) {
    ::testing::internal::CaptureStdout();
    const int code = Validate(arguments);
    output_ = ::testing::internal::GetCapturedStdout();
    return code;
  }

  std::filesystem::path before_;
  std::string output_;
};

TEST_F(Validation, TellsEveryProblemOfEveryFile) {
  EXPECT_EQ(Run({.files = {"good.yaml", "bad.yaml", "tab.yaml", "service.yaml", "missing.yaml"}}), 2);
  const std::string here = std::filesystem::current_path().string();
  if (const size_t at = output_.find(here); at != std::string::npos) output_.replace(at, here.size(), "HERE");
  ExpectGolden(output_, "validate.txt");
}

TEST_F(Validation, AGoodFileIsCalledValid) {
  EXPECT_EQ(Run({.files = {"good.yaml"}}), 0);
  EXPECT_EQ(output_, "good.yaml: valid (word2vec)\n");
}

TEST_F(Validation, PoliciesAreCheckedAsJobsAre) {
  EXPECT_EQ(Run({.files = {"policies.yaml", "bad-policies.yaml"}}), 2);
  ExpectGolden(output_, "validate-policies.txt");
  EXPECT_EQ(Run({.files = {"policies.yaml"}}), 0) << "what is worth knowing is no mistake";
}

TEST_F(Validation, AdviceForPrograms) {
  EXPECT_EQ(Run({.files = {"policies.yaml"}, .json = true}), 0);
  EXPECT_EQ(output_.substr(0, output_.find('\n')),
            "{\"column\":1,\"file\":\"policies.yaml\",\"line\":4,\"note\":\"it selects every job of the "
            "cluster\",\"path\":\"spec.selector\"}");
}

TEST_F(Validation, ForPrograms) {
  EXPECT_EQ(Run({.files = {"service.yaml"}, .json = true}), 2);
  EXPECT_EQ(output_,
            "{\"allowed\":\"attune.dev/v1alpha1, the one version "
            "understood\",\"column\":13,\"file\":\"service.yaml\",\"found\":\"\\\"v1\\\"\","
            "\"line\":1,\"path\":\"apiVersion\"}\n"
            "{\"allowed\":\"TrainingJob, TuningPolicy or ClusterTuningPolicy\","
            "\"column\":7,\"file\":\"service.yaml\",\"found\":\"\\\"Service\\\"\","
            "\"line\":2,\"path\":\"kind\"}\n");
}

}  // namespace
}  // namespace attune::cli::validate_test
