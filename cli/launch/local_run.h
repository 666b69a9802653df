// `attune run` on this machine: platform, operator and jobs in this process, or in one started in the background.
#pragma once

#include <vector>

#include "cli/arguments.h"
#include "operator/kube/object.h"

namespace attune::cli {

// `manifest`: the text that says the jobs, for the run directory.
int RunLocally(std::vector<kube::Json> jobs, const std::string& manifest, const RunArguments& arguments,
               const Target& target);
// Starts this program again in the background with the same manifest, waits until its instance is found, and says how
// to look. The manifest is read once: it may have come through a pipe.
int StartDetached(const std::vector<kube::Json>& jobs, const std::string& manifest, const RunArguments& arguments,
                  const Target& target);

}  // namespace attune::cli
