#include "tests/structure/source_tree.h"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>

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

std::vector<std::string> TrackedFiles() {
  std::vector<std::string> files;
  const std::string command = "git -C '" + Root().string() + "' ls-files 2>/dev/null";
  if (FILE* pipe = popen(command.c_str(), "r"); pipe != nullptr) {
    char line[4096];
    while (std::fgets(line, sizeof(line), pipe) != nullptr) {
      files.emplace_back(line, std::string_view(line).find('\n'));
      if (!fs::exists(Root() / files.back())) files.pop_back();  // removed, and not committed yet
    }
    pclose(pipe);
  }
  if (!files.empty()) return files;
  for (fs::recursive_directory_iterator it(Root()), end; it != end; ++it) {
    const std::string name = it->path().filename();
    if (it->is_directory() && (name.front() == '.' || name == "build")) it.disable_recursion_pending();
    if (it->is_regular_file()) files.push_back(fs::relative(it->path(), Root()).generic_string());
  }
  return files;
}

}  // namespace attune::structure
