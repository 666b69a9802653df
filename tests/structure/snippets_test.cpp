// Documentation that runs: code shown to people is cut from programs that a test compiles and runs (tests/consumer).
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>

#include "tests/structure/source_tree.h"

namespace attune::structure::snippets_test {
namespace {

TEST(SnippetsTest, CodeInDocumentsStandsInAnExample) {
  std::string examples;
  for (const auto& entry : std::filesystem::directory_iterator(Root() / "docs/examples")) {
    examples += ReadText(std::filesystem::relative(entry.path(), Root()).string());
  }
  for (const char* document : {"README.md", "docs/worker.md"}) {
    const std::string text = ReadText(document);
    const std::regex block("```(cpp|cmake)\n([^`]*)```");
    int found = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), block), end; it != end; ++it, ++found) {
      EXPECT_NE(examples.find((*it)[2]), std::string::npos)
          << document << " shows code that is in none of docs/examples:\n"
          << (*it)[2];
    }
    EXPECT_GT(found, 0) << document;
  }
}

}  // namespace
}  // namespace attune::structure::snippets_test
