#include "cli/display/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/application.h"

namespace attune::cli {
namespace {

constexpr char kShowCursor[] = "\x1b[?25h";
constexpr char kHideCursor[] = "\x1b[?25l";
// Terminals that know synchronized updates show a frame whole; the others ignore the sequence.
constexpr char kBeginFrame[] = "\x1b[?2026h";
constexpr char kEndFrame[] = "\x1b[?2026l";

// What a signal handler needs to put the terminal back.
std::atomic<bool> g_area_shown{false};
termios g_saved_mode{};
std::atomic<bool> g_mode_saved{false};

std::atomic<int> g_interrupts{0}, g_last_interrupt{2};
int g_wake[2] = {-1, -1};

void WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the reader is gone
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void OnSignal(int signal_number) {
  const int saved_errno = errno;
  if (signal_number != SIGWINCH && g_interrupts.fetch_add(1) + 1 >= g_last_interrupt) {
    RestoreTerminal();
    _exit(kExitInterrupted);
  }
  [[maybe_unused]] const ssize_t written = write(g_wake[1], "x", 1);
  errno = saved_errno;
}

bool SpeaksUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    return strcasestr(value, "UTF-8") != nullptr || strcasestr(value, "utf8") != nullptr;
  }
  return false;
}

}  // namespace

void RestoreTerminal() {
  if (g_area_shown.exchange(false)) {
    [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, kShowCursor, sizeof kShowCursor - 1);
  }
  if (g_mode_saved.exchange(false)) tcsetattr(STDIN_FILENO, TCSANOW, &g_saved_mode);
}

bool IsTerminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::strcmp(kind, "dumb") != 0 && *kind != '\0';
}

Screen CurrentScreen() {
  Screen screen;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    screen.width = size.ws_col;
    screen.height = size.ws_row;
  }
  const char* no_color = std::getenv("NO_COLOR");
  screen.color = IsTerminal() && (no_color == nullptr || *no_color == '\0');
  screen.unicode = SpeaksUtf8();
  std::error_code error;
  screen.directory = std::filesystem::current_path(error).string();
  return screen;
}

bool CanReadKeys() { return isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp(); }

LiveArea::LiveArea(KeyMode keys) {
  if (isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &g_saved_mode) == 0) {
    termios quiet = g_saved_mode;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    if (keys == KeyMode::kSingle) {
      quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON);
      quiet.c_cc[VMIN] = 1;
      quiet.c_cc[VTIME] = 0;
    }
    g_mode_saved = true;
    // In the background this would stop the process; the display is then left as it is.
    if (CanReadKeys()) tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
  }
  g_area_shown = true;
  WriteAll(kHideCursor);
}

LiveArea::~LiveArea() { RestoreTerminal(); }

// Moves to the first drawn line. A terminal that became narrower has broken long lines into several.
std::string LiveArea::EraseText(int width) const {
  int rows = 0;
  for (const std::string& line : drawn_) rows += std::max(1, (DisplayWidth(line) + width - 1) / std::max(width, 1));
  return rows > 0 ? "\x1b[" + std::to_string(rows) + "A\r" : "\r";
}

void LiveArea::Draw(const std::vector<std::string>& lines, int width) {
  std::string frame = kBeginFrame + EraseText(width);
  for (const std::string& line : lines) frame += line + "\x1b[K\n";
  frame += std::string("\x1b[J") + kEndFrame;
  drawn_ = lines;
  WriteAll(frame);
}

void LiveArea::Clear() {
  WriteAll(EraseText(CurrentScreen().width) + "\x1b[J");
  drawn_.clear();
}

void Interrupts::Install(int last) {
  g_last_interrupt = last;
  if (g_wake[0] >= 0) return;
  if (pipe2(g_wake, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal_number : {SIGINT, SIGTERM, SIGWINCH}) sigaction(signal_number, &action, nullptr);
  // Who starts a program with hang-ups ignored (nohup) wants it to outlive the shell.
  struct sigaction hang_up {};
  if (sigaction(SIGHUP, nullptr, &hang_up) != 0 || hang_up.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is an error of its write
}

int Interrupts::count() { return g_interrupts.load(); }

bool Interrupts::Wait(Duration time, int seen) {
  if (count() > seen) return true;
  pollfd wake{g_wake[0], POLLIN, 0};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  if (poll(&wake, g_wake[0] >= 0 ? 1 : 0, static_cast<int>(milliseconds)) > 0) {
    char drained[64];
    while (read(g_wake[0], drained, sizeof drained) > 0) {
    }
  }
  return count() > seen;
}

Interrupts::News Interrupts::WaitForNews(Duration time, bool keys) {
  News news;
  // A descriptor that is -1 is left out by poll. Of standard output only its end is of interest.
  pollfd watched[] = {{g_wake[0], POLLIN, 0}, {STDOUT_FILENO, 0, 0}, {keys ? STDIN_FILENO : -1, POLLIN, 0}};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  if (count() == 0 && poll(watched, std::size(watched), static_cast<int>(std::max<int64_t>(milliseconds, 0))) > 0) {
    news.resized = (watched[0].revents & POLLIN) != 0;
    char drained[64];
    while (news.resized && read(g_wake[0], drained, sizeof drained) > 0) {
    }
    news.output_closed = (watched[1].revents & (POLLERR | POLLNVAL)) != 0;
    if ((watched[2].revents & POLLIN) != 0) {
      const ssize_t size = read(STDIN_FILENO, drained, sizeof drained);
      if (size > 0) news.keys.assign(drained, static_cast<size_t>(size));
      if (size == 0) news.interrupted = true;  // the terminal is gone
    }
    if ((watched[2].revents & (POLLERR | POLLHUP)) != 0) news.interrupted = true;
  }
  news.interrupted = news.interrupted || count() > 0;
  return news;
}

}  // namespace attune::cli
