// How far a command is that works through bytes: one line on standard error, drawn again at each whole percent. Nothing
// when that is no terminal.
#pragma once

#include <cstdint>
#include <string>

namespace attune::cli {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // "exporting  42% of 84 MiB"
  void Update(const char* doing, uint64_t done, uint64_t total);
  // Before another line is printed.
  void Clear();
  bool is_terminal() const { return is_terminal_; }

 private:
  const bool is_terminal_;
  std::string drawn_;
};

}  // namespace attune::cli
