// The parent of a container's processes, a program of its own so that it outlives whatever happens to the agent.
#pragma once

namespace attune::local {

// Entry of the hidden subcommand that the agent starts for each container (`attune pod-shim ...`): becomes the parent
// of the container's processes and ends them all when asked, or when the agent dies. Returns the container's exit code.
int PodShimMain(int argc, char** argv);

}  // namespace attune::local
