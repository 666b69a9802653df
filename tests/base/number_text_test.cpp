#include "base/number_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace attune::number_text_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(NumberText, WhatIsWrongIsSaidWithWhatIsAllowed) {
  EXPECT_EQ(ProblemOfWholeNumber("64", 1, 64), "");
  EXPECT_EQ(ProblemOfWholeNumber("65", 1, 64), "\"65\" is not a whole number from 1 to 64");
  EXPECT_EQ(ProblemOfWholeNumber("-5", 0), "\"-5\" is not a whole number of at least 0");
  for (const char* text : {"", "x", "1e9", "1.0", " 1", "1 ", "0x10", "99999999999999999999"})
    EXPECT_NE(ProblemOfWholeNumber(text, 0), "") << text;
  EXPECT_EQ(ProblemOfNumber("1e-3", 0, kInfinity), "");
  EXPECT_EQ(ProblemOfNumber("-5", 0, kInfinity), "\"-5\" is not a number of at least 0");
  EXPECT_EQ(ProblemOfNumber("0", 0.1, 100), "\"0\" is not a number from 0.1 to 100");
  EXPECT_EQ(ProblemOfPositiveNumber("0"), "\"0\" is not a number above 0");
  for (const char* text : {"nan", "inf", "-inf", "1e999", "x"}) {
    EXPECT_NE(ProblemOfNumber(text, -kInfinity, kInfinity), "") << text;
    EXPECT_NE(ProblemOfPositiveNumber(text), "") << text;
  }
}

}  // namespace
}  // namespace attune::number_text_test
