// The thin part that touches the terminal and signals.
#pragma once

#include <string>
#include <vector>

#include "base/time_source.h"
#include "cli/display/screen.h"

namespace attune::cli {

// Standard output is a terminal that understands cursor movement.
bool IsTerminal();
// Size and abilities of the terminal now; NO_COLOR is honored.
Screen CurrentScreen();

// Puts cursor and echo back as they were before a LiveArea. For signal handlers: only async-signal-safe calls.
void RestoreTerminal();

// Draws lines over the ones drawn before. Hides the cursor and the echo of typed keys while it lives, and puts both
// back, on the second Ctrl-C too. One at a time.
class LiveArea {
 public:
  LiveArea();
  ~LiveArea();
  LiveArea(const LiveArea&) = delete;
  LiveArea& operator=(const LiveArea&) = delete;

  void Draw(const std::vector<std::string>& lines, int width);
  void Clear();

 private:
  std::string EraseText(int width) const;
  std::vector<std::string> drawn_;
};

// Counts Ctrl-C (and TERM, HUP). The first ones are seen by `Wait` and `requested`; the last ends the process at once
// with code 130. Installed once, by commands that have something to put in order.
class Interrupts {
 public:
  static void Install(int last = 2);
  static bool requested() { return count() > 0; }
  static int count();
  // Returns after `time` or at the first interrupt or change of the terminal's size; true when there were more
  // interrupts than `seen`.
  static bool Wait(Duration time, int seen = 0);
};

}  // namespace attune::cli
