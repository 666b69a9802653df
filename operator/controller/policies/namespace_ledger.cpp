#include "operator/controller/policies/namespace_ledger.h"

#include <algorithm>
#include <cmath>

#include "operator/api/status/chosen_settings.h"
#include "operator/controller/objects/pod_resources.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/machines.h"
#include "operator/controller/policies/bounds.h"

namespace attune::controller {
namespace {

PodClaim ClaimOfPod(const api::TrainingJob& job, RoleName role) {
  const scheduler::Resources requests = RequestsOf(BuildPod(job, role, 0, job.spec.servers.replicas, {}));
  PodClaim pod{.millicores = std::llround(requests.cpu_cores * 1000), .bytes = std::llround(requests.memory_bytes)};
  const std::optional<int64_t> limit = TargetsOf(job, role).cpu;
  const std::optional<int64_t> request = FiguresOfNewPod(StatedFigures(job, role).cpu, limit).request;
  if (limit && request == limit) {
    pod.limit = limit;
    pod.millicores -= *limit;
  }
  return pod;
}

bool HasNoPods(const api::TrainingJob& job) {
  const auto is = [&](const char* condition) { return api::IsTrue(job.status, condition); };
  return !api::IsManagedHere(job) || is(api::kSucceeded) || is(api::kFailed) || is(api::kSuspended);
}

std::optional<int64_t> Left(std::optional<int64_t> all, int64_t others) {
  return all ? std::optional(std::max<int64_t>(0, *all - others)) : std::nullopt;
}

}  // namespace

PodClaims PodClaimsOf(const api::TrainingJob& job) {
  return {.server = ClaimOfPod(job, RoleName::kServer), .worker = ClaimOfPod(job, RoleName::kWorker)};
}

const NamespaceLedger::Shown& NamespaceLedger::Read(const kube::ObjectKey& key, const kube::Json& object) {
  Shown& shown = shown_[key];
  const std::string_view version = kube::ResourceVersion(object);
  if (!version.empty() && shown.version == version) return shown;
  const api::TrainingJob job = api::ParseInForce(object).job;
  shown = {.version = std::string(version), .claim = {}, .changing = false};
  if (HasNoPods(job)) return shown;
  shown.claim = ClaimAt(PodClaimsOf(job), SettingOf(job));
  shown.changing = api::IsTrue(job.status, api::kReconfiguring);
  return shown;
}

NamespaceRoom NamespaceLedger::RoomOf(const api::TrainingJob& job, const policy::Effective& rules, MonotonicTime now) {
  const bool bounds_claims = rules.millicores_per_namespace || rules.bytes_per_namespace;
  if (!bounds_claims && !rules.concurrent_changes_per_namespace) return {};
  const auto is_gone = [&](const auto& entry) { return jobs_.Get(entry.first) == nullptr; };
  std::erase_if(shown_, is_gone);
  std::erase_if(noted_, is_gone);
  NamespaceRoom room;
  if (bounds_claims) room.pods = PodClaimsOf(job);
  Claim others;
  for (const kube::Snapshot& object : jobs_.All()) {
    const kube::ObjectKey key = kube::KeyOf(*object);
    if (key.name_space != job.name_space || key.name == job.name) continue;
    const Shown& shown = Read(key, *object);
    Claim claim = shown.claim;
    bool changing = shown.changing;
    const auto noted = noted_.find(key);
    if (noted != noted_.end() && noted->second.uid == kube::Uid(*object) && now - noted->second.at < kDecisionCounts) {
      changing = noted->second.changing;
      if (kube::IntegerAt(*object, {"metadata", "generation"}) <= noted->second.generation) {
        claim.millicores = std::max(claim.millicores, noted->second.asked.millicores);
        claim.bytes = std::max(claim.bytes, noted->second.asked.bytes);
      }
    }
    others = {others.millicores + claim.millicores, others.bytes + claim.bytes};
    room.others_changing += changing ? 1 : 0;
  }
  room.millicores = Left(rules.millicores_per_namespace, others.millicores);
  room.bytes = Left(rules.bytes_per_namespace, others.bytes);
  return room;
}

void NamespaceLedger::Note(const api::TrainingJob& job, const std::optional<JobSetting>& asked, bool changing,
                           MonotonicTime now) {
  noted_[{job.name_space, job.name}] = {.uid = job.uid,
                                        .generation = job.generation,
                                        .asked = asked ? ClaimAt(PodClaimsOf(job), *asked) : Claim(),
                                        .changing = changing,
                                        .at = now};
}

void HoldMemory(const NamespaceRoom& room, api::TrainingJob& job) {
  if (!room.bytes) return;
  const int64_t pods = job.spec.servers.replicas + job.spec.workers.replicas;
  const int64_t left = std::max<int64_t>(0, *room.bytes - ClaimAt(room.pods, SettingOf(job)).bytes);
  for (const RoleName role : {RoleName::kServer, RoleName::kWorker}) {
    api::ResourceTarget& memory = (role == RoleName::kServer ? job.spec.servers : job.spec.workers).resources.memory;
    const std::optional<int64_t> target = TargetsOf(job, role).memory;
    const std::optional<int64_t> given = target ? target : StatedFigures(job, role).memory.shown();
    if (memory.max && given) memory.max = std::min(*memory.max, *given + left / std::max<int64_t>(1, pods));
  }
}

}  // namespace attune::controller
