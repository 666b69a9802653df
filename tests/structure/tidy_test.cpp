// Habits a reader relies on, checked over the sources: line length, banned calls with their replacement, leftover
// marks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace attune::structure::tidy_test {
namespace {

struct Ban {
  std::regex pattern;
  std::string instead;
  std::vector<std::string> allowed_in;  // path prefixes
};

// Files that are longer than others may be: "path lines" and the reason, a line each.
std::map<std::string, size_t> LongerFiles() {
  std::istringstream text(ReadText("tests/structure/longer_files.txt"));
  std::map<std::string, size_t> files;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string path;
    size_t lines = 0;
    if (line.starts_with("#") || !(words >> path >> lines)) continue;
    files[path] = lines;
  }
  return files;
}

TEST(TidyTest, BannedCallsHaveAReplacement) {
  const std::vector<Ban> bans = {
      {std::regex(R"re((steady|system)_clock::now\()re"),
       "TimeSource (base/time_source.h)",
       {"base/", "bench/", "tests/", "examples/"}},
      {std::regex(R"re(\b(std::rand|srand|std::random_device|std::mt19937))re"),
       "Random (base/random.h), seeded by RandomSeed() (base/os/random_seed.h)",
       {"tests/"}},
      {std::regex(R"re(\b(sleep_for|sleep_until|usleep|nanosleep)\b)re"),
       "a condition awaited with a deadline, or time that is injected",
       // Programs under test: their pauses are the compute time of a step, or of an evaluation.
       {"bench/", "examples/", "tests/local/ps/counting_worker.cpp", "tests/local/endings/ending_worker.cpp"}},
      {std::regex(R"re(std::(mutex|condition_variable)\b)re"),
       "Mutex and CondVar (base/mutex.h), whose fields the thread-safety analysis checks",
       {"base/mutex.h", "bench/", "examples/", "tests/", "ps/store/store_locks.h"}},
      {std::regex(R"re(\.detach\(\))re"), "a joined thread owned by an object with a clear end", {}},
      {std::regex(R"re(set_validate_certificates\(false\))re"), "the authority's certificate", {}},
      {std::regex(R"re(\busing namespace std\b)re"), "qualified names", {}},
  };
  for (const SourceFile& file : CppFiles()) {
    for (const Ban& ban : bans) {
      bool exempt = file.path == "tests/structure/tidy_test.cpp";
      for (const std::string& prefix : ban.allowed_in) exempt = exempt || file.path.rfind(prefix, 0) == 0;
      if (exempt) continue;
      for (size_t i = 0; i < file.lines.size(); ++i) {
        EXPECT_FALSE(std::regex_search(file.lines[i], ban.pattern))
            << file.path << ':' << i + 1 << ": " << file.lines[i] << "\n  use " << ban.instead;
      }
    }
  }
}

TEST(TidyTest, PureRoomsTouchNeitherThreadsNorFilesNorSockets) {
  // The cores of the data plane, the tuner, and what Plan() is made of.
  const std::vector<std::string> rooms = {"ps/core/",
                                          "ps/types/",
                                          "operator/tuner/",
                                          "operator/scheduler/",
                                          "operator/leadership/election/",
                                          "operator/controller/plan",
                                          "operator/controller/actions/",
                                          "operator/controller/objects/",
                                          "operator/controller/observe/",
                                          "operator/controller/status/"};
  size_t files = 0;
  const std::regex impure(
      R"re(^\s*#include\s+<(thread|mutex|condition_variable|fstream|filesystem|sys/socket\.h|unistd\.h|future)>)re");
  for (const SourceFile& file : CppFiles()) {
    if (std::ranges::none_of(rooms, [&](const std::string& room) { return file.path.starts_with(room); })) continue;
    ++files;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(file.lines[i], impure)) << file.path << ':' << i + 1 << ": " << file.lines[i];
    }
  }
  EXPECT_GT(files, 150U) << "rooms have moved";
}

// In code points: a dot or an arrow of a comment takes several bytes.
ptrdiff_t Width(const std::string& line) {
  return std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

TEST(TidyTest, LinesFitAndCarryNoLeftovers) {
  const std::regex leftover(R"re(\b(TO)(DO)\b|\bFIX(ME)\b|\bXX(X)\b)re");
  for (const SourceFile& file : CppFiles()) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_LE(Width(file.lines[i]), 120) << file.path << ':' << i + 1;
      EXPECT_FALSE(std::regex_search(file.lines[i], leftover)) << file.path << ':' << i + 1 << ": " << file.lines[i];
      EXPECT_TRUE(file.lines[i].empty() || (file.lines[i].back() != ' ' && file.lines[i].back() != '\t'))
          << file.path << ':' << i + 1 << ": white space at the end";
    }
  }
}

TEST(TidyTest, HeadersStartWithADoorPlate) {
  for (const SourceFile& file : CppFiles()) {
    if (!file.path.ends_with(".h")) continue;
    ASSERT_FALSE(file.lines.empty()) << file.path;
    EXPECT_EQ(file.lines.front().rfind("//", 0), 0U) << file.path << " should begin with a sentence on its purpose";
  }
}

// A directory that holds more says nothing about what may go in.
TEST(TidyTest, NoDirectoryHoldsMoreThan25Files) {
  std::map<std::string, int> files;
  for (const std::string& path : TrackedFiles()) ++files[std::filesystem::path(path).parent_path().generic_string()];
  ASSERT_GT(files.size(), 50U);
  for (const auto& [directory, count] : files) {
    if (directory == "docs/decisions") continue;  // a numbered sequence, read by its index
    EXPECT_LE(count, 25) << directory << "/ has too many files; which rooms are in it?";
  }
}

// A file holds one concept. These hold more lines, each for its reason; a number is a limit that may only fall.
TEST(TidyTest, FilesOfWhatIsShippedHaveAtMost400Lines) {
  const std::map<std::string, size_t> longer = LongerFiles();
  for (const SourceFile& file : CppFiles()) {
    const std::string part = file.path.substr(0, file.path.find('/'));
    if (part == "tests" || part == "bench") continue;
    const auto known = longer.find(file.path);
    EXPECT_LE(file.lines.size(), known == longer.end() ? 400U : known->second) << file.path;
    if (known == longer.end()) continue;
    EXPECT_GT(file.lines.size(), 400U) << file.path << " fits now; take it off the list";
  }
}

}  // namespace
}  // namespace attune::structure::tidy_test
