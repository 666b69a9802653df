// docs/failure-modes.md names the test that shows each fault: the file is there and holds that test, and every scenario
// it names exists in bench/chaos.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>

#include "tests/structure/source_tree.h"

namespace attune::structure::failure_modes_test {
namespace {

std::string AllOf(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += ReadText(file);
  return text;
}

TEST(FailureModesTest, EveryTestThatIsNamedExists) {
  const std::string text = ReadText("docs/failure-modes.md");
  const std::regex reference("`(tests/[a-z0-9_/.-]+)(?::(\\w+))?`");
  int found = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), reference), end; it != end; ++it, ++found) {
    const std::string file = (*it)[1];
    ASSERT_TRUE(std::filesystem::exists(Root() / file)) << file;
    EXPECT_NE(ReadText(file).find((*it)[2]), std::string::npos) << file << " has no test " << (*it)[2];
  }
  EXPECT_GT(found, 20);
}

TEST(FailureModesTest, EveryScenarioThatIsNamedExists) {
  const std::string scenarios = AllOf({"bench/soak/scenarios.py", "bench/soak/cluster_scenarios.py"});
  const std::string text = ReadText("docs/failure-modes.md");
  // The last column of a row; names of scenarios stand there without a path.
  const std::regex last_column("\\|([^|\n]*)\\|\n"), name("`([a-z]+(?:-[a-z0-9]+)+)`");
  int found = 0;
  for (std::sregex_iterator row(text.begin(), text.end(), last_column), end; row != end; ++row) {
    const std::string cell = (*row)[1];
    for (std::sregex_iterator it(cell.begin(), cell.end(), name); it != end; ++it, ++found) {
      EXPECT_NE(scenarios.find("\"" + (*it)[1].str() + "\": Scenario("), std::string::npos)
          << "bench/chaos has no scenario " << (*it)[1];
    }
  }
  EXPECT_GT(found, 15);
}

}  // namespace
}  // namespace attune::structure::failure_modes_test
