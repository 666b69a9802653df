#include "operator/controller/queue/queue_book.h"

#include <algorithm>

#include "operator/controller/objects/pods.h"
#include "operator/controller/plan/suspension/suspension.h"
#include "operator/controller/policies/bounds.h"
#include "operator/controller/policies/namespace_ledger.h"
#include "operator/controller/queue/workload.h"
#include "operator/kube/quantity.h"

namespace attune::controller {
namespace {

using kube::Json;

bool Exceeds(int64_t asked, std::optional<int64_t> admitted) { return admitted && asked > *admitted; }

std::string InWords(std::optional<int64_t> millicores, std::optional<int64_t> bytes) {
  std::string text;
  if (millicores) text = kube::FormatMillicores(*millicores) + " cpu";
  if (bytes) text += (text.empty() ? "" : " and ") + kube::FormatByteCount(*bytes) + " of memory";
  return text;
}

// What the flavor says of the machines wins: they are what the quota was given for.
void Apply(const Json& flavor, Json& pod_template) {
  if (!pod_template.is_object()) pod_template = Json::object();
  Json& spec = pod_template["spec"];
  if (!spec.is_object()) spec = Json::object();
  if (const Json& labels = kube::At(flavor, {"spec", "nodeLabels"}); labels.is_object() && !labels.empty()) {
    if (!spec["nodeSelector"].is_object()) spec["nodeSelector"] = Json::object();
    spec["nodeSelector"].update(labels);
  }
  if (const Json& tolerations = kube::At(flavor, {"spec", "tolerations"}); tolerations.is_array()) {
    if (!spec["tolerations"].is_array()) spec["tolerations"] = Json::array();
    for (const Json& toleration : tolerations) {
      if (std::ranges::find(spec["tolerations"], toleration) == spec["tolerations"].end())
        spec["tolerations"].push_back(toleration);
    }
  }
}

}  // namespace

std::string HoldOf(const QueuePlace& place, bool has_begun, const Claim& claim) {
  if (place.queue.empty()) return "";
  const std::string queue = "queue " + place.queue;
  if (!place.readable) {
    return has_begun ? ""
                     : "it names " + queue + " of Kueue, whose Workloads (" + kWorkloads.api_version() +
                           ") cannot be read here: install Kueue and let "
                           "this operator read them, or remove the job's label " +
                           kLabelQueue;
  }
  if (!place.workload) return has_begun ? "" : "it waits for its place in " + queue;
  const ObservedWorkload& workload = *place.workload;
  const std::string name = "its Workload " + workload.name;
  if (workload.being_deleted) return name + " is being deleted";
  if (workload.finished) return name + " is finished, says Kueue";
  if (!workload.active) return name + " is not active (spec.active)";
  if (workload.evicted) return queue + " takes its place back: " + workload.why_evicted;
  if (workload.queue != place.queue) return "it leaves queue " + workload.queue + " for " + queue;
  if (!workload.admitted) return "it waits in " + queue + (workload.wait.empty() ? "" : ": " + workload.wait);
  if (Exceeds(claim.millicores, workload.millicores) || Exceeds(claim.bytes, workload.bytes)) {
    return "its pods request " + InWords(claim.millicores, claim.bytes) + " by its spec now, and " + queue +
           " has admitted " + InWords(workload.millicores, workload.bytes) + ": it waits for a place of that size";
  }
  return "";
}

void HoldToAdmitted(const QueuePlace& place, const api::TrainingJob& job, NamespaceRoom& room) {
  if (place.queue.empty() || !place.workload || !place.workload->admitted) return;
  const auto hold = [](std::optional<int64_t> admitted, std::optional<int64_t>& left) {
    if (admitted) left = left ? std::min(*left, *admitted) : *admitted;
  };
  hold(place.workload->millicores, room.millicores);
  hold(place.workload->bytes, room.bytes);
  if (room.millicores || room.bytes) room.pods = PodClaimsOf(job);
}

std::string QueueBook::ApplyFlavors(const ObservedWorkload& workload, api::TrainingJob& job) const {
  for (const auto& [role, names] : workload.flavors) {
    api::Role& of_role = role == RoleName::kServer ? job.spec.servers : job.spec.workers;
    for (const std::string& name : names) {
      const kube::Snapshot flavor = caches_.flavors.Get({"", name});
      if (flavor == nullptr)
        return "which machines ResourceFlavor " + name + " means cannot be read here: let this operator read " +
               kResourceFlavors.plural;
      Apply(*flavor, of_role.pod_template);
    }
  }
  return "";
}

std::optional<QueuePlace> QueueBook::PlaceOf(const Json& object, api::TrainingJob& job) const {
  QueuePlace place{.queue = std::string(kube::Label(object, kLabelQueue)),
                   .readable = caches_.workloads.HasSynced(),
                   .workload = std::nullopt,
                   .hold = ""};
  // One that another has made under that name was admitted for something else.
  const kube::Snapshot workload = caches_.workloads.Get({job.name_space, WorkloadName(job)});
  if (workload != nullptr && IsOwnedBy(*workload, job)) place.workload = ObserveWorkload(*workload);
  if (place.queue.empty() && !place.workload) return std::nullopt;
  const bool has_begun = !job.status.start_time.empty() && !IsWithoutPods(job.status);
  place.hold = HoldOf(place, has_begun, ClaimAt(PodClaimsOf(job), SettingOf(job)));
  const bool has_place = !place.queue.empty() && place.workload && place.workload->admitted;
  if (!has_place || (!place.hold.empty() && !has_begun)) return place;
  const std::string unknown = ApplyFlavors(*place.workload, job);
  if (!has_begun) place.hold = unknown;
  return place;
}

}  // namespace attune::controller
