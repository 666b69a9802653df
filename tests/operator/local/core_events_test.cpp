#include "operator/local/rest/core_events.h"

#include <gtest/gtest.h>

namespace attune::local::core_events_test {
namespace {

using kube::Json;

TEST(CoreEvents, OnlyTheirPathsAreTheirs) {
  const auto of = [](const char* path) { return CoreEventsNamespace(*ParseTarget(path)); };
  EXPECT_EQ(of("/api/v1/namespaces/default/events?limit=500"), "default");
  EXPECT_EQ(of("/api/v1/events"), "");
  for (const char* other : {"/api/v1/pods", "/api/v1/namespaces/default/pods", "/api/v1/namespaces/events",
                            "/apis/events.k8s.io/v1/namespaces/default/events", "/api/v1/namespaces/a/pods/events"}) {
    EXPECT_EQ(of(other), std::nullopt) << other;
  }
}

TEST(CoreEvents, SelectorsSpeakOfTheSameObject) {
  EXPECT_EQ(ToRegardingSelector("involvedObject.name=involvedObject.x,type=Warning,involvedObject.kind!=Pod"),
            "regarding.name=involvedObject.x,type=Warning,regarding.kind!=Pod");
  EXPECT_EQ(ToRegardingSelector(""), "");
}

TEST(CoreEvents, CarryWhatDescribePrints) {
  const Json event = Json::parse(R"({
    "metadata": {"name": "e", "creationTimestamp": "2026-01-02T03:04:05Z"}, "type": "Normal", "reason": "ServersAdded",
    "action": "ScaleServers", "note": "Created 2 server pods", "reportingController": "attune-operator",
    "regarding": {"kind": "TrainingJob", "name": "a"}, "eventTime": "2026-01-02T03:04:05.000006Z",
    "series": {"count": 3, "lastObservedTime": "2026-01-02T03:05:06.000007Z"}})");
  const Json list = CoreEventList({.items = {event, Json::object()}, .resource_version = "7"});
  EXPECT_EQ(list["kind"], "EventList");
  const Json& core = list["items"][0];
  EXPECT_EQ(core["message"], "Created 2 server pods");
  EXPECT_EQ(core["involvedObject"]["name"], "a");
  EXPECT_EQ(core["source"]["component"], "attune-operator");
  EXPECT_EQ(core["count"], 3);
  EXPECT_EQ(core["firstTimestamp"], "2026-01-02T03:04:05Z");
  EXPECT_EQ(core["lastTimestamp"], "2026-01-02T03:05:06Z");
  EXPECT_EQ(list["items"][1]["count"], 1) << "an odd event from outside is no harm";
}

}  // namespace
}  // namespace attune::local::core_events_test
