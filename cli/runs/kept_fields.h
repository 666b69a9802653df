// Fields of the files that are kept of a run. What is missing, or of another type, reads as nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "operator/kube/object.h"

namespace attune::cli {

// null for what is no number that JSON can hold.
inline kube::Json Number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? kube::Json(*value) : kube::Json();
}

inline std::string TextAt(const kube::Json& object, const char* key) {
  return std::string(kube::StringAt(object, {key}));
}

inline std::optional<double> NumberAt(const kube::Json& object, const char* key) {
  const kube::Json& value = kube::At(object, {key});
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

inline uint64_t CountAt(const kube::Json& object, const char* key, double most) {
  return static_cast<uint64_t>(std::clamp(NumberAt(object, key).value_or(0), 0.0, most));
}

}  // namespace attune::cli
