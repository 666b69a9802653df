#include "ps/core/keys/unique_keys.h"

#include <gtest/gtest.h>

#include <vector>

namespace attune::ps::unique_keys_test {
namespace {

using Keys = std::vector<Key>;
using Values = std::vector<float>;

TEST(UniqueKeys, ARepeatIsFoundWhereverItStands) {
  UniqueKeys unique;
  EXPECT_TRUE(unique.AreUnique(Keys{}));
  EXPECT_TRUE(unique.AreUnique(Keys{7, 0, 9}));
  EXPECT_FALSE(unique.AreUnique(Keys{7, 0, 9, 7}));
  EXPECT_TRUE(unique.AreUnique(Keys{7})) << "keys of earlier calls do not count";
}

TEST(UniqueKeys, KeysStayInTheOrderInWhichTheyComeFirst) {
  UniqueKeys unique;
  EXPECT_EQ(unique.Of(Keys{9, 4, 9, 9, 1, 4}), (Keys{9, 4, 1}));
}

TEST(UniqueKeys, GradientsOfEqualKeysAreSummed) {
  UniqueKeys unique;
  const auto sums = unique.Sum({.keys = Keys{5, 8, 5}, .values = Values{1, 2, 10, 20, 0.5F, 0.25F}}, 2);
  EXPECT_EQ(sums.keys, Slice<Key>(Keys{5, 8}));
  EXPECT_EQ(sums.values, Slice<float>(Values{1.5F, 2.25F, 10, 20}));
}

TEST(UniqueKeys, WithoutRepeatsNothingIsCopied) {
  UniqueKeys unique;
  const Slice<Key> keys(Keys{5, 8});
  const Slice<float> values(Values{1, 2});
  const auto same = unique.Sum({.keys = keys, .values = values}, 1);
  EXPECT_EQ(same.keys.data(), keys.data());
  EXPECT_EQ(same.values.data(), values.data());
}

}  // namespace
}  // namespace attune::ps::unique_keys_test
