// Reports come from pods a user controls: what cannot be true is not let in.
#pragma once

#include "attune/v1/telemetry.pb.h"

namespace attune::telemetry {

// Numbers finite and not negative (a loss may be negative), windows of a sensible length, parts that fit the role the
// sidecar said it has.
bool IsPlausible(const v1::SidecarHello& hello, const v1::PodReport& report);
bool IsPlausible(const v1::FinalReport& report);

}  // namespace attune::telemetry
