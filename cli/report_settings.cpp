#include "cli/report_settings.h"

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <vector>

#include "cli/chart.h"
#include "operator/api/format.h"
#include "operator/controller/names.h"
#include "operator/controller/text.h"

namespace attune::cli {
namespace {

constexpr size_t kPointsMin = 3;  // fewer say nothing of a setting: it was passed on the way

struct Cell {
  int32_t servers = 0, workers = 0;
  std::string pace;
  std::vector<double> rates;  // ascending once collected
  double seconds = 0;
  double Quantile(double share) const {
    return rates[static_cast<size_t>(share * static_cast<double>(rates.size() - 1) + 0.5)];
  }
  double rate() const { return Quantile(0.5); }
};

// In the order in which they were first seen.
std::vector<Cell> CollectCells(const RunHistory& history) {
  std::vector<Cell> cells;
  for (size_t i = 1; i < history.points.size(); ++i) {
    const RunPoint& point = history.points[i];
    const RunPoint& before = history.points[i - 1];
    // The first look after a change still shows the setting before.
    if (!point.rate || point.servers != before.servers || point.workers != before.workers || point.pace != before.pace)
      continue;
    auto cell = std::find_if(cells.begin(), cells.end(), [&](const Cell& each) {
      return std::tie(each.servers, each.workers, each.pace) == std::tie(point.servers, point.workers, point.pace);
    });
    if (cell == cells.end()) cell = cells.insert(cells.end(), Cell{point.servers, point.workers, point.pace, {}, 0});
    cell->rates.push_back(*point.rate);
    cell->seconds += point.time - before.time;
  }
  std::erase_if(cells, [](const Cell& cell) { return cell.rates.size() < kPointsMin; });
  for (Cell& cell : cells) std::sort(cell.rates.begin(), cell.rates.end());
  return cells;
}

// A bar as long as the rate is high.
std::string Bar(double share) {
  char text[96];
  std::snprintf(text, sizeof text, "<i class=\"bar\" style=\"width:%.0f%%\"></i>", 100 * std::clamp(share, 0.0, 1.0));
  return text;
}

std::string Unit(const RunHistory& history) {
  return history.sample_unit.empty() ? std::string("samples") : history.sample_unit;
}

}  // namespace

std::string SettingsTable(const RunHistory& history) {
  std::vector<Cell> cells = CollectCells(history);
  if (cells.size() < 2) return "";
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return a.rate() > b.rate(); });
  const double best = cells.front().rate();
  std::string text = "<h2>Throughput by setting</h2>\n<table><tr><th>servers</th><th>workers</th><th>pace</th><th>" +
                     EscapeHtml(Unit(history)) + "/s</th><th>spread</th><th>for</th><th class=\"wide\"></th></tr>\n";
  for (const Cell& cell : cells) {
    const bool is_best = &cell == &cells.front();
    text += "<tr><td>" + std::to_string(cell.servers) + "</td><td>" + std::to_string(cell.workers) + "</td><td>" +
            EscapeHtml(cell.pace.empty() ? "Async" : cell.pace) + "</td><td>" + (is_best ? "<b>" : "") +
            api::FormatCount(cell.rate()) + (is_best ? "</b>" : "") + "</td><td>" +
            api::FormatCount(cell.Quantile(0.1)) + " to " + api::FormatCount(cell.Quantile(0.9)) + "</td><td>" +
            api::FormatSeconds(cell.seconds) + "</td><td class=\"wide\">" + Bar(best > 0 ? cell.rate() / best : 0) +
            "</td></tr>\n";
  }
  return text +
         "</table>\n<p class=\"sub\">The median of what was reported there, and the span of the middle four "
         "fifths.</p>\n";
}

std::string TuningHeadline(const RunHistory& history) {
  int64_t changes = 0;
  for (const JobEvent& event : history.events) {
    if (event.reason == controller::kEventTuningTrial || event.reason == controller::kEventTuningMove)
      changes += event.count;
  }
  if (changes == 0 || history.points.empty()) return "";
  const std::vector<Cell> cells = CollectCells(history);
  const auto text = [&](const RunPoint& point) -> std::string {
    for (const Cell& cell : cells) {
      if (cell.servers == point.servers && cell.workers == point.workers && cell.pace == point.pace)
        return std::to_string(cell.servers) + " x " + std::to_string(cell.workers) + " at " +
               api::FormatCount(cell.rate());
    }
    return "";
  };
  // At both ends pods come and go: the first and the last setting that was stayed at.
  std::string first, last;
  for (auto point = history.points.begin(); point != history.points.end() && first.empty(); ++point)
    first = text(*point);
  for (auto point = history.points.rbegin(); point != history.points.rend() && last.empty(); ++point)
    last = text(*point);
  if (first.empty() || last.empty()) return "";
  return (first == last ? "stayed with " + last : first + " \u2192 " + last) + " " + Unit(history) + "/s, " +
         controller::Counted(changes, "change");
}

}  // namespace attune::cli
