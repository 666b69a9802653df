#include "operator/controller/tuning/state/cpu_ceiling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::controller::cpu_ceiling_test {
namespace {

using ::testing::HasSubstr;

const JobSetting kFrom{.servers = 1, .workers = 2, .worker_millicores = 1000};
const InfeasibleCpu kSize{.role = RoleName::kWorker, .millicores = 2500, .text = "worker 0"};

TEST(CpuCeilingTest, ASizeThatNeverFitsBoundsWhatIsTriedFromTheNextSettingOn) {
  CpuCeiling ceiling;
  const auto why = ceiling.Lower(kSize, kFrom);
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("2500m of cpu never fit (worker 0)"));
  EXPECT_THAT(*why, HasSubstr("2000m at most"));
  JobSetting high{.worker_millicores = 4000};
  ceiling.Narrow(high);
  EXPECT_EQ(high.worker_millicores, 4000) << "not on the way";
  ceiling.Settle();
  ceiling.Narrow(high);
  EXPECT_EQ(high.worker_millicores, 2000);
  EXPECT_EQ(high.server_millicores, std::nullopt) << "servers fit";
}

TEST(CpuCeilingTest, ItOnlyFallsAndNeverBelowWhatRan) {
  CpuCeiling ceiling;
  ceiling.Lower({.role = RoleName::kWorker, .millicores = 1100, .text = {}}, kFrom);
  EXPECT_EQ(ceiling.next().worker_millicores, 1000);
  ceiling.Lower(kSize, kFrom);
  EXPECT_EQ(ceiling.next().worker_millicores, 1000);
}

TEST(CpuCeilingTest, ASizeThatTheJobHadAlreadyIsNotThisChange) {
  CpuCeiling ceiling;
  EXPECT_EQ(ceiling.Lower({.role = RoleName::kWorker, .millicores = 900, .text = {}}, kFrom), std::nullopt);
}

TEST(CpuCeilingTest, ALoadedOneCountsAtOnceWhereNoChangeIsOnItsWay) {
  for (const bool settled : {false, true}) {
    CpuCeiling ceiling;
    ceiling.Load({.server_millicores = 700}, settled);
    JobSetting high{.server_millicores = 4000};
    ceiling.Narrow(high);
    EXPECT_EQ(high.server_millicores, settled ? 700 : 4000);
    EXPECT_EQ(ceiling.next().server_millicores, 700);
  }
}

}  // namespace
}  // namespace attune::controller::cpu_ceiling_test
