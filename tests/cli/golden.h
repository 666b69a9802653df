// Text compared with a recorded file; ATTUNE_UPDATE_GOLDEN=1 records it again, the difference is the review.
#pragma once

#include <string>

namespace attune::cli {

// `name` lies in tests/cli/golden.
void ExpectGolden(const std::string& text, const std::string& name);

}  // namespace attune::cli
