#include "operator/leadership/leader_label.h"

#include <utility>

namespace attune::leadership {
namespace {

using kube::Json;

constexpr kube::CallOptions kCall{.timeout = std::chrono::seconds(5)};

Json LabelPatch(const Json& value) { return {{"metadata", {{"labels", {{kLabelLeader, value}}}}}}; }

}  // namespace

LeaderLabel::LeaderLabel(kube::Api& api, kube::ObjectKey pod, std::string lease_name)
    : api_(api), pod_(std::move(pod)), lease_name_(std::move(lease_name)) {}

// Its own first: for a moment two pods have it rather than none.
Status LeaderLabel::Claim() {
  const kube::ListOptions labelled{.name_space = pod_.name_space,
                                   .label_selector = std::string(kLabelLeader) + "=" + lease_name_};
  ASSIGN_OR_RETURN(const kube::ListResult pods, api_.List(kube::kPods, labelled, kCall));
  bool has_it = false;
  for (const Json& pod : pods.items) has_it = has_it || kube::Name(pod) == pod_.name;
  if (!has_it) {
    RETURN_IF_ERROR(
        api_.Patch(kube::kPods, pod_, kube::PatchType::kMerge, LabelPatch(lease_name_), "", kCall).status());
  }
  Status all;
  for (const Json& pod : pods.items) {
    if (kube::Name(pod) == pod_.name) continue;
    Json patch = LabelPatch(nullptr);
    patch["metadata"]["uid"] = kube::Uid(pod);
    const Status taken = api_.Patch(kube::kPods, kube::KeyOf(pod), kube::PatchType::kMerge, patch, "", kCall).status();
    if (taken.code() != StatusCode::kNotFound && taken.code() != StatusCode::kAborted) all.Update(taken);
  }
  return all;
}

}  // namespace attune::leadership
