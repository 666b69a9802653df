#include "operator/tuner/records/decision_record.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace attune::tuner {
namespace {

constexpr std::array<std::string_view, 6> kVerdicts = {"open",     "kept",    "rolled_back",
                                                       "rejected", "crashed", "unjudged"};
// A gain below this is no reason to stay, as its absence is none to go back.
constexpr double kTellingGain = 0.02;

std::string Format(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string_view Outcome(const DecisionRecord& record) {
  switch (record.verdict) {
    case Verdict::kOpen:
      return "not judged yet";
    case Verdict::kKept:
      if (record.measured && record.measured->mean < kTellingGain)
        return "kept: as good as before as far as can be measured, and another change would cost more than it brings";
      return "kept";
    case Verdict::kRolledBack:
      return "rolled back";
    case Verdict::kRejected:
      return "not taken";
    case Verdict::kCrashed:
      return "it crashed and is not proposed again";
    case Verdict::kUnjudged:
      return "left before it was judged, because something else was asked for";
  }
  return "";
}

}  // namespace

std::string_view Name(DecisionKind kind) { return kind == DecisionKind::kTrial ? "trial" : "keep"; }
std::string_view Name(Verdict verdict) { return kVerdicts[static_cast<size_t>(verdict)]; }

std::optional<Verdict> ParseVerdict(std::string_view name) {
  for (size_t i = 0; i < kVerdicts.size(); ++i) {
    if (kVerdicts[i] == name) return static_cast<Verdict>(i);
  }
  return std::nullopt;
}

std::string Text(const Gain& gain) {
  const double percent = 100 * std::expm1(gain.mean);
  const double spread = 100 * std::exp(gain.mean) * gain.deviation;
  return Format(std::abs(percent) < 10 ? "%+.1f %%" : "%+.0f %%", percent) +
         Format(spread < 10 ? " (±%.1f %%)" : " (±%.0f %%)", spread);
}

std::string DurationText(double seconds) {
  if (!std::isfinite(seconds)) return "forever";
  if (seconds < 10) return Format("%.1f s", seconds);
  if (seconds < 120) return Format("%.0f s", seconds);
  if (seconds < 7200) return Format("%.0f min", seconds / 60);
  return Format("%.1f h", seconds / 3600);
}

NamedRecord WithNames(const DecisionRecord& record, const SearchSpace& space) {
  NamedRecord named{{}, record};
  for (int k = 0; k < space.knob_count(); ++k) named.knobs.push_back(space.knob_name(k));
  return named;
}

std::string Explain(const DecisionRecord& record, const SearchSpace& space) {
  return Explain(WithNames(record, space));
}

std::string Explain(const NamedRecord& named) {
  const DecisionRecord& record = named.record;
  std::string text =
      "At " + DurationText(record.time) + (record.kind == DecisionKind::kTrial ? " tried " : " moved to ") +
      SettingText(record.to, named.knobs) + " (from " + SettingText(record.from, named.knobs) + "): " + record.why +
      ". Predicted " + Text(record.predicted) + " at a cost of " + DurationText(record.cost_seconds);
  if (record.measured) text += "; measured " + Text(*record.measured);
  text += "; ";
  text += Outcome(record);
  return text + ".";
}

}  // namespace attune::tuner
