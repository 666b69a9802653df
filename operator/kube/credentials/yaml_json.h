// Kubeconfigs are YAML and read as JSON.
#pragma once

#include <string>

#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::kube {

// Scalars become texts as they are written, for all that is read of a kubeconfig is text; below a key "extension",
// which belongs to other programs, they become what YAML makes of them. InvalidArgument, with the line, for what is no
// YAML, and for aliases that would become more values than any kubeconfig has.
StatusOr<Json> JsonFromYaml(const std::string& text);

}  // namespace attune::kube
