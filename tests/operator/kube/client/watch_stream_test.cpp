#include "operator/kube/client/watch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "base/random.h"

namespace attune::kube::watch_stream_test {
namespace {

using ::testing::ElementsAre;

TEST(LineSplitter, LinesAreTheSameWhereverThePiecesBreak) {
  const char* from_environment = std::getenv("ATTUNE_TEST_SEED");
  uint64_t seed = from_environment != nullptr ? std::strtoull(from_environment, nullptr, 10) : 4711;
  std::cout << "ATTUNE_TEST_SEED=" << seed << "\n";
  Random random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> want;
    std::string stream;
    for (uint64_t n = random.Below(6); n > 0; --n) {
      std::string line(1 + random.Below(40), static_cast<char>('a' + random.Below(26)));
      stream += line + (random.Chance(0.2) ? "\n\n" : "\n");
      want.push_back(line);
    }
    LineSplitter splitter(40);
    std::vector<std::string> got;
    for (size_t at = 0; at < stream.size();) {
      size_t piece = std::min<size_t>(1 + random.Below(50), stream.size() - at);
      ASSERT_TRUE(splitter.Feed(std::string_view(stream).substr(at, piece), [&](std::string line) {
        got.push_back(std::move(line));
        return true;
      }));
      at += piece;
    }
    ASSERT_EQ(got, want) << "round " << round;
  }
}

TEST(LineSplitter, LimitHoldsForOnePieceAndForMany) {
  auto ignore = [](std::string) { return true; };
  LineSplitter one(10);
  EXPECT_FALSE(one.Feed("12345678901\n", ignore));
  EXPECT_TRUE(one.too_long());
  LineSplitter many(10);
  EXPECT_TRUE(many.Feed("123456", ignore));
  EXPECT_FALSE(many.Feed("78901", ignore));
  EXPECT_TRUE(many.too_long());
}

TEST(LineSplitter, StopsWhenTold) {
  LineSplitter splitter(10);
  std::vector<std::string> got;
  EXPECT_FALSE(splitter.Feed("a\nb\nc\n", [&](std::string line) {
    got.push_back(std::move(line));
    return got.size() < 2;
  }));
  EXPECT_THAT(got, ElementsAre("a", "b"));
  EXPECT_FALSE(splitter.too_long());
}

TEST(ParseWatchLine, EveryType) {
  using Kind = WatchSignal::Kind;
  struct {
    const char* type;
    Kind want;
  } cases[] = {{"ADDED", Kind::kAdded},
               {"MODIFIED", Kind::kModified},
               {"DELETED", Kind::kDeleted},
               {"BOOKMARK", Kind::kBookmark}};
  for (const auto& c : cases) {
    WatchSignal signal = ParseWatchLine(
        R"({"type":")" + std::string(c.type) + R"(","object":{"metadata":{"name":"a","resourceVersion":"7"}}})", kPods);
    EXPECT_EQ(signal.kind, c.want) << c.type;
    EXPECT_EQ(ResourceVersion(signal.object), "7");
    EXPECT_EQ(signal.object["kind"], "Pod");
    EXPECT_EQ(signal.object["apiVersion"], "v1");
  }
}

TEST(ParseWatchLine, ErrorEventsCarryTheirStatus) {
  constexpr char kLine[] =
      R"({"type":"ERROR","object":{"kind":"Status","message":"too old","reason":"Expired","code":410}})";
  WatchSignal signal = ParseWatchLine(kLine, kPods);
  EXPECT_EQ(signal.kind, WatchSignal::Kind::kError);
  EXPECT_EQ(signal.status.code(), StatusCode::kOutOfRange);
}

TEST(ParseWatchLine, AnythingElseIsDamage) {
  for (const char* line : {"", "{", "[]", "3", "{}", R"({"type":"ADDED"})", R"({"type":"ADDED","object":5})",
                           R"({"type":"NEW","object":{}})", R"({"object":{}})", "\xff\xfe"}) {
    WatchSignal signal = ParseWatchLine(line, kPods);
    EXPECT_EQ(signal.kind, WatchSignal::Kind::kBroken) << line;
    EXPECT_EQ(signal.status.code(), StatusCode::kDataLoss) << line;
  }
}

}  // namespace
}  // namespace attune::kube::watch_stream_test
