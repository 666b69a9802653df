// Columns of text, as kubectl prints them.
#pragma once

#include <string>
#include <vector>

namespace attune::cli {

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

// Left-aligned, three spaces between columns, no trailing spaces; header first.
std::vector<std::string> FormatTable(const Table& table);

// Adds "Name:        value", the values of such lines below each other; nothing for an empty value.
inline void AppendNamedLine(std::string& text, const std::string& name, const std::string& value) {
  constexpr size_t kNameWidth = 13;
  if (value.empty()) return;
  text += name + ":" + std::string(name.size() < kNameWidth ? kNameWidth - name.size() : 1, ' ') + value + "\n";
}

}  // namespace attune::cli
