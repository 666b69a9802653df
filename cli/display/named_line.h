// A line of a description: a name, and the value where the values of the other lines are.
#pragma once

#include <string>

namespace attune::cli {

// Adds "Name:        value", the values of such lines below each other; nothing for an empty value.
inline void AppendNamedLine(std::string& text, const std::string& name, const std::string& value) {
  constexpr size_t kNameWidth = 13;
  if (value.empty()) return;
  text += name + ":" + std::string(name.size() < kNameWidth ? kNameWidth - name.size() : 1, ' ') + value + "\n";
}

}  // namespace attune::cli
