// What to do with a pod's containers next: pure functions of the pod, what is known of its containers, and the time.
// The node agent (operator/local/nodes/node_agent.cpp) does what they say. pod_status.h has the status that follows,
// pod_resize.h what comes of new resources.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/object.h"
#include "operator/local/pods/pod_resize.h"

namespace attune::local {

enum class RestartPolicy { kAlways, kOnFailure, kNever };

// Readiness probe of a container; times in whole seconds as in Kubernetes.
struct Probe {
  enum class Kind { kTcpSocket, kHttpGet, kExec };
  Kind kind = Kind::kTcpSocket;
  int port = 0;
  std::string path;                  // of kHttpGet
  std::vector<std::string> command;  // of kExec
  int initial_delay_seconds = 0, period_seconds = 10, timeout_seconds = 1, success_threshold = 1, failure_threshold = 3;
};

struct ContainerSpec {
  std::string name;
  bool init = false;  // runs to its end before the next one starts
  bool sidecar =
      false;  // an init container with restartPolicy Always: starts first, stops last, never decides the outcome
  RestartPolicy restart = RestartPolicy::kAlways;
  std::optional<Probe> readiness;
};

// In the order in which they start: init containers and sidecars as listed, then the others.
std::vector<ContainerSpec> ContainersOf(const kube::Json& pod);

struct Termination {
  int exit_code = 0;
  std::string reason;  // "Completed", "Error", or why it could not start
  std::string message;
  WallTime started, finished;
};

// What the agent knows of one container.
struct ContainerRecord {
  enum class State { kWaiting, kRunning, kTerminated };
  State state = State::kWaiting;
  std::string waiting_reason = "PodInitializing", waiting_message;
  MonotonicTime retry_at{};  // not started before (backoff, or another try after a start that failed)
  int failed_starts = 0;     // in a row
  MonotonicTime started_at{};
  WallTime started_wall{};
  bool term_sent = false, kill_sent = false;
  MonotonicTime term_sent_at{};
  bool probe_ok = false;
  int probe_successes = 0, probe_failures = 0;
  int restarts = 0;
  std::optional<Termination> last;  // of the current run when terminated, else of the run before
};

struct PodRecord {
  std::vector<ContainerSpec> specs;
  std::vector<ContainerRecord> containers;  // same order
  PodResources resources;                   // same order
  std::string ip;
  WallTime start_time{};
  bool deleting = false;
  MonotonicTime delete_deadline = kNever;  // end of the grace period
  MonotonicTime end_by = kNever;           // the platform itself ends: nothing outlives this, sidecars neither
  bool force = false;                      // the object is gone: kill now
};

struct ContainerAction {
  enum class Kind { kStart, kTerminate, kKill };
  Kind kind;
  size_t container;
  friend bool operator==(const ContainerAction&, const ContainerAction&) = default;
};

struct PodPlan {
  std::vector<ContainerAction> actions;
  bool finished = false;             // nothing runs and nothing will
  MonotonicTime next_look = kNever;  // when time alone changes the answer
};

// How long a sidecar may take to end after the last other container, outside of a deletion's grace period.
inline constexpr std::chrono::seconds kSidecarGrace{5};
// Restarts wait 1 s, 2 s, 4 s ... at most this; a run of ten minutes starts over.
inline constexpr std::chrono::seconds kBackoffMax{60};

PodPlan PlanPod(const PodRecord& pod, MonotonicTime now);

// Records the end of a container and decides whether and when it runs again.
void OnExit(PodRecord& pod, size_t container, int exit_code, MonotonicTime now, WallTime wall);
void OnStarted(PodRecord& pod, size_t container, MonotonicTime now, WallTime wall);
// The container could not be started. What will not change by itself (a program that is not there, a launch that this
// platform cannot do) ends the container at once, as on a cluster: exit code 128, reason StartError, the whole text.
// What may pass (no space, no process to be had) is tried again kStartsMax times with a backoff; what waits for an
// object of the API (FailedPrecondition) is tried for ever, as a kubelet does. The text stands in the status meanwhile.
void OnStartFailed(PodRecord& pod, size_t container, const Status& status, MonotonicTime now, WallTime wall);
inline constexpr int kStartsMax = 3;
void OnProbe(PodRecord& pod, size_t container, bool success);

// "Pending", "Running", "Succeeded" or "Failed".
std::string PhaseOf(const PodRecord& pod);

}  // namespace attune::local
