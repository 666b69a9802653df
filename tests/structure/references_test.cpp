// What comments and documents refer to is in this repository: pages, their sections, and decisions.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/structure/source_tree.h"

namespace attune::structure::references_test {
namespace {
namespace fs = std::filesystem;

// As pages of the repository are linked to: "### Steps and modes" is #steps-and-modes.
std::set<std::string> AnchorsOf(const std::string& page) {
  std::set<std::string> anchors;
  std::istringstream text(ReadText(page));
  for (std::string line; std::getline(text, line);) {
    const size_t title = line.find_first_not_of('#');
    if (title == 0 || title == std::string::npos || line[title] != ' ') continue;
    std::string anchor;
    for (const char c : line.substr(title + 1)) {
      const auto letter = static_cast<unsigned char>(c);
      if (std::isalnum(letter) || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(letter));
      if (c == ' ') anchor += '-';
    }
    anchors.insert(anchor);
  }
  return anchors;
}

bool IsText(const std::string& path) {
  const std::string extension = fs::path(path).extension();
  return std::set<std::string>{".h", ".cpp", ".md", ".proto", ".py", ".txt", ".yaml"}.contains(extension);
}

TEST(ReferencesTest, PagesAndSectionsThatAreNamedExist) {
  const std::regex page(R"re(\b(docs/[A-Za-z0-9_/.-]+\.md)(?:#([a-z0-9_-]+))?)re");
  int found = 0;
  for (const std::string& path : TrackedFiles()) {
    if (!IsText(path) || path == "CHANGELOG.md") continue;  // past versions had other pages
    const std::string text = ReadText(path);
    for (std::sregex_iterator it(text.begin(), text.end(), page), end; it != end; ++it, ++found) {
      const std::string target = (*it)[1], anchor = (*it)[2];
      ASSERT_TRUE(fs::exists(Root() / target)) << path << " names " << target;
      if (anchor.empty()) continue;
      EXPECT_TRUE(AnchorsOf(target).contains(anchor)) << path << " names " << (*it)[0];
    }
  }
  EXPECT_GT(found, 50);
}

// A number in brackets after the word, or a decision by its number alone.
TEST(ReferencesTest, DecisionsThatAreNamedExist) {
  std::set<std::string> decisions;
  for (const std::string& path : TrackedFiles()) {
    if (path.starts_with("docs/decisions/0")) decisions.insert(fs::path(path).filename().string().substr(0, 4));
  }
  ASSERT_GT(decisions.size(), 20U);
  const std::regex decision(R"re(\bdecisions?[ /](0\d{3})\b)re");
  for (const std::string& path : TrackedFiles()) {
    if (!IsText(path)) continue;
    const std::string text = ReadText(path);
    for (std::sregex_iterator it(text.begin(), text.end(), decision), end; it != end; ++it) {
      EXPECT_TRUE(decisions.contains((*it)[1])) << path << " names " << (*it)[0];
    }
  }
}

TEST(ReferencesTest, NothingRefersToWhatIsNotHere) {
  const std::regex elsewhere(
      R"re(\bprotocol [1-9]\.\d|\bdesign [3-6]\.\d\b|[Tt]uner study|self-tuning notes|docs/design\.md)re");
  for (const std::string& path : TrackedFiles()) {
    if (!IsText(path) || path == "CHANGELOG.md" || path == "tests/structure/references_test.cpp") continue;
    const std::string text = ReadText(path);
    for (std::sregex_iterator it(text.begin(), text.end(), elsewhere), end; it != end; ++it) {
      ADD_FAILURE() << path << ": \"" << it->str() << "\" is not in this repository; name a page and its section";
    }
  }
}

}  // namespace
}  // namespace attune::structure::references_test
