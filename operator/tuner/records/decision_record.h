// What was decided and what came of it, for people and programs: what, why, predicted, measured, cost, kept or rolled
// back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/tuner/space/search_space.h"

namespace attune::tuner {

enum class DecisionKind { kTrial, kKeep };
enum class Verdict {
  kOpen,        // not measured yet
  kKept,        // the job continued there
  kRolledBack,  // an adopted setting was left again for the one before
  kRejected,    // a trial that did not beat the incumbent
  kCrashed,
  kUnjudged,  // the tuner was asked to do something else before it was measured
};
std::string_view Name(DecisionKind kind);
std::string_view Name(Verdict verdict);
std::optional<Verdict> ParseVerdict(std::string_view name);

// A log gain with its standard deviation: 0.1 is about 10 % faster.
struct Gain {
  double mean = 0, deviation = 0;
};

// One change of setting. Gains are of progress per second against the incumbent at that time.
struct DecisionRecord {
  uint64_t number = 0;  // 1, 2, ...
  double time = 0;      // by the clock of reports and questions; the operator's begins with the job
  DecisionKind kind = DecisionKind::kTrial;
  Setting from, to, incumbent;
  std::string why;
  Gain predicted;
  double cost_seconds = 0;       // expected: change, slower window, way back
  double horizon_seconds = 0;    // expected remaining time it was weighed against
  std::optional<Gain> measured;  // model's belief after the windows there
  double windows = 0;
  Verdict verdict = Verdict::kOpen;
};

// A record that names its knobs itself: it can be read when the tuner that made it, and its space, are gone.
struct NamedRecord {
  std::vector<std::string> knobs;
  DecisionRecord record;
};

NamedRecord WithNames(const DecisionRecord& record, const SearchSpace& space);

// "+12 % (+-5 %)" for a log gain.
std::string Text(const Gain& gain);
// "41 s", "12 min", "3.2 h".
std::string DurationText(double seconds);
// One or two sentences: what, why, predicted, measured, cost, outcome.
std::string Explain(const DecisionRecord& record, const SearchSpace& space);
std::string Explain(const NamedRecord& named);

}  // namespace attune::tuner
