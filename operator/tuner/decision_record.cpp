#include "operator/tuner/decision_record.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace attune::tuner {
namespace {

constexpr std::array<std::string_view, 5> kVerdicts = {"open", "kept", "rolled_back", "rejected", "crashed"};

std::string Format(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string_view Outcome(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOpen:
      return "not judged yet";
    case Verdict::kKept:
      return "kept";
    case Verdict::kRolledBack:
      return "rolled back";
    case Verdict::kRejected:
      return "not taken";
    case Verdict::kCrashed:
      return "it crashed and is not proposed again";
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

std::string Explain(const DecisionRecord& record, const SearchSpace& space) {
  std::string text = "At " + DurationText(record.time) +
                     (record.kind == DecisionKind::kTrial ? " tried " : " moved to ") + space.Text(record.to) +
                     " (from " + space.Text(record.from) + "): " + record.why + ". Predicted " +
                     Text(record.predicted) + " at a cost of " + DurationText(record.cost_seconds);
  if (record.measured) text += "; measured " + Text(*record.measured);
  text += "; ";
  text += Outcome(record.verdict);
  return text + ".";
}

}  // namespace attune::tuner
