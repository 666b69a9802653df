#include "cli/display/job/trend_rows.h"

#include <algorithm>

#include "cli/display/job/screen_line.h"
#include "cli/display/trend.h"
#include "operator/api/format.h"

namespace attune::cli {

std::vector<TrendRow> TrendRows(const JobView& view, size_t most) {
  std::vector<TrendRow> rows;
  const auto add = [&](const std::string& name, const std::vector<double>& values, std::string (*format)(double)) {
    if (values.size() > 1 && rows.size() < most) rows.push_back({name, &values, format});
  };
  add("loss", view.loss_trend, api::FormatFigure);
  add("rate", view.rate_trend, api::FormatCount);
  for (const auto& [name, values] : view.metric_trends) add(name, values, api::FormatFigure);
  return rows;
}

void AddTrends(const std::vector<TrendRow>& rows, const Screen& screen, std::vector<std::string>& lines) {
  constexpr int kNameMax = 24;
  int names = 0;
  for (const TrendRow& row : rows) names = std::max(names, std::min(DisplayWidth(row.name), kNameMax));
  lines.emplace_back();
  for (const TrendRow& row : rows) {
    const auto [low, high] = std::minmax_element(row.values->begin(), row.values->end());
    const std::string range = "  " + row.format(*low) + " to " + row.format(*high);
    std::string name = row.name.substr(0, FittingBytes(row.name, kNameMax));
    name.append(static_cast<size_t>(names - DisplayWidth(name)), ' ');
    Line line(screen);
    line.Add("  " + name + "  ", Style::kDim);
    const std::string spark =
        Sparkline(*row.values, std::min(kBarMax, line.left() - DisplayWidth(range)), screen.unicode);
    lines.push_back(line.Add(spark, Style::kAccent).Add(range, Style::kDim).text());
  }
}

}  // namespace attune::cli
