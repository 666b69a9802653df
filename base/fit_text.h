// Text from outside, made fit to be kept and shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attune {

// At most `bytes_max` bytes, cut between characters, "..." at the end when cut. Bytes that are no UTF-8 and control
// characters other than newline and tab become '?'.
std::string FitText(std::string_view text, size_t bytes_max);

}  // namespace attune
