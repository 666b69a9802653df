// The world of the operated simulation: the job's processes, which a platform starts and ends.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/job/platform.h"
#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {

inline constexpr int kKilled = 128 + 9;  // the exit status after SIGKILL

// A deliberate mistake on the operator's side, which checkers must see.
enum class OperatorMistake : uint8_t {
  kNone,
  kStatusWithoutVersion,  // records of appointments and confirmations overwrite each other
  kEndOnOneSign,          // a process counts as ended, with the machine's proof, when its sidecar is away
  kCheckpointTooSoon,     // a checkpoint is reported when it begins, not when it is there
  kVotersForgotten,       // a coordinator is appointed without the voters that another one was confirmed with
};

struct OperatedParameters {
  JobParameters job;
  PlatformParameters platform;
  double compute_milliseconds = 500;  // of a batch, at most
  double span_seconds = 40;           // within which everything happens
  uint32_t early_ends = 0;            // of servers that have not joined yet
  uint32_t server_ends = 0;           // of a server whose rows have copies; any may run the coordinator
  uint32_t worker_ends = 0;
  uint32_t cuts = 0;                            // of a machine from all others, for a while or for ever
  uint32_t deletions = 0;                       // of a pod, by a user
  uint32_t false_signs = 0;                     // one sign of a loss, of a process that is well
  uint32_t server_edits = 0, worker_edits = 0;  // of replicas in the spec
  uint32_t late_ends = 0;                       // of processes after the job has finished
  uint32_t suspensions = 0, restarts = 0;       // by spec.suspend, for a while, and by the annotation
  uint32_t operator_ends = 0, operator_pauses = 0, api_outages = 0, stale_times = 0;
  // Drawn by no seed: an election keeps two from acting at once (operator/leadership), and a process that reports to
  // one is silent to the other.
  uint32_t second_operators = 0;
  static OperatedParameters FromSeed(uint64_t seed);
};
std::string ToString(const OperatedParameters& parameters);

class OperatedSimulation final : public JobSimulation, public Processes {
 public:
  OperatedSimulation(const OperatedParameters& parameters, OperatorMistake mistake, bool keep_history);
  Outcome SimulateOperated();

 private:
  // --- Processes
  size_t Start(const Pod& pod) override;
  void AskToEnd(const Pod& pod) override;
  void Kill(const Pod& pod) override;
  void Fill(const Pod& pod, v1::WindowReport& window) override;
  void Direct(const Pod& pod, const v1::Directive& directive, Answer answer) override;

  // --- what the platform does in the job's simulation
  std::optional<Place> PlaceOf(Place from, NodeId node) const override;
  CoordinatorOptions NextOptions(uint32_t term) const override;
  void OnServerEnded(size_t server) override;
  void OnWorkerEnded(const Worker& worker, bool failed) override;
  bool StaysWhenFinished(size_t server) override;
  bool MayBeLost(size_t server) override;
  bool IsReleased() override;
  bool OnCommandResult(const CommandResult& result) override;
  uint64_t IncarnationOfWorker(size_t worker) const override;
  double ComputeMilliseconds() override { return random().Uniform() * operated_.compute_milliseconds; }
  Duration CallTimeout() const override { return std::chrono::minutes(20); }
  bool EndsProgram(const Worker& worker, const attune::Status& status) override;

  // --- a server's process
  void BeginAttempt(int64_t attempt);
  void BeginAsCoordinator(size_t server, const Pod& pod);
  attune::Status Host(size_t server, const HostCoordinator& wanted, std::string& text);
  void EndProcess(size_t server, int exit_code);
  Leader* LeaderIn(size_t server) const;
  void CheckLeases();
  void Ask(Leader& leader, Command command, Answer answer);
  void FillServer(size_t server, v1::WindowReport& window);
  void FillJob(const Leader& leader, const JobProgress& progress, v1::JobWindow& window) const;

  // --- script
  void ScheduleAll();
  void EndEarly();
  void EndAServer(int tries);
  std::optional<size_t> ServerThatMayEnd();
  bool AllSettled(const ShardMap& map) const;
  void EndAWorker();
  void CutOff(int tries);
  void CutMachine(std::set<Place> places, const Pod* pod);
  void Heal(const std::string& uid);
  void HealAll();
  void DeleteAPod(int tries);
  void ShowFalseSign();
  void EditServers();
  void EditWorkers();
  void Suspend();
  void AskForRestart();
  void BeginCalm();
  void LookAtEnd();
  void EndLate();

  // --- checkers
  void CheckRows();
  void CheckNeeded(size_t server);
  void CheckReleased();
  void LookAtVerdict();
  void CheckVerdict();
  std::string Picture();

  const OperatedParameters operated_;
  const OperatorMistake mistake_;
  std::unique_ptr<Platform> platform_;
  int64_t attempt_ = 0;  // of the job: how often all of its processes have been started again
  uint64_t restarts_asked_ = 0;
  std::map<CommandId, Answer> asked_;
  std::map<size_t, std::vector<std::pair<NodeGone, Answer>>> early_words_;  // by server
  struct ReportedLease {
    bool held = true, formed = false;
    std::vector<uint32_t> wanted;
  };
  std::map<const Leader*, ReportedLease> reported_leases_;
  // As cores know them.
  std::map<std::string, uint32_t> pod_numbers_;
  std::map<uint32_t, std::string> pod_uids_;
  int exit_code_ = 0;                // of the server that is being ended
  std::set<size_t> heard_finished_;  // that the job is over
  std::vector<std::function<void()>> after_check_;
  std::set<size_t> troubled_;  // servers that may have been lost; no other process is while the map names them
  std::set<Place> apart_;      // places of machines that are cut off
  std::map<std::string, std::set<Place>> cut_;  // the same by their pods' uids
  std::optional<MonotonicTime> finished_at_, ended_at_;
  std::map<std::string, MonotonicTime> false_signs_;  // until when, by uid
  bool calm_ = false, checked_ = false;
};

}  // namespace attune::ps::simulation
