#include "cli/report_settings.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr size_t kPointsMin = 3;  // fewer say nothing of a setting: it was passed on the way

struct Cell {
  std::vector<double> rates;
  double rate = 0;  // median
};
using Cells = std::map<std::pair<int32_t, int32_t>, Cell>;  // by servers, workers

Cells CollectCells(const RunHistory& history) {
  Cells cells;
  for (size_t i = 1; i < history.points.size(); ++i) {
    const RunPoint& point = history.points[i];
    const RunPoint& before = history.points[i - 1];
    // The first look after a change still shows the setting before.
    if (!point.rate || point.servers != before.servers || point.workers != before.workers) continue;
    cells[{point.servers, point.workers}].rates.push_back(*point.rate);
  }
  std::erase_if(cells, [](const auto& cell) { return cell.second.rates.size() < kPointsMin; });
  for (auto& [setting, cell] : cells) {
    std::sort(cell.rates.begin(), cell.rates.end());
    cell.rate = cell.rates[cell.rates.size() / 2];
  }
  return cells;
}

// White for nothing, green for the best.
std::string Shade(double share) {
  const auto mix = [&](int full) { return static_cast<int>(255 - (255 - full) * std::clamp(share, 0.0, 1.0)); };
  char text[16];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", mix(0x6f), mix(0xc2), mix(0x8f));
  return text;
}

std::string CellText(const Cells& cells, std::pair<int32_t, int32_t> setting, double best) {
  const auto found = cells.find(setting);
  if (found == cells.end()) return "<td></td>";
  const Cell& cell = found->second;
  const bool is_best = cell.rate == best;
  return "<td style=\"background:" + Shade(best > 0 ? cell.rate / best * cell.rate / best : 0) + "\">" +
         (is_best ? "<b>" : "") + api::FormatCount(cell.rate) + (is_best ? "</b>" : "") + "</td>";
}

}  // namespace

std::string SettingsTable(const RunHistory& history) {
  const Cells cells = CollectCells(history);
  if (cells.size() < 2) return "";
  std::set<int32_t> servers, workers;
  double best = 0;
  for (const auto& [setting, cell] : cells) {
    servers.insert(setting.first);
    workers.insert(setting.second);
    best = std::max(best, cell.rate);
  }
  std::string text = "<h2>Throughput by setting, " +
                     (history.sample_unit.empty() ? std::string("samples") : history.sample_unit) +
                     "/s</h2>\n<table style=\"width:auto\"><tr><th></th>";
  for (const int32_t count : workers) {
    text += "<th>" + std::to_string(count) + (count == 1 ? " worker" : " workers") + "</th>";
  }
  text += "</tr>\n";
  for (const int32_t count : servers) {
    text += "<tr><th>" + std::to_string(count) + (count == 1 ? " server" : " servers") + "</th>";
    for (const int32_t others : workers) text += CellText(cells, {count, others}, best);
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace attune::cli
