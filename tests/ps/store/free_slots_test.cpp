#include "ps/store/free_slots.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/ps/store/test_seed.h"

namespace attune::ps::free_slots_test {
namespace {

class FreeSlotsTest : public testing::Test {
 protected:
  static constexpr uint64_t kSlots = 200;
  FreeSlotsTest() { EXPECT_TRUE(slabs_.Reserve(kSlots)); }
  uint32_t Take() {
    const uint32_t slot = free_.next();
    free_.TakeNext(slabs_);
    return slot;
  }

  RowSlabs slabs_{16, false};
  FreeSlots free_;
};

TEST_F(FreeSlotsTest, SlotsThatWereNeverUsedComeInOrder) {
  for (uint32_t slot = 0; slot < 3; ++slot) EXPECT_EQ(Take(), slot);
  EXPECT_EQ(free_.EndWith(4), 7U);
}

TEST_F(FreeSlotsTest, OnesWhoseRowsWereErasedComeFirstAndNeedNoMemory) {
  for (int i = 0; i < 4; ++i) Take();
  free_.Free(1, slabs_);
  free_.Free(3, slabs_);
  EXPECT_EQ(free_.EndWith(2), 4U);
  EXPECT_EQ(free_.EndWith(3), 5U);
  EXPECT_EQ(Take(), 3U);
  EXPECT_EQ(Take(), 1U);
  EXPECT_EQ(Take(), 4U);
}

TEST_F(FreeSlotsTest, NoSlotIsGivenTwice) {
  std::mt19937_64 random(TestSeed("10,000 takes and frees of 200 slots"));
  std::set<uint32_t> used;
  for (int step = 0; step < 10'000; ++step) {
    if (used.size() < kSlots && (used.empty() || random() % 2 == 0)) {
      ASSERT_TRUE(used.insert(Take()).second);
    } else {
      const auto chosen = std::next(used.begin(), static_cast<long>(random() % used.size()));
      free_.Free(*chosen, slabs_);
      used.erase(chosen);
    }
    ASSERT_LE(free_.EndWith(0), kSlots);
  }
}

}  // namespace
}  // namespace attune::ps::free_slots_test
