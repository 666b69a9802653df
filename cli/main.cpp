// attune: trains, shows and steers TrainingJobs, on this machine or on a Kubernetes cluster.
#include <cstring>

#include "cli/application.h"
#include "operator/local/containers/pod_shim.h"

int main(int argc, char** argv) {
  // Not a command for people: the node agent starts this program once for each container.
  if (argc > 1 && std::strcmp(argv[1], "pod-shim") == 0) return attune::local::PodShimMain(argc - 1, argv + 1);
  return attune::cli::Main(argc, argv);
}
