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

}  // namespace attune::cli
