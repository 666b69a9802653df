// Files that are read whole or written whole. Errors name the path and the system's reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/status.h"

namespace attune {

// Reads at most `bytes_max`; a larger file is ResourceExhausted, a missing one NotFound.
StatusOr<std::string> ReadFile(const std::filesystem::path& path, uint64_t bytes_max = 64ULL << 20);

// Writes beside the target, syncs, and renames: readers see the old content or the new, never half. A full disk leaves
// the old content and no temporary file. `mode` is the permission of a new file.
Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content, unsigned mode = 0644);

// "No space left on device" for ENOSPC.
std::string ErrnoText(int error_number);

}  // namespace attune
