// A function fits a screen. What is counted is text, by a simple rule: a block whose head has a parameter list (a
// function, a branch), from the first line of its head to its closing bracket.
#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/structure/source_tree.h"

namespace attune::structure::function_size_test {
namespace {

constexpr size_t kLinesMax = 70;

struct Block {
  size_t first = 0, lines = 0;  // first: its line, from 1
};

// Blocks that stand in no parentheses and have some in their heads.
std::vector<Block> BlocksOf(const std::string& code) {
  struct Open {
    size_t first = 0;     // line in which the head begins
    int parentheses = 0;  // open around it
    bool counts = false;
  };
  std::vector<Block> blocks;
  std::vector<Open> open;
  size_t head = 0, line = 1, first = 0;  // head: where the present statement begins; first: the line of its first word
  int parentheses = 0;
  const auto begin_statement = [&](size_t at) {
    head = at + 1;
    first = 0;
  };
  for (size_t at = 0; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '\n') ++line;
    if (c == '(') ++parentheses;
    if (c == ')') --parentheses;
    if (c == '{') {
      const bool counts = parentheses == 0 && code.substr(head, at - head).find('(') != std::string::npos;
      open.push_back({.first = first, .parentheses = parentheses, .counts = counts});
      parentheses = 0;
      begin_statement(at);
    } else if (c == '}' && !open.empty()) {
      const Open block = open.back();
      open.pop_back();
      if (block.counts) blocks.push_back({.first = block.first, .lines = line - block.first + 1});
      parentheses = block.parentheses;
      if (parentheses == 0) begin_statement(at);
    } else if (c == ';' && parentheses == 0) {
      begin_statement(at);
    } else if (first == 0 && std::isspace(static_cast<unsigned char>(c)) == 0) {
      first = line;
    }
  }
  return blocks;
}

std::vector<Block> BlocksOf(const std::vector<std::string>& lines) {
  return BlocksOf(CodeOf({.path = "", .lines = lines}));
}

TEST(FunctionSizeTest, ABlockIsCountedFromItsHeadToItsBracket) {
  const std::vector<Block> blocks =
      BlocksOf({"int Sum(int a,", "        int b) {", "  if (a > b) {", "    return a;", "  }", "  return a + b;", "}",
                "constexpr int kTable[] = {", "  1,", "};"});
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].first, 3U);
  EXPECT_EQ(blocks[0].lines, 3U);
  EXPECT_EQ(blocks[1].first, 1U);
  EXPECT_EQ(blocks[1].lines, 7U);
}

TEST(FunctionSizeTest, AHeadMayHaveSeveralLines) {
  const std::vector<Block> blocks =
      BlocksOf({"  {", "    for (int i = 0;", "         i < 3; ++i) {", "      Use(i);", "    }", "  }"});
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].first, 2U);
  EXPECT_EQ(blocks[0].lines, 4U);
}

TEST(FunctionSizeTest, TextOfAnotherLanguageIsNotCounted) {
  EXPECT_TRUE(BlocksOf({"constexpr char kShell[] = R\"sh(", "words() {", "}", ")sh\";"}).empty());
}

TEST(FunctionSizeTest, FunctionsOfWhatIsShippedHaveAtMost70Lines) {
  size_t counted = 0;
  for (const SourceFile& file : CppFiles()) {
    const std::string part = file.path.substr(0, file.path.find('/'));
    if (part == "tests" || part == "bench") continue;
    for (const Block& block : BlocksOf(file.lines)) {
      ++counted;
      EXPECT_LE(block.lines, kLinesMax) << file.path << ':' << block.first;
    }
  }
  EXPECT_GT(counted, 5000U) << "the rule finds no functions any more";
}

}  // namespace
}  // namespace attune::structure::function_size_test
