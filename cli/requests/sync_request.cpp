#include "cli/requests/sync_request.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace attune::cli {

StatusOr<api::Synchronization> ParseSynchronization(const std::string& text) {
  constexpr int64_t kStalenessMax = 1'000'000;
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "async") return api::Synchronization{};
  if (lower == "bsp") return api::Synchronization{api::SyncMode::kBsp, std::nullopt};
  if (lower.starts_with("ssp:")) {
    int64_t staleness = 0;
    const char* const end = lower.data() + lower.size();
    const auto [parsed, error] = std::from_chars(lower.data() + 4, end, staleness);
    if (error == std::errc() && parsed == end && staleness >= 1 && staleness <= kStalenessMax) {
      return api::Synchronization{api::SyncMode::kSsp, staleness};
    }
    return Error(StatusCode::kInvalidArgument,
                 "\"" + text +
                     "\": after ssp: stands how many steps a worker may be ahead of the slowest, a whole number "
                     "from 1 to " +
                     std::to_string(kStalenessMax) + ", as ssp:4");
  }
  return Error(StatusCode::kInvalidArgument,
               "\"" + text +
                   "\" is no mode; write async (no worker waits), bsp (all finish a step before one begins the "
                   "next) or ssp:N (none is more than N steps ahead of the slowest, N from 1 to " +
                   std::to_string(kStalenessMax) + ")");
}

Status CheckSynchronization(const api::TrainingJob& job, const api::Synchronization& wanted) {
  if (api::IsTrue(job.status, api::kSucceeded) || api::IsTrue(job.status, api::kFailed)) {
    return Error(StatusCode::kFailedPrecondition,
                 "job " + job.name + " has ended (" + job.status.phase + "); nothing to switch");
  }
  if (job.status.abilities && !job.status.abilities->synchronization_modes && wanted != api::Synchronization{}) {
    return Error(StatusCode::kFailedPrecondition,
                 "the servers of job " + job.name +
                     " cannot switch the mode (status.abilities.synchronizationModes is false); it stays Async");
  }
  return OkStatus();
}

kube::Json SynchronizationPatch(const api::Synchronization& wanted) {
  return {{"spec", {{"synchronization", api::SynchronizationFields(wanted)}}}};
}

}  // namespace attune::cli
