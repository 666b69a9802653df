// RFC 3339 in UTC, as Kubernetes objects carry time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time_source.h"

namespace attune::controller {

// "2026-11-21T12:00:01Z"; fractions of a second are cut off.
std::string ToRfc3339(WallTime time);
// Accepts "Z" and fractions of a second; other offsets and malformed text read as nullopt.
std::optional<WallTime> ParseRfc3339(std::string_view text);

}  // namespace attune::controller
