// How commands end when they cannot do their work.
#pragma once

#include "base/status.h"

namespace attune::cli {

// Prints "attune: <message>" to standard error; the exit code that fits the status.
int Fail(const Status& status);

}  // namespace attune::cli
