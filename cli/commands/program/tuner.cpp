#include <cstdio>
#include <string>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "operator/tuner/ask_tell.h"

namespace attune::cli {
namespace {

// Reads a line of any length without keeping more than the limit of it. False at the end of the input.
bool ReadLine(std::string& line) {
  line.clear();
  bool any = false;
  for (int c = std::getc(stdin); c != EOF; c = std::getc(stdin)) {
    any = true;
    if (c == '\n') return true;
    if (line.size() <= tuner::AskTell::kLineBytesMax) line += static_cast<char>(c);
  }
  return any;
}

}  // namespace

int Tuner(const TunerArguments&) {
  tuner::AskTell conversation;
  std::string line;
  while (ReadLine(line)) {
    const auto answer = conversation.Handle(line);
    if (!answer) continue;
    std::fwrite(answer->data(), 1, answer->size(), stdout);
    std::fputc('\n', stdout);
    if (std::fflush(stdout) != 0) return kExitFailed;  // the reader is gone
  }
  return kExitOk;
}

}  // namespace attune::cli
