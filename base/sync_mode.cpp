#include "base/sync_mode.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace attune {

StatusOr<SyncMode> ParseSyncMode(std::string_view text) {
  const std::string shown(text.substr(0, 64));
  std::string lower = shown;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "async") return SyncMode::Async();
  if (lower == "bsp") return SyncMode::Bsp();
  if (lower.starts_with("ssp:")) {
    uint32_t slack = 0;
    const char* const end = lower.data() + lower.size();
    const auto [parsed, error] = std::from_chars(lower.data() + 4, end, slack);
    if (error == std::errc() && parsed == end && slack >= 1 && slack <= kSlackMax) return SyncMode::Ssp(slack);
    return Error(StatusCode::kInvalidArgument,
                 "\"" + shown +
                     "\": after ssp: stands how many steps a worker may be ahead of the slowest, a whole number "
                     "from 1 to " +
                     std::to_string(kSlackMax) + ", as ssp:4");
  }
  return Error(StatusCode::kInvalidArgument,
               "\"" + shown +
                   "\" is no mode; write async (no worker waits), bsp (all finish a step before one begins the "
                   "next) or ssp:N (none is more than N steps ahead of the slowest, N from 1 to " +
                   std::to_string(kSlackMax) + ")");
}

std::string ToString(SyncMode mode) {
  if (!mode.slack) return "async";
  return *mode.slack == 0 ? "bsp" : "ssp:" + std::to_string(*mode.slack);
}

std::string Describe(SyncMode mode) {
  if (!mode.slack) return "Async";
  return *mode.slack == 0 ? "BSP" : "SSP(" + std::to_string(*mode.slack) + ")";
}

}  // namespace attune
