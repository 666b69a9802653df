#include "operator/controller/objects/pods.h"

#include "operator/controller/objects/job_secret.h"
#include "operator/controller/objects/json_fields.h"
#include "operator/controller/objects/placement_preference.h"
#include "operator/controller/objects/pod_resources.h"
#include "operator/controller/objects/restriction.h"
#include "operator/controller/objects/server_arguments.h"
#include "operator/controller/observe/attempts.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using api::TrainingJob;
using kube::Json;

constexpr char kVolumeRun[] = "attune-run";
constexpr char kVolumeToken[] = "attune-token";
constexpr char kVolumeTls[] = "attune-tls";
constexpr char kVolumeJobToken[] = "attune-job-token";
constexpr char kVolumeTemporary[] = "attune-tmp";
constexpr int kTokenSeconds = 3600;

std::string HostPort(const std::string& host, uint16_t port) { return host + ":" + std::to_string(port); }

// Adds to a named list, replacing what has the same name.
void Put(Json& list, const char* name_field, Json item) {
  for (Json& present : list) {
    if (present.is_object() && present.value(name_field, "") == item.value(name_field, "")) {
      present = std::move(item);
      return;
    }
  }
  list.push_back(std::move(item));
}

Json FromField(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}
Json Variable(const char* name, std::string value) { return {{"name", name}, {"value", std::move(value)}}; }

// Who this container is and where it finds the others (proto/contract.h).
void AddEnvironment(Json& container, const TrainingJob& job, RoleName role, int32_t index) {
  Json& env = ArrayIn(container, "env");
  Put(env, "name", Variable(contract::kEnvJob, job.name));
  Put(env, "name", Variable(contract::kEnvNamespace, job.name_space));
  Put(env, "name", Variable(contract::kEnvJobUid, job.uid));
  Put(env, "name", Variable(contract::kEnvRole, ToString(role)));
  Put(env, "name", Variable(contract::kEnvIndex, std::to_string(index)));
  Put(env, "name", FromField(contract::kEnvPodName, "metadata.name"));
  Put(env, "name", FromField(contract::kEnvPodUid, "metadata.uid"));
  Put(env, "name", FromField(contract::kEnvNodeName, "spec.nodeName"));
  Put(env, "name", FromField(contract::kEnvPodIp, "status.podIP"));
  Put(env, "name", Variable(contract::kEnvCoordinator, CoordinatorAddress(job)));
  // A directory of the job's own: a claim may be shared by several jobs.
  Put(env, "name", Variable(contract::kEnvModelDirectory, std::string(contract::kModelDirectoryPath) + "/" + job.name));
  Put(env, "name", Variable(contract::kEnvSidecarSocket, contract::kSidecarSocketPath));
}

void AddTerminationLog(Json& container) {
  SetDefault(container, "terminationMessagePath", contract::kTerminationLogPath);
  Put(ArrayIn(container, "env"), "name",
      Variable(contract::kEnvTerminationLog, std::string(kube::StringAt(container, {"terminationMessagePath"}))));
}

void AddMount(Json& container, const char* volume, const char* path) {
  Put(ArrayIn(container, "volumeMounts"), "name", {{"name", volume}, {"mountPath", path}});
}

// Who may talk to this process, and in what. Only the role's own container is given them.
void AddSecurity(Json& container, const TrainingJob& job) {
  const auto mount = [&](const char* volume, const char* path) {
    Put(ArrayIn(container, "volumeMounts"), "name", {{"name", volume}, {"mountPath", path}, {"readOnly", true}});
  };
  if (!job.spec.security.tls_secret.empty()) {
    mount(kVolumeTls, contract::kTlsDirectoryPath);
    Put(ArrayIn(container, "env"), "name", Variable(contract::kEnvTlsDirectory, contract::kTlsDirectoryPath));
  }
  if (!TokenSecret(job).empty()) {
    mount(kVolumeJobToken, contract::kJobTokenDirectory);
    Put(ArrayIn(container, "env"), "name",
        Variable(contract::kEnvJobTokenFile,
                 std::string(contract::kJobTokenDirectory) + "/" + contract::kJobTokenFile));
  }
  if (const int64_t attempt = AttemptOf(job.status); attempt > 0) {
    Put(ArrayIn(container, "env"), "name", Variable(contract::kEnvAttempt, std::to_string(attempt)));
  }
  if (job.spec.security.transport == api::Transport::kEncrypted) {
    Put(ArrayIn(container, "env"), "name", Variable(contract::kEnvTransport, contract::kTransportEncrypted));
  }
}

Json Sidecar(const TrainingJob& job, RoleName role, int32_t index, const PlanOptions& options) {
  Json sidecar = {
      {"name", contract::kSidecarContainer},
      {"image", options.sidecar_image},
      {"imagePullPolicy", options.image_pull_policy},
      {"command", Json::array({"attune-sidecar"})},
      {"restartPolicy", "Always"},  // an init container that stays: ends after the others, decides nothing
      {"ports", Json::array({{{"name", "metrics"}, {"containerPort", contract::kMetricsPort}}})},
      {"resources", {{"requests", {{"cpu", "10m"}, {"memory", "24Mi"}}}, {"limits", {{"memory", "96Mi"}}}}}};
  AddEnvironment(sidecar, job, role, index);
  Put(sidecar["env"], "name", Variable(contract::kEnvTelemetry, options.telemetry_address));
  if (!options.telemetry_authority.empty()) {
    Put(sidecar["env"], "name", Variable(contract::kEnvTelemetryCa, options.telemetry_authority));
  }
  Put(sidecar["env"], "name", Variable(contract::kEnvTokenFile, std::string(contract::kTokenDirectory) + "/token"));
  AddMount(sidecar, kVolumeRun, contract::kRunDirectory);
  Put(sidecar["volumeMounts"], "name",
      {{"name", kVolumeToken}, {"mountPath", contract::kTokenDirectory}, {"readOnly", true}});
  RestrictOwn(sidecar);
  return sidecar;
}

void AddVolumes(Json& spec, const TrainingJob& job, const PlanOptions& options, bool temporary) {
  Json& volumes = ArrayIn(spec, "volumes");
  Put(volumes, "name", {{"name", kVolumeRun}, {"emptyDir", Json::object()}});
  const std::string& claim = job.spec.model.claim.empty() ? options.default_model_claim : job.spec.model.claim;
  Json model = {{"name", kModelVolume}};
  if (claim.empty()) {
    model["emptyDir"] = Json::object();
  } else {
    model["persistentVolumeClaim"] = {{"claimName", claim}};
  }
  Put(volumes, "name", std::move(model));
  Json token = {{"path", "token"}, {"audience", contract::kTokenAudience}, {"expirationSeconds", kTokenSeconds}};
  Json sources = Json::array({{{"serviceAccountToken", std::move(token)}}});
  Put(volumes, "name", {{"name", kVolumeToken}, {"projected", {{"sources", std::move(sources)}}}});
  constexpr int kReadableByGroup = 0440;  // the pod's group, fsGroup
  const auto secret = [&](const char* volume, const std::string& name) {
    if (name.empty()) return;
    Put(volumes, "name", {{"name", volume}, {"secret", {{"secretName", name}, {"defaultMode", kReadableByGroup}}}});
  };
  secret(kVolumeTls, job.spec.security.tls_secret);
  secret(kVolumeJobToken, TokenSecret(job));
  if (temporary) Put(volumes, "name", {{"name", kVolumeTemporary}, {"emptyDir", Json::object()}});
}

// The role's container in the template; added when the template has none (validation asks for it where it is needed).
Json& FindOrAddContainer(Json& spec, RoleName role) {
  Json& containers = ArrayIn(spec, "containers");
  for (Json& container : containers) {
    if (container.is_object() && container.value("name", "") == ToString(role)) return container;
  }
  containers.push_back({{"name", ToString(role)}});
  return containers.back();
}

void CompleteServer(Json& container, const TrainingJob& job, int32_t index, int32_t servers,
                    const PlanOptions& options) {
  SetDefault(container, "image", options.server_image);
  SetDefault(container, "imagePullPolicy", options.image_pull_policy);
  SetDefault(container, "command", Json::array({"attune-server"}));
  Json& arguments = ArrayIn(container, "args");
  for (Json& argument : ServerArguments(job, index, servers)) arguments.push_back(std::move(argument));
  SetDefault(container, "ports",
             Json::array({{{"name", "data"}, {"containerPort", contract::kDataPort}},
                          {{"name", "coordinator"}, {"containerPort", contract::kCoordinatorPort}}}));
  SetDefault(container, "readinessProbe",
             {{"tcpSocket", {{"port", contract::kDataPort}}}, {"periodSeconds", 1}, {"failureThreshold", 3}});
  AddMount(container, kVolumeTemporary, "/tmp");
  RestrictOwn(container);
}

// A pod on a machine that is gone is deleted after this time instead of Kubernetes' five minutes, also while no
// operator runs. Not much sooner: the taint is one sign, and after an outage of the API server nodes that are well bear
// it for a moment, which would end all servers of a machine at once. The operator itself, on two signs, does not wait
// for it.
void AddTolerations(Json& spec) {
  constexpr int kSeconds = 60;
  Json& tolerations = ArrayIn(spec, "tolerations");
  for (const char* taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    Json toleration = {
        {"key", taint}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", kSeconds}};
    bool stated = false;
    for (const Json& present : tolerations)
      stated = stated || (present.is_object() && present.value("key", "") == taint);
    if (!stated) tolerations.push_back(std::move(toleration));
  }
}

// What the registry of our images asks for; a template's own Secrets stay.
void AddPullSecrets(Json& spec, const std::vector<std::string>& secrets) {
  if (secrets.empty()) return;
  Json& stated = ArrayIn(spec, "imagePullSecrets");
  for (const std::string& secret : secrets) Put(stated, "name", {{"name", secret}});
}

void CompletePodSpec(Json& spec, const TrainingJob& job, RoleName role, const std::string& name) {
  spec["restartPolicy"] = "Never";  // restarts are decided here, and counted
  spec["hostname"] = name;
  if (role == RoleName::kServer) spec["subdomain"] = ServiceName(job.name);
  spec["shareProcessNamespace"] = true;  // the sidecar reads CPU and memory of the process beside it
  SetDefault(spec, "automountServiceAccountToken", false);
  SetDefault(spec, "enableServiceLinks", false);
  SetDefault(spec, "terminationGracePeriodSeconds", role == RoleName::kWorker ? job.spec.run_policy.drain_seconds : 10);
  RestrictPod(spec);
  // The rows of a server without backups are nowhere else: its machine is waited for.
  if (role == RoleName::kWorker || job.spec.backups > 0) AddTolerations(spec);
}

}  // namespace

Json OwnedMetadata(const TrainingJob& job, const std::string& name) {
  return {{"name", name},
          {"namespace", job.name_space},
          {"labels", {{contract::kLabelJob, job.name}, {contract::kLabelJobUid, job.uid}}},
          {"ownerReferences", Json::array({{{"apiVersion", kube::kTrainingJobs.api_version()},
                                            {"kind", kube::kTrainingJobs.kind},
                                            {"name", job.name},
                                            {"uid", job.uid},
                                            {"controller", true},
                                            {"blockOwnerDeletion", true}}})}};
}

Json BuildPod(const TrainingJob& job, RoleName role, int32_t index, int32_t servers, const PlanOptions& options) {
  const std::string name = PodName(job.name, role, index);
  const Json& pod_template = RoleOf(job, role).pod_template;
  Json metadata = OwnedMetadata(job, name);
  for (const char* map : {"labels", "annotations"}) {
    Json merged = kube::At(pod_template, {"metadata", map});
    if (!merged.is_object()) merged = Json::object();
    if (metadata.contains(map)) merged.update(metadata[map]);
    metadata[map] = std::move(merged);
  }
  metadata["labels"][contract::kLabelRole] = ToString(role);
  metadata["labels"][contract::kLabelIndex] = std::to_string(index);
  metadata["annotations"][kAnnotationServers] = std::to_string(servers);
  if (const int64_t attempt = AttemptOf(job.status); attempt > 0) {
    metadata["annotations"][kAnnotationAttempt] = std::to_string(attempt);
  }
  if (const std::string record = RecordOfNewPod(job, role); !record.empty()) {
    metadata["annotations"][kAnnotationResize] = record;
  }
  if (role == RoleName::kServer) {
    metadata["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false";  // its rows are nowhere else
  }
  metadata["finalizers"] = Json::array({contract::kPodFinalizer});

  Json spec = kube::At(pod_template, {"spec"});
  if (!spec.is_object()) spec = Json::object();
  Json& container = FindOrAddContainer(spec, role);
  AddEnvironment(container, job, role, index);
  AddMount(container, kVolumeRun, contract::kRunDirectory);
  AddMount(container, kModelVolume, contract::kModelDirectoryPath);
  AddSecurity(container, job);
  SetResources(container, job, role);
  if (role == RoleName::kServer) CompleteServer(container, job, index, servers, options);
  AddTerminationLog(container);
  for (Json& each : spec["containers"]) Restrict(each);
  Json& init = ArrayIn(spec, "initContainers");
  for (Json& each : init) Restrict(each);
  // First, so that a user's own init containers do not delay it and reports flow from the start.
  init.insert(init.begin(), Sidecar(job, role, index, options));
  AddVolumes(spec, job, options, role == RoleName::kServer);
  AddPullSecrets(spec, options.image_pull_secrets);
  CompletePodSpec(spec, job, role, name);
  AddPlacement(spec, job, role);
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

Json BuildPod(const Observed& observed, RoleName role, int32_t index, int32_t servers, const PlanOptions& options) {
  const auto build = [&] {
    if (!observed.memory_needs.contains(role)) return BuildPod(observed.job, role, index, servers, options);
    TrainingJob job = observed.job;
    (role == RoleName::kServer ? job.spec.servers : job.spec.workers).resources = ResourcesOf(observed, role);
    return BuildPod(job, role, index, servers, options);
  };
  Json pod = build();
  AddAvoidance(pod, api::AvoidedMachines(observed.job.status.machine_losses));
  const auto failures = observed.failures_in_a_row.find(PodName(observed.job.name, role, index));
  if (failures != observed.failures_in_a_row.end()) {
    pod["metadata"]["annotations"][kAnnotationFailuresInARow] = std::to_string(failures->second);
  }
  return pod;
}

Json BuildService(const TrainingJob& job) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", OwnedMetadata(job, ServiceName(job.name))},
          {"spec",
           {{"clusterIP", "None"},
            // Servers find each other, and workers find them, while they still start.
            {"publishNotReadyAddresses", true},
            // Workers are reached by no name: were they here, each of them that comes or goes would be a write of the
            // endpoints, which every node watches.
            {"selector",
             {{contract::kLabelJob, job.name},
              {contract::kLabelJobUid, job.uid},
              {contract::kLabelRole, contract::kRoleServer}}},
            {"ports", Json::array({{{"name", "coordinator"}, {"port", contract::kCoordinatorPort}},
                                   {{"name", "data"}, {"port", contract::kDataPort}}})}}}};
}

Json BuildPodDisruptionBudget(const TrainingJob& job, int32_t servers) {
  // A number of pods, not maxUnavailable: that would be counted against the job's /scale, which speaks of workers.
  return {{"apiVersion", kPodDisruptionBudgets.api_version()},
          {"kind", kPodDisruptionBudgets.kind},
          {"metadata", OwnedMetadata(job, BudgetName(job.name))},
          {"spec",
           {{"minAvailable", servers},
            {"selector",
             {{"matchLabels", {{contract::kLabelJobUid, job.uid}, {contract::kLabelRole, contract::kRoleServer}}}}}}}};
}

std::string CoordinatorAddress(const TrainingJob& job) {
  const std::string& host = job.status.coordinator;
  return HostPort((host.empty() ? PodName(job.name, RoleName::kServer, 0) : host) + "." + ServiceName(job.name) + "." +
                      job.name_space + ".svc",
                  contract::kCoordinatorPort);
}

std::string RoleSelector(const TrainingJob& job, RoleName role) {
  return std::string(contract::kLabelJob) + "=" + job.name + "," + contract::kLabelRole + "=" + ToString(role);
}

bool IsOwnedBy(const Json& object, const TrainingJob& job) {
  const Json& owners = kube::At(object, {"metadata", "ownerReferences"});
  if (!owners.is_array()) return false;
  for (const Json& owner : owners) {
    const Json& controls = kube::At(owner, {"controller"});
    if (kube::StringAt(owner, {"uid"}) == job.uid && controls.is_boolean() && controls.get<bool>()) return true;
  }
  return false;
}

}  // namespace attune::controller
