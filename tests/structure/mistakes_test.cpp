// The deliberate mistakes of ps/core/mutations.h are in the simulations' program and in no other.
#include <gtest/gtest.h>

#include <cstdio>
#include <regex>
#include <string>

namespace attune::structure::mistakes_test {
namespace {

std::string Symbols(const std::string& program) {
  std::string names;
  FILE* pipe = popen(("nm -C '" + program + "'").c_str(), "r");
  if (pipe == nullptr) return names;
  char buffer[1 << 16];
  for (size_t size; (size = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) names.append(buffer, size);
  pclose(pipe);
  return names;
}

bool KnowsMistakes(const std::string& symbols) {
  return std::regex_search(symbols, std::regex("AcknowledgeThenApply|LinkMutations|RowMutation"));
}

TEST(MistakesTest, NoShippedProgramCanMakeThem) {
  for (const char* program : {ATTUNE_SERVER, ATTUNE_WORKER}) {
    const std::string symbols = Symbols(program);
    ASSERT_NE(symbols.find("attune::ps::RowNode::"), std::string::npos)
        << program << ": nm shows no symbols of the core";
    EXPECT_FALSE(KnowsMistakes(symbols)) << program;
  }
}

TEST(MistakesTest, TheSimulationsCan) { EXPECT_TRUE(KnowsMistakes(Symbols(ATTUNE_SIMULATE))); }

}  // namespace
}  // namespace attune::structure::mistakes_test
