#include "operator/controller/metrics/durations.h"

#include <gmock/gmock.h>

namespace attune::controller::durations_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

TEST(Durations, ReconcilesAreCountedByHowLongTheyTook) {
  Durations durations;
  for (const int took : {1, 4, 4, 700}) durations.OnReconcile(milliseconds(took));
  const std::string text = durations.MetricsText();
  EXPECT_THAT(text, HasSubstr("# TYPE attune_reconcile_duration_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("attune_reconcile_duration_seconds_count 4\n"));
  EXPECT_THAT(text, HasSubstr("attune_reconcile_duration_seconds_sum 0.709\n"));
  EXPECT_THAT(text, HasSubstr("attune_reconcile_duration_seconds_bucket{le=\"0.005\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("attune_reconcile_duration_seconds_bucket{le=\"1\"} 4\n"));
}

TEST(Durations, CallsHaveASeriesForEachVerbResourceAndOutcome) {
  Durations durations;
  EXPECT_THAT(durations.MetricsText(), Not(HasSubstr("attune_api_request_duration_seconds_count")));
  durations.OnCall({.verb = "get", .resource = "pods", .code = StatusCode::kOk, .took = milliseconds(3)});
  durations.OnCall({.verb = "get", .resource = "pods", .code = StatusCode::kOk, .took = milliseconds(3)});
  durations.OnCall({.verb = "get", .resource = "pods", .code = StatusCode::kNotFound, .took = milliseconds(3)});
  const std::string text = durations.MetricsText();
  const auto count = [](const char* code) {
    return "attune_api_request_duration_seconds_count{code=\"" + std::string(code) +
           "\",resource=\"pods\",verb=\"get\"}";
  };
  EXPECT_THAT(text, HasSubstr(count("OK") + " 2\n"));
  EXPECT_THAT(text, HasSubstr(count("NOT_FOUND") + " 1\n"));
}

}  // namespace
}  // namespace attune::controller::durations_test
