#include "operator/controller/observe/namespace_room.h"

#include "operator/kube/quantity.h"

namespace attune::controller {
namespace {

int64_t Millicores(const PodClaim& pod, std::optional<int32_t> limit) {
  if (!pod.limit) return pod.millicores;
  return pod.millicores + (limit ? *limit : *pod.limit);
}

}  // namespace

Claim ClaimAt(const PodClaims& pods, const JobSetting& setting) {
  return {.millicores = setting.servers * Millicores(pods.server, setting.server_millicores) +
                        setting.workers * Millicores(pods.worker, setting.worker_millicores),
          .bytes = setting.servers * pods.server.bytes + setting.workers * pods.worker.bytes};
}

std::string WhyNoRoom(const NamespaceRoom& room, const JobSetting& present, const JobSetting& asked) {
  const Claim before = ClaimAt(room.pods, present), after = ClaimAt(room.pods, asked);
  if (room.millicores && after.millicores > before.millicores && after.millicores > *room.millicores)
    return "its pods would request " + kube::FormatMillicores(after.millicores) +
           " of cpu, and policies and its queue leave this job " + kube::FormatMillicores(*room.millicores);
  if (room.bytes && after.bytes > before.bytes && after.bytes > *room.bytes)
    return "its pods would request " + kube::FormatByteCount(after.bytes) +
           " of memory, and policies and its queue leave this job " + kube::FormatByteCount(*room.bytes);
  return "";
}

}  // namespace attune::controller
