// Word vectors of C++ identifiers: the example worker. Flags: --help. Exit codes: 0 done, 1 failed, 2 wrong flags.
#include <cstdio>

#include "examples/support/text_files.h"
#include "examples/word2vec/flags.h"
#include "examples/word2vec/reader.h"
#include "examples/word2vec/standalone.h"
#include "examples/word2vec/worker.h"

namespace attune::word2vec {
namespace {

Status Run(const Flags& flags) {
  if (flags.list_text) return examples::PrintFiles(flags.corpus.directories);
  if (!flags.model.empty()) return RunReader(flags);
  return flags.standalone ? RunStandalone(flags) : RunWorker(flags);
}

}  // namespace
}  // namespace attune::word2vec

int main(int argc, char** argv) {
  using namespace attune;
  const auto [flags, exit_code] = word2vec::ParseFlags(argc, argv);
  if (exit_code >= 0) return exit_code;
  const Status status = word2vec::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "attune-word2vec: %s\n", ToString(status).c_str());
  return 1;
}
