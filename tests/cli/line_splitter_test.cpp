#include "cli/display/line_splitter.h"

#include <gtest/gtest.h>

#include <vector>

namespace attune::cli::line_splitter_test {
namespace {

TEST(LineSplitter, PiecesBecomeLines) {
  std::vector<std::string> lines;
  LineSplitter splitter([&](std::string_view line) { lines.emplace_back(line); });
  splitter.Add("a\nb");
  splitter.Add("");
  splitter.Add("c\n\nd");
  splitter.Finish();
  splitter.Finish();
  EXPECT_EQ(lines, (std::vector<std::string>{"a\n", "bc\n", "\n", "d\n"}));
}

TEST(LineSplitter, AnEndlessLineComesInParts) {
  std::vector<size_t> sizes;
  LineSplitter splitter([&](std::string_view line) { sizes.push_back(line.size()); });
  splitter.Add(std::string(2 * LineSplitter::kLineMax + 5, 'x') + "\n");
  EXPECT_EQ(sizes, (std::vector<size_t>{LineSplitter::kLineMax + 1, LineSplitter::kLineMax + 1, 6}));
}

}  // namespace
}  // namespace attune::cli::line_splitter_test
