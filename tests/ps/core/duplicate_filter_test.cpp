#include "ps/core/duplicate_filter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "base/random.h"

namespace attune::ps {
namespace {

using enum DuplicateFilter::Decision;

TEST(DuplicateFilter, ForgetsWhatTheOriginHasSettled) {
  DuplicateFilter filter;
  const NodeId origin(7);
  filter.Record(origin, SequenceNumber(1), {.first = 0, .count = 3, .list = {}}, kApplied);
  filter.Record(origin, SequenceNumber(2), {.first = 0, .count = 1, .list = {}}, kRefused);
  EXPECT_EQ(filter.records(), 2U);
  EXPECT_TRUE(filter.MergeAckedBelow(origin, SequenceNumber(1)));
  EXPECT_FALSE(filter.MergeAckedBelow(origin, SequenceNumber(1)));
  EXPECT_TRUE(filter.Covered(origin, SequenceNumber(1)));
  EXPECT_FALSE(filter.Covered(origin, SequenceNumber(2)));
  EXPECT_EQ(filter.records(), 1U);
  EXPECT_EQ(filter.Find(origin, SequenceNumber(2), 0), kRefused);
  filter.Forget(origin);
  EXPECT_EQ(filter.records(), 0U);
  EXPECT_FALSE(filter.Covered(origin, SequenceNumber(1)));
}

TEST(DuplicateFilter, AgreesWithASetUnderRandomPieces) {
  const char* chosen = std::getenv("ATTUNE_SEED");
  const uint64_t seed = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 1;
  std::cout << "seed=" << seed << " (ATTUNE_SEED)" << std::endl;
  Random random(seed);
  constexpr uint32_t kPositions = 700;
  for (int round = 0; round < 50; ++round) {
    DuplicateFilter filter;
    std::map<uint32_t, DuplicateFilter::Decision> twin;
    for (int piece = 0; piece < 12; ++piece) {
      Positions positions;
      if (random.Chance(0.5)) {
        positions.first = static_cast<uint32_t>(random.Below(kPositions - 100));
        positions.count = static_cast<uint32_t>(1 + random.Below(100));
      } else {
        std::set<uint32_t> some;
        for (int i = 0; i < 20; ++i) some.insert(static_cast<uint32_t>(random.Below(kPositions)));
        positions.list.assign(some.begin(), some.end());
      }
      // As the server does: only keys that are open are decided.
      Positions open;
      for (size_t i = 0; i < positions.size(); ++i) {
        if (!twin.contains(positions.At(i))) open.list.push_back(positions.At(i));
      }
      const auto decision = random.Chance(0.7) ? kApplied : kRefused;
      for (const uint32_t position : open.list) twin[position] = decision;
      filter.Record(NodeId(1), SequenceNumber(5), open.list.size() == positions.size() ? positions : open, decision);
      for (uint32_t position = 0; position < kPositions + 100; ++position) {
        const auto expected = twin.contains(position) ? twin[position] : kOpen;
        ASSERT_EQ(filter.Find(NodeId(1), SequenceNumber(5), position), expected) << "position " << position;
      }
    }
  }
}

}  // namespace
}  // namespace attune::ps
