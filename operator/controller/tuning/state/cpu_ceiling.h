// Limits of CPU above which nothing is tried, because the platform has said that a pod of that size never fits. What is
// learned on the way to a setting counts from the next setting on that has come about: until then the tuner's space,
// and with it the tuner, stays the same.
#pragma once

#include <optional>
#include <string>

#include "operator/controller/observe/tuning_values.h"

namespace attune::controller {

class CpuCeiling {
 public:
  // Ranges of a job end below the ceiling.
  void Narrow(JobSetting& high) const;
  // A size never fits, on the way from a setting. Says what follows; nothing when it is not this change that does not
  // fit.
  std::optional<std::string> Lower(const InfeasibleCpu& size, const JobSetting& from);
  // A setting has come about.
  void Settle() { now_ = next_; }

  const JobSetting& next() const { return next_; }
  // `settled`: no change was on its way.
  void Load(const JobSetting& next, bool settled);

 private:
  JobSetting now_, next_;
};

}  // namespace attune::controller
