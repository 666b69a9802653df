#include "cli/commands/models/progress_line.h"

#include <unistd.h>

#include <cstdio>

#include "operator/api/format.h"

namespace attune::cli {

ProgressLine::ProgressLine() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressLine::Update(const char* doing, uint64_t done, uint64_t total) {
  if (!is_terminal_) return;
  const int percent = total == 0 ? 100 : static_cast<int>(static_cast<double>(done) * 100 / static_cast<double>(total));
  char text[96];
  std::snprintf(text, sizeof text, "%s %3d%% of %s", doing, percent, api::FormatBytes(total).c_str());
  if (drawn_ == text) return;
  drawn_ = text;
  std::fprintf(stderr, "\r\x1b[K%s", text);
  std::fflush(stderr);
}

void ProgressLine::Clear() {
  if (!drawn_.empty()) std::fputs("\r\x1b[K", stderr);
  drawn_.clear();
}

}  // namespace attune::cli
