// Checks of numbers on the command lines of the examples: what is allowed is said (base/number_text.h).
#pragma once

#include <cstdint>
#include <limits>

#include "base/number_text.h"

namespace CLI {
class Validator;
}

namespace attune::examples {

CLI::Validator WholeNumber(int64_t low, int64_t high = kNoMaximum);
CLI::Validator Number(double low, double high = std::numeric_limits<double>::infinity());
CLI::Validator PositiveNumber();

}  // namespace attune::examples
