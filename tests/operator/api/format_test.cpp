#include "operator/api/format.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attune::api::format_test {
namespace {

TEST(Format, Percent) {
  EXPECT_EQ(FormatPercent(0), "0%");
  EXPECT_EQ(FormatPercent(0.29), "29%");
  EXPECT_EQ(FormatPercent(0.999), "99%");
  EXPECT_EQ(FormatPercent(1), "100%");
  EXPECT_EQ(FormatPercent(7), "100%");
  EXPECT_EQ(FormatPercent(std::nan("")), "");
}

TEST(Format, Figure) {
  EXPECT_EQ(FormatFigure(3.1172), "3.117");
  EXPECT_EQ(FormatFigure(31.172), "31.17");
  EXPECT_EQ(FormatFigure(0.21344), "0.2134");
  EXPECT_EQ(FormatFigure(0.0213444), "0.02134");
  EXPECT_EQ(FormatFigure(1234.4), "1234");
  EXPECT_EQ(FormatFigure(0), "0.0000");
  EXPECT_EQ(FormatFigure(1e-7), "1.000e-07");
  EXPECT_EQ(FormatFigure(std::nan("")), "not a number");
}

TEST(Format, CountAndRate) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(950), "950");
  EXPECT_EQ(FormatCount(999.6), "1.00k");
  EXPECT_EQ(FormatCount(18'140), "18.1k");
  EXPECT_EQ(FormatCount(181'400), "181k");
  EXPECT_EQ(FormatCount(999'700), "1.00M");
  EXPECT_EQ(FormatCount(1.8e6), "1.80M");
  EXPECT_EQ(FormatRate(181'400, "words"), "181k words/s");
  EXPECT_EQ(FormatRate(5, ""), "5/s");
}

TEST(Format, Seconds) {
  EXPECT_EQ(FormatSeconds(0.81), "0.8s");
  EXPECT_EQ(FormatSeconds(9.96), "10s");
  EXPECT_EQ(FormatSeconds(59.6), "1m00s");
  EXPECT_EQ(FormatSeconds(80), "1m20s");
  EXPECT_EQ(FormatSeconds(7500), "2h05m");
  EXPECT_EQ(FormatSeconds(3 * 86400 + 4 * 3600 + 5), "3d4h");
  EXPECT_EQ(FormatSeconds(-1), "?");
}

TEST(Format, Bytes) {
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(84ULL << 20), "84.0 MiB");
  EXPECT_EQ(FormatBytes((1ULL << 30) * 3 / 2), "1.50 GiB");
}

}  // namespace
}  // namespace attune::api::format_test
