#include "operator/local/api/object_lifecycle.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "tests/operator/local/objects.h"

namespace attune::local::object_lifecycle_test {
namespace {

using kube::Json;
using testing::Key;

class ObjectLifecycleTest : public ::testing::Test {
 protected:
  StoredKind& Kind(const kube::ResourceType& type) { return **store_.FindKind(type); }
  Json Create(Json object) {
    const auto created = lifecycle_.Create(Kind(kube::kPods), std::move(object));
    EXPECT_TRUE(created.ok()) << ToString(created.status());
    return created.ok() ? *created : Json();
  }
  bool Exists(const std::string& name) { return Kind(kube::kPods).Find(Key(name)) != nullptr; }
  Status Delete(const std::string& name, const kube::DeleteOptions& options = {}) {
    return lifecycle_.Delete(Kind(kube::kPods), Key(name), options);
  }

  ManualTime time_;
  const std::vector<KindInfo> kinds_ = BuiltInKinds();
  ObjectStore store_{kinds_, 100, [] {}};
  int uids_ = 0;
  ObjectLifecycle lifecycle_{
      store_, time_, {.object_bytes_max = 2000, .event_ttl = std::chrono::hours(1), .new_uid = [this] {
                        return "uid-" + std::to_string(++uids_);
                      }}};
};

TEST_F(ObjectLifecycleTest, ANamespaceComesIntoBeingWithItsFirstObject) {
  Create(testing::MakePod("a"));
  EXPECT_NE(Kind(kube::kNamespaces).Find({"", "default"}), nullptr);
}

TEST_F(ObjectLifecycleTest, WhatIsTooLargeIsRefusedAndChangesNothing) {
  Create(testing::MakePod("a"));
  const uint64_t before = store_.version();
  Json large = testing::MakePod("b");
  large["metadata"]["annotations"]["note"] = std::string(3000, 'x');
  EXPECT_EQ(lifecycle_.Create(Kind(kube::kPods), large).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(store_.version(), before);
}

TEST_F(ObjectLifecycleTest, DependentsGoWithTheirOwner) {
  const Json owner = Create(testing::MakePod("owner"));
  const Json middle = Create(testing::OwnedBy(testing::MakePod("middle"), owner));
  Create(testing::OwnedBy(testing::MakePod("last"), middle));
  ASSERT_TRUE(Delete("owner").ok());
  EXPECT_FALSE(Exists("owner") || Exists("middle") || Exists("last"));
}

TEST_F(ObjectLifecycleTest, OneWhoseOwnerIsGoneAlreadyDoesNotStay) {
  const Json owner = Create(testing::MakePod("owner"));
  ASSERT_TRUE(Delete("owner").ok());
  Create(testing::OwnedBy(testing::MakePod("late"), owner));
  EXPECT_FALSE(Exists("late"));
}

TEST_F(ObjectLifecycleTest, OrphansStayWithoutTheirOwner) {
  const Json owner = Create(testing::MakePod("owner"));
  Create(testing::OwnedBy(testing::MakePod("orphan"), owner));
  ASSERT_TRUE(Delete("owner", {.propagation = "Orphan"}).ok());
  ASSERT_TRUE(Exists("orphan"));
  EXPECT_FALSE(Kind(kube::kPods).Find(Key("orphan"))->at("metadata").contains("ownerReferences"));
}

TEST_F(ObjectLifecycleTest, AFinalizerOfADependentHoldsAForegroundOwner) {
  const Json owner = Create(testing::MakePod("owner"));
  Json held = testing::OwnedBy(testing::MakePod("held"), owner);
  held["metadata"]["finalizers"] = {"example.org/hold"};
  Create(held);
  ASSERT_TRUE(Delete("owner", {.propagation = "Foreground"}).ok());
  ASSERT_TRUE(Exists("owner") && Exists("held"));
  const ObjectPointer old = Kind(kube::kPods).Find(Key("held"));
  Json released = *old;
  released["metadata"].erase("finalizers");
  ASSERT_TRUE(lifecycle_.Replace(Kind(kube::kPods), old, released, "", true).ok());
  EXPECT_FALSE(Exists("held") || Exists("owner"));
}

TEST_F(ObjectLifecycleTest, ADeletedNamespaceGoesOnceItIsEmpty) {
  Json held = testing::MakePod("held");
  held["metadata"]["finalizers"] = {"example.org/hold"};
  Create(held);
  Create(testing::MakePod("free"));
  ASSERT_TRUE(lifecycle_.Delete(Kind(kube::kNamespaces), {"", "default"}, {}).ok());
  EXPECT_FALSE(Exists("free"));
  EXPECT_NE(Kind(kube::kNamespaces).Find({"", "default"}), nullptr);
  EXPECT_EQ(lifecycle_.Create(Kind(kube::kPods), testing::MakePod("new")).status().code(),
            StatusCode::kPermissionDenied);
  const ObjectPointer old = Kind(kube::kPods).Find(Key("held"));
  Json released = *old;
  released["metadata"].erase("finalizers");
  ASSERT_TRUE(lifecycle_.Replace(Kind(kube::kPods), old, released, "", true).ok());
  EXPECT_EQ(Kind(kube::kNamespaces).Find({"", "default"}), nullptr);
}

}  // namespace
}  // namespace attune::local::object_lifecycle_test
