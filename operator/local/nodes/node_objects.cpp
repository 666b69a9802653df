#include "operator/local/nodes/node_objects.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>

#include "base/log.h"
#include "operator/local/api/rules/identity.h"
#include "operator/local/api/rules/kinds.h"

namespace attune::local {

using kube::Json;

std::string DefaultNodeName() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string name;
  for (const char c : std::string_view(host.data())) name += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return IsDnsSubdomain(name) ? name : "localhost";
}

NodeCapacity CapacityOfThisMachine() {
  return {std::max(1U, std::thread::hardware_concurrency()),
          static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE))};
}

Status RegisterNode(MemoryApi& api, const std::string& name) {
  const NodeCapacity machine = CapacityOfThisMachine();
  const Json capacity{{"cpu", std::to_string(machine.cores)},
                      {"memory", std::to_string(machine.memory_bytes / 1024) + "Ki"},
                      {"pods", "1000"}};
  const Json object{{"metadata", {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}}}}},
                    {"spec", Json::object()}};
  StatusOr<Json> node = api.Create(kube::kNodes, object);
  if (!node.ok()) return Annotate(node.status(), "registering the node");
  (*node)["status"] = {
      {"capacity", capacity},
      {"allocatable", capacity},
      {"addresses", Json::array({{{"type", "InternalIP"}, {"address", "127.0.0.1"}}})},
      {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}, {"reason", "AgentReady"}}})}};
  return api.Update(kube::kNodes, *node, "status").status();
}

void RecordPodWarning(MemoryApi& api, const Json& pod, const std::string& node, const std::string& reason,
                      const std::string& note, WallTime now) {
  const std::string time = Rfc3339(now);
  const Json event{
      {"metadata", {{"generateName", std::string(kube::Name(pod)) + "."}, {"namespace", kube::Namespace(pod)}}},
      {"eventTime", time.substr(0, time.size() - 1) + ".000000Z"},
      {"type", "Warning"},
      {"reason", reason},
      {"action", "Starting"},
      {"note", note.substr(0, 1024)},
      {"reportingController", "attune-local-agent"},
      {"reportingInstance", node},
      {"regarding",
       {{"apiVersion", "v1"},
        {"kind", "Pod"},
        {"name", kube::Name(pod)},
        {"namespace", kube::Namespace(pod)},
        {"uid", kube::Uid(pod)}}}};
  if (const Status created = api.Create(kube::kEvents, event).status(); !created.ok())
    log::Warn("cannot record an event", {{"status", created}});
}

}  // namespace attune::local
