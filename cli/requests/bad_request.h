// The error for what a user asks and cannot be.
#pragma once

#include <string_view>

#include "base/status.h"

namespace attune::cli {

inline Status BadRequest(std::string_view message) { return Error(StatusCode::kInvalidArgument, message); }

}  // namespace attune::cli
