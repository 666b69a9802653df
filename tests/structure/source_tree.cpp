#include "tests/structure/source_tree.h"

#include <fstream>
#include <sstream>

namespace attune::structure {
namespace fs = std::filesystem;

fs::path Root() { return ATTUNE_SOURCE_DIR; }

std::string ReadText(const std::string& path) {
  std::ifstream in(Root() / path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<SourceFile> CppFiles() {
  std::vector<SourceFile> files;
  for (const char* top : {"base", "proto", "ps", "sidecar", "operator", "cli", "examples", "bench", "tests"}) {
    if (!fs::exists(Root() / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(Root() / top)) {
      const std::string extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".cpp" && extension != ".h")) continue;
      SourceFile file{fs::relative(entry.path(), Root()).generic_string(), {}};
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace attune::structure
