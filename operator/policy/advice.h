// What is worth knowing of a policy that is valid: parts without effect, schedules that hold always here, a selector
// that takes every job. Pure but for the time zones of this machine.
#pragma once

#include <string>
#include <vector>

#include "operator/kube/object.h"

namespace attune::policy {

struct Advice {
  bool warning = false;  // otherwise a note
  std::string path;      // "spec.windows[0].schedule"
  std::string text;
};

// `object`: a policy as it is written; what is wrong with it is not repeated.
std::vector<Advice> AdviceOn(const kube::Json& object);

}  // namespace attune::policy
