// Amounts as Kubernetes writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attune::kube {

// "512Mi" -> bytes, "500m" -> 0.5, "1e3" -> 1000. Absent for what Kubernetes does not read as a quantity, and for what
// is negative.
std::optional<double> ParseQuantity(std::string_view text);

// In the whole units that figures of pods are computed in; what is finer is rounded up, as Kubernetes does. Absent also
// for what is beyond 2^53 of them.
std::optional<int64_t> ParseMillicores(std::string_view text);  // "0.5" -> 500
std::optional<int64_t> ParseByteCount(std::string_view text);   // "1Ki" -> 1024
// The shortest exact way to write them: "250m", "2"; "1536Mi", "1Gi", "1000".
std::string FormatMillicores(int64_t millicores);
std::string FormatByteCount(int64_t bytes);

}  // namespace attune::kube
