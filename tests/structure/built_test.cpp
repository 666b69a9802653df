// A source that is not compiled says nothing, and a test in it passes for ever.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/structure/source_tree.h"

namespace attune::structure {
namespace {

// What the build of this test compiles, as CMake writes it down.
std::string CompileCommands() {
  std::ifstream in(ATTUNE_BINARY_DIR "/compile_commands.json");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(BuiltTest, EverySourceIsCompiled) {
  const std::string commands = CompileCommands();
  const auto is_compiled = [&](const std::string& path) {
    return commands.find("\"file\": \"" + (Root() / path).string() + "\"") != std::string::npos;
  };
  ASSERT_TRUE(is_compiled("tests/structure/built_test.cpp")) << "CMake writes its compile commands in another form";
  const bool benches = is_compiled("bench/store/store_bench.cpp");  // not under the sanitizers
  for (const SourceFile& file : CppFiles()) {
    if (!file.path.ends_with(".cpp") || (!benches && file.path.starts_with("bench/"))) continue;
    EXPECT_TRUE(is_compiled(file.path)) << file.path
                                        << " is in no CMakeLists.txt; add it to its directory's, or delete it";
  }
}

}  // namespace
}  // namespace attune::structure
