#include "cli/display/job/render.h"

#include <algorithm>
#include <cmath>

#include "cli/display/job/job_figures.h"
#include "cli/display/job/pod_rows.h"
#include "cli/display/job/screen_line.h"
#include "cli/display/job/trend_rows.h"
#include "cli/display/local_time.h"
#include "cli/runs/jobs.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr size_t kTrendsMin = 2;  // loss and rate: one of them alone is not shown for want of rows
constexpr size_t kEventsMin = 4;  // more where rows are free
constexpr size_t kDecisionsMax = 3;

std::string Bar(double fraction, int width, bool unicode) {
  const int full = static_cast<int>(std::floor(std::clamp(fraction, 0.0, 1.0) * width + 1e-9));
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < full ? (unicode ? "\u2501" : "=") : (unicode ? "\u2500" : "-");
  return bar;
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

Style DecisionStyle(const api::TuningDecision& decision) {
  if (decision.outcome == "Kept") return Style::kGood;
  if (decision.outcome == "Crashed") return Style::kBad;
  return Style::kPlain;
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

// The tuner's last ones, the newest at the end.
void AddDecisions(const JobView& view, const Screen& screen, double now, size_t room, std::vector<std::string>& lines) {
  if (view.decisions.empty() || room < 2) return;
  lines.emplace_back();
  const size_t shown = std::min({room - 1, view.decisions.size(), kDecisionsMax});
  for (size_t i = view.decisions.size() - shown; i < view.decisions.size(); ++i) {
    const api::TuningDecision& decision = view.decisions[i];
    const std::string number = "  #" + std::to_string(decision.number) + "  ";
    lines.push_back(
        Line(screen).Add(number, Style::kDim).Add(DecisionText(decision, now), DecisionStyle(decision)).text());
  }
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
  Flow(attune::cli::Figures(view), Style::kPlain, screen, lines);
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
  if (view.moving) Wrap(OneLine(view.move), Style::kAccent, screen, std::min<size_t>(room(), 2), lines);
  const size_t tuner_rows = screen.height >= 30 ? 4 : screen.height >= 24 ? 2 : 1;
  if (const std::string text = TuningText(view); !text.empty()) {
    Wrap(OneLine(text), Style::kGood, screen, std::min(room(), tuner_rows), lines);
  }
}

}  // namespace

std::vector<std::string> Render(const JobView& view, const Screen& screen, double now) {
  std::vector<std::string> lines;
  const size_t rows = static_cast<size_t>(std::max(screen.height - 1, 3));
  AddHead(view, screen, now, rows, lines);
  const auto free_rows = [&] { return rows - std::min(rows, lines.size()); };
  // Pods first, a few Events in any case; what is left goes to the trends, the tuner's decisions, and more Events.
  const size_t events = view.events.empty() ? 0 : std::min(kEventsMin, view.events.size()) + 1;
  const size_t pods = view.pods.empty() ? 0 : view.pods.size() + 2;
  const size_t taken = pods + events + 1;
  const std::vector<TrendRow> trends = TrendRows(view, free_rows() > taken ? free_rows() - taken : 0);
  if (!trends.empty() && trends.size() >= TrendRows(view, kTrendsMin).size()) AddTrends(trends, screen, lines);
  AddPods(view, screen, free_rows() > events + 3 ? free_rows() - events : free_rows(), lines);
  AddDecisions(view, screen, now, free_rows() > events ? free_rows() - events : 0, lines);
  AddEvents(view, screen, now, free_rows(), lines);
  if (lines.size() > rows) lines.resize(rows);
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

}  // namespace attune::cli
