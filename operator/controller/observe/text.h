// Text for objects of the API: from outside, the end of a log; of our own, counted things.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fit_text.h"

namespace attune::controller {

// The last `lines_max` lines, at most `bytes_max` bytes (the end is kept), made valid by FitText.
std::string LastLines(std::string_view text, size_t lines_max, size_t bytes_max);
// "1 server", "2 servers", "0 servers".
std::string Counted(int64_t count, std::string_view thing);
// Three significant digits: "0.123", "1.5", "1.23e+03".
std::string Figure(double value);
// "once", "twice", "3 times".
std::string Times(int64_t count);

}  // namespace attune::controller
