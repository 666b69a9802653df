// Which events of a run stand on its curves, in which color, and which belong together: a change of the tuner, what
// followed from it and its outcome are one mark. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/runs/run_history.h"

namespace attune::cli {

inline constexpr char kBlue[] = "#1f6feb", kOrange[] = "#d9730d", kGreen[] = "#1a7f4b", kRed[] = "#c62828",
                      kGray[] = "#7b8794", kPurple[] = "#7a3fc0";

struct EventMark {
  const JobEvent* event = nullptr;
  double at = 0;                       // seconds since the start
  const char* color = nullptr;         // null: not on the curves
  int number = 0;                      // 0: not on the curves
  double until = 0;                    // of a change of the tuner: when the next one began, or its outcome was known
  const JobEvent* outcome = nullptr;   // of a change of the tuner
  std::vector<const JobEvent*> parts;  // of a change of the tuner: what followed from it
  bool folded = false;                 // shown in the row of another one
};

// One per event, in their order. `start`: seconds since 1970. The marks point into `history`.
std::vector<EventMark> MarksOf(const RunHistory& history, double start);

bool IsChangeOfTuner(const JobEvent& event);
bool WasKept(const EventMark& mark);
// "measured +12 % (±3 %); kept.": what the row of the change does not say already.
std::string OutcomeText(const JobEvent& outcome);
// Of the row that explains a mark: "e3".
std::string RowId(const EventMark& mark);
// The number in its color, as a link to the row.
std::string Badge(const EventMark& mark);

}  // namespace attune::cli
