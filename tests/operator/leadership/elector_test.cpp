// Electors with their threads, against the API in memory, with a lease of a second. Every wait has a deadline.
#include "operator/leadership/elector.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "operator/local/api/memory_api.h"

namespace attune::leadership::elector_test {
namespace {

using kube::Json;
using std::chrono::milliseconds;
using std::chrono::seconds;

const kube::ObjectKey kKey{"system", "attune-operator"};

class Replica {
 public:
  Replica(const std::string& identity, kube::Api& api, const TimeSource& time)
      : fence(time),
        elector_(std::in_place,
                 ElectionOptions{.identity = identity, .lease = seconds(1), .look_every = milliseconds(50)}, kKey, api,
                 time, fence, [this](Election::State state) {
                   const MutexLock lock(mutex_);
                   changes_.push_back(state);
                   changed_.NotifyAll();
                 }) {}

  // Whether this is the last change that it has reported.
  bool Waits(Election::State state) {
    const MutexLock lock(mutex_);
    return changed_.WaitFor(mutex_, seconds(20), [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !changes_.empty() && changes_.back() == state;
    });
  }
  std::vector<Election::State> Changes() {
    const MutexLock lock(mutex_);
    return changes_;
  }
  Elector& elector() { return *elector_; }
  void Kill() { elector_.reset(); }

  Fence fence;

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<Election::State> changes_ ABSL_GUARDED_BY(mutex_);
  std::optional<Elector> elector_;
};

class ElectorTest : public testing::Test {
 protected:
  SystemTime time_;
  local::MemoryApi api_{time_};
};

TEST_F(ElectorTest, AStandbyFollowsOneThatIsGone) {
  Replica a("a", api_, time_);
  ASSERT_TRUE(a.Waits(Election::State::kLeading));
  EXPECT_TRUE(a.fence.IsOpen());
  Replica b("b", api_, time_);
  a.Kill();
  ASSERT_TRUE(b.Waits(Election::State::kLeading));
  EXPECT_TRUE(b.fence.IsOpen());
  EXPECT_FALSE(a.fence.IsOpen());
  EXPECT_EQ(b.elector().View().transitions, 2);
  EXPECT_EQ(b.elector().Stuck(), "");
}

TEST_F(ElectorTest, OneThatResignsIsFollowedAtOnce) {
  Replica a("a", api_, time_);
  ASSERT_TRUE(a.Waits(Election::State::kLeading));
  Replica b("b", api_, time_);
  EXPECT_TRUE(a.elector().Resign(seconds(20)));
  EXPECT_FALSE(a.fence.IsOpen());
  ASSERT_TRUE(b.Waits(Election::State::kLeading));
  EXPECT_EQ(a.Changes(),
            (std::vector{Election::State::kHolding, Election::State::kLeading, Election::State::kResigned}));
}

TEST_F(ElectorTest, OneWhoseLeaseIsTakenByHandIsStoppedOnce) {
  Replica a("a", api_, time_);
  ASSERT_TRUE(a.Waits(Election::State::kLeading));
  ASSERT_TRUE(api_.Patch(kLeases, kKey, kube::PatchType::kMerge, {{"spec", {{"holderIdentity", "by-hand"}}}}).ok());
  ASSERT_TRUE(a.Waits(Election::State::kLost));
  EXPECT_FALSE(a.fence.IsOpen());
  EXPECT_FALSE(a.elector().Resign(seconds(1))) << "there is nothing to give back";
  EXPECT_EQ(kube::StringAt(*api_.Get(kLeases, kKey), {"spec", "holderIdentity"}), "by-hand");
}

TEST_F(ElectorTest, AStandbyEndsWithoutHavingLed) {
  Replica a("a", api_, time_);
  ASSERT_TRUE(a.Waits(Election::State::kLeading));
  Replica b("b", api_, time_);
  EXPECT_TRUE(b.elector().Resign(seconds(20)));
  EXPECT_EQ(b.Changes(), std::vector{Election::State::kResigned});
  EXPECT_TRUE(a.fence.IsOpen());
}

}  // namespace
}  // namespace attune::leadership::elector_test
