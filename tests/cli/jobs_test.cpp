#include "cli/runs/jobs.h"

#include <gtest/gtest.h>

namespace attune::cli::jobs_test {
namespace {

TEST(Time, Rfc3339) {
  EXPECT_EQ(ParseTime("1970-01-02T00:00:01Z"), 86401);
  EXPECT_DOUBLE_EQ(ParseTime("2026-01-02T03:04:05.250000Z"), 1767323045.25);
  EXPECT_EQ(ParseTime("1970-01-01T02:00:00+01:30"), 1800);
  EXPECT_EQ(ParseTime("soon"), 0);
  EXPECT_EQ(TimeText(1767323045.25), "2026-01-02T03:04:05.250Z");
  EXPECT_EQ(ParseTime(TimeText(1767323045.25)), 1767323045.25);
  EXPECT_EQ(AgeText("1970-01-02T00:00:01Z", 86408.9), "7s");
  EXPECT_EQ(AgeText("1970-01-02T00:00:01Z", 86400), "0s");
  EXPECT_EQ(AgeText("1970-01-02T00:00:01Z", 86401 + 80), "1m20s");
  EXPECT_EQ(AgeText("", 5), "");
}

TEST(PodState, InWordsOfPeople) {
  const std::pair<const char*, const char*> kTable[] = {
      {R"({})", "Pending"},
      {R"({"status": {"phase": "Running"}})", "Running"},
      {R"({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})", "Ready"},
      {R"({"metadata": {"deletionTimestamp": "x"}, "status": {"phase": "Running"}})", "Leaving"},
      {R"({"metadata": {"annotations": {"attune.dev/drain-deadline": "x"}}, "status": {"phase": "Running"}})",
       "Leaving"},
      {R"({"status": {"phase": "Pending",
       "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}})",
       "Pending: ImagePullBackOff"},
      {R"({"status": {"phase": "Pending",
       "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}})",
       "Pending"},
      {R"({"status": {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]}})",
       "Failed: exit code 3"},
      {R"({"status": {"phase": "Succeeded"}})", "Succeeded"}};
  for (const auto& [pod, want] : kTable) EXPECT_EQ(PodState(kube::Json::parse(pod)), want) << pod;
}

}  // namespace
}  // namespace attune::cli::jobs_test
