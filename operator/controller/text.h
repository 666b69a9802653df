// Text for objects of the API: from outside, made valid UTF-8 of bounded length; of our own, counted things.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attune::controller {

// At most `bytes_max` bytes, cut between characters, "..." at the end when cut. Bytes that are no UTF-8 and control
// characters other than newline and tab become '?'.
std::string FitText(std::string_view text, size_t bytes_max);
// The last `lines_max` lines, at most `bytes_max` bytes (the end is kept), made valid as above.
std::string LastLines(std::string_view text, size_t lines_max, size_t bytes_max);
// "1 server", "2 servers", "0 servers".
std::string Counted(int64_t count, std::string_view thing);
// "once", "twice", "3 times".
std::string Times(int64_t count);

}  // namespace attune::controller
