// The fence in front of writes.
#include "operator/leadership/fenced_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "operator/local/api/memory_api.h"
#include "tests/operator/kube/fake_api.h"

namespace attune::leadership::fenced_api_test {
namespace {

using kube::Json;
using std::chrono::seconds;

const kube::ObjectKey kKey{"default", "x"};
const Json kMap = {
    {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "x"}, {"namespace", "default"}}}};
const Json kPatch = {{"data", {{"a", "b"}}}};

// Every way to write. Each is called on an object that exists, but for the first.
struct Way {
  const char* name;
  std::function<Status(kube::Api&)> call;
};
const std::vector<Way> kWrites = {
    {"create", [](kube::Api& api) { return api.Create(kube::kConfigMaps, kMap).status(); }},
    {"update", [](kube::Api& api) { return api.Update(kube::kConfigMaps, kMap).status(); }},
    {"patch",
     [](kube::Api& api) { return api.Patch(kube::kConfigMaps, kKey, kube::PatchType::kMerge, kPatch).status(); }},
    {"apply", [](kube::Api& api) { return api.Apply(kube::kConfigMaps, kMap, {.field_manager = "m"}).status(); }},
    {"delete", [](kube::Api& api) { return api.Delete(kube::kConfigMaps, kKey); }}};

// Records how long each call may take.
class CountingApi final : public kube::FakeApi {
 public:
  StatusOr<Json> Create(const kube::ResourceType&, const Json& object, const kube::CallOptions& call) override {
    timeouts.push_back(call.timeout);
    return object;
  }
  StatusOr<Json> Get(const kube::ResourceType&, const kube::ObjectKey&, const kube::CallOptions& call) override {
    timeouts.push_back(call.timeout);
    return Json();
  }
  std::vector<Duration> timeouts;
};

class FencedApiTest : public testing::Test {
 protected:
  void SetUp() override { time_.Advance(seconds(1000)); }

  ManualTime time_;
  Fence fence_{time_};
  local::MemoryApi real_{time_, {.own_thread = false}};
  FencedApi api_{real_, fence_, "system/attune-operator"};
};

TEST_F(FencedApiTest, NoWriteIsSentBeforeTheRightAndAfterItsEndAndEveryOneWhileItLasts) {
  for (const Way& way : kWrites) {
    SCOPED_TRACE(way.name);
    const Status refused = way.call(api_);
    EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
    EXPECT_THAT(std::string(Message(refused)), testing::HasSubstr("ConfigMap default/x was not sent"));
    EXPECT_THAT(std::string(Message(refused)), testing::HasSubstr("Lease system/attune-operator"));
  }
  EXPECT_EQ(api_.refused(), kWrites.size());
  EXPECT_TRUE(real_.List(kube::kConfigMaps, {})->items.empty());
  fence_.OpenUntil(time_.Now() + seconds(10));
  for (const Way& way : kWrites) EXPECT_TRUE(way.call(api_).ok()) << way.name;
  ASSERT_TRUE(real_.Create(kube::kConfigMaps, kMap).ok());
  time_.Advance(seconds(10));
  for (const Way& way : kWrites) EXPECT_EQ(way.call(api_).code(), StatusCode::kUnavailable) << way.name;
  EXPECT_FALSE(real_.Get(kube::kConfigMaps, kKey)->contains("data"));
}

TEST_F(FencedApiTest, ReadsPassAtAnyTime) {
  ASSERT_TRUE(real_.Create(kube::kConfigMaps, kMap).ok());
  EXPECT_TRUE(api_.Get(kube::kConfigMaps, kKey).ok());
  EXPECT_EQ(api_.List(kube::kConfigMaps, {})->items.size(), 1U);
  EXPECT_TRUE(api_.StartWatch(kube::kConfigMaps, {.resource_version = "1"}, [](kube::WatchSignal) {}).ok());
}

TEST_F(FencedApiTest, NoWriteMayTakeLongerThanTheRightLasts) {
  CountingApi counting;
  FencedApi api(counting, fence_, "system/attune-operator");
  fence_.OpenUntil(time_.Now() + seconds(3));
  ASSERT_TRUE(api.Create(kube::kConfigMaps, kMap, {.timeout = seconds(5)}).ok());
  ASSERT_TRUE(api.Create(kube::kConfigMaps, kMap, {.timeout = seconds(1)}).ok());
  ASSERT_TRUE(api.Get(kube::kConfigMaps, kKey, {.timeout = seconds(5)}).ok());
  EXPECT_THAT(counting.timeouts, testing::ElementsAre(seconds(3), seconds(1), seconds(5)));
}

}  // namespace
}  // namespace attune::leadership::fenced_api_test
