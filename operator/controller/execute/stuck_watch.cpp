#include "operator/controller/execute/stuck_watch.h"

#include <algorithm>
#include <utility>

namespace attune::controller {

std::string StuckWatch::Look(const std::vector<MovingPart>& parts, MonotonicTime now) {
  const Duration elapsed =
      last_look_ ? std::clamp<Duration>(now - *last_look_, Duration::zero(), kLookCounts) : Duration::zero();
  last_look_ = now;
  std::map<std::string, Seen> seen;
  std::string stuck;
  for (const MovingPart& part : parts) {
    Seen& present = seen[part.name];
    present.turn = part.turn;
    const auto before = seen_.find(part.name);
    if (part.idle || before == seen_.end() || before->second.turn != part.turn) continue;
    present.standing = before->second.standing + elapsed;
    if (present.standing < kStuckAfter) continue;
    stuck += (stuck.empty() ? "" : "; ") + part.name + " has not moved for " +
             std::to_string(std::chrono::floor<std::chrono::seconds>(present.standing).count()) + " s";
  }
  seen_ = std::move(seen);
  return stuck;
}

}  // namespace attune::controller
