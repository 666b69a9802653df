// The screen that text is shown on, and how text is made to fit it: columns it takes, lines it is broken into. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attune::cli {

struct Screen {
  int width = 80, height = 24;  // columns, rows
  bool color = false;
  bool unicode = true;
  std::string directory = {};  // where the command was started; what lies below it is named from there
};

// Columns a text takes on a terminal (UTF-8; escape sequences take none).
int DisplayWidth(std::string_view text);
// Bytes of `text` that fit `columns`; counts code points, which is right for all text this program writes itself.
size_t FittingBytes(std::string_view text, int columns);
// Lines of at most `width` columns, broken at spaces where there are any.
std::vector<std::string> WrapText(std::string_view text, int width);
// Without line breaks and other control characters: a space stands for each.
std::string OneLine(std::string text);
// For a terminal without UTF-8: a character stands for each that is not ASCII, so that no width changes.
std::string AsAscii(std::string_view text);
// The path as it is named from `directory`, when it lies below it.
std::string ShortPath(const std::string& path, const std::string& directory);

}  // namespace attune::cli
