#include "cli/scale_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::cli {
namespace {

using ::testing::HasSubstr;

TEST(ScaleRequest, WorkersOnly) {
  EXPECT_EQ(*ParseScaleChanges({"workers=3"}), 3);
  const std::pair<std::vector<std::string>, const char*> kTable[] = {
      {{"servers=3"}, "servers cannot be scaled while a job runs yet"},
      {{"workers"}, "write workers=N"},
      {{"workers="}, "no number of workers"},
      {{"workers=-1"}, "no number of workers"},
      {{"workers=3x"}, "no number of workers"},
      {{"workers=99999999999"}, "no number of workers"},
      {{"pods=3"}, "cannot be scaled"},
      {{"workers=3", "workers=4"}, "one change at a time"},
      {{}, "one change at a time"}};
  for (const auto& [changes, want] : kTable) {
    const auto parsed = ParseScaleChanges(changes);
    ASSERT_FALSE(parsed.ok()) << want;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Message(parsed.status())), HasSubstr(want));
  }
}

TEST(ScaleRequest, WithinTheBoundsOfALivingJob) {
  api::TrainingJob job;
  job.name = "a";
  job.spec.workers = {.replicas = 2, .min = 2, .max = 4, .pod_template = {}};
  EXPECT_TRUE(CheckScale(job, 2).ok());
  EXPECT_TRUE(CheckScale(job, 4).ok());
  EXPECT_THAT(std::string(Message(CheckScale(job, 5))), HasSubstr("workers=5 is outside what job a allows, 2 to 4"));
  EXPECT_EQ(CheckScale(job, 1).code(), StatusCode::kInvalidArgument);
  job.status.conditions = {{api::kSucceeded, "True", "", "", "", 0}};
  EXPECT_EQ(CheckScale(job, 3).code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace attune::cli
