// The platform of the whole-job simulation, played by the operator's own code: a real Plan() and Executor over an API
// server that fails (tests/operator/controller/execute/faulty_api.h), whose pods become the simulated processes. Beside
// the operator it is what stands between it and them: nodes and their agents (a pod that is created starts after a
// while, one that is deleted is asked to end and killed after its grace, an end is reported late), and sidecars
// (reports up, directives down, while their streams are open).
//
//   API server  <--calls, some fail--  operator (dies between any two calls, is away, sees stale caches)
//     | pods                               ^ reports, answers            | directives
//     v                                    |                             v
//   node agents --start, ask to end, kill--> Processes (the simulation) <- sidecars
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attune/v1/telemetry.pb.h"
#include "operator/controller/execute/executor.h"
#include "operator/local/api/memory_api.h"
#include "operator/telemetry/service.h"
#include "tests/operator/controller/execute/faulty_api.h"
#include "tests/simulation/world.h"

namespace attune::ps::simulation {

// A pod that its node's agent knows.
struct Pod {
  std::string name, uid;
  bool is_server = false;
  uint32_t index = 0;
  std::vector<std::string> arguments;  // of the role's container
  std::string node;
  std::optional<size_t> process;  // its place in the simulation; none: it has not started
  bool ended = false;             // the process
  int exit_code = 0;
  std::string message;
  int64_t attempt = 0;  // how often all processes of the job had been started again
  bool asked_to_end = false;
  bool cut_off = false;            // its machine reaches neither API server nor operator
  uint64_t operator_heard_by = 0;  // to which operator its sidecar is connected; 0: to none
  MonotonicTime sidecar_back{};
  uint64_t windows = 0;
  MonotonicTime reported_at{};
  bool runs() const { return process && !ended; }
};

// What the simulation does for the platform.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual size_t Start(const Pod& pod) = 0;
  virtual void AskToEnd(const Pod& pod) = 0;  // SIGTERM
  virtual void Kill(const Pod& pod) = 0;
  virtual void Fill(const Pod& pod, v1::WindowReport& window) = 0;
  using Answer = std::function<void(const attune::Status& status, const std::string& text)>;
  virtual void Direct(const Pod& pod, const v1::Directive& directive, Answer answer) = 0;
};

struct PlatformParameters {
  controller::FaultRates faults;         // of a call to the API server
  double watch_delay_milliseconds = 20;  // until the operator's caches show a change, at most
  double start_milliseconds = 1500;      // of a pod, at most
  double late_report_chance = 0;         // an end that is reported only after many seconds
};

class Platform {
 public:
  Platform(World& world, Processes& processes, const PlatformParameters& parameters, const kube::Json& job);
  ~Platform();

  // --- for the script
  void PatchSpec(const kube::Json& spec);          // merge patch, by a user
  void AskForRestart(const std::string& request);  // by a user
  void DeletePod(const std::string& uid);          // by a user
  void StopOperator(Duration away);                // its process ends, and another one begins
  void PauseOperator(Duration away);               // its process stands still
  void SecondOperator(Duration time);              // beside the one that is there; then one of the two ends
  void ApiServerAway(Duration away);               // every call fails
  void StaleCaches(Duration how_old, Duration while_time);
  // From now on nothing fails: the operator is there, its caches follow, calls succeed.
  void Calm();
  // The machine of this pod reaches neither the API server nor the operator.
  void CutOff(const std::string& uid, bool cut_off);
  // Its sidecar alone reaches no operator.
  void CutSidecar(const std::string& uid, Duration time);
  // As the API server notices.
  void NodeReady(const std::string& uid, bool ready);

  // --- for the simulation
  // `message`: what it leaves behind in its termination message.
  void OnEnd(size_t process, bool is_server, int exit_code, const std::string& message);
  void ReportSoon(size_t process);  // a server, which has news of its lease
  Pod* PodOf(size_t process, bool is_server);
  const Pod* Find(const std::string& uid) const;
  std::vector<const Pod*> Pods() const;  // in the order of their names, then of their creation
  size_t PodsLeft() const;               // that the API server has
  api::TrainingJobStatus JobStatus();
  void SetMistakes(const controller::ApiMistakes& mistakes) { api_.SetMistakes(mistakes); }
  // A deliberate one of this platform: a sidecar that is away counts as the machine's proof that the process has ended.
  void EndOnOneSign() { ends_on_one_sign_ = true; }

 private:
  class Clock;
  class Sidecars;
  class Operator;
  static constexpr size_t kJobs = 0, kPods = 1, kNodes = 4;  // places in OperatorsView

  // --- the API server
  std::string NewUid();
  std::optional<controller::Fault> Judge(const controller::ApiCall& call);
  void Changed(size_t kind);
  void ShowLater(size_t kind);
  attune::Status PatchPodStatus(const Pod& pod, const kube::Json& status);

  // --- operators
  Operator* Find(uint64_t number);  // null: that one has ended
  Operator& AnyOperator();
  void BeginOperator();
  void EndOperator(Operator& which, std::optional<Duration> next_begins_in);
  void Wake(Operator& which, Duration delay);
  void Round(Operator& which);
  void Tick();

  // --- nodes
  void LookAtPods();
  void Take(const kube::Json& object);
  void Begin(const std::string& uid);
  void ReportRuns(const std::string& uid);
  void ReportEnd(const std::string& uid);
  void WriteEnd(const Pod& pod, int exit_code);
  void End(const std::string& uid, int64_t grace_seconds);
  void ConfirmGone(const std::string& uid);

  // --- sidecars
  static bool Reaches(const Pod& pod) { return pod.runs() && !pod.cut_off; }
  Operator* HeardBy(const Pod& pod) { return Reaches(pod) ? Find(pod.operator_heard_by) : nullptr; }
  v1::SidecarHello HelloOf(const Pod& pod) const;
  void ConnectLater(const std::string& uid);
  void Disconnect(Pod& pod);
  void Report(const std::string& uid);
  void SendReport(Pod& pod);
  bool Send(Operator& sender, const std::string& pod_uid, const v1::Directive& directive, const std::string& key);
  void Answered(uint64_t asked_by, const std::string& pod_uid, const std::string& key, const attune::Status& status,
                const std::string& text);

  World& world_;
  Processes& processes_;
  uint64_t uids_ = 0;  // given so far
  PlatformParameters parameters_;
  std::unique_ptr<Clock> clock_;
  local::MemoryApi real_;
  controller::FaultyApi api_;
  controller::PlanOptions options_;
  std::string job_uid_;

  std::map<uint64_t, std::unique_ptr<Operator>> operators_;  // one, for a while two; none: away
  uint64_t operators_begun_ = 0;
  std::map<uint64_t, std::optional<MonotonicTime>> wakes_;  // of all operators: alarms stay where they are
  Operator* acting_ = nullptr;                              // whose round it is
  MonotonicTime api_away_until_{};
  bool calm_ = false, ends_on_one_sign_ = false;
  bool looking_ = false, showing_[controller::OperatorsView::kKinds] = {};

  uint64_t nodes_ = 0;               // used so far: each pod has one of its own, as long as there are enough
  std::map<std::string, Pod> pods_;  // by uid; those that are gone stay until their process has ended
};

}  // namespace attune::ps::simulation
