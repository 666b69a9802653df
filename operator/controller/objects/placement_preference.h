// On which machine a pod is made rather than on others, as a preferred affinity: kube-scheduler weighs it, and never
// leaves a pod pending for it.
#pragma once

#include <string>

#include "operator/kube/object.h"

namespace attune::controller {

struct PlacementPreference {
  std::string to;         // the machine, by name; "": none above the others
  std::string away_from;  // one that is the last choice; "": none
};

// Beside what the template states.
void AddPreference(kube::Json& pod, const PlacementPreference& preference);

}  // namespace attune::controller
