#include "operator/kube/quantity.h"

#include <gtest/gtest.h>

namespace attune::kube::quantity_test {
namespace {

TEST(Quantity, Reads) {
  EXPECT_EQ(ParseQuantity("512Mi"), 536870912.0);
  EXPECT_EQ(ParseQuantity("500m"), 0.5);
  EXPECT_EQ(ParseQuantity("2"), 2.0);
  EXPECT_EQ(ParseQuantity("1.5G"), 1.5e9);
  EXPECT_EQ(ParseQuantity("x"), std::nullopt);
  EXPECT_EQ(ParseQuantity("1Q"), std::nullopt);
  EXPECT_EQ(ParseQuantity("-1"), std::nullopt);
  EXPECT_EQ(ParseQuantity("1e3"), 1000.0);
  EXPECT_EQ(ParseQuantity("2E"), 2e18);
  EXPECT_EQ(ParseQuantity("250u"), 250e-6);
  EXPECT_EQ(ParseQuantity(".5"), 0.5);
  EXPECT_EQ(ParseQuantity("1.5Pi"), 1.5 * 1125899906842624.0);
}

TEST(Quantity, RefusesWhatOnlyCReadsAsANumber) {
  for (const char* text : {"", " 1", "1 ", "0x10", "inf", "nan", "1ki", "1K", "1e", "1e3Mi", "banana", "--1", "1.2.3"})
    EXPECT_EQ(ParseQuantity(text), std::nullopt) << text;
}

TEST(Quantity, WholeUnitsRoundUpAndStayBounded) {
  EXPECT_EQ(ParseMillicores("0.1"), 100);
  EXPECT_EQ(ParseMillicores("250m"), 250);
  EXPECT_EQ(ParseMillicores("2"), 2000);
  EXPECT_EQ(ParseMillicores("1u"), 1);
  EXPECT_EQ(ParseMillicores("1P"), std::nullopt);
  EXPECT_EQ(ParseMillicores("many"), std::nullopt);
  EXPECT_EQ(ParseByteCount("1Gi"), 1 << 30);
  EXPECT_EQ(ParseByteCount("1.5"), 2);
  EXPECT_EQ(ParseByteCount("0"), 0);
  EXPECT_EQ(ParseByteCount("1E"), std::nullopt);
}

TEST(Quantity, IsWrittenInTheLargestUnitThatIsExact) {
  for (const char* text : {"0", "10m", "1", "1500m", "64"}) EXPECT_EQ(FormatMillicores(*ParseMillicores(text)), text);
  for (const char* text : {"0", "1000", "3Ki", "1536Mi", "2Gi", "4Ti"}) {
    EXPECT_EQ(FormatByteCount(*ParseByteCount(text)), text);
  }
}

}  // namespace
}  // namespace attune::kube::quantity_test
