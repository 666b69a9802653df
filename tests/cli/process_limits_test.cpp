#include "cli/process_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <limits>

namespace attune::cli::process_limits_test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

TEST(ProcessLimits, WhatIsTooLittleIsSaidWithWhatToSet) {
  struct Case {
    const char* what;
    ProcessLimits limits;
    size_t pods;
    const char* want;  // "": enough
  };
  const Case kTable[] = {{"no limits", {kUnlimited, kUnlimited, kUnlimited}, 100, ""},
                         {"a usual shell", {1024, 4096, kUnlimited}, 4, ""},
                         {"ulimit -n 16, a client",
                          {16, 16, kUnlimited},
                          0,
                          "this command needs up to 64 open files, and 16 are allowed here: `ulimit -n 1024`"},
                         {"ulimit -n 16, a run",
                          {16, 16, kUnlimited},
                          4,
                          "a run of 4 pods needs up to 192 open files, and 16 are allowed here"},
                         {"with the hard limit", {16, 16, kUnlimited}, 4, "the hard limit is 16"},
                         {"many pods", {1024, 1024, kUnlimited}, 200, "`ulimit -n 3328`"},
                         {"ulimit -v 1000000, a run", {1024, 1024, 1'000'000ULL << 10}, 4, "`ulimit -v unlimited`"},
                         {"ulimit -v 1000000, a client", {1024, 1024, 1'000'000ULL << 10}, 0, ""},
                         {"ulimit -f 8, a run", {1024, 1024, kUnlimited, 4096}, 4, "`ulimit -f unlimited`"},
                         {"ulimit -f 8, a client", {1024, 1024, kUnlimited, 4096}, 0, ""},
                         {"ulimit -v 500000, a client", {1024, 1024, 500'000ULL << 10}, 0, "`ulimit -v unlimited`"}};
  for (const Case& each : kTable) {
    const Status status = CheckLimits(each.limits, each.pods);
    EXPECT_EQ(status.ok(), *each.want == '\0') << each.what << ": " << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr(each.want)) << each.what;
  }
}

TEST(ProcessLimits, TakesTheOpenFilesThatAreAllowed) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < OpenFilesFor(1)) GTEST_SKIP() << "this machine allows too few";
  rlimit few = before;
  few.rlim_cur = 32;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_TRUE(PrepareLimits(1).ok());
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, OpenFilesFor(1));
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(ProcessLimitsDeathTest, AnAbortIsExplained) {
  EXPECT_EXIT(
      {
        ExplainAborts();
        std::abort();
      },
      testing::KilledBySignal(SIGABRT), "ulimit -n");
}

}  // namespace
}  // namespace attune::cli::process_limits_test
