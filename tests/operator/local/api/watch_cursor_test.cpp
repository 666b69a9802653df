#include "operator/local/api/watch_cursor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/operator/local/objects.h"

namespace attune::local::watch_cursor_test {
namespace {

using kube::Json;
using Kind = kube::WatchSignal::Kind;
using std::chrono::seconds;
using testing::Key;
constexpr MonotonicTime At(int64_t time) { return MonotonicTime{} + seconds(time); }

// A watch of pods with the label a=b: ends after 100 s, a bookmark every 10 s.
class WatchCursorTest : public ::testing::Test {
 protected:
  static constexpr size_t kHistoryMax = 3;

  void SetUp() override { pods_ = *store_.FindKind(kube::kPods); }
  WatchCursor Watch(uint64_t from = 0) {
    return WatchCursor(*pods_, *Selection::Parse("", "a=b", ""),
                       {.from = from, .end = At(100), .bookmark_interval = seconds(10)}, store_.version(), At(0));
  }
  void Set(const std::string& name, const std::string& label) {
    const ObjectPointer old = pods_->Find(Key(name));
    Json pod = testing::MakePod(name, {{"a", label}});
    store_.Commit(*pods_, old == nullptr ? Kind::kAdded : Kind::kModified, Key(name), std::move(pod), old);
  }
  void Remove(const std::string& name) {
    const ObjectPointer last = pods_->Find(Key(name));
    store_.Commit(*pods_, Kind::kDeleted, Key(name), *last, last);
  }
  // All that is due, as "A name", "M name", "D name"; "B", "!" and "." for bookmark, error and end.
  std::string All(WatchCursor& cursor, int64_t now = 1) {
    std::string text;
    while (const std::optional<WatchCursor::Signal> signal = cursor.Next(store_.version(), At(now))) {
      if (signal->kind == Kind::kBookmark) return text + "B";
      if (signal->kind == Kind::kError) return text + "!";
      if (signal->kind == Kind::kEnded) return text + ".";
      text += std::string(signal->kind == Kind::kAdded      ? "A"
                          : signal->kind == Kind::kModified ? "M"
                                                            : "D") +
              " " + std::string(kube::Name(*signal->object)) + ", ";
    }
    return text;
  }

  const std::vector<KindInfo> kinds_ = BuiltInKinds();
  ObjectStore store_{kinds_, kHistoryMax, [] {}};
  StoredKind* pods_ = nullptr;
};

TEST_F(WatchCursorTest, WhatThereIsComesFirst) {
  Set("x", "b");
  Set("other", "c");
  WatchCursor cursor = Watch();
  Set("y", "b");
  EXPECT_EQ(All(cursor), "A x, A y, ");
  EXPECT_EQ(All(cursor), "");
}

TEST_F(WatchCursorTest, OneFromAVersionReportsWhatCameLater) {
  Set("x", "b");
  WatchCursor cursor = Watch(store_.version());
  Set("x", "b");
  Remove("x");
  EXPECT_EQ(All(cursor), "M x, D x, ");
}

TEST_F(WatchCursorTest, AnObjectThatIsNotChosenAnyMoreIsDeletedForTheWatch) {
  Set("x", "b");
  WatchCursor cursor = Watch(store_.version());
  Set("x", "c");
  Set("x", "d");
  EXPECT_EQ(All(cursor), "D x, ");
  Set("x", "b");
  EXPECT_EQ(All(cursor), "A x, ");
}

TEST_F(WatchCursorTest, OneThatFallsBehindTheHistoryEndsWithAnError) {
  Set("x", "b");
  WatchCursor cursor = Watch(store_.version());
  for (size_t i = 0; i <= kHistoryMax; ++i) Set("x", "b");
  EXPECT_EQ(All(cursor), "!");
  EXPECT_TRUE(cursor.finished());
  EXPECT_EQ(All(cursor), "");
}

TEST_F(WatchCursorTest, WhatOthersChangeKeepsItCurrent) {
  WatchCursor cursor = Watch(store_.version());
  StoredKind& services = **store_.FindKind(kube::kServices);
  for (size_t i = 0; i <= kHistoryMax; ++i) {
    Set("other", "c");
    EXPECT_EQ(All(cursor), "");
    store_.Commit(services, Kind::kAdded, Key("s"), testing::MakePod("s"), services.Find(Key("s")));
  }
  EXPECT_EQ(All(cursor), "");
}

TEST_F(WatchCursorTest, BookmarksComeWhileItIsQuietAndTheEndInTime) {
  WatchCursor cursor = Watch();
  EXPECT_EQ(All(cursor, 9), "");
  const auto bookmark = cursor.Next(store_.version(), At(10));
  ASSERT_TRUE(bookmark);
  EXPECT_EQ(bookmark->kind, Kind::kBookmark);
  EXPECT_EQ(kube::ResourceVersion(*bookmark->object), std::to_string(store_.version()));
  EXPECT_EQ(All(cursor, 19), "");
  EXPECT_EQ(All(cursor, 20), "B");
  EXPECT_EQ(All(cursor, 100), ".");
  EXPECT_TRUE(cursor.finished());
}

}  // namespace
}  // namespace attune::local::watch_cursor_test
