#include "cli/display/render.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "cli/display/table.h"
#include "cli/display/trend.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr size_t kTrendsMin = 2;  // loss and rate: one of them alone is not shown for want of rows
constexpr size_t kEventsMin = 4;  // more where rows are free
constexpr int kBarMax = 60;
constexpr int kColumnsForDetails = 66;  // below, the table shows only the name, state and rate

enum class Style { kPlain, kBold, kDim, kGood, kBad, kAccent };

const char* Code(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kAccent:
      return "\x1b[36m";
  }
  return "";
}

// Bytes of `text` that fit `columns`; counts code points, which is right for all text this program writes itself.
size_t FittingBytes(std::string_view text, int columns) {
  size_t at = 0;
  for (int used = 0; at < text.size(); ++used) {
    if (used == columns) break;
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

// One line that is being put together; what does not fit is cut.
class Line {
 public:
  explicit Line(const Screen& screen) : color_(screen.color), left_(screen.width) {}

  Line& Add(std::string_view text, Style style = Style::kPlain) {
    const std::string_view shown = text.substr(0, FittingBytes(text, left_));
    left_ -= DisplayWidth(shown);
    if (color_ && style != Style::kPlain && !shown.empty()) {
      text_ += Code(style) + std::string(shown) + "\x1b[0m";
    } else {
      text_ += shown;
    }
    return *this;
  }
  int left() const { return left_; }
  std::string text() const { return text_; }

 private:
  bool color_;
  int left_;
  std::string text_;
};

Style PhaseStyle(const JobView& view) {
  if (view.outcome == JobView::Outcome::kSucceeded || view.phase == "Running") return Style::kGood;
  if (view.outcome == JobView::Outcome::kFailed) return Style::kBad;
  return Style::kAccent;
}

double Elapsed(const JobView& view, double now) {
  if (view.started == 0) return 0;
  return std::max(0.0, (view.ended > 0 ? view.ended : now) - view.started);
}

std::string EpochText(const JobView& view) {
  if (view.epochs == 0) return "epoch " + std::to_string(view.epoch + 1);
  return "epoch " + std::to_string(std::min(view.epoch + 1, view.epochs)) + "/" + std::to_string(view.epochs);
}

std::string Bar(double fraction, int width, bool unicode) {
  const int full = static_cast<int>(std::floor(std::clamp(fraction, 0.0, 1.0) * width + 1e-9));
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < full ? (unicode ? "\u2501" : "=") : (unicode ? "\u2500" : "-");
  return bar;
}

// The one remaining time there is: of the job's own pace; before that is known, as the tuner believes. None while no
// step ends: it would count down for nothing.
std::string RemainingText(const JobView& view) {
  if (view.outcome != JobView::Outcome::kNone || !view.trouble.empty()) return "";
  // The data is done, and what remains is evaluating and saving, whose time is not known.
  constexpr double kNothing = 0.05;
  if (view.remaining_seconds && *view.remaining_seconds < kNothing) return "finishing";
  if (view.remaining_seconds) return api::FormatSeconds(*view.remaining_seconds) + " left";
  if (!view.remaining_low || !view.remaining_high) return "";
  return api::FormatSeconds(*view.remaining_low) + " to " + api::FormatSeconds(*view.remaining_high) + " left";
}

std::string ProgressLine(const JobView& view, const Screen& screen) {
  Line line(screen);
  line.Add(EpochText(view) + "  ");
  const std::string percent = "  " + (view.fraction ? api::FormatPercent(*view.fraction) : std::string("waiting"));
  const std::string left = RemainingText(view);
  const std::string remaining = left.empty() ? "" : "  " + left;
  const int room = line.left() - DisplayWidth(percent) - std::max(DisplayWidth(remaining), 12);
  const int width = std::min(kBarMax, room);
  if (width >= 5) {
    const std::string bar = Bar(view.fraction.value_or(0), width, screen.unicode);
    const int full = static_cast<int>(std::floor(std::clamp(view.fraction.value_or(0), 0.0, 1.0) * width + 1e-9));
    const size_t cut = FittingBytes(bar, full);
    line.Add(std::string_view(bar).substr(0, cut), Style::kAccent).Add(std::string_view(bar).substr(cut), Style::kDim);
  }
  return line.Add(percent, Style::kBold).Add(remaining).text();
}

// Name and value; the value stands out.
using Parts = std::vector<std::pair<std::string, std::string>>;

Parts Figures(const JobView& view) {
  return {{"loss ", view.loss ? api::FormatFigure(*view.loss) : "-"},
          {"rate ", view.rate ? api::FormatRate(*view.rate, view.sample_unit) : "-"},
          {"servers " + std::to_string(view.servers_ready) + "/" + std::to_string(view.servers_wanted), ""},
          {"workers " + std::to_string(view.workers_ready) + "/" + std::to_string(view.workers_wanted), ""}};
}

// Whole, on as many lines as it needs but at most `most`; the last one ends in "..." where more would follow.
void Wrap(std::string_view text, Style style, const Screen& screen, size_t most, std::vector<std::string>& lines) {
  std::vector<std::string> wrapped = WrapText(text, screen.width);
  if (wrapped.size() > most) {
    wrapped.resize(most);
    if (!wrapped.empty() && screen.width > 3) {
      std::string& last = wrapped.back();
      last.resize(FittingBytes(last, screen.width - 3));
      last += "...";
    }
  }
  for (const std::string& line : wrapped) lines.push_back(Line(screen).Add(line, style).text());
}

// Parts side by side, on as many lines as they need; only one that is wider than the screen is torn.
void Flow(const Parts& parts, Style style, const Screen& screen, std::vector<std::string>& lines) {
  constexpr std::string_view kBetween = "   ";
  Line line(screen);
  bool first = true;
  for (const auto& [name, value] : parts) {
    const int width = DisplayWidth(name) + DisplayWidth(value);
    if (width > screen.width) {
      if (!first) lines.push_back(line.text());
      line = Line(screen);
      first = true;
      Wrap(name + value, style, screen, 2, lines);
      continue;
    }
    if (!first && width + static_cast<int>(kBetween.size()) > line.left()) {
      lines.push_back(line.text());
      line = Line(screen);
      first = true;
    }
    if (!first) line.Add(kBetween);
    line.Add(name, style).Add(value, Style::kBold);
    first = false;
  }
  if (!first) lines.push_back(line.text());
}

// "worker-3" of pod "word2vec-worker-3": the job stands above.
std::string ShortPodName(const std::string& pod, const std::string& job) {
  return pod.starts_with(job + "-") ? pod.substr(job.size() + 1) : pod;
}

// What the data plane does beside training.
std::vector<std::string> DataPlaneParts(const JobView& view, double now, bool short_names = false) {
  std::vector<std::string> parts;
  const std::string slowest = short_names ? ShortPodName(view.slowest_worker, view.name) : view.slowest_worker;
  if (!view.synchronization.empty()) {
    parts.push_back("pace " + view.synchronization + (view.slowest_worker.empty() ? "" : ", waiting for " + slowest));
  }
  if (view.moving_bytes_left) {
    parts.push_back("moving rows: " + api::FormatCount(view.moving_rows_per_second.value_or(0)) + "/s, " +
                    api::FormatBytes(*view.moving_bytes_left) + " left");
  }
  if (!view.checkpoint.empty()) {
    const std::string age = AgeText(view.checkpoint_time, now);
    const std::string which = view.checkpoint_number == 0 ? ""
                                                          : std::to_string(view.checkpoint_number) + " at step " +
                                                                std::to_string(view.checkpoint_step) + ", ";
    parts.push_back("checkpoint " + which + api::FormatBytes(view.checkpoint_bytes) +
                    (age.empty() ? "" : ", " + age + " old"));
  }
  if (view.recoveries > 0) {
    parts.push_back("servers lost: " + std::to_string(view.recoveries) +
                    ", rows restored: " + api::FormatCount(static_cast<double>(view.restored_rows)));
  }
  return parts;
}

// "held_out_loss 3.204 (best 3.187 at epoch 38)", the best only where it is another one.
Parts MetricParts(const JobView& view) {
  constexpr size_t kMetricsShown = 4;
  Parts parts;
  for (const api::MetricStatus& metric : view.metrics) {
    if (!metric.value || parts.size() == kMetricsShown) continue;
    std::string value = api::FormatFigure(*metric.value);
    if (metric.best && *metric.best != *metric.value) {
      value += " (best " + api::FormatFigure(*metric.best) + " " + ToString(metric.best_at) + ")";
    }
    parts.emplace_back(metric.name + " ", value);
  }
  return parts;
}

std::string DataPlaneText(const JobView& view, double now) {
  std::string text;
  for (const std::string& part : DataPlaneParts(view, now)) text += (text.empty() ? "" : "   ") + part;
  return text;
}

// "no step ends: j-server-1 is not heard of, for 12s".
std::string TroubleText(const JobView& view, double now) {
  if (view.trouble.empty() || view.outcome != JobView::Outcome::kNone) return "";
  const std::string age = AgeText(view.trouble_since, now);
  return OneLine(view.trouble) + (age.empty() ? "" : ", for " + age);
}

// What the tuner tries or keeps; "" for a job that is not tuned or has ended.
std::string TuningText(const JobView& view) {
  if (view.tuning.empty() || view.outcome != JobView::Outcome::kNone) return "";
  return "tuner: " + view.tuning;
}

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

struct PodColumns {
  bool details = false;
  bool short_names = false;
};
Table PodTable(const JobView& view, PodColumns columns) {
  Table table;
  table.header = {"POD", "STATE", "RATE"};
  if (columns.details) table.header.insert(table.header.end(), {"ROWS", "MEMORY", "CPU"});
  for (const PodView& pod : view.pods) {
    const std::string name = columns.short_names ? ShortPodName(pod.name, view.name) : pod.name;
    std::vector<std::string> row = {name, pod.state, pod.rate ? api::FormatRate(*pod.rate, view.sample_unit) : "-"};
    if (columns.details) {
      row.push_back(pod.rows ? api::FormatCount(static_cast<double>(*pod.rows)) : "-");
      row.push_back(pod.memory_bytes ? api::FormatBytes(*pod.memory_bytes) : "-");
      row.push_back(CpuText(pod));
    }
    table.rows.push_back(row);
  }
  return table;
}

// Figures outside JSON's range become null by the library; text may hold anything.
std::string Dump(const kube::Json& value) { return value.dump(-1, ' ', false, kube::Json::error_handler_t::replace); }

const char* OutcomeName(JobView::Outcome outcome) {
  switch (outcome) {
    case JobView::Outcome::kNone:
      return "";
    case JobView::Outcome::kSucceeded:
      return "Succeeded";
    case JobView::Outcome::kFailed:
      return "Failed";
    case JobView::Outcome::kDeleted:
      return "Deleted";
  }
  return "";
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
  PodColumns columns{.details = screen.width >= kColumnsForDetails};
  std::vector<std::string> rows = FormatTable(PodTable(*shown_view, columns));
  if (std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return DisplayWidth(row) + 2 > screen.width; })) {
    columns.short_names = true;
    rows = FormatTable(PodTable(*shown_view, columns));
  }
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

void AddEvents(const JobView& view, const Screen& screen, double now, size_t room, std::vector<std::string>& lines) {
  if (view.events.empty() || room < 2) return;
  lines.emplace_back();
  const size_t shown = std::min(room - 1, view.events.size());
  for (size_t i = view.events.size() - shown; i < view.events.size(); ++i) {
    const JobEvent& event = view.events[i];
    std::string age = AgeText(event.time, now);
    if (age.size() < 6) age.insert(0, 6 - age.size(), ' ');
    lines.push_back(Line(screen)
                        .Add("  " + age + "  ", Style::kDim)
                        .Add(event.reason, event.warning ? Style::kBad : Style::kAccent)
                        .Add("  " + OneLine(event.note))
                        .text());
  }
}

// How a figure went, with its extremes beside it.
struct TrendRow {
  std::string name;
  const std::vector<double>* values = nullptr;
  std::string (*format)(double) = nullptr;
};

// Loss and rate since the display began, and the metrics that were reported since: the first ones of them, where not
// all fit `most` lines.
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

// Names one below the other, so that the lines begin at one place.
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

std::string LocalTime(double unix_seconds, const char* format) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[48];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

// What stands above the pods.
void AddHead(const JobView& view, const Screen& screen, double now, size_t rows, std::vector<std::string>& lines) {
  lines.push_back(Line(screen)
                      .Add(view.name, Style::kBold)
                      .Add("  ")
                      .Add(view.phase, PhaseStyle(view))
                      .Add("  " + api::FormatAge(Elapsed(view, now)), Style::kDim)
                      .text());
  lines.push_back(ProgressLine(view, screen));
  Flow(Figures(view), Style::kPlain, screen, lines);
  Flow(MetricParts(view), Style::kPlain, screen, lines);
  const auto room = [&] { return rows - std::min(rows, lines.size()); };
  if (const std::string text = TroubleText(view, now); !text.empty()) Wrap(text, Style::kBad, screen, room(), lines);
  for (const std::string& error : view.errors) Wrap(OneLine(error), Style::kBad, screen, room(), lines);
  std::vector<std::string> data_plane = DataPlaneParts(view, now);
  if (std::any_of(data_plane.begin(), data_plane.end(),
                  [&](const auto& part) { return DisplayWidth(part) > screen.width; }))
    data_plane = DataPlaneParts(view, now, /*short_names=*/true);
  Parts parts;
  for (std::string& part : data_plane) parts.emplace_back(std::move(part), "");
  Flow(parts, Style::kAccent, screen, lines);
  const size_t tuner_rows = screen.height >= 30 ? 4 : screen.height >= 24 ? 2 : 1;
  if (const std::string text = TuningText(view); !text.empty()) {
    Wrap(OneLine(text), Style::kGood, screen, std::min(room(), tuner_rows), lines);
  }
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
      continue;
    }
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++width;
  }
  return width;
}

std::string ShortPath(const std::string& path, const std::string& directory) {
  if (directory.size() < 2 || !path.starts_with(directory + "/")) return path;
  return path.substr(directory.size() + 1);
}

std::string ClockText(double unix_seconds) { return LocalTime(unix_seconds, "%H:%M:%S"); }
std::string DateText(double unix_seconds) { return LocalTime(unix_seconds, "%Y-%m-%d %H:%M:%S %Z"); }

std::vector<std::string> Render(const JobView& view, const Screen& screen, double now) {
  std::vector<std::string> lines;
  const size_t rows = static_cast<size_t>(std::max(screen.height - 1, 3));
  AddHead(view, screen, now, rows, lines);
  const auto free_rows = [&] { return rows - std::min(rows, lines.size()); };
  // Pods first, a few Events in any case; what is left goes to the trends, and then to more Events.
  const size_t events = view.events.empty() ? 0 : std::min(kEventsMin, view.events.size()) + 1;
  const size_t pods = view.pods.empty() ? 0 : view.pods.size() + 2;
  const size_t taken = pods + events + 1;
  const std::vector<TrendRow> trends = TrendRows(view, free_rows() > taken ? free_rows() - taken : 0);
  if (!trends.empty() && trends.size() >= TrendRows(view, kTrendsMin).size()) AddTrends(trends, screen, lines);
  AddPods(view, screen, free_rows() > events + 3 ? free_rows() - events : free_rows(), lines);
  AddEvents(view, screen, now, free_rows(), lines);
  if (lines.size() > rows) lines.resize(rows);
  return lines;
}

std::vector<std::string> WrapText(std::string_view text, int width) {
  std::vector<std::string> lines;
  while (!text.empty() && width > 0) {
    size_t end = FittingBytes(text, width);
    if (end < text.size() && text[end] != ' ') {
      const size_t space = text.substr(0, end).rfind(' ');
      if (space != std::string_view::npos && space > 0) end = space;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  return lines;
}

std::string RenderPlain(const JobView& view, double now) {
  std::string line = ClockText(now) + "  " + view.name + "  " + view.phase;
  if (view.fraction) line += "  " + api::FormatPercent(*view.fraction) + "  " + EpochText(view);
  if (view.loss) line += "  loss " + api::FormatFigure(*view.loss);
  for (const auto& [name, value] : MetricParts(view)) line += "  " + name + value;
  if (view.rate) line += "  " + api::FormatRate(*view.rate, view.sample_unit);
  line += "  servers " + std::to_string(view.servers_ready) + "/" + std::to_string(view.servers_wanted) + "  workers " +
          std::to_string(view.workers_ready) + "/" + std::to_string(view.workers_wanted);
  if (const std::string left = RemainingText(view); !left.empty()) line += "  " + left;
  if (const std::string text = TroubleText(view, now); !text.empty()) line += "  " + text;
  if (const std::string text = DataPlaneText(view, now); !text.empty()) line += "  " + text;
  if (!view.tuning_stage.empty() && view.outcome == JobView::Outcome::kNone) line += "  tuner: " + view.tuning_stage;
  return line;
}

// A block of its own: what happened in red, whole and wrapped; the log's lines as they are.
std::string FailureText(const std::string& failure, const Screen& screen) {
  std::string text;
  bool first = true;
  for (size_t begin = 0; begin < failure.size();) {
    const size_t end = std::min(failure.find('\n', begin), failure.size());
    const std::string line = failure.substr(begin, end - begin);
    begin = end + 1;
    if (!first) {
      text += line + "\n";
      continue;
    }
    first = false;
    // Without a terminal the text goes into files and to programs: one line.
    for (const std::string& part : screen.color ? WrapText(line, screen.width) : std::vector{line}) {
      text += screen.color ? Code(Style::kBad) + part + "\x1b[0m\n" : part + "\n";
    }
  }
  return text;
}

std::string RenderSummary(const JobView& view, const Screen& screen) {
  if (view.outcome == JobView::Outcome::kDeleted) return view.name + " was deleted before it ended\n";
  const bool failed = view.outcome == JobView::Outcome::kFailed;
  Screen wide = screen;
  wide.width = 4096;  // the summary is not cut: it is meant to be copied and kept
  std::string text =
      Line(wide).Add(view.name, Style::kBold).Add(" ").Add(failed ? "failed" : "succeeded", PhaseStyle(view)).text();
  text += " after " + api::FormatSeconds(Elapsed(view, view.ended)) + "\n";
  if (failed) return text + FailureText(view.failure, screen);
  const auto figure = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) text += "  " + name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + value + "\n";
  };
  figure("training loss", view.loss ? api::FormatFigure(*view.loss) : "");
  if (view.result) {
    for (const auto& [name, value] : view.result->metrics) {
      std::string words = name;
      std::replace(words.begin(), words.end(), '_', ' ');
      figure(words, api::FormatFigure(value));
    }
  }
  for (const api::MetricStatus& metric : view.metrics) {
    const bool in_result = view.result && view.result->metrics.contains(metric.name);
    std::string words = metric.name;
    std::replace(words.begin(), words.end(), '_', ' ');
    if (metric.value && !in_result) figure(words, api::FormatFigure(*metric.value));
    if (metric.best) figure("best " + words, api::FormatFigure(*metric.best) + " " + ToString(metric.best_at));
  }
  figure("rate", view.rate ? api::FormatRate(*view.rate, view.sample_unit) : "");
  figure("tuning", view.tuned.empty() ? "" : view.tuned + " (servers x workers)");
  if (view.reprocessed_items > 0) figure("done again", std::to_string(view.reprocessed_items) + " items");
  if (view.recoveries > 0) {
    figure("servers lost", std::to_string(view.recoveries) + ", " + std::to_string(view.restored_rows) +
                               " rows went back to a checkpoint or their first value");
  }
  figure("checkpoint", ShortPath(view.checkpoint, screen.directory));
  figure("best", view.best_checkpoint);
  if (!view.result) return text;
  figure("model", ShortPath(view.result->model_path, screen.directory));
  figure("left out", view.result->left_out);
  if (!view.result->summary.empty())
    text += "\n" + view.result->summary + (view.result->summary.ends_with('\n') ? "" : "\n");
  return text;
}

std::string RenderJson(const JobView& view, double now) {
  kube::Json object = {{"type", view.outcome == JobView::Outcome::kNone ? "progress" : "result"},
                       {"time", TimeText(now)},
                       {"job", view.name},
                       {"namespace", view.name_space},
                       {"phase", view.phase},
                       {"epoch", view.epoch},
                       {"epochs", view.epochs},
                       {"servers", {{"ready", view.servers_ready}, {"wanted", view.servers_wanted}}},
                       {"workers", {{"ready", view.workers_ready}, {"wanted", view.workers_wanted}}},
                       {"elapsedSeconds", Elapsed(view, now)}};
  if (view.fraction) object["fraction"] = *view.fraction;
  if (view.loss) object["loss"] = *view.loss;
  if (view.rate) object["rate"] = *view.rate;
  if (!view.sample_unit.empty()) object["sampleUnit"] = view.sample_unit;
  if (view.remaining_seconds) object["remainingSeconds"] = *view.remaining_seconds;
  for (const api::MetricStatus& metric : view.metrics) {
    if (metric.value) object["metrics"][metric.name] = *metric.value;
  }
  object["reprocessedItems"] = view.reprocessed_items;
  if (!view.synchronization.empty()) object["synchronization"] = view.synchronization;
  if (!view.slowest_worker.empty()) object["slowestWorker"] = view.slowest_worker;
  if (!view.trouble.empty()) object["trouble"] = view.trouble;
  if (view.moving_bytes_left) {
    object["moving"] = {{"bytesLeft", *view.moving_bytes_left},
                        {"rowsPerSecond", view.moving_rows_per_second.value_or(0)}};
  }
  if (!view.checkpoint.empty()) {
    object["checkpoint"] = {{"directory", view.checkpoint},
                            {"number", view.checkpoint_number},
                            {"step", view.checkpoint_step},
                            {"time", view.checkpoint_time},
                            {"bytes", view.checkpoint_bytes}};
  }
  if (!view.best_checkpoint.empty()) object["bestCheckpoint"] = view.best_checkpoint;
  if (!view.tuning_stage.empty()) {
    object["tuning"] = {{"stage", view.tuning_stage}, {"message", view.tuning}};
    if (view.remaining_low) object["tuning"]["remainingLowSeconds"] = *view.remaining_low;
    if (view.remaining_high) object["tuning"]["remainingHighSeconds"] = *view.remaining_high;
  }
  if (view.recoveries > 0) {
    object["recovery"] = {{"count", view.recoveries}, {"restoredRows", view.restored_rows}};
  }
  for (const PodView& pod : view.pods) {
    kube::Json entry = {{"name", pod.name}, {"role", pod.role}, {"state", pod.state}};
    if (pod.rate) entry["rate"] = *pod.rate;
    if (pod.rows) entry["rows"] = *pod.rows;
    if (pod.memory_bytes) entry["memoryBytes"] = *pod.memory_bytes;
    if (pod.cpu_cores) entry["cpuCores"] = *pod.cpu_cores;
    if (pod.cpu_limit) entry["cpuLimitCores"] = *pod.cpu_limit;
    object["pods"].push_back(entry);
  }
  if (view.outcome != JobView::Outcome::kNone) object["outcome"] = OutcomeName(view.outcome);
  if (!view.failure.empty()) object["failure"] = view.failure;
  if (view.result) {
    object["result"] = {
        {"metrics", view.result->metrics}, {"summary", view.result->summary}, {"modelPath", view.result->model_path}};
  }
  return Dump(object);
}

}  // namespace attune::cli
