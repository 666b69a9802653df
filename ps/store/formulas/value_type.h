// Values of a row in memory and as float32: conversions of whole rows, and of single values as their slow twin.
//
// To float32 is exact. From float32 is rounded to nearest, ties to even. A row that is stored stays finite: what would
// round to infinity becomes the largest value of the type (NaN stays NaN). Pure; the same bits on every processor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ps/types/table_options.h"

namespace attune::ps {

// IEEE 754 conversions of one value: overflow gives infinity, NaN a quiet NaN with the upper bits of its payload.
float HalfToFloat(uint16_t half);
uint16_t FloatToHalf(float value);
float BfloatToFloat(uint16_t bfloat);
uint16_t FloatToBfloat(float value);

// Conversions of rows of n values, at least one. `stored` has n * bytes_per_value bytes.
struct ValueCodec {
  size_t bytes_per_value;
  void (*load)(const std::byte* stored, float* values, size_t n);
  void (*store)(const float* values, std::byte* stored, size_t n);
};

ValueCodec SelectCodec(ValueType type);    // the fastest this processor runs
ValueCodec PortableCodec(ValueType type);  // for any processor; the twin of SelectCodec in tests

}  // namespace attune::ps
