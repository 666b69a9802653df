// The values of one knob that policies leave, and where a value lies relative to them. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace attune::policy {

struct KnobRange {
  std::optional<int64_t> min, max;
  bool fixed = false;  // forbidden, or in conflict
  friend bool operator==(const KnobRange&, const KnobRange&) = default;
};

// How far a value lies outside; 0: inside. Of a knob that is not fixed.
inline int64_t Excess(const KnobRange& range, int64_t value) {
  if (range.max && value > *range.max) return value - *range.max;
  if (range.min && value < *range.min) return *range.min - value;
  return 0;
}

// The nearest value inside. A fixed knob keeps the value that it has.
inline int64_t Nearest(const KnobRange& range, int64_t value) {
  if (range.fixed) return value;
  if (range.max) value = std::min(value, *range.max);
  if (range.min) value = std::max(value, *range.min);
  return value;
}

}  // namespace attune::policy
