// The same training in one process, without servers: what the platform's cost is measured against.
#pragma once

#include "base/status.h"
#include "examples/header-words/flags.h"

namespace attune::header_words {

Status RunStandalone(const Flags& flags);

}  // namespace attune::header_words
