#include "examples/support/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <set>

namespace attune::examples::thread_team_test {
namespace {

TEST(ThreadTeam, EachPieceIsDoneOnceWhateverNumberCameBefore) {
  ThreadTeam team;
  for (const uint32_t count : {1U, 4U, 2U, 0U, 6U, 1U, 6U}) {
    std::vector<std::atomic<int>> done(8);
    for (int round = 0; round < 50; ++round) {
      team.Run(count, [&](uint32_t i) { ++done[i]; });
    }
    for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(done[i], i < count ? 50 : 0) << i << " of " << count;
  }
}

// Would wait for ever if one thread did two pieces after one another.
TEST(ThreadTeam, PiecesRunAtOnce) {
  ThreadTeam team;
  constexpr uint32_t kCount = 5;
  std::barrier together(kCount);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  team.Run(kCount, [&](uint32_t) {
    together.arrive_and_wait();
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), kCount);
  EXPECT_TRUE(threads.contains(std::this_thread::get_id())) << "the caller works too";
}

}  // namespace
}  // namespace attune::examples::thread_team_test
