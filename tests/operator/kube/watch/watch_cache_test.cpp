#include "operator/kube/watch/watch_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace attune::kube::watch_cache_test {
namespace {

using ::testing::ElementsAre;

Json Pod(const std::string& name, int version, const std::string& job = "", const std::string& uid = "") {
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata",
               {{"name", name},
                {"namespace", "n"},
                {"uid", uid.empty() ? "uid-" + name : uid},
                {"resourceVersion", std::to_string(version)},
                {"managedFields", Json::array({1, 2, 3})}}},
              {"spec", {{"nodeName", "m"}, {"containers", Json::array({{{"name", "main"}}})}}},
              {"status", {{"phase", "Running"}, {"podIP", "10.0.0.1"}}}};
  if (!job.empty()) {
    pod["metadata"]["labels"] = {{"job", job}};
    pod["metadata"]["ownerReferences"] = Json::array({{{"uid", "owner-" + job}}});
  }
  return pod;
}

WatchEvent Replaced(std::vector<Json> objects) { return {WatchEvent::Kind::kReplaced, std::move(objects)}; }
WatchEvent Applied(Json object) { return {WatchEvent::Kind::kApplied, {std::move(object)}}; }
WatchEvent Deleted(Json object) { return {WatchEvent::Kind::kDeleted, {std::move(object)}}; }

std::vector<std::string> NamesOf(const std::vector<Snapshot>& objects) {
  std::vector<std::string> names;
  for (const Snapshot& object : objects) names.emplace_back(Name(*object));
  return names;
}

// "new a", "changed a", "gone a".
struct Changes {
  std::vector<std::string> reported;
  std::function<void(const CacheChange&)> Handler() {
    return [this](const CacheChange& change) {
      reported.push_back((change.before == nullptr  ? "new "
                          : change.after == nullptr ? "gone "
                                                    : "changed ") +
                         change.key.name);
    };
  }
};

TEST(WatchCache, AbsenceMeansNothingBeforeTheFirstList) {
  WatchCache cache;
  EXPECT_FALSE(cache.HasSynced());
  EXPECT_FALSE(cache.WaitForSync(std::chrono::milliseconds(1)));
  cache.Take(Replaced({}));
  EXPECT_TRUE(cache.HasSynced());
  EXPECT_TRUE(cache.WaitForSync(Duration::zero()));
}

TEST(WatchCache, RelistTellsDifferencesOnlyDeletionsIncluded) {
  Changes changes;
  WatchCache cache({.on_change = changes.Handler()});
  cache.Take(Replaced({Pod("a", 1), Pod("b", 2), Pod("c", 3)}));
  EXPECT_THAT(changes.reported, ElementsAre("new a", "new b", "new c"));
  changes.reported.clear();
  cache.Take(Replaced({Pod("b", 2), Pod("c", 9), Pod("d", 10)}));
  EXPECT_THAT(changes.reported, ElementsAre("gone a", "changed c", "new d"));
  EXPECT_THAT(NamesOf(cache.All()), ElementsAre("b", "c", "d"));
}

TEST(WatchCache, AnotherObjectUnderTheSameNameIsGoneAndNew) {
  Changes changes;
  WatchCache cache({.on_change = changes.Handler()});
  cache.Take(Replaced({Pod("a", 1, "", "first")}));
  changes.reported.clear();
  cache.Take(Replaced({Pod("a", 7, "", "second")}));
  EXPECT_THAT(changes.reported, ElementsAre("gone a", "new a"));
}

TEST(WatchCache, IndexesFollowChanges) {
  WatchCache cache({.index_label = "job"});
  cache.Take(Replaced({Pod("a", 1, "x"), Pod("b", 2, "y"), Pod("c", 3)}));
  EXPECT_THAT(NamesOf(cache.ByLabel("x")), ElementsAre("a"));
  EXPECT_THAT(NamesOf(cache.ByOwner("owner-y")), ElementsAre("b"));
  cache.Take(Applied(Pod("a", 4, "y")));
  EXPECT_THAT(NamesOf(cache.ByLabel("x")), ElementsAre());
  EXPECT_THAT(NamesOf(cache.ByLabel("y")), ElementsAre("a", "b"));
  EXPECT_THAT(NamesOf(cache.ByOwner("owner-y")), ElementsAre("a", "b"));
  cache.Take(Deleted(Pod("b", 5, "y")));
  EXPECT_THAT(NamesOf(cache.ByLabel("y")), ElementsAre("a"));
  EXPECT_EQ(cache.Get({"n", "b"}), nullptr);
  EXPECT_EQ(cache.size(), 2U);
}

TEST(WatchCache, DeletionOfAnUnknownObjectTellsNothing) {
  Changes changes;
  WatchCache cache({.on_change = changes.Handler()});
  cache.Take(Deleted(Pod("a", 1)));
  EXPECT_THAT(changes.reported, ElementsAre());
}

TEST(WatchCache, SnapshotsSurviveTheObject) {
  WatchCache cache;
  cache.Take(Replaced({Pod("a", 1)}));
  Snapshot held = cache.Get({"n", "a"});
  cache.Take(Deleted(Pod("a", 2)));
  EXPECT_EQ(ResourceVersion(*held), "1");
}

TEST(WatchCache, HandlerReadsTheChangedCache) {
  WatchCache* reached = nullptr;
  size_t seen = 0;
  WatchCache cache({.on_change = [&](const CacheChange&) { seen = reached->size(); }});
  reached = &cache;
  cache.Take(Replaced({Pod("a", 1), Pod("b", 2)}));
  EXPECT_EQ(seen, 2U);
}

TEST(WatchCache, KeepsOnlyTheFieldsAsked) {
  WatchCache cache({.project = KeepFields({{"spec", "nodeName"}, {"status", "phase"}, {"status", "absent", "deep"}}),
                    .index_label = "job"});
  cache.Take(Replaced({Pod("a", 1, "x")}));
  Json want = {{"apiVersion", "v1"},
               {"kind", "Pod"},
               {"metadata",
                {{"name", "a"},
                 {"namespace", "n"},
                 {"uid", "uid-a"},
                 {"resourceVersion", "1"},
                 {"labels", {{"job", "x"}}},
                 {"ownerReferences", Json::array({{{"uid", "owner-x"}}})}}},
               {"spec", {{"nodeName", "m"}}},
               {"status", {{"phase", "Running"}}}};
  EXPECT_EQ(*cache.Get({"n", "a"}), want);
  EXPECT_THAT(NamesOf(cache.ByLabel("x")), ElementsAre("a"));
}

TEST(WatchCache, ReadersNeverSeeAHalfSwappedList) {
  WatchCache cache;
  std::vector<Json> even, odd;
  for (int i = 0; i < 50; ++i) (i % 2 == 0 ? even : odd).push_back(Pod("p" + std::to_string(i), 1));
  cache.Take(Replaced(even));
  std::atomic<bool> stop = false, mixed = false;
  std::thread reader([&] {
    while (!stop) {
      std::vector<Snapshot> all = cache.All();
      if (all.size() != 25) mixed = true;
    }
  });
  for (int n = 0; n < 50; ++n) cache.Take(Replaced(n % 2 == 0 ? odd : even));
  stop = true;
  reader.join();
  EXPECT_FALSE(mixed);
}

}  // namespace
}  // namespace attune::kube::watch_cache_test
