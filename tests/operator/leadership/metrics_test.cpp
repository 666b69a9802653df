#include "operator/leadership/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::leadership::metrics_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MetricsTest, ALeaderAndAStandby) {
  CandidateView leader;
  leader.state = Election::State::kLeading;
  leader.leads = true;
  leader.transitions = 7;
  leader.since_renewal = std::chrono::milliseconds(1500);
  const std::string page = MetricsText(leader, 5);
  EXPECT_THAT(page, HasSubstr("\nattune_operator_leader 1\n"));
  EXPECT_THAT(page, HasSubstr("\nattune_operator_leader_transitions_total 7\n"));
  EXPECT_THAT(page, HasSubstr("\nattune_operator_lease_renewal_age_seconds 1.5\n"));

  EXPECT_THAT(page, HasSubstr("\nattune_operator_fenced_writes_total 5\n"));

  CandidateView standby;
  standby.transitions = 7;
  EXPECT_THAT(MetricsText(standby, 0), HasSubstr("\nattune_operator_leader 0\n"));
  EXPECT_THAT(MetricsText(standby, 0), Not(HasSubstr("renewal_age"))) << "it has renewed nothing";
}

}  // namespace
}  // namespace attune::leadership::metrics_test
