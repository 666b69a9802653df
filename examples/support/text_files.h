// Text that example programs train on: the files below some directories, by default C and C++ headers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace attune::examples {

// Headers that come with the packages Attune is built with, so that this text is the same wherever it was built.
std::vector<std::filesystem::path> DefaultTextDirectories();

// The files below the directories by path, without links. NotFound when one of them cannot be read: half a text would
// be another text.
StatusOr<std::vector<std::string>> ListFiles(const std::vector<std::filesystem::path>& directories);

// Prints their names, a line each.
Status PrintFiles(const std::vector<std::filesystem::path>& directories);

// Calls `take` with the name and the content of each file, in the order given. Files that cannot be read, are larger
// than 8 MiB or hold a NUL byte are left out.
void ReadTexts(const std::vector<std::string>& files,
               const std::function<void(const std::string& file, const std::string& text)>& take);

// One after another, each on a line of its own: names by key, so that exported tables can be read.
Status WriteLines(const std::filesystem::path& path, const std::vector<std::string>& lines);

}  // namespace attune::examples
