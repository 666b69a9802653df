#include "cli/report_page.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include "cli/chart.h"
#include "cli/render.h"
#include "cli/report_settings.h"
#include "operator/api/format.h"
#include "operator/controller/names.h"

namespace attune::cli {
namespace {

constexpr char kBlue[] = "#1f6feb", kOrange[] = "#d9730d", kGreen[] = "#1a7f4b", kRed[] = "#c62828",
               kGray[] = "#7b8794", kPurple[] = "#7a3fc0";
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// Figures more than this apart are not joined by a line: nobody looked meanwhile, or nothing was reported.
constexpr double kGapFactor = 8;

// What a reader of the curves wants to see on them, and its color.
const char* ColorOf(const JobEvent& event) {
  using namespace controller;
  const auto is = [&](std::initializer_list<const char*> reasons) {
    return std::any_of(reasons.begin(), reasons.end(), [&](const char* reason) { return event.reason == reason; });
  };
  if (is({kEventServerFailed, kEventServerReplaced, kEventWorkerFailed, kEventWorkerReplaced, kEventNodeLost,
          kEventRowsRestored, kEventFailed})) {
    return kRed;
  }
  if (is({kEventServersJoining, kEventServersDraining, kEventServerLeft, kEventWorkersCreated, kEventWorkersDraining,
          kEventWorkerLeft})) {
    return kBlue;
  }
  if (is({kEventCheckpointWritten, kEventCheckpointFailed})) return kGreen;
  if (is({kEventSynchronized, kEventCoordinatorAppointed, kEventCoordinatorConfirmed})) return kPurple;
  if (is({kEventTuningTrial, kEventTuningMove, kEventTuningCrashed, kEventTuningFinished})) return kOrange;
  return nullptr;
}

bool IsChangeOfTuner(const JobEvent& event) {
  return event.reason == controller::kEventTuningTrial || event.reason == controller::kEventTuningMove;
}

// What follows from a change of the tuner and needs no mark of its own.
bool IsPartOfChange(const JobEvent& event) {
  using namespace controller;
  for (const char* reason : {kEventServersJoining, kEventServersDraining, kEventServerLeft, kEventServersCreated,
                             kEventWorkersCreated, kEventWorkersDraining, kEventWorkerLeft, kEventSynchronized,
                             kEventScaled, kEventCoordinatorAppointed, kEventCoordinatorConfirmed}) {
    if (event.reason == reason) return true;
  }
  return false;
}

// "2027-01-15 08:00:00 UTC", in this machine's zone.
std::string DateText(double unix_seconds) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[48];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &parts);
  return text;
}

struct Marked {
  const JobEvent* event;
  double at;
  const char* color;  // null: not on the curves
  int number;         // 0: not on the curves
  double until = 0;   // of a change of the tuner: when the next one began, or its outcome was known
  const JobEvent* outcome = nullptr;
  bool folded = false;  // told in the row of another one
};

// The outcomes of the tuner's changes come in their order; each belongs to the oldest change that has none.
void FoldOutcomes(std::vector<Marked>& marked) {
  std::vector<Marked*> open;
  for (Marked& each : marked) {
    if (IsChangeOfTuner(*each.event)) {
      if (!open.empty() && open.back()->until == 0) open.back()->until = each.at;
      open.push_back(&each);
    } else if (each.event->reason == controller::kEventTuningOutcome && !open.empty()) {
      Marked& change = *open.front();
      open.erase(open.begin());
      change.outcome = each.event;
      if (change.until == 0) change.until = each.at;
      each.folded = true;
    }
  }
}

std::vector<Marked> MarkedEvents(const RunHistory& history, double start) {
  constexpr double kPodsFollowWithin = 30;  // seconds after a change of the tuner
  std::vector<Marked> marked;
  int number = 0;
  double last_change = -kPodsFollowWithin;
  for (const JobEvent& event : history.events) {
    const double at = ParseTime(event.time) - start;
    const char* color = ColorOf(event);
    if (IsChangeOfTuner(event)) last_change = at;
    if (IsPartOfChange(event) && at - last_change < kPodsFollowWithin) color = nullptr;
    // Workers made before training began are how a job starts.
    if (event.reason == controller::kEventWorkersCreated && number == 0 && at < 5) color = nullptr;
    marked.push_back({&event, at, color, color != nullptr ? ++number : 0});
  }
  FoldOutcomes(marked);
  return marked;
}

// "; kept." at the end of an outcome, "not taken".
std::string Verdict(const JobEvent& outcome) {
  const size_t at = outcome.note.rfind("; ");
  return at == std::string::npos ? outcome.note : outcome.note.substr(at + 2);
}

// "measured +12 % (±3 %); kept.": what the row of the change does not say already.
std::string OutcomeText(const JobEvent& outcome) {
  const size_t at = outcome.note.find("; measured ");
  return at == std::string::npos ? Verdict(outcome) : outcome.note.substr(at + 2);
}

// Curves are drawn twice, for wide and for narrow screens, so that their text has the same size on both.
constexpr char kStyle[] = R"(:root{color-scheme:light dark;--text:#1f2933;--axis:#5b6570;--grid:#e3e6ea;--ground:#fff}
@media(prefers-color-scheme:dark){:root{--text:#e6e9ec;--axis:#9aa5b1;--grid:#333b43;--ground:#14181c}
svg polyline,svg polygon,.bar{filter:brightness(1.35)}}
body{font:14px/1.5 system-ui,'DejaVu Sans',sans-serif;color:var(--text);background:var(--ground);max-width:960px;
margin:24px auto;padding:0 16px}
h1{font-size:22px;margin:0 0 2px}h2{font-size:16px;margin:18px 0 6px}
.sub{color:var(--axis);margin:0 0 14px}.told{font-size:16px;margin:0 0 14px}
.figures{display:flex;flex-wrap:wrap;gap:10px;margin:0 0 14px}
.figures div{border:1px solid var(--grid);border-radius:6px;padding:6px 12px}
.figures b{display:block;font-size:16px}.figures span{color:var(--axis);font-size:12px}
svg{display:block;width:100%;margin:0 0 10px}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:3px 10px 3px 0;vertical-align:top;border-bottom:1px solid var(--grid)}
td{white-space:nowrap}.events td:last-child{white-space:normal;overflow-wrap:anywhere}th.wide{width:40%}
.n{display:inline-block;min-width:18px;border-radius:9px;color:#fff;text-align:center;font-size:11px}
.bar{display:block;height:9px;margin-top:6px;background:#6fc28f;border-radius:2px;min-width:2px}
.h:hover{fill-opacity:.15}tr:target{background:#d9730d33}a{color:inherit}
.narrow{display:none}
@media(max-width:600px){.wide{display:none}.narrow{display:block}body{margin:12px auto;padding:0 10px}
td,th{padding-right:6px;font-size:13px}
.events tr{display:block;border-bottom:1px solid var(--grid);padding:4px 0}
.events td{display:inline;border:0;white-space:normal}
.events tr:first-child{display:none}}
)";

class Page {
 public:
  explicit Page(const RunHistory& history) : history_(history) {
    start_ = history.started > 0 ? history.started : history.points.empty() ? 0 : history.points.front().time;
    end_ = history.ended > 0 ? history.ended : history.points.empty() ? start_ : history.points.back().time;
    if (!history.points.empty()) end_ = std::max(end_, history.points.back().time);
    marked_ = MarkedEvents(history, start_);
    gap_ = GapLength();
  }

  std::string Text() const {
    std::string text =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><title>" +
        EscapeHtml(history_.name) + " - training report</title>\n<style>\n" + kStyle + "</style></head><body>\n";
    text += Head() + Figures();
    text += Charts() + SettingsTable(history_) + Events();
    return text + "</body></html>\n";
  }

 private:
  double GapLength() const {
    std::vector<double> steps;
    for (size_t i = 1; i < history_.points.size(); ++i) {
      steps.push_back(history_.points[i].time - history_.points[i - 1].time);
    }
    if (steps.empty()) return 10;
    std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
    return std::max(kGapFactor * steps[steps.size() / 2], 5.0);
  }

  template <class Get>
  Series Line(const std::string& name, const char* color, Get get) const {
    Series series{.name = name, .color = color};
    double last = -1;
    for (const RunPoint& point : history_.points) {
      const double x = point.time - start_;
      const std::optional<double> y = get(point);
      if (last >= 0 && x - last > gap_) series.points.emplace_back(x, kNothing);
      series.points.emplace_back(x, y ? *y : kNothing);
      last = x;
    }
    return series;
  }

  // Mean over a moving window: a twentieth of the points, at least five.
  static Series Smoothed(const Series& raw, const std::string& name) {
    Series smooth{.name = name, .color = raw.color};
    const size_t reach = std::max<size_t>(2, raw.points.size() / 60);
    for (size_t i = 0; i < raw.points.size(); ++i) {
      if (!std::isfinite(raw.points[i].second)) {
        smooth.points.emplace_back(raw.points[i].first, kNothing);
        continue;
      }
      double sum = 0, count = 0;
      for (size_t j = i > reach ? i - reach : 0; j <= std::min(raw.points.size() - 1, i + reach); ++j) {
        if (!std::isfinite(raw.points[j].second)) continue;
        sum += raw.points[j].second;
        count += 1;
      }
      smooth.points.emplace_back(raw.points[i].first, sum / count);
    }
    return smooth;
  }

  static bool Any(const Series& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [](const auto& p) { return std::isfinite(p.second); });
  }

  // Both drawings of a chart.
  static std::string Drawn(Chart chart) {
    chart.hover = true;
    const std::string wide = SvgText(chart);
    if (wide.empty()) return "";
    chart.width = 400;
    for (Series& series : chart.series) Thin(series);
    return "<div class=\"wide\">" + wide + "</div><div class=\"narrow\">" + SvgText(chart) + "</div>\n";
  }

  // What a narrow screen cannot show apart need not be in the file twice.
  static void Thin(Series& series) {
    constexpr size_t kPoints = 330;
    while (series.points.size() > kPoints) {
      size_t kept = 0;
      for (size_t i = 0; i < series.points.size(); i += 2) series.points[kept++] = series.points[i];
      series.points.resize(kept);
    }
  }

  static std::string RowId(const Marked& each) { return "e" + std::to_string(each.number); }

  Chart NewChart(std::string title, bool numbered) const {
    Chart chart;
    chart.title = std::move(title);
    chart.x_max = std::max(end_ - start_, 1.0);
    for (const Marked& each : marked_) {
      if (each.color != nullptr && each.at >= 0)
        chart.marks.push_back({each.at, numbered ? each.number : 0, each.color, RowId(each)});
      if (IsChangeOfTuner(*each.event) && each.until > each.at) {
        const bool kept = each.outcome != nullptr && Verdict(*each.outcome).starts_with("kept");
        chart.shades.push_back({std::max(each.at, 0.0), each.until, kept ? kGreen : kOrange});
      }
    }
    return chart;
  }

  std::string Head() const {
    std::string text = "<h1>" + EscapeHtml(history_.name) + "</h1>\n<p class=\"sub\">" + EscapeHtml(history_.phase);
    text += ", " + api::FormatSeconds(std::max(0.0, end_ - start_));
    if (start_ > 0) text += ", began " + DateText(start_);
    if (!history_.synchronization.empty()) text += ", pace " + EscapeHtml(history_.synchronization);
    for (const auto& [name, value] : history_.about) text += "<br>" + EscapeHtml(name) + ": " + EscapeHtml(value);
    text += "<br>Times are since the start; numbers on the curves lead to their explanation below.</p>\n";
    const std::string tuning = TuningHeadline(history_);
    if (!tuning.empty()) {
      text += "<p class=\"told\">Tuning: <b>" + EscapeHtml(tuning) +
              "</b> <span class=\"sub\">(servers x workers; shaded while a setting was tried, green where it was "
              "kept)</span></p>\n";
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
    if (last_loss) figure("training loss at the end", api::FormatFigure(*last_loss));
    for (const auto& [name, value] : history_.results) {
      std::string words = name;
      std::replace(words.begin(), words.end(), '_', ' ');
      figure(words, api::FormatFigure(value));
    }
    if (history_.rate) figure("rate at the end", api::FormatRate(*history_.rate, history_.sample_unit));
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
    return LossChart() + LossByProgressChart() + ThroughputChart() + ProcessesChart() + MovingChart() +
           RemainingChart() + MemoryChart();
  }

  // On a linear axis the end of such a curve looks flat.
  static bool SpansMuch(const Series& series) {
    constexpr double kTimes = 6;
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (const auto& [x, y] : series.points) {
      if (!std::isfinite(y)) continue;
      low = std::min(low, y);
      high = std::max(high, y);
    }
    return low > 0 && high > kTimes * low;
  }

  std::string LossChart() const {
    Chart chart = NewChart("Training loss", true);
    chart.height = 270;
    Series raw = Line("", kBlue, [](const RunPoint& p) { return p.loss; });
    chart.log_y = SpansMuch(raw);
    if (chart.log_y) chart.title += " (logarithmic)";
    if (raw.points.size() >= 40) {
      raw.faint = true;
      raw.name = "as reported";
      chart.series = {raw, Smoothed(raw, "smoothed")};
    } else {
      chart.series = {raw};
    }
    return Drawn(std::move(chart));
  }

  // By what was done instead of by time: settings of different speed can be compared, and so can runs.
  std::string LossByProgressChart() const {
    constexpr size_t kPointsMin = 10;
    Series loss{.name = "", .color = kBlue};
    double last = -1;
    for (const RunPoint& point : history_.points) {
      if (!point.loss || !point.fraction || *point.fraction <= last) continue;
      last = *point.fraction;
      loss.points.emplace_back(100 * last, *point.loss);
    }
    if (loss.points.size() < kPointsMin) return "";
    Chart chart;
    chart.title = "Training loss by share of the goal";
    chart.height = 150;
    chart.x_max = 100;
    chart.x_text = [](double x) { return std::to_string(std::lround(x)) + "%"; };
    chart.log_y = SpansMuch(loss);
    chart.series = {loss};
    return Drawn(std::move(chart));
  }

  std::string ThroughputChart() const {
    Chart chart = NewChart(
        "Throughput, " + (history_.sample_unit.empty() ? std::string("samples") : history_.sample_unit) + "/s", false);
    chart.from_zero = true;
    chart.format = [](double y) { return api::FormatCount(y); };
    Series raw = Line("", kGreen, [](const RunPoint& p) { return p.rate; });
    raw.filled = true;
    chart.series = {raw};
    return Drawn(std::move(chart));
  }

  std::string ProcessesChart() const {
    Chart chart = NewChart("Servers and workers ready", false);
    chart.whole = true;
    chart.height = 150;
    chart.format = [](double y) { return api::FormatCount(y); };
    Series workers = Line("workers", kOrange, [](const RunPoint& p) { return std::optional<double>(p.workers); });
    Series servers = Line("servers", kPurple, [](const RunPoint& p) { return std::optional<double>(p.servers); });
    workers.step = servers.step = true;
    servers.dashed = true;
    chart.series = {workers, servers};
    return Drawn(std::move(chart));
  }

  std::string MovingChart() const {
    const bool any = std::any_of(history_.points.begin(), history_.points.end(),
                                 [](const RunPoint& p) { return p.moving_rows_per_second.value_or(0) > 0; });
    if (!any) return "";
    Chart chart = NewChart("Rows moving to other servers, rows/s", false);
    chart.from_zero = true;
    chart.height = 150;
    chart.format = [](double y) { return api::FormatCount(y); };
    Series rows = Line("", kRed, [](const RunPoint& p) { return std::optional(p.moving_rows_per_second.value_or(0)); });
    rows.filled = true;
    chart.series = {rows};
    return Drawn(std::move(chart));
  }

  std::string RemainingChart() const {
    Series estimate = Line("as estimated then", kBlue, [](const RunPoint& p) { return p.remaining_seconds; });
    if (!Any(estimate)) return "";
    Chart chart = NewChart("Remaining time", false);
    chart.from_zero = true;
    chart.format = [](double y) { return y <= 0 ? std::string("0") : api::FormatSeconds(y); };
    // A first guess out of all proportion would hide the rest.
    for (auto& [x, y] : estimate.points) {
      if (y > 3 * chart.x_max) y = kNothing;
    }
    chart.series = {estimate};
    if (history_.ended > 0) {
      chart.series.push_back({.name = "as it was", .color = kGray, .points = {{0, end_ - start_}, {end_ - start_, 0}}});
      chart.series.back().dashed = true;
    }
    return Drawn(std::move(chart));
  }

  std::string MemoryChart() const {
    const Series memory = Line("", kGray, [](const RunPoint& p) { return p.memory_bytes; });
    if (!Any(memory)) return "";
    Chart chart = NewChart("Memory of all processes", false);
    chart.from_zero = true;
    chart.height = 130;
    chart.format = [](double y) { return api::FormatBytes(static_cast<uint64_t>(std::max(y, 0.0))); };
    // Halves and quarters of powers of two read well in KiB, MiB and GiB.
    chart.y_step = [](double span) { return std::max(1.0, std::exp2(std::round(std::log2(span / 3)))); };
    chart.series = {memory};
    return Drawn(std::move(chart));
  }

  std::string Events() const {
    if (history_.events.empty()) return "";
    std::string text =
        "<h2>What happened</h2>\n<table class=\"events\"><tr><th></th><th>at</th><th>event</th><th></th></tr>\n";
    for (const Marked& each : marked_) {
      if (each.folded) continue;
      text += each.number > 0 ? "<tr id=\"" + RowId(each) + "\"><td>" : "<tr><td>";
      if (each.number > 0) {
        text += std::string("<span class=\"n\" style=\"background:") + each.color + "\">" +
                std::to_string(each.number) + "</span>";
      }
      std::string note = each.event->note;
      if (each.event->count > 1) note += " (" + std::to_string(each.event->count) + " times)";
      text += "</td><td>" + api::FormatSeconds(std::max(0.0, each.at)) + "</td><td>" + EscapeHtml(each.event->reason) +
              "</td><td>" + EscapeHtml(note);
      if (each.outcome != nullptr) text += "<br><b>" + EscapeHtml(OutcomeText(*each.outcome)) + "</b>";
      text += "</td></tr>\n";
    }
    return text + "</table>\n";
  }

  const RunHistory& history_;
  double start_ = 0, end_ = 0, gap_ = 5;
  std::vector<Marked> marked_;
};

}  // namespace

std::string ReportPage(const RunHistory& history) { return Page(history).Text(); }

}  // namespace attune::cli
