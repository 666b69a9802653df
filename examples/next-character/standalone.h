// The same training in one process, without servers: what the platform's cost is measured against.
#pragma once

#include "base/status.h"
#include "examples/next-character/flags.h"

namespace attune::next_character {

Status RunStandalone(const Flags& flags);

}  // namespace attune::next_character
