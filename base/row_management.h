// What the workers of a job make of the rows that their programs announce (Table::Intend). The one model of it:
// manifests (spec.rowManagement, operator/api) and messages (proto/row_management.h) are converted where they come in
// and go out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace attune {

enum class RowManagement : uint8_t {
  kAdaptive,  // they are fetched ahead and copied while that makes the job faster
  kStatic,    // nothing
  kAlways,    // they are fetched ahead and copied
};

// In the words of manifests, in the order of the enumerators.
inline constexpr std::array<const char*, 3> kRowManagementNames = {"Adaptive", "Static", "Always"};
inline const char* ToString(RowManagement management) { return kRowManagementNames[static_cast<size_t>(management)]; }

}  // namespace attune
