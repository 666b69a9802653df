#include "operator/controller/policies/bounds.h"

#include "operator/controller/objects/pod_resources.h"
#include "operator/policy/knob_range.h"
#include "operator/tuner/space/knob.h"

namespace attune::controller {
namespace {

std::optional<int32_t> ToInt(const std::optional<int64_t>& value) {
  return value ? std::optional<int32_t>(static_cast<int32_t>(*value)) : std::nullopt;
}

bool KeepsRange(const policy::KnobRange& range, std::optional<int32_t> present, std::optional<int32_t> asked) {
  if (!asked || present == asked) return true;
  if (range.fixed) return !present;  // the spec leaves it open, and the tuner has only its present value to name
  const int64_t excess = policy::Excess(range, *asked);
  return excess == 0 || (present && excess < policy::Excess(range, *present));
}

int32_t Within(const policy::KnobRange& range, int32_t value) {
  return static_cast<int32_t>(policy::Nearest(range, value));
}

void BringWithin(const policy::KnobRange& range, std::optional<int32_t>& value) {
  if (value) value = Within(range, *value);
}

}  // namespace

bool KeepsBounds(const policy::Effective& rules, const JobSetting& present, const JobSetting& asked) {
  using api::PolicyKnob;
  return KeepsRange(rules.Of(PolicyKnob::kServers), present.servers, asked.servers) &&
         KeepsRange(rules.Of(PolicyKnob::kWorkers), present.workers, asked.workers) &&
         KeepsRange(rules.Of(PolicyKnob::kThreads), present.threads, asked.threads) &&
         KeepsRange(rules.Of(PolicyKnob::kSlack), present.slack, asked.slack) &&
         KeepsRange(rules.Of(PolicyKnob::kServerCpu), present.server_millicores, asked.server_millicores) &&
         KeepsRange(rules.Of(PolicyKnob::kWorkerCpu), present.worker_millicores, asked.worker_millicores);
}

JobSetting SettingOf(const api::TrainingJob& job) {
  return {.servers = job.spec.servers.replicas,
          .workers = job.spec.workers.replicas,
          .threads = job.spec.worker_threads,
          .slack = tuner::SlackOf(api::FromManifest(job.spec.synchronization)),
          .worker_millicores = ToInt(TargetsOf(job, RoleName::kWorker).cpu),
          .server_millicores = ToInt(TargetsOf(job, RoleName::kServer).cpu)};
}

std::optional<JobSetting> IntoBounds(const Observed& observed) {
  using api::PolicyKnob;
  if (!observed.policy || !observed.policy->shrinks_now) return std::nullopt;
  const policy::Effective& rules = *observed.policy;
  const JobSetting present = SettingOf(observed.job);
  JobSetting within = present;
  within.servers = Within(rules.Of(PolicyKnob::kServers), present.servers);
  within.workers = Within(rules.Of(PolicyKnob::kWorkers), present.workers);
  BringWithin(rules.Of(PolicyKnob::kThreads), within.threads);
  BringWithin(rules.Of(PolicyKnob::kSlack), within.slack);
  BringWithin(rules.Of(PolicyKnob::kServerCpu), within.server_millicores);
  BringWithin(rules.Of(PolicyKnob::kWorkerCpu), within.worker_millicores);
  if (within == present) return std::nullopt;
  // A patch names what changes, and no figure that the spec leaves open.
  for (const auto knob :
       {&JobSetting::threads, &JobSetting::slack, &JobSetting::worker_millicores, &JobSetting::server_millicores}) {
    if (within.*knob == present.*knob) (within.*knob).reset();
  }
  return within;
}

}  // namespace attune::controller
