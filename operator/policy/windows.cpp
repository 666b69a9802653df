#include "operator/policy/windows.h"

#include <utility>

#include "operator/api/policy/schedule.h"
#include "operator/policy/calendar.h"

namespace attune::policy {

std::vector<WindowNow> WindowsOf(const api::Policy& policy, WallTime now) {
  std::vector<WindowNow> windows;
  for (const api::PolicyWindow& window : policy.spec.windows) {
    WindowNow made{.policy = api::NameOf(policy),
                   .schedule = window.schedule,
                   .mode = window.mode,
                   .holds = true,
                   .always_because = {},
                   .changes_at = {},
                   .zone = "UTC"};
    std::string why;
    const auto schedule = api::ParseSchedule(window.schedule, &why);
    if (!schedule) {
      made.always_because = "its schedule cannot be read; allowed: " + why;
    } else if (!IsKnownZone(schedule->zone)) {
      made.always_because = "time zone " + schedule->zone + " is not known here";
    } else {
      made.holds = Holds(*schedule, now);
      made.changes_at = NextChange(*schedule, now);
      made.zone = schedule->zone;
    }
    windows.push_back(std::move(made));
  }
  return windows;
}

}  // namespace attune::policy
