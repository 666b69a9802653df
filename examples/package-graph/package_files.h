// Where this machine keeps its package lists, and their text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

namespace attune::package_graph {

inline constexpr uint64_t kListBytesMax = 512ULL << 20;  // of one list, unpacked

// Given directories stand for the files in them that are package lists (..._Packages, packed or not), given files for
// themselves. Nothing given: the lists apt has loaded, or what is installed (/var/lib/dpkg/status) where there are
// none. NotFound when there is nothing.
StatusOr<std::vector<std::filesystem::path>> FindPackageLists(const std::vector<std::filesystem::path>& given);

// Packed lists (by their name: .lz4, .gz, .xz, .bz2, .zst) are unpacked by apt's own helper program, within a minute.
StatusOr<std::string> ReadPackageList(const std::filesystem::path& path);

}  // namespace attune::package_graph
