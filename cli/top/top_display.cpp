#include "cli/top/top_display.h"

#include <cstdio>

#include "cli/application.h"
#include "cli/display/job/job_json.h"
#include "cli/display/terminal.h"
#include "cli/failure.h"
#include "cli/runs/jobs.h"

namespace attune::cli {
namespace {

std::vector<std::string> Readable(std::vector<std::string> lines, const Screen& screen) {
  if (screen.unicode) return lines;
  for (std::string& line : lines) line = AsAscii(line);
  return lines;
}

bool Ends(const std::string& keys) { return keys.find_first_of("qQ\x03\x04") != std::string::npos; }

// Redraws at once when the terminal has another size; looks again when it is time.
int ShowLive(TopSubject& subject, const TopOptions& options, const TimeSource& time) {
  Interrupts::Install();
  const bool keys = CanReadKeys();
  LiveArea area(keys ? KeyMode::kSingle : KeyMode::kLines);
  while (true) {
    const MonotonicTime next = time.Now() + options.interval;
    for (bool first = true; first || time.Now() < next; first = false) {
      const Screen screen = CurrentScreen();
      area.Draw(Readable(subject.Lines(screen, ToUnixSeconds(time.WallNow())), screen), screen.width);
      if (subject.over()) return kExitOk;
      const Interrupts::News news = Interrupts::WaitForNews(next - time.Now(), keys);
      if (news.interrupted) return kExitInterrupted;
      if (news.output_closed || Ends(news.keys)) return kExitOk;
    }
    // What went wrong is part of the picture.
    [[maybe_unused]] const Status shown_in_picture = subject.Look();
  }
}

void Print(const TopSubject& subject, bool json, double now) {
  if (json) {
    std::puts(JsonLine(subject.ToJson(now)).c_str());
  } else {
    for (const std::string& line : Readable(subject.PlainLines(now), CurrentScreen())) std::puts(line.c_str());
  }
  std::fflush(stdout);
}

// Ctrl-C and a reader that goes away while something is written end the process as they end any other: there is nothing
// to put in order.
int ShowOneAfterTheOther(TopSubject& subject, const TopOptions& options, const TimeSource& time) {
  while (true) {
    Print(subject, options.json, ToUnixSeconds(time.WallNow()));
    if (options.once || subject.over()) return kExitOk;
    const MonotonicTime next = time.Now() + options.interval;
    while (time.Now() < next) {
      if (Interrupts::WaitForNews(next - time.Now(), false).output_closed) return kExitOk;
    }
    if (const Status status = subject.Look(); !status.ok()) Fail(status);
    if (!options.json) std::puts("");
  }
}

}  // namespace

int ShowTop(TopSubject& subject, const TopOptions& options, const TimeSource& time) {
  if (const Status status = subject.Look(); !status.ok()) return Fail(status);
  return !options.once && !options.json && IsTerminal() ? ShowLive(subject, options, time)
                                                        : ShowOneAfterTheOther(subject, options, time);
}

}  // namespace attune::cli
