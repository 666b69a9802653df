#include "ps/core/protocol/incarnation.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace attune::ps::incarnation_test {
namespace {

TEST(Incarnation, NamesItsPodAndIsNeverZero) {
  const uint32_t pod = PodNumber("0b2f7a52-2f2c-4a5e-9a55-3d9f0c1b2a11");
  EXPECT_EQ(PodOf(NewIncarnation(pod, 7)), pod);
  EXPECT_NE(NewIncarnation(pod, 7), NewIncarnation(pod, 8)) << "started again in the same pod";
  EXPECT_NE(NewIncarnation(0, uint64_t{1} << 40), 0U);
  EXPECT_EQ(PodOf(NewIncarnation(0, ~uint64_t{0})), 0U) << "started by hand";
}

TEST(Incarnation, PodsHaveNumbersOfTheirOwn) {
  EXPECT_EQ(PodNumber(""), 0U);
  std::set<uint32_t> numbers;
  for (int i = 0; i < 1000; ++i) numbers.insert(PodNumber("0b2f7a52-2f2c-4a5e-9a55-" + std::to_string(i)));
  EXPECT_EQ(numbers.size(), 1000U);
  EXPECT_FALSE(numbers.contains(0));
}

}  // namespace
}  // namespace attune::ps::incarnation_test
