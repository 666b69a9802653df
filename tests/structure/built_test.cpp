// A source that is not compiled says nothing, and a test in it passes for ever.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "tests/structure/source_tree.h"

namespace attune::structure::built_test {
namespace {

std::string Text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The sources that the build of this test compiles: those of the compile commands, and those that the groups among them
// include.
std::set<std::string> CompiledSources() {
  std::set<std::string> sources;
  for (const nlohmann::json& command : nlohmann::json::parse(Text(ATTUNE_BINARY_DIR "/compile_commands.json"))) {
    const std::string file = command["file"];
    sources.insert(file);
    if (file.find("/Unity/") == std::string::npos) continue;
    std::istringstream group(Text(file));
    const std::string include = "#include \"";
    for (std::string line; std::getline(group, line);) {
      if (line.starts_with(include)) sources.insert(line.substr(include.size(), line.size() - include.size() - 1));
    }
  }
  return sources;
}

TEST(BuiltTest, EverySourceIsCompiled) {
  const std::set<std::string> compiled = CompiledSources();
  const auto is_compiled = [&](const std::string& path) { return compiled.contains((Root() / path).string()); };
  ASSERT_TRUE(is_compiled("tests/structure/built_test.cpp")) << "CMake writes its compile commands in another form";
  const bool benches = is_compiled("bench/store/store_bench.cpp");  // not under the sanitizers
  for (const SourceFile& file : CppFiles()) {
    if (!file.path.ends_with(".cpp") || (!benches && file.path.starts_with("bench/"))) continue;
    EXPECT_TRUE(is_compiled(file.path)) << file.path
                                        << " is in no CMakeLists.txt; add it to its directory's, or delete it";
  }
}

}  // namespace
}  // namespace attune::structure::built_test
