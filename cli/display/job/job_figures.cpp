#include "cli/display/job/job_figures.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "cli/runs/jobs.h"
#include "operator/api/format.h"

namespace attune::cli {

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

std::string RemainingText(const JobView& view) {
  if (view.outcome != JobView::Outcome::kNone || !view.trouble.empty()) return "";
  // The data is done, and what remains is evaluating and saving, whose time is not known.
  constexpr double kNothing = 0.05;
  if (view.remaining_seconds && *view.remaining_seconds < kNothing) return "finishing";
  if (view.remaining_seconds) return api::FormatSeconds(*view.remaining_seconds) + " left";
  if (!view.remaining_low || !view.remaining_high) return "";
  return api::FormatSeconds(*view.remaining_low) + " to " + api::FormatSeconds(*view.remaining_high) + " left";
}

Parts Figures(const JobView& view) {
  return {{"loss ", view.loss ? api::FormatFigure(*view.loss) : "-"},
          {"rate ", view.rate ? api::FormatRate(*view.rate, view.sample_unit) : "-"},
          {"servers " + std::to_string(view.servers_ready) + "/" + std::to_string(view.servers_wanted), ""},
          {"workers " + std::to_string(view.workers_ready) + "/" + std::to_string(view.workers_wanted), ""}};
}

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

std::string ShortPodName(const std::string& pod, const std::string& job) {
  return pod.starts_with(job + "-") ? pod.substr(job.size() + 1) : pod;
}

std::vector<std::string> DataPlaneParts(const JobView& view, double now, bool short_names) {
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

std::string DataPlaneText(const JobView& view, double now) {
  std::string text;
  for (const std::string& part : DataPlaneParts(view, now)) text += (text.empty() ? "" : "   ") + part;
  return text;
}

std::string TroubleText(const JobView& view, double now) {
  if (view.trouble.empty() || view.outcome != JobView::Outcome::kNone) return "";
  const std::string age = AgeText(view.trouble_since, now);
  return OneLine(view.trouble) + (age.empty() ? "" : ", for " + age);
}

std::string TuningText(const JobView& view) {
  if (view.tuning.empty() || view.outcome != JobView::Outcome::kNone) return "";
  return "tuner: " + view.tuning;
}

namespace {

// Words of "servers=1 workers=2" that the other setting does not have: "workers 2 -> 4".
std::string ChangeText(const std::string& from, const std::string& to) {
  std::map<std::string, std::string> before;
  std::istringstream old_words(from), new_words(to);
  for (std::string word; old_words >> word;) before[word.substr(0, word.find('='))] = word;
  std::string text;
  for (std::string word; new_words >> word;) {
    const size_t at = word.find('=');
    const std::string old = before[word.substr(0, at)];
    if (old == word || at == std::string::npos) continue;
    text += (text.empty() ? "" : ", ") + word.substr(0, at) + " ";
    if (!old.empty()) text += old.substr(at + 1) + " -> ";
    text += word.substr(at + 1);
  }
  return text.empty() ? from + " -> " + to : text;
}

// As the status names outcomes, in the middle of a sentence.
std::string OutcomeText(const std::string& outcome) {
  static const std::map<std::string, std::string> kTexts = {{"Open", "being tried"},       {"Kept", "kept"},
                                                            {"RolledBack", "rolled back"}, {"NotTaken", "not taken"},
                                                            {"Crashed", "crashed"},        {"Unjudged", "not judged"}};
  const auto at = kTexts.find(outcome);
  return at == kTexts.end() ? outcome : at->second;
}

}  // namespace

std::string DecisionText(const api::TuningDecision& decision, double now) {
  std::string text = ChangeText(decision.from, decision.to) + ": " + OutcomeText(decision.outcome);
  if (!decision.measured.empty()) {
    text += ", measured " + decision.measured;
  } else if (!decision.expected.empty()) {
    text += ", expected " + decision.expected;
  }
  const std::string age = AgeText(decision.time, now);
  return OneLine(text + (age.empty() ? "" : ", " + age + " ago"));
}

}  // namespace attune::cli
