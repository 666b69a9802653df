// Whether the processes of a run on this machine can reach each other.
#pragma once

#include "base/status.h"

namespace attune::local {

// FailedPrecondition when the loopback interface is down, as in a network namespace that was just made: every
// connection of a run would wait for its deadline.
Status CheckOwnAddresses();

}  // namespace attune::local
