// The next character of a text: an example worker. Flags: --help. Exit codes: 0 done, 1 failed, 2 wrong flags.
#include <cstdio>

#include "examples/next-character/flags.h"
#include "examples/next-character/standalone.h"
#include "examples/next-character/worker.h"
#include "examples/support/text_files.h"

namespace attune::next_character {
namespace {

Status Run(const Flags& flags) {
  if (flags.list_text) return examples::PrintFiles(flags.text);
  return flags.standalone ? RunStandalone(flags) : RunWorker(flags);
}

}  // namespace
}  // namespace attune::next_character

int main(int argc, char** argv) {
  using namespace attune;
  const auto [flags, exit_code] = next_character::ParseFlags(argc, argv);
  if (exit_code >= 0) return exit_code;
  const Status status = next_character::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "attune-next-character: %s\n", ToString(status).c_str());
  return 1;
}
