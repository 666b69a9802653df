#include "cli/simulation/simulation_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "cli/display/table.h"
#include "operator/api/format.h"
#include "operator/kube/quantity.h"
#include "operator/tuner/space/knob.h"

namespace attune::cli {
namespace {

// Knobs in the order and in the words in which people name them.
struct KnobWords {
  std::string_view knob, shown;
};
constexpr std::array kKnobs = {KnobWords{"servers", "servers"},
                               KnobWords{"workers", "workers"},
                               KnobWords{"threads", "threads"},
                               KnobWords{"slack", "pace"},
                               KnobWords{"worker_millicores", "worker-cpu"},
                               KnobWords{"server_millicores", "server-cpu"}};

std::string ValueText(std::string_view knob, int value) {
  return knob.ends_with("_millicores") ? kube::FormatMillicores(value) : tuner::ValueText(knob, value);
}

// "+25 %" for a logarithm.
std::string GainText(double gain) {
  const long percent = std::lround(100 * std::expm1(gain));
  return (percent >= 0 ? "+" : "") + std::to_string(percent) + " %";
}

std::string Lines(const Table& table) {
  std::string text;
  for (const std::string& line : FormatTable(table)) text += "  " + line + "\n";
  return text;
}

std::string HeadText(const PlannedSimulation& planned) {
  const controller::TuningInput& job = planned.plan.job;
  return "Simulated: job " + planned.job + ", tuning " + ToString(job.policy.mode) + ", seed " +
         std::to_string(planned.plan.seed) +
         "\nThis is a model and not the job: it says what the tuner would do if the job behaved as follows.\n";
}

// "servers 1 to 16"
std::string RangeText(const tuner::KnobRange& range) {
  const auto words = std::ranges::find(kKnobs, range.name, &KnobWords::knob);
  const std::string name = words == kKnobs.end() ? range.name : std::string(words->shown);
  const std::string low = ValueText(range.name, range.low);
  return name + " " + low + (range.low == range.high ? "" : " to " + ValueText(range.name, range.high));
}

std::string ModelText(const std::vector<Assumption>& assumptions, const SimulationResult& result) {
  Table table{.header = {"MODEL", "ASSUMED", "FROM"}, .rows = {}};
  for (const Assumption& each : assumptions) table.rows.push_back({each.name, each.value, each.source});
  std::string choice;
  for (const tuner::KnobRange& range : result.knobs) choice += (choice.empty() ? "" : ", ") + RangeText(range);
  table.rows.push_back({"choice", choice + ": " + std::to_string(result.settings) + " settings",
                        "spec.tuning, spec.servers, spec.workers"});
  return "\n" + Lines(table);
}

std::string ChangesText(const SimulationPlan& plan, const SimulationResult& result) {
  if (result.changes.empty()) return "";
  // What the tuner leaves a job at when it has finished is kept, measured to the end or not.
  const bool finished = result.stage == "Finished";
  Table table{.header = {"TIME", "CHANGE", "EXPECTED", "MEASURED", "MODEL", "OUTCOME"}, .rows = {}};
  for (const SimulatedChange& change : result.changes) {
    const tuner::DecisionRecord& record = change.record.record;
    table.rows.push_back({api::FormatAge(record.time), ChangeText(change.record), tuner::Text(record.predicted),
                          record.measured ? tuner::Text(*record.measured) : "-", GainText(change.model_gain),
                          finished && record.verdict == tuner::Verdict::kOpen ? "kept" : OutcomeText(record.verdict)});
  }
  const bool cost = plan.job.policy.objective.kind == api::ObjectiveKind::kCost;
  return "\nWhat the tuner does, and what each change brings against the setting kept until then, in progress " +
         std::string(cost ? "for the money" : "per second") +
         ":\nas it expects, as it measures with the noise, and as is true of the model.\n" + Lines(table);
}

std::string CoursesText(const SimulationPlan& plan, const SimulationResult& result) {
  const bool costs = plan.job.policy.objective.kind != api::ObjectiveKind::kTime;
  Table table{.header = {"TO THE GOAL", "TIME"}, .rows = {}};
  if (costs) table.header.emplace_back("COST");
  table.header.emplace_back("SETTING");
  const auto add = [&](const char* name, const SimulatedCourse& course, const std::string& about) {
    std::vector<std::string> row = {name, api::FormatSeconds(course.seconds) +
                                              (course.reached ? "" : ", at " + api::FormatPercent(course.fraction))};
    if (costs) row.push_back(api::FormatFigure(course.cost));
    row.push_back(controller::ToString(course.setting) + about);
    table.rows.push_back(std::move(row));
  };
  add("with the tuner", result.tuned, " at the end");
  add("without it", result.untouched, ", as the manifest says");
  add("best setting", result.best, " from the start, the best of " + std::to_string(result.settings));
  return "\n" + Lines(table);
}

// "7.8", "12": how many times.
std::string TimesText(double ratio) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ratio < 10 ? "%.2g" : "%.0f", ratio);
  return text.data();
}

std::string PercentText(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

// What counts of a course, by the objective, and the words for less and more of it.
struct Judgment {
  double tuned = 0, untouched = 0, best = 0;
  const char *less, *more;
};
Judgment JudgmentOf(const SimulationPlan& plan, const SimulationResult& result) {
  if (plan.job.policy.objective.kind == api::ObjectiveKind::kCost)
    return {result.tuned.cost, result.untouched.cost, result.best.cost, "cheaper", "dearer"};
  return {result.tuned.seconds, result.untouched.seconds, result.best.seconds, "sooner", "later"};
}

// The same in a sentence.
std::string SummaryText(const SimulationPlan& plan, const SimulationResult& result) {
  if (result.recommended) return "";
  if (!result.tuned.reached || !result.untouched.reached) {
    return "\nWhen the job ends the tuner has brought it to " + api::FormatPercent(result.tuned.fraction) +
           " of its goal, the manifest's setting to " + api::FormatPercent(result.untouched.fraction) + ".\n";
  }
  constexpr double kTelling = 0.01;
  const Judgment judgment = JudgmentOf(plan, result);
  const double change = judgment.tuned / judgment.untouched - 1;
  std::string text = "\nWith the tuner the goal is reached ";
  if (std::abs(change) < kTelling) {
    text += "as it is without";
  } else if (change < -0.5 && judgment.tuned == result.tuned.seconds) {
    text += TimesText(1 / (1 + change)) + " times as fast as without it";
  } else {
    text += PercentText(std::abs(change)) + " " + (change < 0 ? judgment.less : judgment.more) + " than without it";
  }
  const double search = 1 - judgment.best / judgment.tuned;
  if (search > kTelling && !result.changes.empty())
    text += ".\nWho knew the best setting from the start would reach it " + PercentText(search) + " " + judgment.less +
            " still: the search costs that";
  return text + ".\n";
}

std::string RecommendationText(const SimulationPlan& plan, const SimulationResult& result) {
  if (!result.recommended) return "";
  const double gain = std::log(FiguresAt(plan.model, *result.recommended, plan.job.mode).progress() /
                               FiguresAt(plan.model, plan.job.wanted, plan.job.mode).progress());
  return "\nRecommended, and not tried: " + controller::ToString(*result.recommended) + ", in the model " +
         GainText(gain) + " progress per second.\n";
}

}  // namespace

std::string ChangeText(const tuner::NamedRecord& named) {
  std::string text;
  for (const KnobWords& words : kKnobs) {
    const auto at = std::ranges::find(named.knobs, words.knob);
    if (at == named.knobs.end()) continue;
    const auto knob = static_cast<size_t>(at - named.knobs.begin());
    const int from = named.record.from[knob], to = named.record.to[knob];
    if (from == to) continue;
    text += (text.empty() ? "" : ", ") + std::string(words.shown) + " " + ValueText(words.knob, from) + " -> " +
            ValueText(words.knob, to);
  }
  return text;
}

std::string OutcomeText(tuner::Verdict verdict) {
  switch (verdict) {
    case tuner::Verdict::kOpen:
      return "the job ended first";
    case tuner::Verdict::kKept:
      return "kept";
    case tuner::Verdict::kRolledBack:
    case tuner::Verdict::kRejected:
      return "rolled back";
    case tuner::Verdict::kCrashed:
      return "crashed, rolled back";
    case tuner::Verdict::kUnjudged:
      return "not judged";
  }
  return "";
}

std::string SimulationText(const PlannedSimulation& planned, const SimulationResult& result) {
  std::string text = HeadText(planned) + ModelText(planned.assumptions, result) + ChangesText(planned.plan, result);
  if (result.changes.empty() && !result.recommended) text += "\nThe tuner changes nothing: " + result.message + "\n";
  return text + RecommendationText(planned.plan, result) + CoursesText(planned.plan, result) +
         SummaryText(planned.plan, result);
}

}  // namespace attune::cli
