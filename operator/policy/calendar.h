// Which moments the schedule of a window means, by the clocks of its place: daylight saving time included. An hour that
// clocks show twice counts twice, one that they leave out counts not at all.
#pragma once

#include <optional>
#include <string>

#include "base/time_source.h"
#include "operator/api/policy/schedule.h"

namespace attune::policy {

// A time zone that this machine does not know leaves no hours free: true always.
bool Holds(const api::Schedule& schedule, WallTime now);
bool IsKnownZone(const std::string& zone);
// When that changes next; nothing when it does not within nine days.
std::optional<WallTime> NextChange(const api::Schedule& schedule, WallTime now);

// "Wed 2026-07-15 20:00 Europe/Berlin"; by UTC where the zone is not known.
std::string TextIn(const std::string& zone, WallTime time);

}  // namespace attune::policy
