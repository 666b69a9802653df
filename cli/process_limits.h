// What this process and those it starts may take from the system. Libraries below abort where a descriptor, a thread or
// memory is refused, so it is looked at beforehand, and an abort that happens all the same says what to do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace attune::cli {

struct ProcessLimits {
  uint64_t open_files = 0, open_files_most = 0;  // soft and hard
  uint64_t address_space = 0;                    // bytes; UINT64_MAX: as much as there is
  uint64_t file_size = UINT64_MAX;               // likewise, of one file
};

// For a command that speaks to an API, and for a local run with so many pods (0: no run). FailedPrecondition says what
// to set to what. Pure.
Status CheckLimits(const ProcessLimits& limits, size_t pods);
// How many descriptors are enough.
uint64_t OpenFilesFor(size_t pods);

// Takes as many descriptors as are needed and allowed, then checks.
Status PrepareLimits(size_t pods);

// From now on an abort is explained on standard error, also while that goes to a log file (see
// KeepStandardErrorForAborts), and the terminal is put back.
void ExplainAborts();
// Where standard error was before it was led into a file; -1: where it is.
void KeepStandardErrorForAborts(int descriptor);

}  // namespace attune::cli
