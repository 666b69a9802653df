// The graph of Debian's packages: an example worker. Flags: --help. Exit codes: 0 done, 1 failed, 2 wrong flags.
#include <cstdio>

#include "examples/package-graph/flags.h"
#include "examples/package-graph/package_files.h"
#include "examples/package-graph/standalone.h"
#include "examples/package-graph/worker.h"

namespace attune::package_graph {
namespace {

Status ListPackageFiles(const Flags& flags) {
  ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, FindPackageLists(flags.graph.lists));
  for (const std::filesystem::path& file : files) std::puts(file.c_str());
  return OkStatus();
}

Status Run(const Flags& flags) {
  if (flags.list_files) return ListPackageFiles(flags);
  return flags.standalone ? RunStandalone(flags) : RunWorker(flags);
}

}  // namespace
}  // namespace attune::package_graph

int main(int argc, char** argv) {
  using namespace attune;
  const auto [flags, exit_code] = package_graph::ParseFlags(argc, argv);
  if (exit_code >= 0) return exit_code;
  const Status status = package_graph::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "attune-package-graph: %s\n", ToString(status).c_str());
  return 1;
}
