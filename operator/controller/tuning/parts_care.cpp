#include "operator/controller/tuning/parts_care.h"

#include <utility>

namespace attune::controller {

bool PartsCare::Look(const TuningInput& input, TuningOutput& output) {
  health_.Look(input, output.events);
  std::string findings = health_.Save();
  if (findings == findings_) return false;
  findings_ = std::move(findings);
  return true;
}

bool PartsCare::Act(const TuningInput& input, bool may_act, TuningOutput& output) {
  acts_.Look(input, health_.findings(), may_act, output);
  std::string acts = acts_.Save();
  if (acts == saved_acts_) return false;
  saved_acts_ = std::move(acts);
  return true;
}

void PartsCare::Load(std::string findings, std::string acts) {
  findings_ = std::move(findings);
  acts_ = FindingActions::Load(acts);
  saved_acts_ = std::move(acts);
}

}  // namespace attune::controller
