// What an API server gives an object at its creation: names by a prefix, uids, times.
#pragma once

#include <cstddef>
#include <string>

#include "base/time_source.h"

namespace attune::local {

std::string RandomHex(size_t bytes);  // from the kernel's generator
std::string NewUid();                 // UUID version 4
// "2026-11-21T12:13:06Z", the form of creationTimestamp.
std::string Rfc3339(WallTime time);

}  // namespace attune::local
