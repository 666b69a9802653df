#include "ps/core/rows/state/waiting_operations.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace attune::ps::waiting_operations_test {
namespace {

constexpr TableId kTable{1};
constexpr NodeId kAnna{1}, kBert{2};

std::shared_ptr<const Message> PullOf(std::vector<Key> keys) {
  Pull pull{.origin = kAnna, .request = {}, .table = kTable, .map_version = {}};
  pull.positions.count = static_cast<uint32_t>(keys.size());
  pull.keys = std::move(keys);
  return std::make_shared<const Message>(std::move(pull));
}

TEST(WaitingOperations, RowsThatArriveReleaseTheirKeysOfEachMessageInTheOrderOfTheMessages) {
  WaitingOperations waiting;
  const auto first = PullOf({10, 11, 12}), second = PullOf({10});
  for (const uint32_t i : {2U, 0U}) waiting.Add({kTable, Key{10} + i}, first, kAnna, i);
  waiting.Add({kTable, 10}, second, kBert, 0);
  waiting.Add({kTable, 11}, first, kAnna, 1);
  const std::vector<Key> arrived = {10, 12};
  const auto parts = waiting.TakeFor(kTable, arrived);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].message, first);
  EXPECT_EQ(parts[0].places, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(parts[1].message, second);
  EXPECT_EQ(waiting.rows(), 1U) << "row 11 has not arrived";
  EXPECT_TRUE(waiting.TakeFor(kTable, arrived).empty());
}

TEST(WaitingOperations, ARecoveryTakesEachMessageOnceWithTheKeysThatWait) {
  WaitingOperations waiting;
  const auto pull = PullOf({10, 11, 12});
  for (const uint32_t i : {2U, 1U}) waiting.Add({kTable, Key{10} + i}, pull, kAnna, i);
  const auto taken = waiting.TakeAll();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].from, kAnna);
  const auto& rest = std::get<Pull>(taken[0].message);
  EXPECT_EQ(std::vector<Key>(rest.keys.begin(), rest.keys.end()), (std::vector<Key>{11, 12}));
  EXPECT_FALSE(waiting.AnyForRows());
}

TEST(WaitingOperations, TheQueueOfHomesIsApart) {
  WaitingOperations waiting;
  waiting.Queue({.from = kAnna, .message = *PullOf({10})});
  waiting.Queue({.from = kBert, .message = *PullOf({11})});
  EXPECT_TRUE(waiting.TakeAll().empty());
  const auto queue = waiting.TakeQueue();
  ASSERT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue[1].from, kBert);
  EXPECT_EQ(waiting.queued(), 0U);
}

}  // namespace
}  // namespace attune::ps::waiting_operations_test
