#include "operator/local/api/object_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/operator/local/objects.h"

namespace attune::local::object_store_test {
namespace {

using kube::Json;
using kube::WatchSignal;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Key;

class ObjectStoreTest : public ::testing::Test {
 protected:
  static constexpr size_t kHistoryMax = 3;

  StoredKind& Pods() { return **store_.FindKind(kube::kPods); }
  StoredKind& Events() { return **store_.FindKind(kube::kEvents); }
  void Add(const std::string& name, const std::string& uid, Json owners = Json::array()) {
    Json pod = testing::MakePod(name);
    pod["metadata"]["uid"] = uid;
    pod["metadata"]["ownerReferences"] = std::move(owners);
    store_.Commit(Pods(), WatchSignal::Kind::kAdded, Key(name), std::move(pod), nullptr);
  }
  void Remove(const std::string& name) {
    const ObjectPointer last = Pods().Find(Key(name));
    store_.Commit(Pods(), WatchSignal::Kind::kDeleted, Key(name), *last, last);
  }

  const std::vector<KindInfo> kinds_ = BuiltInKinds();
  int changes_ = 0;
  ObjectStore store_{kinds_, kHistoryMax, [this] { ++changes_; }};
};

TEST_F(ObjectStoreTest, EachChangeHasTheNextVersion) {
  const uint64_t before = store_.version();
  Add("a", "1");
  Add("b", "2");
  EXPECT_EQ(store_.version(), before + 2);
  EXPECT_EQ(kube::ResourceVersion(*Pods().Find(Key("b"))), std::to_string(before + 2));
  EXPECT_EQ(changes_, 2);
}

TEST_F(ObjectStoreTest, ThereMayBeNoSuchKindOrObject) {
  EXPECT_EQ(store_.FindKind({"example.org", "v1", "gadgets", "Gadget"}).status().code(), StatusCode::kNotFound);
  kube::ResourceType other_version = kube::kPods;
  other_version.version = "v2";
  EXPECT_EQ(store_.FindKind(other_version).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ObjectStore::Get(Pods(), Key("a")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ObjectStore::Get(Pods(), {"", "a"}).status().code(), StatusCode::kInvalidArgument) << "no namespace";
  EXPECT_EQ(Pods().Find(Key("a")), nullptr);
}

TEST_F(ObjectStoreTest, ObjectsAreFoundByNamespace) {
  Add("a", "1");
  Add("b", "2");
  EXPECT_THAT(Pods().KeysIn("default"), ElementsAre(Key("a"), Key("b")));
  EXPECT_FALSE(Pods().AnyIn("defaul"));
  EXPECT_FALSE(Pods().AnyIn("default2"));
  Remove("a");
  Remove("b");
  EXPECT_FALSE(Pods().AnyIn("default"));
}

TEST_F(ObjectStoreTest, TheHistoryIsBounded) {
  for (const char* name : {"a", "b", "c", "d"}) Add(name, name);
  Remove("a");
  ASSERT_EQ(Pods().history().size(), kHistoryMax);
  EXPECT_EQ(Pods().history().front().version, store_.version() - 2);
  EXPECT_EQ(Pods().expired_version(), store_.version() - 3);
  EXPECT_EQ(Pods().history().back().kind, WatchSignal::Kind::kDeleted);
  EXPECT_NE(Pods().history().back().previous, nullptr);
  store_.ExpireHistory();
  EXPECT_THAT(Pods().history(), IsEmpty());
  EXPECT_EQ(Pods().expired_version(), store_.version());
}

TEST_F(ObjectStoreTest, DependentsAreThoseThatNameTheOwner) {
  const Json owned = Json::array({{{"kind", "Pod"}, {"uid", "1"}}});
  Add("owner", "1");
  Add("b", "2", owned);
  Add("c", "3", owned);
  ASSERT_EQ(store_.DependentsOf("1").size(), 2U);
  EXPECT_EQ(store_.PlaceOf("1")->key, Key("owner"));
  EXPECT_TRUE(store_.AnyOwnerExists(*Pods().Find(Key("b"))));
  Remove("owner");
  EXPECT_EQ(store_.PlaceOf("1"), nullptr);
  EXPECT_FALSE(store_.AnyOwnerExists(*Pods().Find(Key("b"))));
  Remove("b");
  Remove("c");
  EXPECT_FALSE(store_.HasDependents("1")) << "nothing is kept of those that are gone";
}

TEST_F(ObjectStoreTest, AnOwnerOfAnUnknownKindMayExist) {
  Add("a", "1", Json::array({{{"kind", "Gadget"}, {"uid", "9"}}}));
  EXPECT_TRUE(store_.AnyOwnerExists(*Pods().Find(Key("a"))));
}

TEST_F(ObjectStoreTest, EventsAreFoundByAge) {
  for (const auto& [name, time] :
       {std::pair("late", "2026-01-02T00:00:00Z"), std::pair("early", "2026-01-01T00:00:00Z")}) {
    store_.Commit(Events(), WatchSignal::Kind::kAdded, Key(name),
                  {{"metadata", {{"name", name}, {"uid", name}, {"creationTimestamp", time}}}}, nullptr);
  }
  ASSERT_NE(Events().OldestEvent(), nullptr);
  EXPECT_EQ(*Events().OldestEvent(), Key("early"));
  EXPECT_EQ(Events().EventBefore("2026-01-01T00:00:00Z"), nullptr);
  EXPECT_EQ(*Events().EventBefore("2026-01-01T00:00:01Z"), Key("early"));
}

}  // namespace
}  // namespace attune::local::object_store_test
