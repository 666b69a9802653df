// Numbers that people type. What is wrong with one is said with what is allowed, as it stands in the text: never with
// the bounds of a type.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace attune {

inline constexpr int64_t kNoMaximum = std::numeric_limits<int64_t>::max();

// "a whole number from 1 to 64", "a whole number of at least 1".
std::string WholeNumbers(int64_t low, int64_t high = kNoMaximum);
// "\"x\" is not a whole number from 1 to 64"; "" when it is one.
std::string ProblemOfWholeNumber(const std::string& text, int64_t low, int64_t high = kNoMaximum);

// Finite numbers; the bounds may be infinite. "\"-5\" is not a number above 0", "\"x\" is not a number from 0.1 to
// 100".
std::string ProblemOfNumber(const std::string& text, double low, double high);
std::string ProblemOfPositiveNumber(const std::string& text);

}  // namespace attune
