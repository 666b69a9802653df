#include "cli/display/table.h"

#include <algorithm>

#include "cli/display/screen.h"

namespace attune::cli {

std::vector<std::string> FormatTable(const Table& table) {
  std::vector<int> widths(table.header.size());
  const auto measure = [&](const std::vector<std::string>& row) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  };
  measure(table.header);
  for (const auto& row : table.rows) measure(row);
  std::vector<std::string> lines;
  const auto write = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      line += row[i] + std::string(static_cast<size_t>(widths[i] - DisplayWidth(row[i]) + 3), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line);
  };
  write(table.header);
  for (const auto& row : table.rows) write(row);
  return lines;
}

}  // namespace attune::cli
