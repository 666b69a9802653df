// Everything a program says about a table when it opens it.
#pragma once

#include <cstdint>

#include "ps/types/initializer_options.h"
#include "ps/types/optimizer_options.h"

namespace attune::ps {

// How the values of a row lie in memory; programs see float32, optimizer state is float32. Stored values are rounded to
// the nearest, ties to even, and stay finite: what is larger becomes the largest.
enum class ValueType : uint8_t {
  kFloat32,
  kFloat16,   // IEEE 754 binary16: 11 significant bits, up to 65504
  kBfloat16,  // 8 significant bits, the range of float32
};

// What happens to a gradient that is NaN or infinite.
enum class NonFiniteGradients : uint8_t {
  kRefusePush,  // the push is refused, with the first such key in the message
  kSkipRow,     // the row stays as it is, its version rises; skipped rows are counted
};

struct TableOptions {
  uint32_t dim = 0;             // values per row, 1 .. 65536
  Optimizer optimizer = Sgd{};  // applied by the owner of a row to every pushed gradient
  Initializer initializer = ConstantInitializer{};
  uint64_t seed = 1;
  uint64_t rows_max = 0;  // per server; 0: no limit. One more row is refused with ResourceExhausted
  LearningRateSchedule schedule = {};
  ValueType value_type = ValueType::kFloat32;
  NonFiniteGradients non_finite_gradients = NonFiniteGradients::kRefusePush;
  bool operator==(const TableOptions&) const = default;
};

}  // namespace attune::ps
