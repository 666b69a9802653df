#include "base/net/strangers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace attune::strangers_test {
namespace {

constexpr uint64_t kFirst = 2;
constexpr MonotonicTime At(int64_t time) { return MonotonicTime{} + std::chrono::seconds(time); }

class StrangersTest : public testing::Test {
 protected:
  auto Enter(const std::string& source, const std::string& key, int64_t deadline) {
    return strangers_.Enter("connection " + key, {.key = key, .source = source}, At(deadline));
  }

  Strangers<std::string> strangers_{3, kFirst};
};

TEST_F(StrangersTest, OneIsFoundByItsIdAndByItsKey) {
  const uint64_t id = Enter("a", "a|1", 10).id;
  EXPECT_EQ(id, kFirst);
  ASSERT_NE(strangers_.Find(id), nullptr);
  EXPECT_EQ(strangers_.Find(id)->connection, "connection a|1");
  EXPECT_EQ(strangers_.IdOf("a|1"), id);
  strangers_.Leave(id);
  EXPECT_EQ(strangers_.Find(id), nullptr);
  EXPECT_EQ(strangers_.IdOf("a|1"), std::nullopt);
  strangers_.Leave(id);
  EXPECT_EQ(strangers_.size(), 0U);
}

TEST_F(StrangersTest, ALaterConnectionFromTheSamePortKeepsItsName) {
  const uint64_t first = Enter("a", "a|1", 10).id;
  const uint64_t second = Enter("a", "a|1", 11).id;
  strangers_.Leave(first);
  EXPECT_EQ(strangers_.IdOf("a|1"), second);
}

TEST_F(StrangersTest, TheOldestIsDueFirst) {
  EXPECT_EQ(strangers_.NextDeadline(), kNever);
  const uint64_t first = Enter("a", "a|1", 10).id;
  Enter("b", "b|1", 12);
  EXPECT_EQ(strangers_.NextDeadline(), At(10));
  EXPECT_EQ(strangers_.OldestDue(At(9)), std::nullopt);
  EXPECT_EQ(strangers_.OldestDue(At(10)), first);
  strangers_.Leave(first);
  EXPECT_EQ(strangers_.OldestDue(At(11)), std::nullopt);
}

TEST_F(StrangersTest, BeyondTheBoundTheSourceWithTheMostPays) {
  EXPECT_EQ(Enter("probe", "probe|1", 10).shed, std::nullopt);
  const uint64_t slow = Enter("slow", "slow|1", 10).id;
  Enter("slow", "slow|2", 10);
  EXPECT_EQ(Enter("probe", "probe|2", 10).shed, slow);
}

}  // namespace
}  // namespace attune::strangers_test
