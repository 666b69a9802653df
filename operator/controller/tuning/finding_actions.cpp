#include "operator/controller/tuning/finding_actions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/controller/objects/pod_resources.h"
#include "operator/controller/observe/text.h"

namespace attune::controller {
namespace {

using kube::Json;

bool Acts(const api::Tuning& tuning, api::FindingPolicy policy, bool by_mode) {
  if (tuning.paused || tuning.mode == api::TuningMode::kOff) return false;
  return policy == api::FindingPolicy::kByMode ? by_mode : policy == api::FindingPolicy::kAct;
}

// By what they report, more CPU or more servers would not help.
bool IsStarvedByNetwork(const tuner::Finding& finding) {
  return finding.symptom == tuner::Symptom::kStarvedWorkers && finding.remedy != tuner::Remedy::kMoreServers;
}

std::string NameOf(RoleName role, int32_t index) { return std::string(ToString(role)) + " " + std::to_string(index); }

std::string Target(const PodMove& move) { return move.to.empty() ? "another machine" : move.to; }

// Until it is taken up: the plan asks for one move at a time. nullopt: it would not be asked for now, because workers
// run beside the server by now, or because the spec says where pods of the role are to be.
std::optional<PodMove> AskAgain(const TuningInput& input, RoleName role, int32_t index) {
  if (role == RoleName::kWorker) {
    if (!input.can_move_pods) return std::nullopt;
    return PodMove{.role = role, .index = index, .reason = "its steps take longer than the others'"};
  }
  if (!input.distant_server || input.distant_server->index != index) return std::nullopt;
  return PodMove{.role = role,
                 .index = index,
                 .to = input.distant_server->to,
                 .reason = "workers wait for rows, and none of them runs on its machine"};
}

std::string WhatRemains(RoleName role, bool present) {
  if (role == RoleName::kServer) {
    return present ? "workers still wait for rows" : "workers do not wait for rows any more";
  }
  return present ? "it is still slower than the others" : "it is no slower than the others any more";
}

bool MayGrow(const PodMemory& memory) { return memory.max && memory.limit < *memory.max; }

// What helps where the limit stays as it is.
std::string AdviceAtBound(const PodMemory& memory) {
  const std::string roles = std::string(ToString(memory.role)) + "s";
  const std::string bound = "spec." + roles + ".resources.memory.max";
  std::string text = memory.max ? "it has all that " + bound + " allows (" + MemoryText(*memory.max) + "): raise that"
                                : bound + " is not set, so nothing raises the limit: set it";
  if (memory.role == RoleName::kServer) text += ", or add a server (attune scale JOB servers=N), which takes rows over";
  return text;
}

}  // namespace

bool ActsOnMemory(const api::Tuning& tuning) {
  const bool by_mode = tuning.mode == api::TuningMode::kAuto || tuning.mode == api::TuningMode::kInPlaceOnly;
  return Acts(tuning, tuning.findings.memory, by_mode);
}

bool ActsOnStragglers(const api::Tuning& tuning) {
  return Acts(tuning, tuning.findings.straggler, tuning.mode == api::TuningMode::kAuto);
}

bool ActsOnNetwork(const api::Tuning& tuning) {
  return Acts(tuning, tuning.findings.network, tuning.mode == api::TuningMode::kAuto);
}

void FindingActions::Look(const TuningInput& input, const std::vector<tuner::Finding>& findings, bool may_act,
                          TuningOutput& output) {
  forecast_.Look(input.time, static_cast<double>(input.policy.window_seconds), input.pod_memory);
  CountSteps(input);
  JudgeRaises(input, output);
  LookAtMemory(input, may_act, output);
  reclaim_.Look(input, may_act && ActsOnMemory(input.policy), StepsPerSecond(), output);
  LookAtMoves(input, findings, may_act, output);
}

void FindingActions::LookAtMemory(const TuningInput& input, bool may_act, TuningOutput& output) {
  if (input.policy.findings.memory == api::FindingPolicy::kOff) return;
  const bool acts = ActsOnMemory(input.policy);
  for (MemoryAlarm& alarm : forecast_.Alarms()) {
    const PodMemory& memory = alarm.memory;
    const auto is_it = [&](const PodMemory& other) { return other.uid == memory.uid && other.limit == memory.limit; };
    if (acts && MayGrow(memory)) {
      if (!may_act) continue;
      if (raises_.size() < kActsMax &&
          std::ranges::none_of(raises_, [&](const Raise& raise) { return is_it(raise.before); })) {
        raises_.push_back({.before = memory, .since = input.time});
      }
      output.raise_memory.push_back(std::move(alarm));
      continue;
    }
    // Where only the mode keeps it from being raised, the finding itself says that memory runs out (job_health.h).
    if (!acts || std::ranges::any_of(reported_, is_it)) continue;
    if (reported_.size() >= kActsMax) reported_.erase(reported_.begin());
    reported_.push_back(memory);
    output.events.push_back({true, std::string(tuner::Name(tuner::Symptom::kMemoryLimit)),
                             memory.pod + " reaches its limit of memory (" + UseText(static_cast<double>(memory.used)) +
                                 " of " + MemoryText(memory.limit) + " used) and " + AdviceAtBound(memory)});
  }
}

void FindingActions::JudgeRaises(const TuningInput& input, TuningOutput& output) {
  std::erase_if(raises_, [&](Raise& raise) {
    const PodMemory& before = raise.before;
    const auto now =
        std::ranges::find_if(input.pod_memory, [&](const PodMemory& pod) { return pod.uid == before.uid; });
    if (now == input.pod_memory.end()) return input.time - raise.since > kSettleSeconds;
    if (now->limit <= before.limit)
      return input.time - raise.since > kSettleSeconds;  // refused, or no room: reported there
    if (!std::exchange(raise.raised, true)) raise.since = input.time;
    const std::string what = "The limit of memory of " + before.pod + " was raised from " + MemoryText(before.limit) +
                             " to " + MemoryText(now->limit) + ": ";
    if (now->used > before.limit) {
      output.events.push_back(
          {false, kEventFindingOutcome,
           what + "it uses " + UseText(static_cast<double>(now->used)) + " now, for which it would have been ended"});
      return true;
    }
    if (input.time - raise.since < 2 * forecast_.horizon()) return false;
    output.events.push_back({false, kEventFindingOutcome,
                             what + "it was not needed so far (" + UseText(static_cast<double>(now->used)) +
                                 " used); it stays, since lowering it could end the process"});
    return true;
  });
}

void FindingActions::CountSteps(const TuningInput& input) {
  if (!steps_.empty() && input.steps < steps_.back().second) steps_.clear();  // counters of another process
  if (!steps_.empty() && input.time <= steps_.back().first) return;
  steps_.emplace_back(input.time, input.steps);
  const double span = kMeasureWindows * static_cast<double>(input.policy.window_seconds);
  while (steps_.size() > 2 && input.time - steps_[1].first >= span) steps_.pop_front();
}

double FindingActions::StepsPerSecond() const {
  if (steps_.size() < 2) return 0;
  const auto& [from, first] = steps_.front();
  const auto& [to, last] = steps_.back();
  return to > from ? static_cast<double>(last - first) / (to - from) : 0;
}

FindingActions::Move* FindingActions::MoveOf(const PodMove& wanted, double now) {
  const auto is_it = [&](const Move& move) { return move.role == wanted.role && move.index == wanted.index; };
  const auto found = std::ranges::find_if(moves_, is_it);
  if (found != moves_.end()) return &*found;
  if (moves_.size() >= kActsMax) return nullptr;
  moves_.push_back({.role = wanted.role, .index = wanted.index, .since = now});
  return &moves_.back();
}

std::vector<PodMove> FindingActions::Wanted(const TuningInput& input,
                                            const std::vector<tuner::Finding>& findings) const {
  std::vector<PodMove> wanted;
  const bool no_server_helped = std::ranges::any_of(
      moves_, [](const Move& move) { return move.role == RoleName::kServer && move.stage == Stage::kNoHelp; });
  for (const tuner::Finding& finding : findings) {
    if (finding.symptom == tuner::Symptom::kStragglingWorker && finding.node >= 0 && input.can_move_pods &&
        ActsOnStragglers(input.policy)) {
      wanted.push_back({.role = RoleName::kWorker, .index = finding.node, .reason = finding.text});
    }
    if (IsStarvedByNetwork(finding) && input.distant_server && !no_server_helped && ActsOnNetwork(input.policy)) {
      const DistantServer& server = *input.distant_server;
      wanted.push_back({.role = RoleName::kServer,
                        .index = server.index,
                        .to = server.to,
                        .reason = "workers wait for rows " + Figure(100 * finding.value) +
                                  " % of their time although servers have CPU left, and none of them runs on " +
                                  server.from});
    }
  }
  return wanted;
}

void FindingActions::LookAtMoves(const TuningInput& input, const std::vector<tuner::Finding>& findings, bool may_act,
                                 TuningOutput& output) {
  const auto is_present = [&](const Move& move) {
    return std::ranges::any_of(findings, [&](const tuner::Finding& finding) {
      return move.role == RoleName::kServer
                 ? IsStarvedByNetwork(finding)
                 : finding.symptom == tuner::Symptom::kStragglingWorker && finding.node == move.index;
    });
  };
  for (Move& move : moves_) Follow(input, move, is_present(move), output);
  if (!may_act || !input.settled) return;
  const auto in_progress = [](const Move& move) {
    return move.stage == Stage::kAsked || move.stage == Stage::kMeasuring;
  };
  for (PodMove& wanted : Wanted(input, findings)) {
    if (std::ranges::any_of(moves_, in_progress)) return;
    Move* move = MoveOf(wanted, input.time);
    if (move == nullptr || move->stage == Stage::kNoHelp) continue;
    if (move->stage == Stage::kHelped) {
      if (input.time - move->since < kCoolDownSeconds) continue;
      *move = {.role = wanted.role, .index = wanted.index, .since = input.time};
    }
    if (input.time - move->since < kPatienceWindows * static_cast<double>(input.policy.window_seconds)) continue;
    move->stage = Stage::kAsked;
    move->since = input.time;
    move->rate_before = StepsPerSecond();
    output.events.push_back(
        {false, kEventFindingAct,
         "Moving " + NameOf(move->role, move->index) + " to " + Target(wanted) + ": " + wanted.reason});
    output.moves.push_back(std::move(wanted));
  }
}

void FindingActions::Follow(const TuningInput& input, Move& move, bool present, TuningOutput& output) {
  const double waited = input.time - move.since;
  const double windows = static_cast<double>(input.policy.window_seconds);
  switch (move.stage) {
    case Stage::kSeen:
      // One that comes and goes has to last again.
      if (!present) move.since = input.time;
      return;
    case Stage::kAsked:
      move.begun = move.begun || !input.settled;
      if (!move.begun && waited < kAskSeconds) {
        if (!present) return;
        if (auto again = AskAgain(input, move.role, move.index)) output.moves.push_back(*std::move(again));
        return;
      }
      if (!input.settled && waited < kSettleSeconds) return;
      move.stage = Stage::kMeasuring;
      move.since = input.time;
      move.steps = input.steps;
      return;
    case Stage::kMeasuring:
      if (input.steps < move.steps || !input.settled) {  // another process counts, or something changes: again
        move.steps = input.steps;
        move.since = input.time;
        return;
      }
      if (waited >= kMeasureWindows * windows) Judge(input, move, present, output);
      return;
    case Stage::kHelped:
    case Stage::kNoHelp:
      return;
  }
}

void FindingActions::Judge(const TuningInput& input, Move& move, bool present, TuningOutput& output) {
  const double seconds = input.time - move.since;
  const double after = seconds > 0 ? static_cast<double>(input.steps - move.steps) / seconds : 0;
  const bool faster = move.rate_before > 0 && after >= (1 + kHelpedShare) * move.rate_before;
  const bool helped = faster || !present;
  move.stage = helped ? Stage::kHelped : Stage::kNoHelp;
  move.since = input.time;
  output.events.push_back({!helped, kEventFindingOutcome,
                           "Moving " + NameOf(move.role, move.index) + " to another machine " +
                               (helped ? "helped: " : "did not help: ") + Figure(move.rate_before) +
                               " steps a second before, " + Figure(after) + " after, and " +
                               WhatRemains(move.role, present) + (helped ? "" : "; it is not moved for that again")});
}

std::string FindingActions::Save() const {
  Json all = Json::array();
  for (const Move& move : moves_) {
    if (move.stage == Stage::kSeen) continue;
    all.push_back(Json::array({move.index, static_cast<int>(move.stage), move.since, move.rate_before,
                               move.role == RoleName::kServer ? 1 : 0}));
  }
  return Json{{"moves", std::move(all)}, {"memory", Json::parse(reclaim_.Save())}}.dump();
}

FindingActions FindingActions::Load(const std::string& saved) {
  FindingActions actions;
  const Json read = Json::parse(saved, nullptr, /*allow_exceptions=*/false);
  if (read.is_object() && read.contains("memory")) actions.reclaim_ = MemoryReclaim::Load(read.at("memory").dump());
  // Moves alone, of an operator of an earlier version.
  const Json all = read.is_object() ? read.value("moves", Json::array()) : read;
  for (const Json& each : all.is_array() ? all : Json::array()) {
    const bool fits = each.is_array() && each.size() == 5 && each[0].is_number_integer() &&
                      each[1].is_number_integer() && each[2].is_number() && each[3].is_number() &&
                      each[4].is_number_integer();
    if (!fits || actions.moves_.size() >= kActsMax) continue;
    const int stage = each[1].get<int>();
    if (stage <= static_cast<int>(Stage::kSeen) || stage > static_cast<int>(Stage::kNoHelp)) continue;
    actions.moves_.push_back({.role = each[4].get<int>() == 1 ? RoleName::kServer : RoleName::kWorker,
                              .index = each[0].get<int32_t>(),
                              .stage = static_cast<Stage>(stage),
                              .since = each[2].get<double>(),
                              .rate_before = each[3].get<double>()});
  }
  return actions;
}

}  // namespace attune::controller
