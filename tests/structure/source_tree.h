// The project's own files, as the structure tests see them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attune::structure {

struct SourceFile {
  std::string path;  // relative to the root, with '/'
  std::vector<std::string> lines;
};

std::filesystem::path Root();
// C++ sources and headers of all parts, tests included; generated and built files are not.
std::vector<SourceFile> CppFiles();

// Its text without comments, preprocessor lines and what is quoted; lines stay where they are.
std::string CodeOf(const SourceFile& file);

// Paths of all files of the checkout, from the root: what git tracks, or without git (a release's archive) what is
// there outside build directories.
std::vector<std::string> TrackedFiles();
std::string ReadText(const std::string& path);

}  // namespace attune::structure
