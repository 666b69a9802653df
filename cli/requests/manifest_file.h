// The text of a manifest that was named on the command line.
#pragma once

#include <string>

#include "base/status.h"

namespace attune::cli {

// "-" is standard input. A directory is an error that names the manifests in it.
StatusOr<std::string> ReadManifestText(const std::string& file);

}  // namespace attune::cli
