// Optimizers as loops over one row, compiled for several instruction sets and chosen once per table. Formulas and
// sources are at the structs in ps/types/optimizer_options.h.
//
// Results are the same bits on every instruction set: only correctly rounded operations (+ - * / sqrt), never fused,
// sums in one fixed order. Rows have no alignment requirement here. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ps/types/table_options.h"

namespace attune::ps {

// Floats of optimizer state kept per value of a row, and whether there is one more for the whole row.
uint32_t StatesPerValue(const Optimizer& optimizer);
bool HasRowState(const Optimizer& optimizer);
// Of a row that travels: dim * StatesPerValue, then the one of the row.
inline size_t StateFloats(const Optimizer& optimizer, size_t dim) {
  return dim * StatesPerValue(optimizer) + (HasRowState(optimizer) ? 1 : 0);
}

// A row in memory. Parts do not overlap; those an optimizer does not have are not looked at.
struct RowParts {
  float* values = nullptr;     // n
  float* state = nullptr;      // n * StatesPerValue, by kind: first n, second n
  float* row_state = nullptr;  // one
};

// The state of a row no worker has pushed to; its values are set already.
void InitializeState(const Optimizer& optimizer, const RowParts& row, size_t n);

// beta^t for t = 0, 1, 2 ... without the math library, so that every machine computes the same.
class Powers {
 public:
  explicit Powers(double base);
  double Of(uint64_t exponent) const;

 private:
  static constexpr uint64_t kTable = 256;
  double base_;
  double low_[kTable];   // base^i
  double high_[kTable];  // base^(256 i)
};

// Optimizer settings flattened for the inner loops; each optimizer reads its own.
struct OptimizerSettings {
  float rate = 0;     // of this step: the optimizer's rate times the schedule's factor
  float epsilon = 0;  // Adagrad, RmsProp, RowAdam
  float decay = 0;    // momentum; RmsProp's decay; beta1
  float beta = 0;     // beta2 of RowAdam; beta of Ftrl
  float l1 = 0;
  float l2 = 0;
  const Powers* decay_powers = nullptr;  // of RowAdam's beta1 and beta2
  const Powers* beta_powers = nullptr;
};

// Updates a row of n values with gradient[0..n); `count` is the number of this push to the row, from 1.
using UpdateFunction = void (*)(const OptimizerSettings& settings, const RowParts& row, const float* gradient, size_t n,
                                uint64_t count);
using IsFiniteFunction = bool (*)(const float* values, size_t n);

struct RowKernel {
  UpdateFunction update;
  IsFiniteFunction all_finite;
  OptimizerSettings settings;  // with the optimizer's own rate
  std::shared_ptr<const Powers> decay_powers, beta_powers;

  OptimizerSettings SettingsAt(float rate_factor) const {
    OptimizerSettings scaled = settings;
    scaled.rate *= rate_factor;
    return scaled;
  }
};

// The fastest kernel this processor runs.
RowKernel SelectKernel(const Optimizer& optimizer);
// The kernel for any processor; the twin of SelectKernel in tests.
RowKernel PortableKernel(const Optimizer& optimizer);

}  // namespace attune::ps
