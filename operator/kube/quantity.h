// Amounts as Kubernetes writes them.
#pragma once

#include <optional>
#include <string_view>

namespace attune::kube {

// "512Mi" -> bytes, "500m" -> 0.5, "1e3" -> 1000. Absent for what Kubernetes does not read as a quantity, and for what
// is negative.
std::optional<double> ParseQuantity(std::string_view text);

}  // namespace attune::kube
