// Memory of rows and keys on their way through messages. Blocks of the usual sizes are used again instead of going back
// to the system: a freed block of this size costs page faults when it comes back.
#pragma once

#include <cstddef>
#include <memory>

namespace attune::ps {

// At least `bytes` bytes, not cleared, aligned to a cache line. Any thread may drop the last share.
std::shared_ptr<void> NewRowMemory(size_t bytes);

}  // namespace attune::ps
