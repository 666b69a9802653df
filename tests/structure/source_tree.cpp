#include "tests/structure/source_tree.h"

#include <cctype>
#include <cstdio>
#include <fstream>
#include <regex>
#include <sstream>
#include <string_view>

namespace attune::structure {
namespace fs = std::filesystem;

namespace {

// Nor preprocessor lines and what is quoted.
std::string WithoutComment(const std::string& line) {
  if (const size_t first = line.find_first_not_of(' '); first != std::string::npos && line[first] == '#') return "";
  std::string code;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line.compare(i, 2, "//") == 0) break;
    const bool is_separator = line[i] == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(line[i - 1])) != 0;
    if (line[i] == '"' || (line[i] == '\'' && !is_separator)) {
      const char quote = line[i];
      for (++i; i < line.size() && line[i] != quote; ++i) i += line[i] == '\\' ? 1 : 0;
      code += "0";
      continue;
    }
    code += line[i];
  }
  return code;
}

}  // namespace

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

std::string CodeOf(const SourceFile& file) {
  static const std::regex raw_begins(R"re(R"(\w*)\()re");
  std::string code, raw_end;
  for (std::string line : file.lines) {
    if (!raw_end.empty()) {
      const size_t end = line.find(raw_end);
      line = end == std::string::npos ? "" : line.substr(end + raw_end.size());
      if (end != std::string::npos) raw_end.clear();
    }
    for (std::smatch found; raw_end.empty() && std::regex_search(line, found, raw_begins);) {
      const auto begin = static_cast<size_t>(found.position(0));
      const std::string closing = ")" + found[1].str() + "\"";
      const size_t end = line.find(closing, begin);
      if (end == std::string::npos) raw_end = closing;
      line = line.substr(0, begin) + "0" + (end == std::string::npos ? "" : line.substr(end + closing.size()));
    }
    code += WithoutComment(line) + '\n';
  }
  return code;
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
