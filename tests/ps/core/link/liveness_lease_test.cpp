#include "ps/core/link/liveness_lease.h"

#include <gtest/gtest.h>

namespace attune::ps::liveness_lease_test {
namespace {

TEST(LivenessLease, CountsFromTheHeartbeatThatWasAnswered) {
  const MonotonicTime start{};
  using std::chrono::seconds;
  LivenessLease lease;
  EXPECT_TRUE(lease.Valid(start + seconds(1000))) << "nothing was given yet";
  lease.Sent(1, start);
  lease.Sent(2, start + seconds(1));
  lease.Answered(1, seconds(10));
  EXPECT_TRUE(lease.Valid(start + seconds(8)));
  EXPECT_FALSE(lease.Valid(start + seconds(9))) << "a tenth is margin";
  lease.Answered(2, seconds(10));
  EXPECT_TRUE(lease.Valid(start + seconds(9)));
  lease.Answered(1, seconds(100));
  EXPECT_FALSE(lease.Valid(start + seconds(10))) << "an old answer gives nothing";
}

}  // namespace
}  // namespace attune::ps::liveness_lease_test
