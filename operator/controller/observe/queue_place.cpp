#include "operator/controller/observe/queue_place.h"

#include "operator/kube/quantity.h"

namespace attune::controller {
namespace {

using kube::Json;

const Json& FindCondition(const Json& workload, std::string_view type) {
  static const Json kNone;
  const Json& conditions = kube::At(workload, {"status", "conditions"});
  if (!conditions.is_array()) return kNone;
  for (const Json& condition : conditions) {
    if (kube::StringAt(condition, {"type"}) == type) return condition;
  }
  return kNone;
}

bool IsTrue(const Json& condition) { return kube::StringAt(condition, {"status"}) == "True"; }

void Add(std::optional<int64_t>& sum, std::optional<int64_t> amount) {
  if (amount) sum = sum.value_or(0) + *amount;
}

std::string AmountOf(const Json& usage, const char* resource) {
  const Json& amount = kube::At(usage, {resource});
  return amount.is_string() ? amount.get<std::string>() : amount.is_number() ? amount.dump() : "";
}

void ObserveAssignments(const Json& assignments, ObservedWorkload& seen) {
  if (!assignments.is_array()) return;
  for (const Json& each : assignments) {
    const std::string_view name = kube::StringAt(each, {"name"});
    const RoleName role = name == ToString(RoleName::kServer) ? RoleName::kServer : RoleName::kWorker;
    const Json& flavors = kube::At(each, {"flavors"});
    if (flavors.is_object()) {
      for (const auto& [resource, flavor] : flavors.items()) {
        if (flavor.is_string()) seen.flavors[role].insert(flavor.get<std::string>());
      }
    }
    const Json& usage = kube::At(each, {"resourceUsage"});
    Add(seen.millicores, kube::ParseMillicores(AmountOf(usage, "cpu")));
    Add(seen.bytes, kube::ParseByteCount(AmountOf(usage, "memory")));
  }
}

}  // namespace

ObservedWorkload ObserveWorkload(const Json& workload) {
  ObservedWorkload seen{.name = std::string(kube::Name(workload)),
                        .uid = std::string(kube::Uid(workload)),
                        .resource_version = std::string(kube::ResourceVersion(workload)),
                        .generation = kube::Generation(workload),
                        .queue = std::string(kube::StringAt(workload, {"spec", "queueName"})),
                        .shape = std::string(kube::Annotation(workload, kAnnotationShape)),
                        .being_deleted = kube::IsBeingDeleted(workload)};
  const Json& active = kube::At(workload, {"spec", "active"});
  seen.active = !active.is_boolean() || active.get<bool>();
  const Json& reserved = FindCondition(workload, "QuotaReserved");
  seen.reserved = IsTrue(reserved);
  const Json& admitted = FindCondition(workload, "Admitted");
  seen.admitted = IsTrue(admitted);
  const Json& wait = seen.reserved && !admitted.is_null() ? admitted : reserved;
  seen.wait = std::string(kube::StringAt(wait, {"message"}));
  const Json& evicted = FindCondition(workload, "Evicted");
  seen.evicted = IsTrue(evicted);
  seen.evicted_reason = std::string(kube::StringAt(evicted, {"reason"}));
  seen.why_evicted = std::string(kube::StringAt(evicted, {"message"}));
  seen.finished = IsTrue(FindCondition(workload, "Finished"));
  if (const Json& ready = FindCondition(workload, "PodsReady"); !ready.is_null()) seen.pods_ready = IsTrue(ready);
  ObserveAssignments(kube::At(workload, {"status", "admission", "podSetAssignments"}), seen);
  if (const Json& all = kube::At(workload, {"status", "conditions"}); all.is_array()) seen.conditions = all;
  return seen;
}

}  // namespace attune::controller
