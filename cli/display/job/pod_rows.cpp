#include "cli/display/job/pod_rows.h"

#include <algorithm>
#include <cstdio>

#include "cli/display/job/job_figures.h"
#include "cli/display/job/screen_line.h"
#include "cli/display/table.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr int kColumnsForDetails = 66;  // below, the table shows only the name, state and rate

// "0.24", "0.24 of 0.25".
std::string CpuText(const PodView& pod) {
  if (!pod.cpu_cores) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", *pod.cpu_cores);
  std::string result = text;
  if (!pod.cpu_limit) return result;
  std::snprintf(text, sizeof text, "%.4g", *pod.cpu_limit);
  return result + " of " + text;
}

// "84.0 MiB", "84.0 MiB of 1.0 GiB"; where there is no room for that "8% of 1.0 GiB".
std::string MemoryText(const PodView& pod, bool brief) {
  if (!pod.memory_bytes) return "-";
  const std::string used = api::FormatBytes(*pod.memory_bytes);
  if (!pod.memory_limit || *pod.memory_limit == 0) return used;
  const std::string of = " of " + api::FormatBytes(*pod.memory_limit);
  if (!brief) return used + of;
  const double share = static_cast<double>(*pod.memory_bytes) / static_cast<double>(*pod.memory_limit);
  return api::FormatPercent(share) + of;
}

struct PodColumns {
  bool details = false;
  bool short_names = false;
  bool brief = false;  // figures without what can be left out
};

Table PodTable(const JobView& view, PodColumns columns) {
  const bool throttled =
      std::any_of(view.pods.begin(), view.pods.end(), [](const PodView& pod) { return pod.throttled.has_value(); });
  Table table;
  table.header = {"POD", "STATE", "RATE"};
  if (columns.details) table.header.insert(table.header.end(), {"ROWS", "MEMORY", "CPU"});
  if (columns.details && throttled) table.header.emplace_back("THROTTLED");
  for (const PodView& pod : view.pods) {
    const std::string name = columns.short_names ? ShortPodName(pod.name, view.name) : pod.name;
    const std::string unit = columns.brief ? "" : view.sample_unit;
    std::vector<std::string> row = {name, pod.state, pod.rate ? api::FormatRate(*pod.rate, unit) : "-"};
    if (columns.details) {
      row.push_back(pod.rows ? api::FormatCount(static_cast<double>(*pod.rows)) : "-");
      row.push_back(MemoryText(pod, columns.brief));
      row.push_back(CpuText(pod));
    }
    if (columns.details && throttled) row.push_back(pod.throttled ? api::FormatPercent(*pod.throttled) : "-");
    table.rows.push_back(row);
  }
  return table;
}

// With as much as the screen has columns for.
std::vector<std::string> PodLines(const JobView& view, const Screen& screen) {
  PodColumns columns{.details = screen.width >= kColumnsForDetails};
  const auto fits = [&](const std::vector<std::string>& rows) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](const std::string& row) { return DisplayWidth(row) + 2 <= screen.width; });
  };
  std::vector<std::string> rows = FormatTable(PodTable(view, columns));
  if (!fits(rows)) {
    columns.short_names = true;
    rows = FormatTable(PodTable(view, columns));
  }
  if (!fits(rows)) {
    columns.brief = true;
    rows = FormatTable(PodTable(view, columns));
  }
  return rows;
}

// Higher is worse: what does not run, then what is slower than most of its role.
double Badness(const PodView& pod, double median_rate) {
  if (pod.state.starts_with("Failed")) return 4;
  if (pod.state != "Ready" && pod.state != "Leaving" && pod.state != "Succeeded") return 3;
  if (pod.rate && median_rate > 0 && *pod.rate < 0.7 * median_rate) return 2 - *pod.rate / median_rate;
  return pod.state == "Ready" ? 0 : 0.5;
}

// Where not all can be shown, the worst are.
void WorstFirst(std::vector<PodView>& pods) {
  std::vector<double> rates;
  for (const PodView& pod : pods) {
    if (pod.rate) rates.push_back(*pod.rate);
  }
  std::sort(rates.begin(), rates.end());
  const double median = rates.empty() ? 0 : rates[rates.size() / 2];
  std::stable_sort(pods.begin(), pods.end(),
                   [&](const PodView& a, const PodView& b) { return Badness(a, median) > Badness(b, median); });
}

}  // namespace

void AddPods(const JobView& view, const Screen& screen, size_t room, std::vector<std::string>& lines) {
  if (view.pods.empty() || room < 3) return;
  const size_t needed = view.pods.size() + 1;
  const bool all = needed <= room - 1;
  const JobView* shown_view = &view;
  JobView sorted;
  if (!all) {
    sorted = view;
    WorstFirst(sorted.pods);
    shown_view = &sorted;
  }
  std::vector<std::string> rows = PodLines(*shown_view, screen);
  lines.emplace_back();
  // Where there is room for one line, the worst pod says more than the names of columns.
  if (!all && room == 3) rows.erase(rows.begin());
  const size_t shown = all ? rows.size() : room - 2;
  for (size_t i = 0; i < shown; ++i) {
    lines.push_back(Line(screen)
                        .Add("  ")
                        .Add(rows[i], i == 0 && rows.size() > view.pods.size() ? Style::kDim : Style::kPlain)
                        .text());
  }
  if (all) return;
  lines.push_back(
      Line(screen).Add("  ... and " + std::to_string(rows.size() - shown) + " more pods", Style::kDim).text());
}

}  // namespace attune::cli
