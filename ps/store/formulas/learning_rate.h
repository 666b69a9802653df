// Learning-rate schedules: the factor of a table's rate at a global step. Pure.
#pragma once

#include <cstdint>

#include "ps/types/table_options.h"

namespace attune::ps {

// 0 .. 1; formulas at LearningRateSchedule. Steps count from 0, and the first step of a warm-up has 1 / warmup_steps.
// Evaluated in double and rounded once, so that all servers and backups use the same factor.
float RateFactor(const LearningRateSchedule& schedule, uint64_t step);

}  // namespace attune::ps
