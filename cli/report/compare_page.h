// Several runs over each other -> one HTML page with everything inside. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/runs/run_history.h"

namespace attune::cli {

struct ComparedHistory {
  std::string name;  // of the run
  RunHistory history;
};

// At least two.
std::string ComparePage(const std::vector<ComparedHistory>& runs);

inline constexpr size_t kComparedMax = 8;  // more curves cannot be distinguished

}  // namespace attune::cli
