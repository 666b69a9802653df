// The field's words: tests/structure/words.txt lists the others, and how often each may still stand somewhere.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace attune::structure::words_test {
namespace {

struct Word {
  std::string pattern;
  long allowed = 0;
  std::string instead;
};

std::vector<Word> Words() {
  std::vector<Word> words;
  std::istringstream text(ReadText("tests/structure/words.txt"));
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t instead = line.rfind(" | "), allowed = line.rfind(" | ", instead - 1);
    words.push_back({line.substr(0, allowed), std::stol(line.substr(allowed + 3)), line.substr(instead + 3)});
  }
  return words;
}

bool IsProse(const std::string& path) {
  if (path == "CHANGELOG.md" || path.starts_with("docs/decisions/") || path.starts_with("tests/structure/words") ||
      path.starts_with("docs/reference/")) {  // made from texts that are looked at where they are written
    return false;
  }
  const std::string extension = std::filesystem::path(path).extension();
  return extension == ".h" || extension == ".cpp" || extension == ".md" || extension == ".py" ||
         extension == ".proto" || extension == ".yaml";
}

// "path:line:match" for every hit in the files of `list`, one path a line.
std::vector<std::string> Hits(const std::string& pattern, const std::string& list) {
  const std::string command =
      "cd '" + Root().string() + "' && xargs -d '\\n' grep -HinowE '" + pattern + "' < '" + list + "'";
  std::vector<std::string> hits;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return hits;
  char line[4096];
  while (std::fgets(line, sizeof(line), pipe) != nullptr) hits.emplace_back(line);
  pclose(pipe);
  return hits;
}

TEST(WordsTest, NoWordStandsMoreOftenThanTheListAllows) {
  const std::vector<Word> words = Words();
  ASSERT_GT(words.size(), 10U);
  const std::string list = testing::TempDir() + "attune-words." + std::to_string(getpid());
  std::ofstream files(list);
  for (const std::string& path : TrackedFiles()) {
    if (IsProse(path)) files << path << '\n';
  }
  files.close();
  ASSERT_FALSE(Hits("the", list).empty()) << "grep finds nothing in the sources";
  for (const Word& word : words) {
    const std::vector<std::string> hits = Hits(word.pattern, list);
    const auto found = static_cast<long>(hits.size());
    std::string places;
    for (const std::string& hit : hits) places += places.size() < 4000 ? "  " + hit : "";
    EXPECT_LE(found, word.allowed) << word.pattern << ": write " << word.instead << '\n' << places;
    // A number that could fall lets the word come back.
    EXPECT_GE(found, word.allowed) << word.pattern << ": lower its number in tests/structure/words.txt to " << found;
  }
  std::filesystem::remove(list);
}

}  // namespace
}  // namespace attune::structure::words_test
