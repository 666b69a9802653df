#include "operator/leadership/election/lease_record.h"

#include <algorithm>

namespace attune::leadership {
namespace {

using kube::Json;

Json SpecOf(const LeaseRecord& record, bool begins_term, const std::string& time) {
  const int64_t seconds = std::chrono::ceil<std::chrono::seconds>(record.duration).count();
  Json spec = {{"holderIdentity", record.holder},
               {"leaseDurationSeconds", std::max<int64_t>(seconds, 1)},
               {"leaseTransitions", record.transitions},
               {"renewTime", time}};
  if (begins_term) spec["acquireTime"] = time;
  return spec;
}

}  // namespace

LeaseRecord ParseLease(const Json& lease) {
  constexpr int64_t kSecondsMax = int64_t{1} << 31;  // the field has 32 bits
  LeaseRecord record;
  record.holder = kube::StringAt(lease, {"spec", "holderIdentity"});
  record.released = !kube::Annotation(lease, kAnnotationReleasedBy).empty();
  record.duration = std::chrono::seconds(
      std::clamp<int64_t>(kube::IntegerAt(lease, {"spec", "leaseDurationSeconds"}), 0, kSecondsMax));
  record.transitions = std::max<int64_t>(kube::IntegerAt(lease, {"spec", "leaseTransitions"}), 0);
  record.uid = kube::Uid(lease);
  record.version = kube::ResourceVersion(lease);
  return record;
}

Json LeaseToCreate(const kube::ObjectKey& key, const LeaseRecord& record, const std::string& time) {
  return {{"apiVersion", kLeases.api_version()},
          {"kind", kLeases.kind},
          {"metadata", {{"name", key.name}, {"namespace", key.name_space}}},
          {"spec", SpecOf(record, true, time)}};
}

Json LeasePatch(const LeaseRecord& record, const LeaseRecord& precondition, bool begins_term, const std::string& time) {
  Json patch = {{"metadata",
                 {{"resourceVersion", precondition.version},
                  {"uid", precondition.uid},
                  {"annotations", {{kAnnotationReleasedBy, nullptr}}}}},
                {"spec", SpecOf(record, begins_term, time)}};
  if (record.released) {
    patch["metadata"]["annotations"][kAnnotationReleasedBy] = precondition.holder;
    patch["spec"]["holderIdentity"] = nullptr;
  }
  return patch;
}

}  // namespace attune::leadership
