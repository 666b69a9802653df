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

// How typed keys arrive while a LiveArea is shown.
enum class KeyMode { kLines, kSingle };

// Draws lines over the ones drawn before. Hides the cursor and the echo of typed keys while it lives, and puts both
// back, on the second Ctrl-C too. One at a time.
class LiveArea {
 public:
  explicit LiveArea(KeyMode keys = KeyMode::kLines);
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

  // What ended a wait that listens to more: nothing of these when its time was over, or the terminal has another size.
  struct News {
    bool interrupted = false;
    bool output_closed = false;  // standard output has no reader any more
    bool resized = false;
    std::string keys;  // typed since the last wait
  };
  // `keys`: standard input is a terminal in KeyMode::kSingle, and listened to.
  static News WaitForNews(Duration time, bool keys);
};

// Standard input is a terminal, and this process is in its foreground: reading from it does not stop the process.
bool CanReadKeys();

}  // namespace attune::cli
