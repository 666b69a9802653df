#include "operator/controller/actions/change_setting.h"

#include <utility>

#include "operator/api/status/chosen_settings.h"

namespace attune::controller {
namespace {

kube::Json JobPatch(const Observed& observed, kube::Json spec) {
  return {{"metadata", {{"uid", observed.job.uid}}}, {"spec", std::move(spec)}};
}

}  // namespace

bool KeepsSettingsInStatus(const api::TrainingJob& job) {
  switch (job.spec.tuning.write_to) {
    case api::WriteTo::kSpec:
      return false;
    case api::WriteTo::kStatus:
      return true;
    case api::WriteTo::kByOwner:
      return !job.replicas_manager.empty() || !job.chosen.empty();  // where it once was it stays
  }
  return false;
}

Draft::Ref ChangeSetting(const Observed& observed, kube::Json spec, std::string reason, bool if_unchanged, Draft& draft,
                         Draft::Needs needs) {
  if (KeepsSettingsInStatus(observed.job))
    return draft.Create(ChooseSettings{std::move(spec), std::move(reason)}, std::move(needs));
  return draft.Create(
      PatchJob{
          .patch = JobPatch(observed, std::move(spec)), .reason = std::move(reason), .if_job_unchanged = if_unchanged},
      std::move(needs));
}

bool TidySettings(const Observed& observed, Draft& draft) {
  const api::TrainingJob& job = observed.job;
  if (job.status.settings.empty()) return false;
  if (!KeepsSettingsInStatus(job) && !job.chosen.empty()) {
    draft.Create(PatchJob{.patch = JobPatch(observed, api::SpecPatchOf(job.chosen)),
                          .reason = "what was chosen is to be in the spec: " + api::ToString(job.chosen),
                          .if_job_unchanged = true});
    return true;
  }
  if (job.chosen == job.status.settings) return false;
  draft.Create(ChooseSettings{kube::Json::object(), "the spec says something else by now"});
  return true;
}

}  // namespace attune::controller
