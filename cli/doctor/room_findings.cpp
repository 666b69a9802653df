#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/doctor/cluster_answers.h"
#include "operator/api/format.h"
#include "operator/api/training_job.h"
#include "operator/controller/observe/machines.h"
#include "operator/kube/quantity.h"
#include "proto/contract.h"

namespace attune::cli {
namespace {

using kube::At;
using kube::Json;
using kube::StringAt;

constexpr char kDefaultClass[] = "storageclass.kubernetes.io/is-default-class";

// Names and how many there are: "a, b, c and 4 more".
std::string Named(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 3;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kNamed; ++i) text += (text.empty() ? "" : ", ") + names[i];
  return names.size() > kNamed ? text + " and " + std::to_string(names.size() - kNamed) + " more" : text;
}

double QuantityAt(const Json& node, const char* resource) {
  return kube::ParseQuantity(StringAt(node, {"status", "allocatable", resource})).value_or(0);
}

bool IsOver(const Json& pod) {
  const auto phase = StringAt(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

Findings JudgeNodes(const ClusterAnswers& answers) {
  if (!answers.nodes.ok()) return {NotSeen("nodes", answers.nodes.status())};
  std::vector<std::string> not_ready;
  std::map<std::string, scheduler::Resources> free;
  size_t cordoned = 0;
  for (const Json& node : *answers.nodes) {
    const std::string name(kube::Name(node));
    const controller::ObservedNode seen = controller::ObserveNode(node);
    if (!seen.ready) {
      not_ready.push_back(name);
    } else if (seen.cordoned) {
      ++cordoned;
    } else {
      free[name] = {QuantityAt(node, "cpu"), QuantityAt(node, "memory")};
    }
  }
  const std::string of = std::to_string(answers.nodes->size()) + (answers.nodes->size() == 1 ? " node" : " nodes");
  const std::string look = answers.kubectl + " describe node ";
  Findings findings;
  if (free.empty()) {
    return {Problem("nodes",
                    "none of " + of + " takes pods: " + std::to_string(not_ready.size()) + " not ready, " +
                        std::to_string(cordoned) + " cordoned",
                    answers.kubectl + " get nodes")};
  }
  const std::string ready = std::to_string(free.size()) + " of " + of + " ready and open to pods";
  findings.push_back(not_ready.empty()
                         ? Ok("nodes", ready)
                         : Warning("nodes", ready + "; not ready: " + Named(not_ready), look + not_ready.front()));
  if (!answers.pods.ok()) {
    findings.push_back(NotSeen("room", answers.pods.status()));
    return findings;
  }
  for (const Json& pod : *answers.pods) {
    const auto at = free.find(std::string(StringAt(pod, {"spec", "nodeName"})));
    if (at == free.end() || IsOver(pod)) continue;
    const scheduler::Resources requests = controller::RequestsOf(pod);
    at->second.cpu_cores -= requests.cpu_cores;
    at->second.memory_bytes -= requests.memory_bytes;
  }
  scheduler::Resources all, largest;
  for (const auto& [name, room] : free) {
    const scheduler::Resources left{std::max(room.cpu_cores, 0.0), std::max(room.memory_bytes, 0.0)};
    all.cpu_cores += left.cpu_cores;
    all.memory_bytes += left.memory_bytes;
    if (left.cpu_cores > largest.cpu_cores) largest = left;
  }
  const auto text = [](const scheduler::Resources& room) {
    char cores[32];
    std::snprintf(cores, sizeof(cores), "%.3g", room.cpu_cores);
    return std::string(cores) + " cores and " + api::FormatBytes(static_cast<uint64_t>(room.memory_bytes));
  };
  const std::string seen = text(all) + " are not requested by any pod, at most " + text(largest) + " on one node";
  constexpr double kCoresMin = 0.5;  // a server and a worker with small requests, and their sidecars
  findings.push_back(largest.cpu_cores < kCoresMin ? Warning("room", seen + ": pods of jobs may wait",
                                                             "add nodes, or let other pods request less")
                                                   : Ok("room", seen));
  return findings;
}

Finding JudgeStorage(const ClusterAnswers& answers) {
  if (!answers.storage_classes.ok()) return NotSeen("storage", answers.storage_classes.status());
  std::vector<std::string> names;
  for (const Json& each : *answers.storage_classes) {
    const std::string name(kube::Name(each));
    if (kube::Annotation(each, kDefaultClass) == "true") return Ok("storage", "default class " + name);
    names.push_back(name);
  }
  const std::string without = "claims of models and checkpoints that name no class wait for ever";
  if (names.empty()) {
    return Warning("storage", "there is no storage class: " + without,
                   "install a provisioner, or name volumes that exist in the claims (docs/checkpoints.md)");
  }
  return Warning("storage", "no class is the default one (" + Named(names) + "): " + without,
                 answers.kubectl + " annotate storageclass " + names.front() + " " + kDefaultClass + "=true");
}

// Containers of jobs' pods whose image could not be had.
Finding JudgeImages(const ClusterAnswers& answers) {
  if (!answers.pods.ok()) return NotSeen("images", answers.pods.status());
  std::vector<std::string> failing;
  std::string pod_name, name_space;
  size_t looked_at = 0;
  for (const Json& pod : *answers.pods) {
    if (kube::Label(pod, contract::kLabelJob).empty()) continue;
    ++looked_at;
    for (const char* kind : {"containerStatuses", "initContainerStatuses"}) {
      const Json& statuses = At(pod, {"status", kind});
      for (const Json& status : statuses.is_array() ? statuses : Json::array()) {
        const auto reason = StringAt(status, {"state", "waiting", "reason"});
        if (reason.find("Image") == std::string_view::npos)
          continue;  // ErrImagePull, ImagePullBackOff, InvalidImageName
        const std::string image(StringAt(status, {"image"}));
        if (std::find(failing.begin(), failing.end(), image) == failing.end()) failing.push_back(image);
        if (pod_name.empty()) pod_name = kube::Name(pod), name_space = kube::Namespace(pod);
      }
    }
  }
  if (!failing.empty()) {
    return Problem("images", "nodes cannot get " + Named(failing) + " (pod " + name_space + "/" + pod_name + ")",
                   answers.kubectl + " -n " + name_space + " describe pod " + pod_name +
                       " says why; the chart's values sidecarImage and serverImage name Attune's");
  }
  std::string named;
  for (const OperatorAnswers& each : answers.operators) {
    if (!each.shape.sidecar_image.empty()) named = "; sidecars run " + each.shape.sidecar_image;
  }
  return Ok("images",
            (looked_at == 0 ? "no pod of a job exists to show that nodes have them" : "all pods of jobs have theirs") +
                named);
}

Finding JudgeJobs(const ClusterAnswers& answers) {
  if (!answers.jobs.ok()) return NotSeen("jobs", answers.jobs.status());
  std::vector<std::string> unheard;
  std::string first;
  for (const Json& object : *answers.jobs) {
    const api::TrainingJob job = api::ParseTrainingJob(object).job;
    const api::Condition* metrics = api::FindCondition(job.status, api::kMetricsAvailable);
    if (job.status.phase != "Running" || metrics == nullptr || metrics->status != "False") continue;
    if (first.empty()) first = job.name;
    unheard.push_back(job.name_space + "/" + job.name);
  }
  const std::string count = std::to_string(answers.jobs->size()) + (answers.jobs->size() == 1 ? " job" : " jobs");
  if (unheard.empty())
    return Ok("jobs", count + (answers.jobs->empty() ? "" : "; the sidecars of all that run are heard"));
  return Warning("jobs", "running, and their sidecars are not heard by the operator: " + Named(unheard),
                 "attune describe " + first +
                     ", condition MetricsAvailable; a NetworkPolicy may be in the way (docs/security.md)");
}

}  // namespace

Findings JudgeRoom(const ClusterAnswers& answers) {
  Findings findings = JudgeNodes(answers);
  findings.push_back(JudgeStorage(answers));
  findings.push_back(JudgeImages(answers));
  findings.push_back(JudgeJobs(answers));
  return findings;
}

}  // namespace attune::cli
