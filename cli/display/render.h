// JobView -> text. Pure: the same values give the same lines; time and width are arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/runs/job_view.h"

namespace attune::cli {

struct Screen {
  int width = 80, height = 24;  // columns, rows
  bool color = false;
  bool unicode = true;
  std::string directory = {};  // where the command was started; what lies below it is named from there
};

// The live display. Every line fits the width, all lines together fit the height (one row is left for the cursor).
std::vector<std::string> Render(const JobView& view, const Screen& screen, double now);
// One line for logs: "12:00:05 word2vec Running 42% epoch 1/1 loss 3.117 181k words/s remaining 1m20s".
std::string RenderPlain(const JobView& view, double now);
// What is said once at the end.
std::string RenderSummary(const JobView& view, const Screen& screen);
// The same for programs, without line breaks.
std::string RenderJson(const JobView& view, double now);

// Columns a text takes on a terminal (UTF-8; escape sequences take none).
int DisplayWidth(std::string_view text);
// Lines of at most `width` columns, broken at spaces where there are any.
std::vector<std::string> WrapText(std::string_view text, int width);
// The path as it is named from `directory`, when it lies below it.
std::string ShortPath(const std::string& path, const std::string& directory);
std::string ClockText(double unix_seconds);  // "12:00:05", local time
std::string DateText(double unix_seconds);   // "2027-01-15 08:00:00 UTC", in this machine's zone

}  // namespace attune::cli
