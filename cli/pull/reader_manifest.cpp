#include "cli/pull/reader_manifest.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "operator/controller/objects/restriction.h"
#include "proto/contract.h"

namespace attune::cli {
namespace {

using kube::At;
using kube::Json;
using kube::StringAt;

constexpr char kVolume[] = "model";
constexpr char kContainer[] = "reader";
constexpr char kHost[] = "kubernetes.io/hostname";

const Json* SidecarOf(const Json& pod) {
  for (const char* list : {"initContainers", "containers"}) {
    const Json& containers = At(pod, {"spec", list});
    if (!containers.is_array()) continue;
    for (const Json& container : containers) {
      if (StringAt(container, {"name"}) == contract::kSidecarContainer) return &container;
    }
  }
  return nullptr;
}

// A pod of the job: where it runs the claim can be mounted and the image pulled.
const Json* PodToResemble(const std::vector<Json>& pods) {
  const auto found = std::ranges::find_if(pods, [](const Json& pod) { return SidecarOf(pod) != nullptr; });
  return found == pods.end() ? nullptr : &*found;
}

// What decides whether a machine takes the pod, its image comes and the files may be read. Of a machine's own labels
// only those that an image needs: a reader must not wait for machines with accelerators.
void TakeAfter(const Json& pod, Json& spec) {
  for (const char* field : {"securityContext", "tolerations", "imagePullSecrets", "serviceAccountName"}) {
    if (const Json& value = At(pod, {"spec", field}); !value.is_null()) spec[field] = value;
  }
  for (const char* label : {"kubernetes.io/arch", "kubernetes.io/os"}) {
    const std::string value(StringAt(pod, {"spec", "nodeSelector", label}));
    if (!value.empty()) spec["nodeSelector"][label] = value;
  }
}

// A volume that one machine at a time may mount is where the job's pods are.
Json NearTheJob(const api::TrainingJob& job) {
  const Json term = {{"labelSelector", {{"matchLabels", {{contract::kLabelJobUid, job.uid}}}}}, {"topologyKey", kHost}};
  const Json preferred = Json::array({{{"weight", 100}, {"podAffinityTerm", term}}});
  return {{"podAffinity", {{"preferredDuringSchedulingIgnoredDuringExecution", preferred}}}};
}

Json Container(const WantedReader& wanted, const std::string& image) {
  Json container = {
      {"name", kContainer},
      {"image", image},
      {"command", Json::array({"attune-sidecar", "files"})},
      {"args", Json::array({"--directory", wanted.directory, "--port", std::to_string(kReaderPort), "--token-sha256",
                            wanted.token_sha256, "--idle-seconds",
                            std::to_string(static_cast<int64_t>(Seconds(kReaderIdle)))})},
      {"ports", Json::array({{{"name", "files"}, {"containerPort", kReaderPort}}})},
      {"resources",
       {{"requests", {{"cpu", "10m"}, {"memory", "32Mi"}}}, {"limits", {{"cpu", "1"}, {"memory", "128Mi"}}}}},
      // The mount and not the claim: some storage refuses to be attached read-only where it is attached to write.
      {"volumeMounts",
       Json::array({{{"name", kVolume}, {"mountPath", contract::kModelDirectoryPath}, {"readOnly", true}}})}};
  controller::RestrictOwn(container);
  return container;
}

// Of a container that does not start: none of these ends by waiting.
bool IsHopeless(std::string_view reason) {
  constexpr std::array<std::string_view, 4> kReasons = {"InvalidImageName", "ErrImageNeverPull",
                                                        "CreateContainerConfigError", "RunContainerError"};
  return std::ranges::find(kReasons, reason) != kReasons.end();
}

std::string WithReason(std::string_view reason, std::string_view message) {
  return std::string(reason) + (message.empty() ? "" : ": " + std::string(message));
}

std::string EndOf(const Json& pod) {
  const Json& statuses = At(pod, {"status", "containerStatuses"});
  const Json& status = statuses.is_array() && !statuses.empty() ? statuses.front() : statuses;
  const Json& end = At(status, {"state", "terminated"});
  const int64_t code = kube::IntegerAt(end, {"exitCode"});
  std::string text = "it has ended: ";
  if (end.is_object()) {
    text +=
        "exit code " + std::to_string(code) + ", " + WithReason(StringAt(end, {"reason"}), StringAt(end, {"message"}));
  } else {
    text += WithReason(StringAt(pod, {"status", "reason"}), StringAt(pod, {"status", "message"}));
  }
  // Of attune-sidecar, and of runtimes that do not find it.
  if (code == 2 || code == 127 || code == 128) {
    text += "; its image has to be that of the sidecar of this release, name it with --image";
  }
  return text;
}

// What a pod itself says nothing of, the newest first: a volume that cannot be attached or mounted, an image that is
// being pulled.
std::string NewsOf(const std::vector<Json>& events) {
  std::string text;
  std::string newest;
  for (const Json& event : events) {
    if (StringAt(event, {"type"}) != "Warning" && StringAt(event, {"reason"}) != "Pulling") continue;
    const std::string_view series = StringAt(event, {"series", "lastObservedTime"});
    const std::string_view old_style = StringAt(event, {"deprecatedLastTimestamp"});
    const std::string_view time = !series.empty()      ? series
                                  : !old_style.empty() ? old_style
                                                       : StringAt(event, {"eventTime"});
    if (!text.empty() && time < newest) continue;
    newest = time;
    text = WithReason(StringAt(event, {"reason"}), StringAt(event, {"note"}));
  }
  return text;
}

}  // namespace

std::string ReaderName(const std::string& job) { return job + "-model-reader"; }

StatusOr<Json> BuildReader(const api::TrainingJob& job, const std::vector<Json>& pods, const WantedReader& wanted) {
  const Json* const like = PodToResemble(pods);
  std::string image = wanted.image;
  if (image.empty() && like != nullptr) image = StringAt(*SidecarOf(*like), {"image"});
  if (image.empty()) {
    return Error(StatusCode::kNotFound,
                 "job " + job.name + " has no pods that show which image its sidecars have: name the sidecar's image " +
                     "of this release with --image, as the chart's value sidecarImage has it");
  }
  Json spec = {
      {"restartPolicy", "Never"},
      {"activeDeadlineSeconds", static_cast<int64_t>(Seconds(kReaderLifeMax))},
      {"terminationGracePeriodSeconds", 1},
      {"automountServiceAccountToken", false},
      {"enableServiceLinks", false},
      {"affinity", NearTheJob(job)},
      {"volumes", Json::array({{{"name", kVolume}, {"persistentVolumeClaim", {{"claimName", wanted.claim}}}}})}};
  Json container = Container(wanted, image);
  if (like != nullptr) {
    TakeAfter(*like, spec);
    const std::string pull(StringAt(*SidecarOf(*like), {"imagePullPolicy"}));
    if (!pull.empty()) container["imagePullPolicy"] = pull;
  }
  controller::RestrictPod(spec);
  spec["containers"] = Json::array({std::move(container)});
  // It goes with the job. Not its controller's: the operator would count it among the job's pods.
  const Json owner = {{"apiVersion", kube::kTrainingJobs.api_version()},
                      {"kind", kube::kTrainingJobs.kind},
                      {"name", job.name},
                      {"uid", job.uid}};
  return Json{{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata",
               {{"name", ReaderName(job.name)},
                {"namespace", job.name_space},
                {"labels", {{kReaderLabel, kReaderLabelValue}}},
                {"ownerReferences", Json::array({owner})}}},
              {"spec", std::move(spec)}};
}

ReaderState StateOfReader(const Json& pod, const std::vector<Json>& events) {
  using Kind = ReaderState::Kind;
  const std::string_view phase = StringAt(pod, {"status", "phase"});
  if (phase == "Failed" || phase == "Succeeded") return {Kind::kFailed, EndOf(pod)};
  if (kube::IsBeingDeleted(pod)) return {Kind::kFailed, "it is being deleted, and not by this call"};
  if (phase == "Running") return {Kind::kRunning, ""};
  const Json& statuses = At(pod, {"status", "containerStatuses"});
  for (const Json& status : statuses.is_array() ? statuses : Json::array()) {
    const std::string_view reason = StringAt(status, {"state", "waiting", "reason"});
    if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") continue;
    const std::string text = WithReason(reason, StringAt(status, {"state", "waiting", "message"}));
    return {IsHopeless(reason) ? Kind::kFailed : Kind::kWaiting, text};
  }
  const Json& conditions = At(pod, {"status", "conditions"});
  for (const Json& condition : conditions.is_array() ? conditions : Json::array()) {
    if (StringAt(condition, {"type"}) != "PodScheduled" || StringAt(condition, {"status"}) == "True") continue;
    return {Kind::kWaiting, WithReason(StringAt(condition, {"reason"}), StringAt(condition, {"message"}))};
  }
  const std::string news = NewsOf(events);
  return {Kind::kWaiting, news.empty() ? "its container is being made" : news};
}

}  // namespace attune::cli
