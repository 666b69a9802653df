#include "operator/controller/execute/release.h"

#include "operator/controller/observe/observed.h"
#include "proto/contract.h"

namespace attune::controller {

StatusOr<int> ReleasePods(kube::Api& api, const std::string& name_space) {
  ASSIGN_OR_RETURN(const kube::ListResult pods,
                   api.List(kube::kPods, {.name_space = name_space, .label_selector = contract::kLabelJob}));
  int released = 0;
  Status all;
  for (const kube::Json& object : pods.items) {
    const ObservedPod pod = ObservePod(object);
    if (!pod.held) continue;
    const kube::Json patch = {{"metadata", {{"uid", pod.uid}, {"finalizers", pod.other_finalizers}}}};
    const Status status = api.Patch(kube::kPods, kube::KeyOf(object), kube::PatchType::kMerge, patch, "", {}).status();
    if (status.ok()) {
      ++released;
    } else if (status.code() != StatusCode::kNotFound) {
      all.Update(Annotate(status, "letting go of pod " + kube::KeyOf(object).ToString()));
    }
  }
  if (!all.ok()) return all;
  return released;
}

}  // namespace attune::controller
