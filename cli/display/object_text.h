// Objects of an API server as text for programs.
#pragma once

#include <string>

#include "operator/kube/object.h"

namespace attune::cli {

// Indented, with a line's end behind it. What is no UTF-8 is replaced.
std::string JsonText(const kube::Json& value);
// `format`: "yaml", or else JSON.
std::string ObjectText(const kube::Json& object, const std::string& format);

}  // namespace attune::cli
