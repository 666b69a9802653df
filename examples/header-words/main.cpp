// Which identifiers occur in which header: an example worker. Flags: --help. Exit codes: 0 done, 1 failed, 2 wrong
// flags.
#include <cstdio>

#include "examples/header-words/flags.h"
#include "examples/header-words/standalone.h"
#include "examples/header-words/worker.h"
#include "examples/support/text_files.h"

namespace attune::header_words {
namespace {

Status Run(const Flags& flags) {
  if (flags.list_text) return examples::PrintFiles(flags.corpus.directories);
  return flags.standalone ? RunStandalone(flags) : RunWorker(flags);
}

}  // namespace
}  // namespace attune::header_words

int main(int argc, char** argv) {
  using namespace attune;
  const auto [flags, exit_code] = header_words::ParseFlags(argc, argv);
  if (exit_code >= 0) return exit_code;
  const Status status = header_words::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "attune-header-words: %s\n", ToString(status).c_str());
  return 1;
}
