#include "cli/display/job/summary.h"

#include <algorithm>
#include <vector>

#include "cli/display/job/job_figures.h"
#include "cli/display/job/screen_line.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

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
      text += screen.color ? InStyle(part, Style::kBad) + "\n" : part + "\n";
    }
  }
  return text;
}

void AddFigure(std::string& text, const std::string& name, const std::string& value) {
  if (!value.empty()) text += "  " + name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + value + "\n";
}

std::string Words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// Those of the result, then those that were reported during training and are not among them.
void AddMetrics(const JobView& view, std::string& text) {
  if (view.result) {
    for (const auto& [name, value] : view.result->metrics) AddFigure(text, Words(name), api::FormatFigure(value));
  }
  for (const api::MetricStatus& metric : view.metrics) {
    const bool in_result = view.result && view.result->metrics.contains(metric.name);
    const std::string words = Words(metric.name);
    if (metric.value && !in_result) AddFigure(text, words, api::FormatFigure(*metric.value));
    if (metric.best) AddFigure(text, "best " + words, api::FormatFigure(*metric.best) + " " + ToString(metric.best_at));
  }
}

}  // namespace

std::string RenderSummary(const JobView& view, const Screen& screen) {
  if (view.outcome == JobView::Outcome::kDeleted) return view.name + " was deleted before it ended\n";
  const bool failed = view.outcome == JobView::Outcome::kFailed;
  Screen wide = screen;
  wide.width = 4096;  // the summary is not cut: it is meant to be copied and kept
  std::string text =
      Line(wide).Add(view.name, Style::kBold).Add(" ").Add(failed ? "failed" : "succeeded", PhaseStyle(view)).text();
  text += " after " + api::FormatSeconds(Elapsed(view, view.ended)) + "\n";
  if (failed) return text + FailureText(view.failure, screen);
  AddFigure(text, "training loss", view.loss ? api::FormatFigure(*view.loss) : "");
  AddMetrics(view, text);
  AddFigure(text, "rate", view.rate ? api::FormatRate(*view.rate, view.sample_unit) : "");
  AddFigure(text, "tuning", view.tuned.empty() ? "" : view.tuned + " (servers x workers)");
  if (view.reprocessed_items > 0) AddFigure(text, "done again", std::to_string(view.reprocessed_items) + " items");
  if (view.recoveries > 0) {
    AddFigure(text, "servers lost",
              std::to_string(view.recoveries) + ", " + std::to_string(view.restored_rows) +
                  " rows went back to a checkpoint or their first value");
  }
  AddFigure(text, "checkpoint", ShortPath(view.checkpoint, screen.directory));
  AddFigure(text, "best", view.best_checkpoint);
  if (!view.result) return text;
  AddFigure(text, "model", ShortPath(view.result->model_path, screen.directory));
  AddFigure(text, "left out", view.result->left_out);
  if (!view.result->summary.empty())
    text += "\n" + view.result->summary + (view.result->summary.ends_with('\n') ? "" : "\n");
  return text;
}

}  // namespace attune::cli
