#include "operator/controller/observe/text.h"

#include <array>
#include <cstdio>

namespace attune::controller {

std::string LastLines(std::string_view text, size_t lines_max, size_t bytes_max) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  size_t begin = text.size();
  for (size_t lines = 0; begin > 0; --begin) {
    if (text[begin - 1] == '\n' && ++lines == lines_max) break;
  }
  text.remove_prefix(begin);
  if (text.size() > bytes_max) {
    text.remove_prefix(text.size() - bytes_max);
    const size_t line_end = text.find('\n');
    if (line_end != std::string_view::npos) text.remove_prefix(line_end + 1);  // no half line at the front
  }
  return FitText(text, bytes_max);
}

std::string Counted(int64_t count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

std::string Figure(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string Times(int64_t count) {
  return count == 1 ? "once" : count == 2 ? "twice" : std::to_string(count) + " times";
}

}  // namespace attune::controller
