#include "operator/controller/status/policy_status.h"

#include <string>

#include "operator/controller/status/status.h"

namespace attune::controller {

void SetPolicy(const Observed& observed, api::TrainingJobStatus& status, Now now) {
  const int64_t generation = observed.job.generation;
  const bool was_in_conflict = api::IsTrue(status, api::kPolicyConflict);
  if (!observed.policy) {
    status.policy.reset();
    if (was_in_conflict)
      SetCondition(status, api::kPolicyConflict, false, "NoPolicy", "no policy selects this job", generation, now.wall);
    return;
  }
  api::PolicyInForce& shown = status.policy.emplace();
  for (const std::string& name : observed.policy->policies)
    shown.policies += (shown.policies.empty() ? "" : ", ") + name;
  shown.mode = ToString(observed.policy->mode);
  for (const policy::Conflict& conflict : observed.policy->conflicts)
    shown.conflict += (shown.conflict.empty() ? "" : "; ") + conflict.text;
  if (!shown.conflict.empty())
    SetCondition(status, api::kPolicyConflict, true, "EmptyRange", shown.conflict, generation, now.wall);
  else if (was_in_conflict)
    SetCondition(status, api::kPolicyConflict, false, "Settled", "policies agree", generation, now.wall);
}

}  // namespace attune::controller
