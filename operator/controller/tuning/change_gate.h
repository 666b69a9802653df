// How often policies let the tuner change a job, and for what gain (spec.limits and spec.adopt of a policy). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/policy/resolve.h"
#include "operator/tuner/records/decision_record.h"

namespace attune::controller {

struct PastChange {
  double time = 0;  // seconds, by the clock of the question
  bool trial = false, crashed = false;
};

struct ProposedChange {
  bool trial = false;
  bool back = false;  // leaves a trial for where the job came from: never held up
  std::optional<tuner::Gain> gain = {};
  int32_t others_changing = 0;  // NamespaceRoom
  std::string no_room = {};     // WhyNoRoom of what it asks for
};

struct Refusal {
  std::string why;
  double seconds = 0;  // ask again then at the earliest; 0: as soon as there is news
};

// `past` in any order.
std::optional<Refusal> WhyNotNow(const policy::Effective& rules, const std::vector<PastChange>& past,
                                 const ProposedChange& change, double now);

}  // namespace attune::controller
