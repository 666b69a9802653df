// What is wrong with parts of a job and what is done about it: looks, acts, and knows when there is news to be kept.
#pragma once

#include <string>

#include "operator/controller/observe/tuning_values.h"
#include "operator/controller/tuning/finding_actions.h"
#include "operator/controller/tuning/job_health.h"

namespace attune::controller {

class PartsCare {
 public:
  // Both return whether what is to be kept has changed.
  bool Look(const TuningInput& input, TuningOutput& output);
  // `may_act`: nothing else is on its way into the spec.
  bool Act(const TuningInput& input, bool may_act, TuningOutput& output);

  // To be kept, as text.
  const std::string& findings() const { return findings_; }
  const std::string& acts() const { return saved_acts_; }
  void Load(std::string findings, std::string acts);

 private:
  JobHealth health_;  // begins again with a new operator: what is still wrong is found again
  std::string findings_ = "[]";
  FindingActions acts_;
  std::string saved_acts_ = acts_.Save();
};

}  // namespace attune::controller
