#include "ps/core/protocol/sync_mode.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

StatusOr<SyncMode> ParseSyncMode(std::string_view text) {
  std::string lower(text.substr(0, 64));
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "async") return SyncMode::Async();
  if (lower == "bsp") return SyncMode::Bsp();
  if (lower.starts_with("ssp:")) {
    uint32_t slack = 0;
    const char* const end = lower.data() + lower.size();
    const auto [parsed, error] = std::from_chars(lower.data() + 4, end, slack);
    if (error == std::errc() && parsed == end && slack <= kSlackMax) return SyncMode::Ssp(slack);
  }
  return Error(
      StatusCode::kInvalidArgument,
      "synchronization \"" + lower + "\" is none of async, bsp, ssp:N with N 0 to " + std::to_string(kSlackMax));
}

std::string ToString(SyncMode mode) {
  if (!mode.slack) return "async";
  return *mode.slack == 0 ? "bsp" : "ssp:" + std::to_string(*mode.slack);
}

}  // namespace attune::ps
