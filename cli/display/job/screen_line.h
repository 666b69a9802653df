// Lines of the screen as they are put together from pieces: each piece has a style, and a line ends at the screen's
// width. What does not fit one line is cut, wrapped or put on the next, as the caller asks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/display/screen.h"

namespace attune::cli {

inline constexpr int kBarMax = 60;  // columns of a bar or a sparkline: a longer one says no more

enum class Style { kPlain, kBold, kDim, kGood, kBad, kAccent };

// With the escape sequences of a terminal around it.
std::string InStyle(std::string_view text, Style style);

// One line that is being put together; what does not fit is cut.
class Line {
 public:
  explicit Line(const Screen& screen) : color_(screen.color), left_(screen.width) {}

  Line& Add(std::string_view text, Style style = Style::kPlain);
  int left() const { return left_; }
  std::string text() const { return text_; }

 private:
  bool color_;
  int left_;
  std::string text_;
};

// Name and value; the value stands out.
using Parts = std::vector<std::pair<std::string, std::string>>;

// Whole, on as many lines as it needs but at most `most`; the last one ends in "..." where more would follow.
void Wrap(std::string_view text, Style style, const Screen& screen, size_t most, std::vector<std::string>& lines);
// Parts side by side, on as many lines as they need; only one that is wider than the screen is torn.
void Flow(const Parts& parts, Style style, const Screen& screen, std::vector<std::string>& lines);

}  // namespace attune::cli
