// What needs more than one call against a real API server; started like the conformance suite
// (cluster_conformance.cpp).
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>

#include "operator/kube/client/rest_api.h"
#include "operator/kube/events.h"
#include "operator/kube/watch/reflector.h"

namespace attune::kube::cluster_test {
namespace {

using std::chrono::seconds;

std::vector<std::string> Kubeconfigs() {
  const char* path = std::getenv("ATTUNE_TEST_KUBECONFIG");
  return path == nullptr ? std::vector<std::string>() : std::vector<std::string>{path};
}

const ResourceType kConfigMaps{"", "v1", "configmaps", "ConfigMap"};

class ClusterTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    StatusOr<ClientConfig> config = LoadKubeconfig(GetParam(), "");
    ASSERT_TRUE(config.ok()) << config.status();
    StatusOr<std::unique_ptr<Api>> api = MakeRestApi(*config);
    ASSERT_TRUE(api.ok()) << api.status();
    api_ = *std::move(api);
  }
  void TearDown() override {
    if (api_ == nullptr) return;
    StatusOr<ListResult> left = api_->List(kConfigMaps, {.name_space = "default", .label_selector = "test=" + label_});
    if (!left.ok()) return;
    for (const Json& object : left->items) (void)api_->Delete(kConfigMaps, KeyOf(object));
  }
  Json Map(const std::string& suffix) const {
    return {{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", {{"name", label_ + suffix}, {"namespace", "default"}, {"labels", {{"test", label_}}}}}};
  }
  const std::string label_ = "kube-test-" + std::to_string(getpid()) + "x";
  SystemTime time_;
  std::unique_ptr<Api> api_;
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ClusterTest);
INSTANTIATE_TEST_SUITE_P(Server, ClusterTest, ::testing::ValuesIn(Kubeconfigs()),
                         [](const auto&) { return "Cluster"; });

TEST_P(ClusterTest, EventsAreAcceptedAndCounted) {
  StatusOr<Json> map = api_->Create(kConfigMaps, Map("a"));
  ASSERT_TRUE(map.ok()) << map.status();
  EventNote note{EventType::kWarning, "WorkerFailed", "Restart", std::string(3000, 'x')};
  {
    EventRecorder recorder(*api_, time_, "operator-0");
    for (int n = 0; n < 3; ++n) recorder.Record(*map, note);
    EXPECT_TRUE(recorder.Flush(seconds(20)));
    EXPECT_EQ(recorder.counts().failed, 0U);
  }  // the count is written at the latest when the recorder ends
  StatusOr<ListResult> events =
      api_->List(kEvents, {.name_space = "default", .field_selector = "regarding.uid=" + std::string(Uid(*map))});
  if (!events.ok() || events->items.empty()) events = api_->List(kEvents, {.name_space = "default"});
  ASSERT_TRUE(events.ok()) << events.status();
  std::vector<Json> ours;
  for (const Json& event : events->items) {
    if (StringAt(event, {"regarding", "uid"}) == Uid(*map)) ours.push_back(event);
  }
  ASSERT_EQ(ours.size(), 1U);
  EXPECT_EQ(IntegerAt(ours[0], {"series", "count"}), 3);
  EXPECT_EQ(StringAt(ours[0], {"reportingController"}), "attune-operator");
  EXPECT_EQ(api_->Delete(kEvents, KeyOf(ours[0])), OkStatus());
}

TEST_P(ClusterTest, ReflectorFollowsARealServer) {
  ASSERT_TRUE(api_->Create(kConfigMaps, Map("a")).ok());
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> reported;
  WatchCache cache({.on_change = [&](const CacheChange& change) {
    std::lock_guard lock(mutex);
    reported.push_back((change.before == nullptr  ? "new "
                        : change.after == nullptr ? "gone "
                                                  : "changed ") +
                       change.key.name.substr(label_.size()));
    changed.notify_all();
  }});
  Reflector reflector(*api_, kConfigMaps, {.name_space = "default", .label_selector = "test=" + label_}, cache, time_);
  ASSERT_TRUE(cache.WaitForSync(seconds(20)));
  ASSERT_TRUE(api_->Create(kConfigMaps, Map("b")).ok());
  ASSERT_TRUE(api_->Patch(kConfigMaps, {"default", label_ + "a"}, PatchType::kMerge, {{"data", {{"x", "y"}}}}).ok());
  ASSERT_TRUE(api_->Delete(kConfigMaps, {"default", label_ + "a"}).ok());
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, seconds(20), [&] { return reported.size() >= 4; }));
  EXPECT_THAT(reported, ::testing::ElementsAre("new a", "new b", "changed a", "gone a"));
}

TEST_P(ClusterTest, ListsLongerThanAPageAreWhole) {
  constexpr int kCount = 620;
  for (int n = 0; n < kCount; ++n) ASSERT_TRUE(api_->Create(kConfigMaps, Map(std::to_string(n))).ok());
  StatusOr<ListResult> list = api_->List(kConfigMaps, {.name_space = "default", .label_selector = "test=" + label_});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->items.size(), static_cast<size_t>(kCount));
}

TEST_P(ClusterTest, LogOfAPodThatDoesNotRunIsRefusedInWords) {
  Status status = api_->ReadLog({"default", "absent"}, {}, [](std::string_view) { return true; });
  EXPECT_EQ(status.code(), StatusCode::kNotFound) << status;
}

}  // namespace
}  // namespace attune::kube::cluster_test
