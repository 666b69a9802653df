// Names and numbers that separately started processes agree on: the operator writes them into pods, servers, workers
// and sidecars read them. One place, so that a pod made by one part is understood by the others.
#pragma once

#include <cstdint>

namespace attune::contract {

// Every handshake (data plane, coordinator, sidecar socket, telemetry stream) carries it; peers of another number are
// refused with a message that names both.
inline constexpr uint32_t kProtocolVersion = 4;

// Ports inside a pod. On the local platform every pod has a loopback address of its own, so they are the same there.
inline constexpr uint16_t kCoordinatorPort = 7400;  // gRPC, on the server that runs the coordinator
inline constexpr uint16_t kDataPort = 7401;         // rows between workers and servers
inline constexpr uint16_t kMetricsPort = 7402;      // sidecar: Prometheus
inline constexpr uint16_t kTelemetryPort = 7410;    // operator: gRPC for sidecars
inline constexpr uint16_t kOperatorMetricsPort = 7411;
inline constexpr uint16_t kOperatorHealthPort = 7412;

// Environment of the containers of a pod.
inline constexpr char kEnvJob[] = "ATTUNE_JOB";  // name of the TrainingJob
inline constexpr char kEnvNamespace[] = "ATTUNE_NAMESPACE";
inline constexpr char kEnvJobUid[] = "ATTUNE_JOB_UID";  // the job id of every handshake
inline constexpr char kEnvRole[] = "ATTUNE_ROLE";       // "server" or "worker"
inline constexpr char kEnvIndex[] = "ATTUNE_INDEX";     // 0, 1, ... within the role
inline constexpr char kEnvPodName[] = "ATTUNE_POD_NAME";
inline constexpr char kEnvPodUid[] = "ATTUNE_POD_UID";
inline constexpr char kEnvNodeName[] = "ATTUNE_NODE_NAME";              // the machine that it runs on
inline constexpr char kEnvPodIp[] = "ATTUNE_POD_IP";                    // bind here, advertise this
inline constexpr char kEnvCoordinator[] = "ATTUNE_COORDINATOR";         // host:port of the coordinator
inline constexpr char kEnvModelDirectory[] = "ATTUNE_MODEL_DIRECTORY";  // where a model is written
inline constexpr char kEnvSidecarSocket[] = "ATTUNE_SIDECAR_SOCKET";    // Unix socket shared by process and sidecar
inline constexpr char kEnvTelemetry[] = "ATTUNE_TELEMETRY";             // host:port of the operator, for the sidecar
// PEM of the authority that signed the operator's certificate; when set, the sidecar speaks TLS and checks it.
inline constexpr char kEnvTelemetryCa[] = "ATTUNE_TELEMETRY_CA";
inline constexpr char kEnvTokenFile[] = "ATTUNE_TOKEN_FILE";  // projected service-account token, for the sidecar
inline constexpr char kEnvTlsDirectory[] =
    "ATTUNE_TLS_DIRECTORY";  // tls.crt, tls.key, ca.crt of the job; unset: no TLS
inline constexpr char kEnvJobTokenFile[] = "ATTUNE_JOB_TOKEN_FILE";  // holds the job's secret; unset: it has none
// How often all processes of the job have been started again; unset: 0. It is part of the secret, so that a process of
// an earlier attempt, on a machine that was silent meanwhile, cannot reach one of a later one.
inline constexpr char kEnvAttempt[] = "ATTUNE_ATTEMPT";
inline constexpr char kEnvTransport[] = "ATTUNE_TRANSPORT";         // one of the two below; unset: the first
inline constexpr char kEnvSharedMemory[] = "ATTUNE_SHARED_MEMORY";  // "off": rows travel over TCP on one machine too
// The file whose content becomes the container's termination message (terminationMessagePath).
inline constexpr char kEnvTerminationLog[] = "ATTUNE_TERMINATION_LOG";
inline constexpr char kTerminationLogPath[] = "/dev/termination-log";  // unless the template names another one
// A line of that message: the worker's session has left the job in order. What its program does after that, such as
// saving the model, no other process sees, so that a bad exit code is all that says it was not done.
inline constexpr char kLeftInOrder[] = "attune: left the job in order";
// Likewise, of a worker's process: it was to join a job that was finished. Whatever its program made of that, nothing
// was left to do for it.
inline constexpr char kCameTooLate[] = "attune: the job was finished before this process joined";
// Likewise, of the coordinator's process: the goal is reached, the closing work is done, and all workers have left.
inline constexpr char kJobFinished[] = "attune: the job is finished";
// Likewise, of the coordinator's process: the closing work has a data set, and every item of it is done.
inline constexpr char kClosingWorkDone[] = "attune: every item of the closing work is done";
// Likewise, of the coordinator's process: rows went back to their first values, or to a checkpoint after the goal was
// reached, so that the model is not the one that was trained.
inline constexpr char kModelLostRows[] = "attune: rows of the model were lost";

// How rows travel between processes that have proved the job's token, in the words of spec.security.transport.
inline constexpr char kTransportAuthenticated[] = "Authenticated";  // in the clear
inline constexpr char kTransportEncrypted[] = "Encrypted";          // in TLS, by certificates that the token gives

// Files of a certificate directory, named as in Kubernetes' TLS Secrets.
inline constexpr char kCertificateFile[] = "tls.crt";
inline constexpr char kPrivateKeyFile[] = "tls.key";
inline constexpr char kAuthorityFile[] = "ca.crt";

// Mount points of the volumes the operator adds to pods.
inline constexpr char kRunDirectory[] = "/run/attune";  // volume "attune-run": holds the sidecar's socket
inline constexpr char kSidecarSocketPath[] = "/run/attune/sidecar.sock";
inline constexpr char kModelDirectoryPath[] = "/var/lib/attune/model";          // volume "attune-model"
inline constexpr char kTokenDirectory[] = "/var/run/secrets/attune.dev/token";  // volume "attune-token", file "token"
inline constexpr char kTlsDirectoryPath[] = "/var/run/secrets/attune.dev/tls";  // volume "attune-tls", a Secret
inline constexpr char kJobTokenDirectory[] = "/var/run/secrets/attune.dev/job-token";  // volume "attune-job-token"
inline constexpr char kJobTokenFile[] = "token";                                       // within it
inline constexpr char kTokenAudience[] = "attune.dev";

// Labels and annotations of pods.
inline constexpr char kLabelJob[] = "attune.dev/job";
inline constexpr char kLabelJobUid[] = "attune.dev/job-uid";
inline constexpr char kLabelRole[] = "attune.dev/role";
inline constexpr char kLabelIndex[] = "attune.dev/index";
inline constexpr char kAnnotationDrainDeadline[] = "attune.dev/drain-deadline";  // RFC 3339; set when a pod is to leave
inline constexpr char kPodFinalizer[] = "attune.dev/outcome";                    // held until the outcome is recorded
inline constexpr char kFieldManager[] = "attune-operator";

inline constexpr char kRoleServer[] = "server";
inline constexpr char kRoleWorker[] = "worker";
inline constexpr char kSidecarContainer[] = "attune-sidecar";

}  // namespace attune::contract
