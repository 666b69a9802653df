// What is done to an operated job, and what must have become of it.
#include <algorithm>
#include <utility>

#include "operator/controller/plan/servers.h"
#include "tests/simulation/job/operated.h"

namespace attune::ps::simulation {
namespace {

constexpr int kTries = 40;  // a second apart, until a fault is one that the job must survive

}  // namespace

void OperatedSimulation::ScheduleAll() {
  const auto times = [&](uint32_t count, double from, double to, auto change) {
    for (uint32_t i = 0; i < count; ++i) {
      After(FromMilliseconds(1000 * (from + random().Uniform() * (to - from))), [this, change] {
        if (!calm_ && !finished_) change();
      });
    }
  };
  const double span = operated_.span_seconds;
  const auto some_seconds = [this](double most) { return FromMilliseconds(100 + random().Uniform() * 1000 * most); };
  times(operated_.early_ends, 0.1, 4, [this] { EndEarly(); });
  times(operated_.server_ends, 2, span, [this] { EndAServer(kTries); });
  times(operated_.worker_ends, 2, span, [this] { EndAWorker(); });
  times(operated_.cuts, 2, span, [this] { CutOff(kTries); });
  times(operated_.deletions, 1, span, [this] { DeleteAPod(kTries); });
  times(operated_.false_signs, 2, span, [this] { ShowFalseSign(); });
  times(operated_.server_edits, 1, span, [this] { EditServers(); });
  times(operated_.worker_edits, 1, span, [this] { EditWorkers(); });
  times(operated_.suspensions, 0, span, [this] { Suspend(); });
  times(operated_.restarts, 0, span, [this] { AskForRestart(); });
  times(operated_.operator_ends, 0, span,
        [this, some_seconds] { platform_->StopOperator(some_seconds(random().Chance(0.3) ? 60 : 5)); });
  times(operated_.operator_pauses, 0, span,
        [this, some_seconds] { platform_->PauseOperator(some_seconds(random().Chance(0.3) ? 30 : 8)); });
  times(operated_.api_outages, 0, span, [this, some_seconds] { platform_->ApiServerAway(some_seconds(15)); });
  times(operated_.stale_times, 0, span,
        [this, some_seconds] { platform_->StaleCaches(some_seconds(8), some_seconds(15)); });
  times(operated_.second_operators, 0, span, [this, some_seconds] { platform_->SecondOperator(some_seconds(25)); });
  After(FromMilliseconds(1000 * (span + 30)), [this] { BeginCalm(); });
  CheckLeases();
  LookAtVerdict();
  LookAtEnd();
}

// It has not joined: nothing is lost with it.
void OperatedSimulation::EndEarly() {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i]->fate == Fate::kRunning && servers_[i]->core->node() == NodeId()) candidates.push_back(i);
  }
  if (candidates.empty()) return;
  const size_t victim = candidates[random().Below(candidates.size())];
  Count("servers that ended before they joined");
  const Pod* pod = platform_->PodOf(victim, true);
  if (pod != nullptr && random().Chance(0.4)) {  // it may join before it is asked to end
    any_server_died_ = true;
    servers_[victim]->taken_for_dead = true;
    return platform_->DeletePod(pod->uid);
  }
  EndProcess(victim, kKilled);
}

// Every row has its copy, all servers are there and know it: the loss of one costs nothing.
bool OperatedSimulation::AllSettled(const ShardMap& map) const {
  if (!Leads() || leader_->core->map().version != map.version || apart_.contains(leader_->place)) return false;
  const auto covered = [](const Shard& shard) { return shard.backup != NodeId() && shard.next_backup == NodeId(); };
  if (!std::ranges::all_of(map.shards, covered)) return false;
  return std::ranges::all_of(map.members, [&](const Member& member) {
    if (member.role != Role::kServer) return true;
    const auto place = PlaceOf(leader_->place, member.node);
    if (!place || !Runs(*place) || apart_.contains(*place) || troubled_.contains(IndexOf(*place))) return false;
    const ServerCore& core = *servers_[IndexOf(*place)]->core;
    return core.map().version == map.version && core.rows().Report().shards_not_ready == 0;
  });
}

std::optional<size_t> OperatedSimulation::ServerThatMayEnd() {
  const ShardMap* map = NewestMap();
  if (map == nullptr || parameters_.backups == 0 || !AllSettled(*map)) return std::nullopt;
  std::vector<size_t> candidates;
  for (const Member& member : map->members) {
    if (member.role == Role::kServer) candidates.push_back(IndexOf(*PlaceOf(leader_->place, member.node)));
  }
  if (candidates.size() < 2) return std::nullopt;
  const bool host = random().Chance(0.4);
  const size_t victim = host ? leader_->host : candidates[random().Below(candidates.size())];
  // The coordinator and its copy at once are the end of the job, and not of interest here.
  if (leader_->host == victim && !CopyIsSafe(victim)) return std::nullopt;
  return victim;
}

void OperatedSimulation::EndAServer(int tries) {
  if (calm_ || finished_ || tries == 0) return;
  const std::optional<size_t> victim = ServerThatMayEnd();
  if (!victim) return After(std::chrono::seconds(1), [this, tries] { EndAServer(tries - 1); });
  Count(LeaderIn(*victim) != nullptr ? "coordinators lost" : "server deaths");
  EndProcess(*victim, kKilled);
}

void OperatedSimulation::EndAWorker() {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i]->fate == Fate::kRunning) candidates.push_back(i);
  }
  if (!candidates.empty()) KillWorker(candidates[random().Below(candidates.size())]);
}

void OperatedSimulation::CutOff(int tries) {
  if (calm_ || finished_ || tries == 0) return;
  if (parameters_.backups == 0 || random().Chance(0.3)) {
    std::vector<size_t> candidates;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i]->fate == Fate::kRunning) candidates.push_back(i);
    }
    if (candidates.empty()) return;
    const size_t worker = candidates[random().Below(candidates.size())];
    any_failure_ = true;
    return CutMachine({WorkerPlace(worker)}, platform_->PodOf(worker, false));
  }
  const std::optional<size_t> victim = ServerThatMayEnd();
  if (!victim) return After(std::chrono::seconds(1), [this, tries] { CutOff(tries - 1); });
  any_server_died_ = true;
  servers_[*victim]->taken_for_dead = true;
  std::set<Place> places = {ServerPlace(*victim)};
  if (const Leader* leader = LeaderIn(*victim)) places.insert(leader->place);
  CutMachine(std::move(places), platform_->PodOf(*victim, true));
}

// Neither the others nor the platform are reached from there, for a moment, for long or until all is well again.
void OperatedSimulation::CutMachine(std::set<Place> places, const Pod* pod) {
  if (pod == nullptr) return;
  Count("machines cut off");
  Trace("the machine of " + pod->name + " is cut off");
  apart_.insert(places.begin(), places.end());
  network_.Partition(apart_);
  for (const Place place : places) {
    After(FromMilliseconds(random().Uniform() * 2000),
          [this, place] { BreakAll(place, std::chrono::milliseconds(300)); });
  }
  const std::string uid = pod->uid;
  cut_[uid] = places;
  platform_->CutOff(uid, true);
  After(FromMilliseconds(4000 + random().Uniform() * 6000), [this, uid] {
    if (!cut_.contains(uid)) return;
    platform_->NodeReady(uid, false);
    After(std::chrono::seconds(5), [this, uid] {  // the pod's toleration
      const Pod* away = cut_.contains(uid) ? platform_->Find(uid) : nullptr;
      if (away == nullptr) return;
      if (away->is_server && away->process) troubled_.insert(*away->process);  // it is ended when its machine is back
      platform_->DeletePod(uid);
    });
  });
  const double draw = random().Uniform();
  const double time = draw < 0.4 ? random().Uniform() * 3000 : draw < 0.8 ? 3000 + random().Uniform() * 20000 : 1e6;
  After(FromMilliseconds(time), [this, uid] { Heal(uid); });
}

void OperatedSimulation::Heal(const std::string& uid) {
  const auto cut = cut_.extract(uid);
  if (cut.empty()) return;
  Trace("a machine is back");
  for (const Place place : cut.mapped()) apart_.erase(place);
  network_.Partition(apart_);
  platform_->CutOff(uid, false);
  platform_->NodeReady(uid, true);
}

void OperatedSimulation::HealAll() {
  while (!cut_.empty()) Heal(cut_.begin()->first);
}

void OperatedSimulation::DeleteAPod(int tries) {
  if (calm_ || finished_ || tries == 0) return;
  if (random().Chance(0.5)) {
    std::vector<const Pod*> candidates;
    for (const Pod* pod : platform_->Pods()) {
      if (!pod->is_server && pod->runs()) candidates.push_back(pod);
    }
    if (candidates.empty()) return;
    Count("pods deleted by a user");
    return platform_->DeletePod(candidates[random().Below(candidates.size())]->uid);
  }
  const std::optional<size_t> victim = ServerThatMayEnd();
  const Pod* pod = victim ? platform_->PodOf(*victim, true) : nullptr;
  if (pod == nullptr) return After(std::chrono::seconds(1), [this, tries] { DeleteAPod(tries - 1); });
  Count("pods deleted by a user");
  any_server_died_ = true;
  servers_[*victim]->taken_for_dead = true;
  troubled_.insert(*victim);
  platform_->DeletePod(pod->uid);
}

// Its sidecar is away, or its node is not ready; one alone means nothing.
void OperatedSimulation::ShowFalseSign() {
  std::vector<const Pod*> candidates;
  for (const Pod* pod : platform_->Pods()) {
    const bool shows_one = false_signs_.contains(pod->uid) && now() < false_signs_[pod->uid];
    if (pod->runs() && !pod->cut_off && !shows_one) candidates.push_back(pod);
  }
  if (candidates.empty()) return;
  const Pod& pod = *candidates[random().Below(candidates.size())];
  Count("false signs");
  const Duration time = FromMilliseconds(1000 + random().Uniform() * 20000);
  constexpr Duration kUntilForgotten = std::chrono::seconds(5);  // the sidecar is back, and has reported
  false_signs_[pod.uid] = now() + time + kUntilForgotten;
  if (random().Chance(0.6)) {
    Trace("the sidecar of " + pod.name + " is away");
    return platform_->CutSidecar(pod.uid, time);
  }
  Trace("the node of " + pod.name + " is not ready, says the platform");
  platform_->NodeReady(pod.uid, false);
  After(time, [this, uid = pod.uid] { platform_->NodeReady(uid, true); });
}

void OperatedSimulation::EditServers() {
  const uint64_t number = 1 + parameters_.backups + random().Below(3);
  Count("edits of servers");
  Trace("spec.servers.replicas is " + std::to_string(number));
  platform_->PatchSpec({{"servers", {{"replicas", number}}}});
}

void OperatedSimulation::EditWorkers() {
  const uint64_t number = 1 + random().Below(4);
  Count("edits of workers");
  Trace("spec.workers.replicas is " + std::to_string(number));
  platform_->PatchSpec({{"workers", {{"replicas", number}}}});
}

void OperatedSimulation::Suspend() {
  Count("suspensions asked for");
  Trace("spec.suspend is true");
  platform_->PatchSpec({{"suspend", true}});
  After(FromMilliseconds(100 + random().Uniform() * 20000), [this] {
    Trace("spec.suspend is false");
    platform_->PatchSpec({{"suspend", false}});
  });
}

void OperatedSimulation::AskForRestart() {
  Count("restarts asked for");
  const std::string request = "id=" + std::to_string(++restarts_asked_);
  Trace("a restart is asked for: " + request);
  platform_->AskForRestart(request);
}

void OperatedSimulation::BeginCalm() {
  Trace("all is well from now on");
  calm_ = true;
  network_.Calm();
  HealAll();
  platform_->Calm();
}

// The rows are looked at when no thread changes them any more; then the servers' processes end.
void OperatedSimulation::LookAtEnd() {
  constexpr Duration kRest = std::chrono::seconds(3), kLongest = std::chrono::minutes(3);
  if (finished_ && !finished_at_) {
    finished_at_ = now();
    network_.Calm();
    HealAll();
  }
  const bool working = std::ranges::any_of(
      workers_, [](const auto& worker) { return worker->fate == Fate::kRunning && worker->at != Worker::At::kJoin; });
  const Duration since = finished_at_ ? now() - *finished_at_ : Duration::zero();
  if (finished_at_ && !checked_ && ((since >= kRest && !working) || since >= kLongest)) CheckRows();
  if (!checked_) After(std::chrono::milliseconds(200), [this] { LookAtEnd(); });
}

void OperatedSimulation::CheckRows() {
  CheckEnd();
  checked_ = true;
  for (const auto& end : std::exchange(after_check_, {})) end();
  for (const size_t server : heard_finished_) {
    After(FromMilliseconds(random().Uniform() * 3000), [this, server] {
      if (servers_[server]->fate == Fate::kRunning) EndServer(server, Fate::kLeft);
    });
  }
  for (uint32_t i = 0; i < operated_.late_ends; ++i) {
    After(FromMilliseconds(random().Uniform() * 4000), [this] { EndLate(); });
  }
}

// Of a job that has finished: nothing depends on it any more. But when the operator has yet to hear of that, one server
// stays that can say; without any, Failed is the true verdict.
void OperatedSimulation::EndLate() {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i]->fate == Fate::kRunning) candidates.push_back(i);
  }
  const bool is_known = api::IsTrue(platform_->JobStatus(), controller::kClosingDone);
  if (candidates.size() <= (is_known ? 0U : 1U)) return;
  Count("servers lost after the end");
  const size_t victim = candidates[random().Below(candidates.size())];
  const Pod* pod = platform_->PodOf(victim, true);
  if (pod != nullptr && random().Chance(0.5)) platform_->DeletePod(pod->uid);
  EndProcess(victim, kKilled);
}

// The machines of a job that trains are given back when there is a checkpoint from after its beginning.
void OperatedSimulation::CheckReleased() {
  const auto record = platform_->JobStatus().suspension;
  const auto taken = taken_.find(static_cast<uint64_t>(record->checkpoint));
  if (!record->directory.empty() && taken != taken_.end() && taken->second.life == life_) return;
  for (uint32_t table = 1; table <= kTables; ++table) {
    if (accounts_[table].sure == loaded_[table]) continue;
    return Violation("Released: pushes had been acknowledged, and no checkpoint has been written since" + Picture());
  }
}

void OperatedSimulation::LookAtVerdict() {
  CheckVerdict();
  After(std::chrono::milliseconds(250), [this] { LookAtVerdict(); });
}

void OperatedSimulation::CheckVerdict() {
  const api::TrainingJobStatus status = platform_->JobStatus();
  if (api::IsTrue(status, api::kFailed)) {
    return Violation("Verdict: the job is Failed: " + api::FindCondition(status, api::kFailed)->message + Picture());
  }
  if (!ended_at_ && api::IsTrue(status, api::kSucceeded)) {
    Trace("the job is Succeeded: " + api::FindCondition(status, api::kSucceeded)->message);
    const bool reached = std::ranges::any_of(
        leaders_, [](const auto& leader) { return !leader->core->progress().goal_reached.empty(); });
    if (!reached) return Violation("Verdict: the job is Succeeded although its goal is not reached");
    const bool all_left = std::ranges::none_of(workers_, [](const auto& worker) {
      return worker->fate == Fate::kRunning && worker->core->node() != NodeId();
    });
    if (!finished_ && !all_left)
      return Violation("Verdict: the job is Succeeded while a worker is at its closing work");
    ended_at_ = now();
    if (!finished_) {  // its coordinator was lost before it had heard the last worker leave
      Count("jobs that ended without their coordinator's last word");
      checked_ = true;
    }
  }
}

// What the operator has to judge by, for who reads the violation.
std::string OperatedSimulation::Picture() {
  std::string text;
  for (const api::Condition& condition : platform_->JobStatus().conditions) {
    text += "\n  " + condition.type + "=" + condition.status + " " + condition.reason + ": " + condition.message;
  }
  for (const Pod* pod : platform_->Pods()) {
    text += "\n  pod " + pod->name + " (" + pod->uid + ") on " + pod->node +
            (pod->ended ? ": ended with " + std::to_string(pod->exit_code) +
                              (pod->message.empty() ? "" : ", leaving \"" + pod->message + "\"")
             : pod->process ? ": runs"
                            : ": has not started") +
            (pod->asked_to_end ? ", asked to end" : "") + (pod->cut_off ? ", cut off" : "");
  }
  return text;
}

Outcome OperatedSimulation::SimulateOperated() {
  constexpr Duration kRest = std::chrono::seconds(45);  // pods go
  const MonotonicTime limit =
      MonotonicTime{} + FromMilliseconds(1000 * operated_.span_seconds) + std::chrono::minutes(15);
  ScheduleAll();
  Run(limit, [this] { return !violated() && !(ended_at_ && checked_); });
  if (!violated() && !ended_at_) {
    Violation(std::string("Verdict: the job ") + (finished_ ? "has finished, and is not Succeeded" : "does not end") +
              Picture());
  }
  if (!calm_) BeginCalm();
  Run(now() + kRest, [this] { return !violated(); });
  for (const Pod* pod : platform_->Pods()) {
    if (pod->is_server && pod->runs() && !violated()) Violation("Verdict: " + pod->name + " still runs");
  }
  Count("simulated seconds", static_cast<uint64_t>(Time()));
  return std::move(outcome());
}

}  // namespace attune::ps::simulation
