#include "operator/kube/watch/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/kube/fake_api.h"

namespace attune::kube::reflector_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

Json Pod(const std::string& name, int version) {
  return {
      {"metadata", {{"name", name}, {"namespace", "n"}, {"uid", name}, {"resourceVersion", std::to_string(version)}}}};
}

// Lists what it is asked to and lets the test speak through the watch in progress.
class ScriptedApi final : public FakeApi {
 public:
  StatusOr<ListResult> List(const ResourceType&, const ListOptions&, const CallOptions&) override {
    std::lock_guard lock(mutex_);
    ++lists_;
    changed_.notify_all();
    return list_;
  }
  StatusOr<std::unique_ptr<Watch>> StartWatch(const ResourceType&, const WatchOptions& options,
                                              std::function<void(WatchSignal)> on_signal) override {
    std::lock_guard lock(mutex_);
    versions_.push_back(options.resource_version);
    on_signal_ = std::move(on_signal);
    changed_.notify_all();
    return std::make_unique<ScriptedWatch>(this);
  }
  void Set(StatusOr<ListResult> list) {
    std::lock_guard lock(mutex_);
    list_ = std::move(list);
  }
  void Emit(WatchSignal signal) {
    std::lock_guard lock(mutex_);
    ASSERT_TRUE(on_signal_) << "no watch in progress";
    on_signal_(std::move(signal));
  }
  bool WaitForWatches(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), [&] { return versions_.size() >= count; });
  }
  bool WaitForLists(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), [&] { return lists_ >= count; });
  }
  std::vector<std::string> versions() {
    std::lock_guard lock(mutex_);
    return versions_;
  }
  bool watching() {
    std::lock_guard lock(mutex_);
    return on_signal_ != nullptr;
  }

 private:
  struct ScriptedWatch final : Watch {
    explicit ScriptedWatch(ScriptedApi* api) : api(api) {}
    ~ScriptedWatch() override {
      std::lock_guard lock(api->mutex_);
      api->on_signal_ = nullptr;
    }
    ScriptedApi* api;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  StatusOr<ListResult> list_ = ListResult{{}, "1"};
  int lists_ = 0;
  std::vector<std::string> versions_;
  std::function<void(WatchSignal)> on_signal_;
};

class ReflectorTest : public ::testing::Test {
 protected:
  ReflectorTest()
      : cache_({.on_change = [this](const CacheChange& change) {
          std::lock_guard lock(mutex_);
          told_.push_back((change.before == nullptr  ? "new "
                           : change.after == nullptr ? "gone "
                                                     : "changed ") +
                          change.key.name);
          changed_.notify_all();
        }}) {
    options_.watcher.backoff = {.first = milliseconds(1), .max = milliseconds(5), .jitter = 0};
    options_.watcher.streams = false;
  }
  void Start() { reflector_ = std::make_unique<Reflector>(api_, kPods, options_, cache_, time_); }
  std::vector<std::string> ToldAfter(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, seconds(20), [&] { return told_.size() >= count; });
    return told_;
  }

  SystemTime time_;
  ScriptedApi api_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
  WatchCache cache_;
  ReflectorOptions options_;
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(ReflectorTest, FillsTheCacheAndFollowsTheWatch) {
  api_.Set(ListResult{{Pod("a", 3)}, "5"});
  Start();
  ASSERT_TRUE(cache_.WaitForSync(seconds(20)));
  ASSERT_TRUE(api_.WaitForWatches(1));
  api_.Emit({WatchSignal::Kind::kAdded, Pod("b", 6), OkStatus()});
  api_.Emit({WatchSignal::Kind::kDeleted, Pod("a", 7), OkStatus()});
  EXPECT_THAT(ToldAfter(3), ElementsAre("new a", "new b", "gone a"));
  EXPECT_THAT(api_.versions(), ElementsAre("5"));
}

TEST_F(ReflectorTest, ResumesFromTheLastVersionAfterALostConnection) {
  api_.Set(ListResult{{}, "5"});
  Start();
  ASSERT_TRUE(api_.WaitForWatches(1));
  api_.Emit({WatchSignal::Kind::kAdded, Pod("b", 6), OkStatus()});
  api_.Emit({WatchSignal::Kind::kBroken, {}, Error(StatusCode::kUnavailable, "reset")});
  ASSERT_TRUE(api_.WaitForWatches(2));
  EXPECT_THAT(api_.versions(), ElementsAre("5", "6"));
}

TEST_F(ReflectorTest, ExpiredVersionRelistsAndTellsWhatWasMissed) {
  api_.Set(ListResult{{Pod("a", 3), Pod("b", 4)}, "5"});
  Start();
  ASSERT_TRUE(api_.WaitForWatches(1));
  ASSERT_EQ(ToldAfter(2).size(), 2U);
  api_.Set(ListResult{{Pod("b", 4), Pod("c", 8)}, "9"});
  api_.Emit({WatchSignal::Kind::kError, {}, Error(StatusCode::kOutOfRange, "too old resource version")});
  EXPECT_THAT(ToldAfter(4), ElementsAre("new a", "new b", "gone a", "new c"));
  ASSERT_TRUE(api_.WaitForWatches(2));
  EXPECT_THAT(api_.versions(), ElementsAre("5", "9"));
}

TEST_F(ReflectorTest, KeepsTryingWhileTheServerIsAwayAndSaysWhy) {
  api_.Set(Error(StatusCode::kUnavailable, "refused"));
  Start();
  ASSERT_TRUE(api_.WaitForLists(3));
  EXPECT_FALSE(cache_.HasSynced());
  EXPECT_EQ(reflector_->last_failure().code(), StatusCode::kUnavailable);
  api_.Set(ListResult{{Pod("a", 3)}, "5"});
  EXPECT_TRUE(cache_.WaitForSync(seconds(20)));
}

TEST_F(ReflectorTest, AFloodOfSignalsIsBoundedAndResumed) {
  api_.Set(ListResult{{}, "5"});
  Start();
  ASSERT_TRUE(api_.WaitForWatches(1));
  // The cache's handler is held, so that nothing is taken from the queue.
  std::unique_lock hold(mutex_);
  for (int i = 0; i < 30'000 && api_.watching(); ++i)
    api_.Emit({WatchSignal::Kind::kModified, Pod("p", 6 + i), OkStatus()});
  hold.unlock();
  ASSERT_TRUE(api_.WaitForWatches(2));
  EXPECT_LT(std::stoi(api_.versions()[1]), 6 + 30'000) << "resumed from what was handled, not from what was dropped";
}

TEST_F(ReflectorTest, DestructionEndsTheWatch) {
  Start();
  ASSERT_TRUE(api_.WaitForWatches(1));
  reflector_.reset();
  EXPECT_FALSE(api_.watching());
}

}  // namespace
}  // namespace attune::kube::reflector_test
