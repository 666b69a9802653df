// Optimizers as loops over one row, compiled for several instruction sets and chosen once per table.
//
// Results are the same bits on every instruction set: only correctly rounded operations (+ - * / sqrt), never fused, no
// reordering. Rows have no alignment requirement here. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attune/ps/session.h"

namespace attune::ps {

// Floats of optimizer state kept per value of a row: 0 for SGD, 1 for Adagrad.
uint32_t StatesPerValue(const Optimizer& optimizer);

// The state of a row nobody has pushed to. `state` holds dim * StatesPerValue values.
void InitializeState(const Optimizer& optimizer, float* state, size_t dim);

// Optimizer settings flattened for the inner loops; SGD reads the rate only.
struct OptimizerSettings {
  float rate = 0;
  float epsilon = 0;
};

// values[0..n) and state[0..) are updated with gradient[0..n). They do not overlap.
using UpdateFunction = void (*)(const OptimizerSettings& settings, float* values, float* state, const float* gradient,
                                size_t n);
using IsFiniteFunction = bool (*)(const float* values, size_t n);

struct RowKernel {
  UpdateFunction update;
  IsFiniteFunction all_finite;
  OptimizerSettings settings;
};

// The fastest kernel this processor runs.
RowKernel SelectKernel(const Optimizer& optimizer);
// The kernel for any processor; the twin of SelectKernel in tests.
RowKernel PortableKernel(const Optimizer& optimizer);

}  // namespace attune::ps
