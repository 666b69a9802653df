// The processes that pods of the operated simulation become: what their runtimes do around the cores.
#include "tests/simulation/job/operated.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "operator/controller/plan/suspension/suspension.h"
#include "proto/contract.h"
#include "proto/pod_number.h"
#include "ps/runtime/process/directives.h"
#include "ps/runtime/process/job_window.h"

namespace attune::ps::simulation {
namespace {

constexpr int kAskedToEnd = 128 + 15;
constexpr int kCannotGoOn = 1;

kube::Json JobManifest(const OperatedParameters& p) {
  const kube::Json container = {{"name", "worker"}, {"image", "x"}, {"command", kube::Json::array({"train"})}};
  kube::Json manifest = {
      {"apiVersion", "attune.dev/v1alpha1"},
      {"kind", "TrainingJob"},
      {"metadata", {{"name", "j"}, {"namespace", "default"}}},
      {"spec",
       {{"goal", {{"epochs", p.job.epochs}}},
        {"runPolicy", {{"backoffLimit", 100000}, {"drainSeconds", 20}}},
        {"servers", {{"replicas", p.job.servers}, {"backups", p.job.backups}}},
        {"workers",
         {{"replicas", p.job.workers}, {"template", {{"spec", {{"containers", kube::Json::array({container})}}}}}}}}}};
  if (p.suspensions + p.restarts > 0) manifest["spec"]["model"]["claim"] = "models";  // outlasts the pods
  return manifest;
}

std::optional<uint64_t> ArgumentOf(const Pod& pod, const std::string& flag) {
  const auto found = std::ranges::find(pod.arguments, flag);
  if (found == pod.arguments.end() || found + 1 == pod.arguments.end()) return std::nullopt;
  return std::stoull(*(found + 1));
}

}  // namespace

OperatedSimulation::OperatedSimulation(const OperatedParameters& parameters, OperatorMistake mistake, bool keep_history)
    : JobSimulation(parameters.job, {}, keep_history), operated_(parameters), mistake_(mistake) {
  platform_ = std::make_unique<Platform>(*this, *this, parameters.platform, JobManifest(parameters));
  if (mistake == OperatorMistake::kEndOnOneSign) platform_->EndOnOneSign();
  platform_->SetMistakes({.status_without_version = mistake == OperatorMistake::kStatusWithoutVersion});
}

// --- Processes

size_t OperatedSimulation::Start(const Pod& pod) {
  const auto is = [&](uint32_t number) { pod_numbers_[pod.uid] = number, pod_uids_[number] = pod.uid; };
  if (pod.attempt < attempt_) Violation("Attempts: " + pod.name + " of an earlier attempt starts");
  if (pod.attempt > attempt_) BeginAttempt(pod.attempt);
  if (!pod.is_server) {
    const size_t worker = StartWorker(pod.index);
    is(PodOf(IncarnationOfWorker(worker)));
    return worker;
  }
  const size_t server = StartServer(pod.index);
  is(PodOfServer(server));
  if (std::ranges::find(pod.arguments, "--coordinator-here") != pod.arguments.end()) {
    BeginAsCoordinator(server, pod);
  }
  return server;
}

void OperatedSimulation::AskToEnd(const Pod& pod) {
  const size_t process = *pod.process;
  if (!pod.is_server) {
    workers_[process]->asked_to_leave = true;
    return;
  }
  if (finished_ && !checked_) {  // its rows have yet to be looked at
    after_check_.push_back([this, process] { EndProcess(process, kAskedToEnd); });
    return;
  }
  CheckNeeded(process);
  EndProcess(process, kAskedToEnd);
}

void OperatedSimulation::Kill(const Pod& pod) {
  const size_t process = *pod.process;
  if (!pod.is_server) return KillWorker(process);
  if (finished_ && !checked_) {
    after_check_.push_back([this, process] { EndProcess(process, kKilled); });
    return;
  }
  CheckNeeded(process);
  EndProcess(process, kKilled);
}

// The platform ends it, though no other process wanted that.
void OperatedSimulation::CheckNeeded(size_t server) {
  CheckVerdict();
  if (IsReleased()) return CheckReleased();
  const ShardMap* map = NewestMap();
  const Server& one = *servers_[server];
  if (finished_ || ended_at_ || map == nullptr || one.taken_for_dead || one.released ||
      !map->Contains(one.core->node()))
    return;
  Violation("Needed: " + Name(ServerPlace(server)) + " is ended by the operator while others count on it");
}

void OperatedSimulation::EndProcess(size_t server, int exit_code) {
  if (servers_[server]->fate != Fate::kRunning) return;
  servers_[server]->taken_for_dead = true;
  any_server_died_ = true;
  exit_code_ = exit_code;
  EndServer(server, Fate::kDead);
}

void OperatedSimulation::OnServerEnded(size_t server) {
  const Fate fate = servers_[server]->fate;
  for (const auto& leader : leaders_) {
    if (leader->alive && leader->host == server) EndLeader(*leader);
  }
  const int code = fate == Fate::kLeft ? 0 : fate == Fate::kLost ? kCannotGoOn : exit_code_;
  early_words_.erase(server);
  troubled_.erase(server);
  std::string message;
  if (finisher_ != nullptr && finisher_->host == server) {
    message = contract::kJobFinished;
    const JobProgress progress = finisher_->core->progress();
    if (progress.closing.declared) message += std::string("\n") + contract::kClosingWorkDone;
    if (progress.model_lost) message += std::string("\n") + contract::kModelLostRows;
  }
  platform_->OnEnd(server, true, code, message);
}

void OperatedSimulation::OnWorkerEnded(const Worker& worker, bool /*failed*/) {
  const bool left = worker.fate == Fate::kLeft;
  const int code = left && !worker.gave_up ? 0 : left || worker.fate == Fate::kLost ? kCannotGoOn : kKilled;
  const bool late = worker.core->status().code() == StatusCode::kOutOfRange;
  platform_->OnEnd(worker.process, false, code, left ? contract::kLeftInOrder : late ? contract::kCameTooLate : "");
}

// What is on machines that are cut off cannot reach a later attempt, whose processes prove another job and attempt to
// each other (proto/contract.h): here it ends.
void OperatedSimulation::BeginAttempt(int64_t attempt) {
  Count("attempts after the first");
  Trace("attempt " + std::to_string(attempt) + " of the job begins");
  attempt_ = attempt;
  if (finished_) Violation("Attempts: a job that has finished begins again");
  for (size_t i = first_server_; i < servers_.size(); ++i) EndProcess(i, kKilled);
  for (size_t i = 0; i < workers_.size(); ++i) KillWorker(i);
  BeginLife();
  any_server_died_ = true;
}

// A job that has not trained yet in this attempt may start over with this one; otherwise it must not.
void OperatedSimulation::BeginAsCoordinator(size_t server, const Pod& pod) {
  Leader* const before = leader_;
  const std::optional<uint64_t> number = ArgumentOf(pod, "--load-checkpoint");
  resumed_ = number.has_value();
  if (leaders_.size() > first_leader_) {
    Count("jobs started over");
    if (platform_->JobStatus().begun) Violation("BegunAnew: that the job had begun was on record");
    for (uint32_t table = 1; table <= kTables; ++table) {
      if (accounts_[table].sure != loaded_[table]) Violation("BegunAnew: pushes had been acknowledged");
    }
    for (const auto& each : servers_) each->taken_for_dead = true;
    servers_[server]->taken_for_dead = false;
    any_failure_ = true;
  } else if (resumed_) {
    Count("attempts from a checkpoint");
    const auto taken = taken_.find(*number);
    if (taken == taken_.end()) {
      return Violation("Released: the job is to continue from checkpoint " + std::to_string(*number) +
                       ", which was never written");
    }
    checkpoint_ = taken->second;
    ContinueFromCheckpoint();
  }
  items_.BeginAgain(
      [&](uint64_t epoch, uint64_t item) { return resumed_ && Contains(checkpoint_->record, epoch, item); });
  servers_wanted_ = static_cast<uint32_t>(ArgumentOf(pod, "--servers").value_or(1));
  CoordinatorOptions options = FirstOptions();
  options.term = static_cast<uint32_t>(ArgumentOf(pod, "--term").value_or(1));
  if (number) options.load.checkpoint = *number;
  options.host_index = servers_[server]->index;
  const uint32_t term = options.term;
  StartLeader(std::move(options), server);
  if (before != nullptr && before->alive && before->term > term) leader_ = before;
}

JobSimulation::Leader* OperatedSimulation::LeaderIn(size_t server) const {
  for (const auto& leader : leaders_) {
    if (leader->alive && leader->host == server) return leader.get();
  }
  return nullptr;
}

// As ServerRuntime::Host.
attune::Status OperatedSimulation::Host(size_t server, const HostCoordinator& wanted, std::string& text) {
  const std::string who = "coordinator of term " + std::to_string(wanted.term);
  Leader* const present = LeaderIn(server);
  text = who + " is at work";
  if (present != nullptr && present->term == wanted.term) return OkStatus();
  const ServerCore& core = *servers_[server]->core;
  if (core.terms().term() >= wanted.term || core.node() == NodeId() || !core.map().formed()) {
    return Error(StatusCode::kFailedPrecondition, who + " cannot begin at server " +
                                                      std::to_string(servers_[server]->index) + ", which obeys term " +
                                                      std::to_string(core.terms().term()) + " or is no member yet");
  }
  for (const auto& leader : leaders_) {
    if (leader->term == wanted.term && leader->host != server) {
      Violation("OneOfATerm: another server was appointed with term " + std::to_string(wanted.term) + ", too");
    }
  }
  if (present != nullptr) EndLeader(*present);
  Count("appointments");
  CoordinatorOptions options = NextOptions(wanted.term);
  options.takeover = true;
  options.host_index = servers_[server]->index;
  if (mistake_ != OperatorMistake::kVotersForgotten) options.voters = wanted.voters;
  Leader* const before = leader_;
  StartLeader(std::move(options), server);
  if (before != nullptr && before->alive && before->term > wanted.term) leader_ = before;
  Trace(Name(ServerPlace(server)) + " runs the " + who);
  Hears(ServerPlace(server), wanted.term);
  StepServer(server, CoordinatorHere{.term = wanted.term, .port = 7400});
  text = who + " begins";
  return OkStatus();
}

void OperatedSimulation::Ask(Leader& leader, Command command, Answer answer) {
  const CommandId id(next_command_++);
  asked_[id] = std::move(answer);
  StepCoordinator(leader, FromOperator{.id = id, .command = std::move(command), .timeout = std::chrono::minutes(2)});
}

bool OperatedSimulation::OnCommandResult(const CommandResult& result) {
  auto asked = asked_.extract(result.id);
  if (asked.empty()) return false;
  asked.mapped()(result.status, result.text);
  return true;
}

// As the reporters of the two runtimes do it.
void OperatedSimulation::Direct(const Pod& pod, const v1::Directive& directive, Answer answer) {
  if (!pod.is_server) {
    if (!directive.has_drain()) return answer(Error(StatusCode::kUnimplemented, "a worker"), "");
    workers_[*pod.process]->asked_to_leave = true;
    Count("drains");
    return answer(OkStatus(), "");
  }
  const size_t server = *pod.process;
  StatusOr<Command> command = ToCommand(directive);
  if (!command.ok()) return answer(command.status(), "");
  if (auto* host = std::get_if<HostCoordinator>(&*command)) {
    std::string text;
    const attune::Status hosted = Host(server, *host, text);
    answer(hosted, text);
    if (Leader* leader = LeaderIn(server)) {
      for (auto& [gone, waiting] : std::exchange(early_words_[server], {})) Ask(*leader, gone, waiting);
    }
    return;
  }
  if (auto* gone = std::get_if<NodeGone>(&*command); gone != nullptr && !directive.node_gone().pod_uid().empty()) {
    const auto number = pod_numbers_.find(directive.node_gone().pod_uid());
    if (number != pod_numbers_.end()) gone->pod = number->second;
    Count("words of ended processes");
  }
  if (auto* checkpoint = std::get_if<TakeCheckpoint>(&*command)) checkpoint->directory = "checkpoints";
  if (std::holds_alternative<ConfirmLeader>(*command)) Count("confirmations");
  Leader* const leader = LeaderIn(server);
  if (leader != nullptr) return Ask(*leader, *std::move(command), std::move(answer));
  if (const auto* gone = std::get_if<NodeGone>(&*command)) {  // it may overtake the order to run the coordinator
    early_words_[server].emplace_back(*gone, std::move(answer));
    return;
  }
  answer(Error(StatusCode::kFailedPrecondition, "this server does not run the job's coordinator"), "");
}

// --- reports

void OperatedSimulation::Fill(const Pod& pod, v1::WindowReport& window) {
  if (pod.is_server) return FillServer(*pod.process, window);
  const Worker& worker = *workers_[*pod.process];
  if (worker.core->node() == NodeId()) return;  // it reports once it has joined
  window.mutable_worker()->set_clock(worker.core->steps().gate().clock());
  window.mutable_worker()->set_samples(1);
  window.mutable_worker()->set_coordinator_silent_seconds(Seconds(worker.core->heartbeats().Silence(now())));
}

void OperatedSimulation::FillServer(size_t server, v1::WindowReport& window) {
  const ServerCore& core = *servers_[server]->core;
  uint64_t rows = 0;
  for (const auto& table : core.rows().tables()) rows += table == nullptr ? 0 : table->row_count();
  window.mutable_server()->set_rows(rows);
  window.mutable_server()->set_coordinator_silent_seconds(Seconds(core.terms().Silence(now())));
  window.mutable_server()->set_map_version(core.map().version.value());
  window.mutable_server()->set_goal_reached(core.goal_reached());
  const Leader* const leader = LeaderIn(server);
  if (leader == nullptr) return;
  const JobProgress progress = leader->core->progress();
  *window.mutable_leader_lease() = LeaseToProto(progress, leader->term);
  if (!progress.taking_over) FillJob(*leader, progress, *window.mutable_job());
}

void OperatedSimulation::FillJob(const Leader& leader, const JobProgress& progress, v1::JobWindow& window) const {
  window = ToProto(progress, leader.core->map(), leader.term);
  const uint64_t written = mistake_ == OperatorMistake::kCheckpointTooSoon ? checkpoints_ : leader.written;
  if (written > 0) {
    window.mutable_checkpoint()->set_directory("checkpoints");
    window.mutable_checkpoint()->set_number(written);
  }
  window.clear_lost_pods();  // this world has numbers of its own for them
  for (const uint32_t pod : progress.lost_pods) {
    if (const auto uid = pod_uids_.find(pod); uid != pod_uids_.end()) {
      window.add_lost_pods(contract::PodNumber(uid->second));
    }
  }
}

// What a coordinator says of its lease travels at once, and so does its first map.
void OperatedSimulation::CheckLeases() {
  for (const auto& leader : leaders_) {
    if (!leader->alive) continue;
    const auto lease = leader->core->progress().lease;
    ReportedLease& said = reported_leases_[leader.get()];
    const bool formed = leader->core->map().formed();
    if (lease.held == said.held && lease.wanted == said.wanted && formed == said.formed) continue;
    if (!lease.held && said.held) Count("leader leases lost");
    said = {lease.held, formed, lease.wanted};
    platform_->ReportSoon(leader->host);
  }
  After(std::chrono::milliseconds(200), [this] { CheckLeases(); });
}

// --- what the platform does in the job's simulation

// By the address in the map of who asks: numbers are given again when a job begins again.
std::optional<Place> OperatedSimulation::PlaceOf(Place from, NodeId node) const {
  if (node == kCoordinator || IsLeader(from)) return JobSimulation::PlaceOf(from, node);
  const ShardMap& map = IsServer(from) ? servers_[IndexOf(from)]->core->map() : workers_[IndexOf(from)]->core->map();
  const Member* member = map.Find(node);
  if (member == nullptr || member->address.empty()) return JobSimulation::PlaceOf(from, node);
  const std::string& address = member->address;
  size_t number = 0;
  (void)std::from_chars(address.data() + address.find('-') + 1, address.data() + address.size(), number);
  return member->role == Role::kServer ? ServerPlace(number) : WorkerPlace(number);
}

// As the operator's timeout expects them.
CoordinatorOptions OperatedSimulation::NextOptions(uint32_t term) const {
  const CoordinatorOptions real;
  CoordinatorOptions options = JobSimulation::NextOptions(term);
  options.liveness_lease = real.liveness_lease;
  options.leader_lease = real.leader_lease;
  options.uncovered_timeout = real.uncovered_timeout;
  return options;
}

// Its process ends when the rows have been looked at. One that is released before ends now.
bool OperatedSimulation::StaysWhenFinished(size_t server) {
  if (checked_ || !finished_) return false;
  heard_finished_.insert(server);
  return true;
}

bool OperatedSimulation::MayBeLost(size_t server) { return JobSimulation::MayBeLost(server) || IsReleased(); }

bool OperatedSimulation::IsReleased() { return controller::IsWithoutPods(platform_->JobStatus()); }

uint64_t OperatedSimulation::IncarnationOfWorker(size_t worker) const {
  constexpr uint32_t kFirstWorkersPod = 100000;
  return NewIncarnation(kFirstWorkersPod + static_cast<uint32_t>(worker), 1);
}

// One that was started too late is refused.
bool OperatedSimulation::EndsProgram(const Worker& worker, const attune::Status& /*status*/) {
  return finished_ && worker.at == Worker::At::kJoin;
}

}  // namespace attune::ps::simulation
