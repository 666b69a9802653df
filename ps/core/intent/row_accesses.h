// Where the rows were that a worker's program asked for, what its announcements were worth, and what copies have cost.
// Values.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time_source.h"

namespace attune::ps {

struct RowAccesses {
  uint64_t owned = 0;       // by this worker
  uint64_t replicated = 0;  // with a copy here
  uint64_t fetched = 0;     // ahead, and there
  uint64_t waited = 0;      // fetched ahead, and still on the way
  uint64_t remote = 0;      // asked for when they were needed
  uint64_t late = 0;        // announced for a step that had begun
  uint64_t refused = 0;     // announcements for which there was no room

  RowAccesses& operator+=(const RowAccesses& other) {
    owned += other.owned;
    replicated += other.replicated;
    fetched += other.fetched;
    waited += other.waited;
    remote += other.remote;
    late += other.late;
    refused += other.refused;
    return *this;
  }
};

// What has been done about copies of rows at a worker, and how many there are.
struct CopyCounts {
  uint64_t copies = 0;           // now
  uint64_t flushed_bytes = 0;    // of folds that were sent
  uint64_t refreshed_bytes = 0;  // of rows that came: copies, and what others have changed in them
  Duration oldest_read{};        // age of a copy that the program has read, at most
};

}  // namespace attune::ps
