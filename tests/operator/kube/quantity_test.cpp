#include "operator/kube/quantity.h"

#include <gtest/gtest.h>

namespace attune::kube {
namespace {

TEST(Quantity, Reads) {
  EXPECT_EQ(ParseQuantity("512Mi"), 536870912.0);
  EXPECT_EQ(ParseQuantity("500m"), 0.5);
  EXPECT_EQ(ParseQuantity("2"), 2.0);
  EXPECT_EQ(ParseQuantity("1.5G"), 1.5e9);
  EXPECT_EQ(ParseQuantity("x"), std::nullopt);
  EXPECT_EQ(ParseQuantity("1Q"), std::nullopt);
  EXPECT_EQ(ParseQuantity("-1"), std::nullopt);
}

}  // namespace
}  // namespace attune::kube
