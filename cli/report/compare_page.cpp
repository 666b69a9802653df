#include "cli/report/compare_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "cli/display/chart.h"
#include "cli/display/local_time.h"
#include "cli/report/page.h"
#include "cli/report/report_settings.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr std::array<const char*, kComparedMax> kColors{"#1f6feb", "#d9730d", "#1a7f4b", "#7a3fc0",
                                                        "#c62828", "#0b8793", "#8a6d00", "#7b8794"};
constexpr double kGapSeconds = 30;  // figures further apart are not joined

using Get = std::function<std::optional<double>(const RunPoint&)>;

class ComparedRuns {
 public:
  explicit ComparedRuns(const std::vector<ComparedHistory>& runs) : runs_(runs) {
    std::vector<const RunHistory*> histories;
    for (const ComparedHistory& run : runs) histories.push_back(&run.history);
    choices_.axes = AxesOf(histories);
    const Get loss = [](const RunPoint& point) { return point.loss; };
    bool positive = true, any = false;
    for (const ComparedHistory& run : runs) {
      const Series series = Line(run, XAxis::kTime, "", loss, true);
      any = any || HasValues(series);
      positive = positive && (!HasValues(series) || AllPositive(series));
      choices_.log_loss_first = choices_.log_loss_first || SpansMuch(series);
    }
    choices_.log_loss = any && positive;
    choices_.log_loss_first = choices_.log_loss_first && choices_.log_loss;
  }

  std::string Text() const {
    std::string title;
    for (const ComparedHistory& run : runs_) title += (title.empty() ? "" : ", ") + run.name;
    return PageBegin(title + " - compared", choices_) + "<h1>" + EscapeHtml(title) + "</h1>\n<p class=\"sub\">" +
           std::to_string(runs_.size()) + " runs over each other, as if they had begun together.</p>\n" +
           "<div class=\"scroll\">" + FiguresTable() + "</div>\n" + Charts() + About() + PageEnd();
  }

 private:
  // x begins at 0 for each run, so that they begin together.
  static Series Line(const ComparedHistory& run, XAxis axis, const char* color, const Get& get, bool gaps) {
    Series series{.name = run.name, .color = color};
    series.sparse = !gaps;
    const std::vector<double> x = ValuesOn(axis, run.history);
    const double gap = std::max(kGapSeconds, LengthOf(run.history) / 50);
    for (size_t i = 0; i < run.history.points.size(); ++i) {
      const std::optional<double> y = get(run.history.points[i]);
      if (!gaps && (!y || (!series.points.empty() && series.points.back().second == *y))) continue;
      if (gaps && i > 0 && run.history.points[i].time - run.history.points[i - 1].time > gap)
        series.points.emplace_back(x[i], std::numeric_limits<double>::quiet_NaN());
      series.points.emplace_back(x[i], y.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    return series;
  }

  double EndOf(XAxis axis) const {
    double end = 0;
    for (const ComparedHistory& run : runs_) {
      const std::vector<double> x = ValuesOn(axis, run.history);
      end = std::max(end, axis == XAxis::kTime ? LengthOf(run.history) : x.empty() ? 0 : x.back());
    }
    return end;
  }

  // `gaps`: a figure that is reported all the time, whose absence shows.
  std::function<Chart(XAxis)> Maker(const std::string& title, int height, bool from_zero, const Get& get,
                                    bool gaps = true) const {
    return [=, this](XAxis axis) {
      Chart chart;
      chart.title = title;
      chart.height = height;
      chart.from_zero = from_zero;
      if (from_zero) chart.format = api::FormatCount;
      SetAxis(axis, EndOf(axis), chart);
      for (size_t i = 0; i < runs_.size(); ++i)
        chart.series.push_back(Line(runs_[i], axis, kColors[i % kColors.size()], get, gaps));
      return chart;
    };
  }

  std::string Charts() const {
    const std::string unit = runs_.front().history.sample_unit;
    const auto draw = [&](const std::function<Chart(XAxis)>& make) {
      return DrawOnAxes(choices_, ChartSize::kWhole, make);
    };
    std::string text = ChoicesBar(choices_);
    text += DrawLoss(choices_, ChartSize::kWhole,
                     Maker("Training loss", 270, false, [](const RunPoint& point) { return point.loss; }));
    std::set<std::string> metrics;
    for (const ComparedHistory& run : runs_) {
      for (const RunPoint& point : run.history.points) {
        for (const auto& [name, value] : point.metrics) metrics.insert(name);
      }
    }
    for (const std::string& name : metrics) {
      const Get get = [name](const RunPoint& point) {
        const auto at = point.metrics.find(name);
        return at == point.metrics.end() ? std::nullopt : std::optional(at->second);
      };
      text += draw(Maker(Titled(Words(name)), 190, false, get, /*gaps=*/false));
    }
    text += draw(Maker("Throughput, " + (unit.empty() ? std::string("samples") : unit) + "/s", 270, true,
                       [](const RunPoint& point) { return point.rate; }));
    const auto count = [&](const char* title, int32_t RunPoint::*field) {
      return draw([=, this](XAxis axis) {
        Chart chart =
            Maker(title, 150, true, [=](const RunPoint& point) { return std::optional<double>(point.*field); })(axis);
        chart.whole = true;
        for (Series& series : chart.series) series.step = true;
        return chart;
      });
    };
    text += count("Workers ready", &RunPoint::workers);
    return text + count("Servers ready", &RunPoint::servers);
  }

  static std::string Cell(const std::string& text) { return "<td>" + EscapeHtml(text) + "</td>"; }

  struct Column {
    std::string name;
    std::function<std::string(const RunHistory&)> text;
  };

  std::vector<Column> Columns() const {
    std::vector<Column> columns = {
        {"outcome", [](const RunHistory& run) { return run.phase; }},
        {"last loss", [](const RunHistory& run) { return Text(run.loss ? run.loss : LastPoint(run).loss); }},
        {"last rate",
         [](const RunHistory& run) {
           const std::optional<double> rate = run.rate ? run.rate : LastPoint(run).rate;
           return rate ? api::FormatRate(*rate, run.sample_unit) : "-";
         }},
        {"took", [](const RunHistory& run) { return api::FormatSeconds(LengthOf(run)); }},
        {"servers x workers", SettingText}};
    std::set<std::string> results;
    for (const ComparedHistory& run : runs_) {
      for (const auto& [name, value] : run.history.results) results.insert(name);
    }
    for (const std::string& name : results)
      columns.push_back({Words(name), [name](const RunHistory& run) { return ResultText(run, name); }});
    columns.push_back(
        {"began", [](const RunHistory& run) { return StartOf(run) > 0 ? DateText(StartOf(run)) : std::string("-"); }});
    return columns;
  }

  // On narrow screens a card for each run, whose figures have their names beside them.
  std::string FiguresTable() const {
    const std::vector<Column> columns = Columns();
    std::string text = "<table class=\"cards\"><tr><th></th><th>run</th>";
    for (const Column& column : columns) text += "<th>" + EscapeHtml(column.name) + "</th>";
    text += "</tr>\n";
    for (size_t i = 0; i < runs_.size(); ++i) {
      text += std::string("<tr><td><span class=\"n\" style=\"background:") + kColors[i % kColors.size()] +
              "\">&nbsp;</span></td><td><b>" + EscapeHtml(runs_[i].name) + "</b></td>";
      for (const Column& column : columns) {
        text +=
            "<td data-label=\"" + EscapeHtml(column.name) + "\">" + EscapeHtml(column.text(runs_[i].history)) + "</td>";
      }
      text += "</tr>\n";
    }
    return text + "</table>\n";
  }

  static std::string Text(const std::optional<double>& figure) { return figure ? api::FormatFigure(*figure) : "-"; }

  // The last of each figure that was seen.
  static RunPoint LastPoint(const RunHistory& history) {
    RunPoint last;
    for (const RunPoint& point : history.points) {
      if (point.loss) last.loss = point.loss;
      if (point.rate) last.rate = point.rate;
      last.servers = point.servers;
      last.workers = point.workers;
      last.pace = point.pace;
    }
    return last;
  }

  static std::string SettingText(const RunHistory& history) {
    const RunPoint last = LastPoint(history);
    return std::to_string(last.servers) + " x " + std::to_string(last.workers) +
           (last.pace.empty() ? "" : ", " + last.pace);
  }

  static std::string ResultText(const RunHistory& history, const std::string& name) {
    const auto at = std::find_if(history.results.begin(), history.results.end(),
                                 [&](const auto& each) { return each.first == name; });
    return at == history.results.end() ? "-" : api::FormatFigure(at->second);
  }

  // What is known of the runs, side by side; the whole difference is `attune runs diff`.
  std::string About() const {
    std::vector<std::string> names;
    std::vector<std::vector<std::pair<std::string, std::string>>> facts;
    for (const ComparedHistory& run : runs_) {
      facts.push_back(run.history.about);
      if (const std::string tuning = TuningHeadline(run.history); !tuning.empty())
        facts.back().insert(facts.back().begin(), {"tuning", tuning});
      for (const auto& [name, value] : facts.back()) {
        if (name != "run" && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    if (names.empty()) return "";
    std::string text = "<h2>The runs</h2>\n<div class=\"scroll\"><table class=\"runs\"><tr><th></th>";
    for (const ComparedHistory& run : runs_) text += "<th>" + EscapeHtml(run.name) + "</th>";
    text += "</tr>\n";
    for (const std::string& name : names) {
      text += "<tr>" + Cell(name);
      for (const auto& known : facts) {
        const auto at = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.first == name; });
        text += Cell(at == known.end() ? "-" : at->second);
      }
      text += "</tr>\n";
    }
    return text + "</table></div>\n";
  }

  const std::vector<ComparedHistory>& runs_;
  PageChoices choices_;
};

}  // namespace

std::string ComparePage(const std::vector<ComparedHistory>& runs) { return ComparedRuns(runs).Text(); }

}  // namespace attune::cli
