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
std::string ReadText(const std::string& path);

}  // namespace attune::structure
