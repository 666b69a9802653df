// Watches of the embedded API, with signals delivered by hand and, at the end, by its own thread.
#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "operator/local/api/memory_api.h"
#include "tests/operator/local/objects.h"

namespace attune::local::memory_api_watch_test {
namespace {

using kube::WatchSignal;
using testing::Json;
using testing::Key;
using testing::MakePod;

std::string KindName(WatchSignal::Kind kind) {
  switch (kind) {
    case WatchSignal::Kind::kAdded:
      return "added";
    case WatchSignal::Kind::kModified:
      return "modified";
    case WatchSignal::Kind::kDeleted:
      return "deleted";
    case WatchSignal::Kind::kBookmark:
      return "bookmark";
    case WatchSignal::Kind::kError:
      return "error";
    case WatchSignal::Kind::kEnded:
      return "ended";
    case WatchSignal::Kind::kBroken:
      return "broken";
  }
  return "?";
}

class WatchTest : public ::testing::Test {
 protected:
  std::unique_ptr<kube::Watch> Start(const kube::WatchOptions& options) {
    auto watch = api.StartWatch(kube::kPods, options, [this](const WatchSignal& signal) {
      reported.push_back(KindName(signal.kind) +
                         (signal.object.is_null() ? "" : " " + std::string(kube::Name(signal.object))));
      last = signal;
    });
    EXPECT_TRUE(watch.ok()) << ToString(watch.status());
    return std::move(watch).value();
  }
  std::vector<std::string> Reported() {
    api.DeliverSignals();
    return std::exchange(reported, {});
  }
  std::string Version() { return api.List(kube::kPods, {}).value().resource_version; }
  void Label(const std::string& name, const Json& value) {
    ASSERT_TRUE(
        api.Patch(kube::kPods, Key(name), kube::PatchType::kMerge, {{"metadata", {{"labels", {{"app", value}}}}}})
            .ok());
  }

  ManualTime time;
  MemoryApi api{time, {.history_max = 8, .own_thread = false}};
  std::vector<std::string> reported;
  WatchSignal last;
};

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(WatchTest, TellsChangesAfterAVersionInOrder) {
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("before")).ok());
  const auto watch = Start({.resource_version = Version()});
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("a")).ok());
  Label("a", "x");
  ASSERT_TRUE(api.Delete(kube::kPods, Key("a")).ok());
  EXPECT_THAT(Reported(), ElementsAre("added a", "modified a", "deleted a"));
  EXPECT_THAT(Reported(), IsEmpty());
}

TEST_F(WatchTest, WithoutAVersionTellsTheStateFirst) {
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("b")).ok());
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("a")).ok());
  const auto watch = Start({});
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("c")).ok());
  EXPECT_THAT(Reported(), ElementsAre("added a", "added b", "added c"));
}

TEST_F(WatchTest, ObjectsEnterAndLeaveASelection) {
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("a")).ok());
  const auto watch = Start({.label_selector = "app=x", .resource_version = Version()});
  Label("a", "x");
  Label("a", "y");
  ASSERT_TRUE(api.Delete(kube::kPods, Key("a")).ok());
  EXPECT_THAT(Reported(), ElementsAre("added a", "deleted a"));
}

TEST_F(WatchTest, AnOldVersionIsExpiredAndTheWatchEnds) {
  const std::string version = Version();
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("a")).ok());
  for (int i = 0; i < 10; ++i) Label("a", "v" + std::to_string(i));
  const auto watch = Start({.resource_version = version});
  EXPECT_THAT(Reported(), ElementsAre("error"));
  EXPECT_EQ(last.status.code(), StatusCode::kOutOfRange);
  Label("a", "z");
  EXPECT_THAT(Reported(), IsEmpty());
}

TEST_F(WatchTest, AWatchThatFallsBehindIsExpiredButAQuietOneIsNot) {
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("a")).ok());
  const auto quiet = Start({.label_selector = "app=none", .resource_version = Version()});
  for (int i = 0; i < 30; ++i) {
    Label("a", "v" + std::to_string(i));
    EXPECT_THAT(Reported(), IsEmpty()) << "events of others keep it current";
  }
  for (int i = 0; i < 30; ++i) Label("a", "w" + std::to_string(i));
  EXPECT_THAT(Reported(), ElementsAre("error"));
}

TEST_F(WatchTest, BookmarksComeAndTheWatchEndsInTime) {
  const auto watch = Start({.resource_version = Version(), .server_timeout = std::chrono::seconds(100)});
  EXPECT_THAT(Reported(), IsEmpty());
  time.Advance(std::chrono::seconds(61));
  EXPECT_THAT(Reported(), ElementsAre("bookmark "));
  EXPECT_EQ(kube::ResourceVersion(last.object), Version());
  time.Advance(std::chrono::seconds(40));
  EXPECT_THAT(Reported(), ElementsAre("ended"));
}

TEST_F(WatchTest, CompactionExpiresEarlierVersions) {
  const std::string version = Version();
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("a")).ok());
  api.ExpireHistory();
  const auto watch = Start({.resource_version = version});
  EXPECT_THAT(Reported(), ElementsAre("error"));
  const auto current = Start({.resource_version = Version()});
  EXPECT_THAT(Reported(), IsEmpty());
}

TEST_F(WatchTest, RefusesWhatIsNoVersion) {
  EXPECT_EQ(api.StartWatch(kube::kPods, {.resource_version = "x"}, [](const WatchSignal&) {}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(WatchThreadTest, ManyWritersOneOrderAndNothingAfterCancel) {
  const SystemTime time;
  MemoryApi api(time, {.history_max = 100000});
  std::vector<uint64_t> versions;  // touched by the delivering thread only, read after the watch is gone
  std::atomic<int> count = 0;
  auto watch = api.StartWatch(kube::kPods, {},
                              [&](const WatchSignal& signal) {
                                versions.push_back(std::stoull(std::string(kube::ResourceVersion(signal.object))));
                                ++count;
                              })
                   .value();
  constexpr int kThreads = 4;
  constexpr int kPodsEach = 50;
  std::vector<std::future<void>> writers;
  for (int t = 0; t < kThreads; ++t) {
    writers.push_back(std::async(std::launch::async, [&api, t] {
      for (int i = 0; i < kPodsEach; ++i) {
        const std::string name = "p" + std::to_string(t) + "-" + std::to_string(i);
        EXPECT_TRUE(api.Create(kube::kPods, MakePod(name)).ok());
        EXPECT_TRUE(api.Delete(kube::kPods, Key(name)).ok());
      }
    }));
  }
  for (auto& writer : writers) writer.get();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (count < 2 * kThreads * kPodsEach && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  watch.reset();
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("after")).ok());
  EXPECT_EQ(versions.size(), 2u * kThreads * kPodsEach);
  EXPECT_TRUE(std::is_sorted(versions.begin(), versions.end()));
}

TEST(WatchThreadTest, AHandlerMayCallTheApiAndDropItsOwnWatch) {
  const SystemTime time;
  MemoryApi api(time);
  std::promise<void> done;
  std::unique_ptr<kube::Watch> watch;  // set before the first pod exists, so before the handler can run
  watch = api.StartWatch(kube::kPods, {},
                         [&](const WatchSignal& signal) {
                           if (signal.kind != WatchSignal::Kind::kAdded) return;
                           EXPECT_TRUE(api.Delete(kube::kPods, kube::KeyOf(signal.object)).ok());
                           watch.reset();
                           done.set_value();
                         })
              .value();
  ASSERT_TRUE(api.Create(kube::kPods, MakePod("a")).ok());
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(api.Get(kube::kPods, Key("a")).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace attune::local::memory_api_watch_test
