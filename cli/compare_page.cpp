#include "cli/compare_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "cli/chart.h"
#include "cli/render.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr std::array<const char*, kComparedMax> kColors{"#1f6feb", "#d9730d", "#1a7f4b", "#7a3fc0",
                                                        "#c62828", "#0b8793", "#8a6d00", "#7b8794"};
constexpr double kGapSeconds = 30;  // figures further apart are not joined

using Get = std::function<std::optional<double>(const RunPoint&)>;

double StartOf(const RunHistory& history) {
  if (history.started > 0) return history.started;
  return history.points.empty() ? 0 : history.points.front().time;
}

double LengthOf(const RunHistory& history) {
  const double last = history.points.empty() ? StartOf(history) : history.points.back().time;
  return std::max({history.ended, last, StartOf(history)}) - StartOf(history);
}

// x: seconds since the start of each run, so that they begin together.
Series Line(const ComparedHistory& run, const char* color, const Get& get) {
  Series series{.name = run.name, .color = color};
  double last = -1;
  for (const RunPoint& point : run.history.points) {
    const double x = point.time - StartOf(run.history);
    if (last >= 0 && x - last > std::max(kGapSeconds, LengthOf(run.history) / 50))
      series.points.emplace_back(x, std::numeric_limits<double>::quiet_NaN());
    series.points.emplace_back(x, get(point).value_or(std::numeric_limits<double>::quiet_NaN()));
    last = x;
  }
  return series;
}

std::string ChartOf(const std::vector<ComparedHistory>& runs, const std::string& title, bool from_zero,
                    const Get& get) {
  Chart chart;
  chart.title = title;
  chart.height = 270;
  chart.from_zero = from_zero;
  if (from_zero) chart.format = [](double y) { return api::FormatCount(y); };
  bool any = false;
  for (size_t i = 0; i < runs.size(); ++i) {
    chart.series.push_back(Line(runs[i], kColors[i % kColors.size()], get));
    chart.x_max = std::max(chart.x_max, LengthOf(runs[i].history));
    any = any || std::any_of(chart.series.back().points.begin(), chart.series.back().points.end(),
                             [](const auto& point) { return std::isfinite(point.second); });
  }
  return any ? SvgText(chart) : "";
}

std::string Cell(const std::string& text) { return "<td>" + EscapeHtml(text) + "</td>"; }

std::string FiguresTable(const std::vector<ComparedHistory>& runs) {
  std::set<std::string> results;
  for (const ComparedHistory& run : runs) {
    for (const auto& [name, value] : run.history.results) results.insert(name);
  }
  std::string text =
      "<table><tr><th></th><th>run</th><th>began</th><th>outcome</th><th>took</th><th>last loss</th>"
      "<th>last rate</th><th>servers x workers</th>";
  for (const std::string& name : results) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    text += "<th>" + EscapeHtml(words) + "</th>";
  }
  text += "</tr>\n";
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunHistory& history = runs[i].history;
    RunPoint last;
    for (const RunPoint& point : history.points) {
      if (point.loss) last.loss = point.loss;
      if (point.rate) last.rate = point.rate;
      last.servers = point.servers;
      last.workers = point.workers;
    }
    text += std::string("<tr><td><span class=\"n\" style=\"background:") + kColors[i % kColors.size()] +
            "\">&nbsp;</span></td>" + Cell(runs[i].name) +
            Cell(StartOf(history) > 0 ? ClockText(StartOf(history)) : "-") + Cell(history.phase) +
            Cell(api::FormatSeconds(LengthOf(history))) + Cell(last.loss ? api::FormatFigure(*last.loss) : "-") +
            Cell(last.rate ? api::FormatRate(*last.rate, history.sample_unit) : "-") +
            Cell(std::to_string(last.servers) + " x " + std::to_string(last.workers));
    for (const std::string& name : results) {
      const auto at = std::find_if(history.results.begin(), history.results.end(),
                                   [&](const auto& each) { return each.first == name; });
      text += Cell(at == history.results.end() ? "-" : api::FormatFigure(at->second));
    }
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace

std::string ComparePage(const std::vector<ComparedHistory>& runs) {
  std::string title;
  for (const ComparedHistory& run : runs) title += (title.empty() ? "" : ", ") + run.name;
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>" +
      EscapeHtml(title) +
      " - compared</title>\n<style>\nbody{font:14px/1.5 system-ui,'DejaVu Sans',sans-serif;color:#1f2933;"
      "background:#fff;max-width:960px;margin:24px auto;padding:0 16px}\nh1{font-size:22px;margin:0 0 2px}\n"
      ".sub{color:#5b6570;margin:0 0 14px}\nsvg{display:block;width:100%;margin:0 0 10px}\n"
      ".wide{overflow-x:auto;margin:0 0 14px}\ntable{border-collapse:collapse;width:100%}\n"
      "td,th{text-align:left;padding:3px 10px 3px 0;vertical-align:top;border-bottom:1px solid #eef0f2;"
      "white-space:nowrap}\n.n{display:inline-block;min-width:18px;border-radius:9px;font-size:11px}\n"
      "</style></head><body>\n<h1>" +
      EscapeHtml(title) + "</h1>\n<p class=\"sub\">" + std::to_string(runs.size()) +
      " runs over each other. Times are seconds since the start of each.</p>\n";
  text += "<div class=\"wide\">" + FiguresTable(runs) + "</div>\n";
  text += ChartOf(runs, "Training loss", false, [](const RunPoint& point) { return point.loss; });
  const std::string unit = runs.front().history.sample_unit;
  text += ChartOf(runs, "Throughput, " + (unit.empty() ? std::string("samples") : unit) + "/s", true,
                  [](const RunPoint& point) { return point.rate; });
  text += ChartOf(runs, "Workers that are ready", true,
                  [](const RunPoint& point) { return std::optional<double>(point.workers); });
  text += ChartOf(runs, "Servers that are ready", true,
                  [](const RunPoint& point) { return std::optional<double>(point.servers); });
  return text + "</body></html>\n";
}

}  // namespace attune::cli
