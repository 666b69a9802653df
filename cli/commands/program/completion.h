// Completion scripts, made from the commands themselves. Names of jobs are asked from `attune get -o name`.
#pragma once

#include <string>

namespace attune::cli {

std::string CompletionScript(const std::string& shell);  // "bash" or "zsh"

}  // namespace attune::cli
