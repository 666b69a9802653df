// What a row holds before anybody has pushed to it. What a program chooses, as values; ps/store/formulas/initializer.h
// computes them.
#pragma once

#include <cstdint>
#include <variant>

namespace attune::ps {

// Initial values are a function of (seed, table name, key, position): the same on every server and after every move.
struct ConstantInitializer {
  float value = 0.0F;
  bool operator==(const ConstantInitializer&) const = default;
};
struct UniformInitializer {
  float low = -0.01F;
  float high = 0.01F;
  bool operator==(const UniformInitializer&) const = default;
};
struct NormalInitializer {
  float mean = 0.0F;
  float standard_deviation = 0.01F;
  bool operator==(const NormalInitializer&) const = default;
};
// Glorot, Bengio 2010: uniform within +- sqrt(6 / (fan_in + fan_out)).
struct XavierInitializer {
  uint32_t fan_in = 0;
  uint32_t fan_out = 0;  // 0: dim, for both
  bool operator==(const XavierInitializer&) const = default;
};
using Initializer = std::variant<ConstantInitializer, UniformInitializer, NormalInitializer, XavierInitializer>;

}  // namespace attune::ps
