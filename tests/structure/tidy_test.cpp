// Habits a reader relies on, checked over the sources: line length, banned calls with their replacement, leftover
// marks.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace attune::structure {
namespace {

struct Ban {
  std::regex pattern;
  std::string instead;
  std::vector<std::string> allowed_in;  // path prefixes
};

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
  const std::regex impure(
      R"re(^\s*#include\s+<(thread|mutex|condition_variable|fstream|filesystem|sys/socket\.h|unistd\.h|future)>)re");
  for (const SourceFile& file : CppFiles()) {
    if (file.path.rfind("ps/core/", 0) != 0 && file.path.rfind("operator/tuner/", 0) != 0) continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(file.lines[i], impure)) << file.path << ':' << i + 1 << ": " << file.lines[i];
    }
  }
}

TEST(TidyTest, LinesFitAndCarryNoLeftovers) {
  const std::regex leftover(R"re(\b(TO)(DO)\b|\bFIX(ME)\b|\bXX(X)\b)re");
  for (const SourceFile& file : CppFiles()) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_LE(file.lines[i].size(), 140U) << file.path << ':' << i + 1;
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

}  // namespace
}  // namespace attune::structure
