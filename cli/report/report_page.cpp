#include "cli/report/report_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "cli/display/chart.h"
#include "cli/display/local_time.h"
#include "cli/report/page.h"
#include "cli/report/report_events.h"
#include "cli/report/report_marks.h"
#include "cli/report/report_settings.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// Figures more than this apart are not joined by a line: no look was taken meanwhile, or nothing was reported.
constexpr double kGapFactor = 8;

// Lines of workers; more workers than colors share them.
constexpr std::array<const char*, 8> kLineColors{kBlue, kOrange, kGreen, kPurple, kRed, "#0b8793", "#8a6d00", kGray};

std::string BytesText(double bytes) { return api::FormatBytes(static_cast<uint64_t>(std::max(bytes, 0.0))); }

// Halves and quarters of powers of two read well in KiB, MiB and GiB.
double PowerOfTwoStep(double span) { return std::max(1.0, std::exp2(std::round(std::log2(span / 3)))); }

class Page {
 public:
  explicit Page(const RunHistory& history)
      : history_(history),
        start_(StartOf(history)),
        length_(LengthOf(history)),
        gap_(GapLength()),
        marks_(MarksOf(history, start_)),
        settings_(history, marks_, start_) {
    choices_.axes = AxesOf({&history});
    for (const XAxis axis : choices_.axes) x_[axis] = ValuesOn(axis, history);
    const Series loss = Line(XAxis::kTime, "", kBlue, [](const RunPoint& point) { return point.loss; });
    choices_.log_loss = history.points.size() > 1 && AllPositive(loss);
    choices_.log_loss_first = choices_.log_loss && SpansMuch(loss);
  }

  std::string Text() const { return PageBegin(history_.name + " - training report", choices_) + Content() + PageEnd(); }
  std::string Part() const { return MainBegin(choices_) + Content() + "</main>\n"; }

 private:
  std::string Content() const {
    return Head() + About() + Figures() + Charts() + settings_.Table() + EventsSection(marks_, settings_, start_);
  }

  double GapLength() const {
    std::vector<double> steps;
    for (size_t i = 1; i < history_.points.size(); ++i) {
      steps.push_back(history_.points[i].time - history_.points[i - 1].time);
    }
    if (steps.empty()) return 10;
    std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
    return std::max(kGapFactor * steps[steps.size() / 2], 5.0);
  }

  // `get` of each point over an axis, with gaps where none was seen for long.
  template <class Get>
  Series Line(XAxis axis, const std::string& name, const char* color, Get get) const {
    Series series{.name = name, .color = color};
    const std::vector<double>& x = x_.contains(axis) ? x_.at(axis) : ValuesOn(axis, history_);
    for (size_t i = 0; i < history_.points.size(); ++i) {
      const std::optional<double> y = get(history_.points[i]);
      if (i > 0 && history_.points[i].time - history_.points[i - 1].time > gap_)
        series.points.emplace_back(x[i], kNothing);
      series.points.emplace_back(x[i], y ? *y : kNothing);
    }
    return series;
  }

  // Where a moment lies on an axis: between the points before and after it.
  double PositionOf(double at, XAxis axis) const {
    if (axis == XAxis::kTime) return at;
    const std::vector<double>& x = x_.at(axis);
    for (size_t i = 0; i < history_.points.size(); ++i) {
      const double time = history_.points[i].time - start_;
      if (time < at) continue;
      if (i == 0) return 0;
      const double before = history_.points[i - 1].time - start_;
      const double share = time > before ? (at - before) / (time - before) : 0;
      return x[i - 1] + share * (x[i] - x[i - 1]);
    }
    return x.empty() ? 0 : x.back();
  }

  Chart NewChart(XAxis axis, const std::string& title, bool numbered = false) const {
    Chart chart;
    chart.title = title;
    const std::vector<double>& x = x_.at(axis);
    SetAxis(axis, axis == XAxis::kTime ? length_ : x.empty() ? 0 : x.back(), chart);
    for (const EventMark& each : marks_) {
      if (each.color != nullptr && each.at >= 0)
        chart.marks.push_back({PositionOf(each.at, axis), numbered ? each.number : 0, each.color, RowId(each)});
      if (IsChangeOfTuner(*each.event) && each.until > each.at) {
        chart.shades.push_back(
            {PositionOf(std::max(each.at, 0.0), axis), PositionOf(each.until, axis), WasKept(each) ? kGreen : kOrange});
      }
    }
    return chart;
  }

  std::string Head() const {
    std::string text = "<h1>" + EscapeHtml(history_.name) + "</h1>\n<p class=\"sub\">" + EscapeHtml(history_.phase);
    text += ", " + api::FormatSeconds(length_);
    if (start_ > 0) text += ", began " + DateText(start_);
    if (!history_.synchronization.empty()) text += ", pace " + EscapeHtml(history_.synchronization);
    text += "</p>\n";
    const std::string tuning = settings_.Headline();
    if (!tuning.empty()) {
      text += "<p class=\"headline\">Tuning: <b>" + EscapeHtml(tuning) +
              "</b> <span class=\"sub\">(servers x workers)</span></p>\n";
    }
    return text;
  }

  std::string Figures() const {
    std::string text;
    const auto figure = [&](const std::string& name, const std::string& value) {
      if (!value.empty()) text += "<div><b>" + EscapeHtml(value) + "</b><span>" + EscapeHtml(name) + "</span></div>";
    };
    double samples = 0, seconds = 0;
    std::optional<double> last_loss;
    for (size_t i = 0; i < history_.points.size(); ++i) {
      const RunPoint& point = history_.points[i];
      if (point.loss) last_loss = point.loss;
      if (i == 0 || !point.rate) continue;
      const double step = std::min(point.time - history_.points[i - 1].time, gap_);
      samples += *point.rate * step;
      seconds += step;
    }
    if (history_.loss) last_loss = history_.loss;
    const std::string when = history_.phase == "Running" ? " now" : " at the end";
    if (last_loss) figure("training loss" + when, api::FormatFigure(*last_loss));
    for (const auto& [name, value] : history_.results) figure(Words(name), api::FormatFigure(value));
    for (const RunHistory::Best& best : history_.best) {
      figure("best " + Words(best.name) + (best.where.empty() ? "" : ", " + best.where), api::FormatFigure(best.value));
    }
    if (history_.rate) figure("rate" + when, api::FormatRate(*history_.rate, history_.sample_unit));
    if (seconds > 0) figure("mean throughput", api::FormatRate(samples / seconds, history_.sample_unit));
    if (history_.reprocessed_items > 0) figure("items processed again", std::to_string(history_.reprocessed_items));
    if (history_.recoveries > 0) {
      figure("servers lost", std::to_string(history_.recoveries));
      figure("rows that went back", std::to_string(history_.restored_rows));
    }
    return text.empty() ? "" : "<div class=\"figures\">" + text + "</div>\n";
  }

  std::string Charts() const {
    if (history_.points.size() < 2) return "<p>Too short for curves: fewer than two reports were seen.</p>\n";
    return ChoicesBar(choices_) + Legend() + LossChart() + MetricCharts() + ThroughputChart() + WorkersChart() +
           ProcessesChart() + MovingChart() + RemainingChart() + UsageCharts() + MemoryChart();
  }

  std::string Legend() const {
    const bool marked =
        std::any_of(marks_.begin(), marks_.end(), [](const EventMark& each) { return each.number > 0; });
    const bool tuned = std::any_of(marks_.begin(), marks_.end(), [](const EventMark& each) {
      return IsChangeOfTuner(*each.event) && each.until > 0;
    });
    if (!marked) return "";
    std::string text = "<p class=\"sub\">Numbers on the curves lead to <a href=\"#events\">what happened</a> then.";
    if (tuned) text += " Shaded: a setting is tried, green where it was kept.";
    return text + "</p>\n";
  }

  // What is known of the run beside its figures.
  std::string About() const {
    std::string facts;
    const auto fact = [&](const std::string& name, const std::string& value) {
      facts += "<dt>" + EscapeHtml(name) + "</dt><dd>" + EscapeHtml(value) + "</dd>";
    };
    for (const auto& [name, value] : history_.about) fact(name, value);
    if (!history_.best_checkpoint.empty()) fact("best checkpoint", history_.best_checkpoint);
    return facts.empty() ? "" : "<dl class=\"about\">" + facts + "</dl>\n";
  }

  std::string LossChart() const {
    return DrawLoss(choices_, ChartSize::kWhole, [this](XAxis axis) {
      Chart chart = NewChart(axis, "Training loss", true);
      chart.height = 270;
      Series raw = Line(axis, "", kBlue, [](const RunPoint& p) { return p.loss; });
      if (raw.points.size() < 40) {
        chart.series = {raw};
        return chart;
      }
      raw.faint = true;
      raw.name = "as reported";
      chart.series = {raw, MovingMean(raw, "smoothed")};
      return chart;
    });
  }

  // One small chart per metric that was reported during training. They are few and far apart: all are joined.
  std::string MetricCharts() const {
    std::set<std::string> names;
    for (const RunPoint& point : history_.points) {
      for (const auto& [name, value] : point.metrics) names.insert(name);
    }
    std::string text;
    for (const std::string& name : names) {
      text += DrawOnAxes(choices_, names.size() > 1 ? ChartSize::kHalf : ChartSize::kWhole, [&](XAxis axis) {
        Chart chart = NewChart(axis, Titled(Words(name)));
        chart.height = 150;
        const std::vector<double>& x = x_.at(axis);
        Series values{.name = "", .color = kPurple};
        values.sparse = true;
        for (size_t i = 0; i < history_.points.size(); ++i) {
          const auto at = history_.points[i].metrics.find(name);
          // What was reported once is seen at every look until the next.
          if (at == history_.points[i].metrics.end() || !std::isfinite(at->second) ||
              (!values.points.empty() && values.points.back().second == at->second))
            continue;
          values.points.emplace_back(x[i], at->second);
        }
        chart.series = {std::move(values)};
        return chart;
      });
    }
    if (text.empty()) return "";
    return names.size() > 1 ? "<div class=\"halves\">" + text + "</div>\n" : text;
  }

  std::string ThroughputChart() const {
    return DrawOnAxes(choices_, ChartSize::kWhole, [this](XAxis axis) {
      Chart chart = NewChart(axis, "Throughput, " + Unit() + "/s");
      chart.from_zero = true;
      chart.format = api::FormatCount;
      Series raw = Line(axis, "", kGreen, [](const RunPoint& p) { return p.rate; });
      raw.filled = true;
      chart.series = {raw};
      return chart;
    });
  }

  std::string WorkersChart() const {
    if (history_.workers.size() < 2) return "";
    const bool listed = history_.workers.size() <= kLineColors.size();
    return DrawOnAxes(choices_, ChartSize::kWhole, [this, listed](XAxis axis) {
      Chart chart = NewChart(axis, "Throughput of each worker, " + Unit() + "/s");
      chart.from_zero = true;
      chart.format = api::FormatCount;
      for (size_t worker = 0; worker < history_.workers.size(); ++worker) {
        Series rates =
            Line(axis, listed ? ShortName(history_.workers[worker]) : "", kLineColors[worker % kLineColors.size()],
                 [worker](const RunPoint& p) {
                   return worker < p.worker_rates.size() ? std::optional(p.worker_rates[worker]) : std::nullopt;
                 });
        rates.thin = true;
        if (HasValues(rates)) chart.series.push_back(std::move(rates));
      }
      return chart;
    });
  }

  std::string ProcessesChart() const {
    return DrawOnAxes(choices_, ChartSize::kWhole, [this](XAxis axis) {
      Chart chart = NewChart(axis, "Servers and workers ready");
      chart.whole = true;
      chart.height = 150;
      chart.format = api::FormatCount;
      Series workers =
          Line(axis, "workers", kOrange, [](const RunPoint& p) { return std::optional<double>(p.workers); });
      Series servers =
          Line(axis, "servers", kPurple, [](const RunPoint& p) { return std::optional<double>(p.servers); });
      workers.step = servers.step = true;
      servers.dashed = true;
      chart.series = {workers, servers};
      return chart;
    });
  }

  std::string MovingChart() const {
    const bool any = std::any_of(history_.points.begin(), history_.points.end(),
                                 [](const RunPoint& p) { return p.moving_rows_per_second.value_or(0) > 0; });
    if (!any) return "";
    return DrawOnAxes(choices_, ChartSize::kWhole, [this](XAxis axis) {
      Chart chart = NewChart(axis, "Rows moving to other servers, rows/s");
      chart.from_zero = true;
      chart.height = 150;
      chart.format = api::FormatCount;
      Series rows =
          Line(axis, "", kRed, [](const RunPoint& p) { return std::optional(p.moving_rows_per_second.value_or(0)); });
      rows.filled = true;
      chart.series = {rows};
      return chart;
    });
  }

  std::string RemainingChart() const {
    if (!HasValues(Line(XAxis::kTime, "", kBlue, [](const RunPoint& p) { return p.remaining_seconds; }))) return "";
    return DrawOnAxes(choices_, ChartSize::kWhole, [this](XAxis axis) {
      Chart chart = NewChart(axis, "Remaining time");
      chart.from_zero = true;
      chart.y_time = true;
      chart.format = [](double y) { return y <= 0 ? std::string("0") : api::FormatSeconds(y); };
      // A first guess out of all proportion would hide the rest.
      Series estimate = Line(axis, "as estimated then", kBlue, [this](const RunPoint& p) {
        return p.remaining_seconds && *p.remaining_seconds <= 3 * length_ ? p.remaining_seconds : std::nullopt;
      });
      chart.series = {estimate};
      if (history_.ended > 0) {
        Series real = Line(axis, "as it was", kGray, [this](const RunPoint& p) {
          return std::optional(std::max(0.0, length_ - (p.time - start_)));
        });
        real.dashed = true;
        chart.series.push_back(std::move(real));
      }
      return chart;
    });
  }

  // What pods use of what they have, a line for each. Without a limit there is the use alone.
  std::string UsageCharts() const {
    using Usage = std::optional<api::RoleUsage>;
    struct Subject {
      const char* title;
      Usage RunPoint::*usage;
      bool memory;
    };
    constexpr Subject kSubjects[] = {{"Cores of a worker", &RunPoint::worker_usage, false},
                                     {"Memory of the fullest worker", &RunPoint::worker_usage, true},
                                     {"Cores of a server", &RunPoint::server_usage, false},
                                     {"Memory of the fullest server", &RunPoint::server_usage, true}};
    std::string text;
    for (const Subject& subject : kSubjects) {
      const auto line = [&](XAxis axis, const char* name, const char* color, bool limit) {
        return Line(axis, name, color, [&](const RunPoint& point) -> std::optional<double> {
          const Usage& usage = point.*subject.usage;
          if (!usage) return std::nullopt;
          const double value = subject.memory
                                   ? static_cast<double>(limit ? usage->memory_limit_bytes : usage->memory_bytes)
                               : limit ? usage->cpu_limit_cores
                                       : usage->cpu_cores;
          return limit && value <= 0 ? std::nullopt : std::optional(value);
        });
      };
      if (!HasValues(line(XAxis::kTime, "", kBlue, false))) continue;
      text += DrawOnAxes(choices_, ChartSize::kHalf, [&](XAxis axis) {
        Chart chart = NewChart(axis, subject.title);
        chart.from_zero = true;
        chart.height = 130;
        chart.format = subject.memory ? BytesText : api::FormatFigure;
        if (subject.memory) chart.y_step = PowerOfTwoStep;
        Series limits = line(axis, "limit", kGray, true);
        limits.dashed = limits.step = true;
        chart.series = {line(axis, "in use", kBlue, false)};
        if (HasValues(limits)) chart.series.push_back(std::move(limits));
        return chart;
      });
    }
    return text.empty() ? "" : "<div class=\"halves\">" + text + "</div>\n";
  }

  std::string MemoryChart() const {
    return DrawOnAxes(choices_, ChartSize::kWhole, [this](XAxis axis) {
      Chart chart = NewChart(axis, "Memory of all processes");
      chart.from_zero = true;
      chart.height = 130;
      chart.format = BytesText;
      chart.y_step = PowerOfTwoStep;
      chart.series = {Line(axis, "", kGray, [](const RunPoint& p) { return p.memory_bytes; })};
      return chart;
    });
  }

  std::string Unit() const { return history_.sample_unit.empty() ? "samples" : history_.sample_unit; }

  // "worker-3" of pod "word2vec-worker-3".
  std::string ShortName(const std::string& pod) const {
    return pod.starts_with(history_.name + "-") ? pod.substr(history_.name.size() + 1) : pod;
  }

  const RunHistory& history_;
  const double start_, length_, gap_;
  const std::vector<EventMark> marks_;
  const RunSettings settings_;
  PageChoices choices_;
  std::map<XAxis, std::vector<double>> x_;  // of each point
};

}  // namespace

std::string ReportPage(const RunHistory& history) { return Page(history).Text(); }
std::string ReportPart(const RunHistory& history) { return Page(history).Part(); }

}  // namespace attune::cli
