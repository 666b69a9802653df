#include "operator/controller/tuning/memory_reclaim.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "operator/controller/objects/pod_resources.h"
#include "operator/controller/observe/text.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr std::array kRoles{RoleName::kServer, RoleName::kWorker};

std::string Plural(RoleName role) { return std::string(ToString(role)) + "s"; }

int64_t RoundUp(double bytes) {
  const auto steps = static_cast<int64_t>(bytes / static_cast<double>(MemoryReclaim::kStep)) + 1;
  return steps * MemoryReclaim::kStep;
}

std::string Change(RoleName role, int64_t from, int64_t to) {
  return "the limit of memory of " + Plural(role) + " from " + MemoryText(from) + " to " + MemoryText(to);
}

}  // namespace

MemoryReclaim::Reading MemoryReclaim::ReadingOf(const TuningInput& input, RoleName role) {
  Reading reading;
  reading.one_limit = true;
  for (const PodMemory& pod : input.pod_memory) {
    if (pod.role != role) continue;
    reading.one_limit = reading.one_limit && (reading.pods == 0 || pod.limit == reading.limit);
    ++reading.pods;
    reading.limit = std::max(reading.limit, pod.limit);
    reading.used = std::max(reading.used, pod.used);
    reading.min = pod.min.value_or(0);
    reading.asked = pod.asked.value_or(0);
  }
  return reading;
}

void MemoryReclaim::Restart(Role& role, const Reading& reading, double now) {
  role.stage = Stage::kWatching;
  role.since = now;
  role.pods = reading.pods;
  role.limit = reading.limit;
  role.early = role.late = 0;
}

void MemoryReclaim::Look(const TuningInput& input, bool may_act, double steps_per_second, TuningOutput& output) {
  for (const RoleName name : kRoles) {
    Role& role = roles_[static_cast<size_t>(name)];
    const Reading reading = ReadingOf(input, name);
    // A user has chosen otherwise since, or memory was raised: what was chosen here was not enough.
    const bool is_ours =
        reading.asked == role.target || (role.stage == Stage::kAsked && reading.asked == role.asked_before);
    if (role.target > 0 && reading.pods > 0 && !is_ours) {
      if (reading.asked > role.target) role.floor = std::max(role.floor, reading.asked);
      role.target = 0;
      Restart(role, reading, input.time);
    }
    if (role.stage == Stage::kWatching) {
      Watch(name, role, reading, input, may_act, steps_per_second, output);
    } else {
      Follow(name, role, reading, input, output);
    }
  }
}

void MemoryReclaim::Watch(RoleName name, Role& role, const Reading& reading, const TuningInput& input, bool may_act,
                          double rate, TuningOutput& output) {
  const auto windows = static_cast<double>(input.policy.window_seconds);
  const double watched = input.time - role.since, needed = std::max(kWatchSeconds, kWatchWindows * windows);
  const bool is_usual = reading.pods > 0 && reading.one_limit && input.settled && !input.rows_moving;
  const bool is_alarmed =
      std::ranges::any_of(output.raise_memory, [&](const MemoryAlarm& alarm) { return alarm.memory.role == name; });
  if (!is_usual || is_alarmed || reading.limit != role.limit || reading.pods != role.pods || watched < 0) {
    return Restart(role, reading, input.time);
  }
  int64_t& peak = watched < needed / 2 ? role.early : role.late;
  peak = std::max(peak, reading.used);
  if (watched < needed) return;
  const int64_t most = std::max(role.early, role.late);
  const bool grows = static_cast<double>(role.late) > kGrows * static_cast<double>(role.early);
  const int64_t target = std::max({RoundUp(kRoom * static_cast<double>(most)), reading.min, role.floor});
  const bool is_worth_it = static_cast<double>(target) <= kWorthIt * static_cast<double>(reading.limit);
  if (grows || !is_worth_it || reading.min == 0) return Restart(role, reading, input.time);
  if (!may_act) return;
  Ask(name, role, reading, target, input.time, output);
  role.rate_before = rate;
  output.events.push_back({false, kEventFindingAct,
                           "Lowering " + Change(name, reading.limit, target) + ": they used at most " +
                               UseText(static_cast<double>(most)) + " for the last " + Figure(watched / 60) +
                               " min, and machines have room for others then"});
}

void MemoryReclaim::Follow(RoleName name, Role& role, const Reading& reading, const TuningInput& input,
                           TuningOutput& output) {
  const double waited = input.time - role.since;
  if (role.stage == Stage::kMeasuring) {
    const auto windows = static_cast<double>(input.policy.window_seconds);
    if (!input.settled || input.steps < role.steps) {
      role.since = input.time;
      role.steps = input.steps;
    } else if (waited >= kMeasureWindows * windows) {
      Judge(name, role, reading, input, output);
    }
    return;
  }
  const bool has_it = reading.asked == role.target && reading.one_limit && reading.limit == role.target;
  const bool takes_back = role.target == role.limit;
  if (has_it && takes_back) {
    role.target = 0;
    Restart(role, reading, input.time);
  } else if (has_it) {
    role.stage = Stage::kMeasuring;
    role.since = input.time;
    role.steps = input.steps;
  } else if (takes_back || waited < kSettleSeconds) {
    if (reading.asked != role.target) output.memory_targets.push_back({.role = name, .bytes = role.target});
  } else {
    TakeBack(name, role, reading, input.time, output);  // refused; the pods say why
  }
}

void MemoryReclaim::Ask(RoleName name, Role& role, const Reading& reading, int64_t target, double now,
                        TuningOutput& output) {
  role.stage = Stage::kAsked;
  role.since = now;
  role.asked_before = reading.asked;
  role.target = target;
  output.memory_targets.push_back({.role = name, .bytes = target});
}

void MemoryReclaim::TakeBack(RoleName name, Role& role, const Reading& reading, double now, TuningOutput& output) {
  role.floor = std::max(role.floor, role.limit);
  Ask(name, role, reading, role.limit, now, output);
}

void MemoryReclaim::Judge(RoleName name, Role& role, const Reading& reading, const TuningInput& input,
                          TuningOutput& output) {
  const double seconds = input.time - role.since;
  const double after = seconds > 0 ? static_cast<double>(input.steps - role.steps) / seconds : 0;
  const bool slower = after < kSlower * role.rate_before;
  const std::string rates = Figure(role.rate_before) + " steps a second before, " + Figure(after) + " after";
  if (slower) {
    output.events.push_back({true, kEventFindingOutcome,
                             "The job is slower with less memory (" + rates + "): raising " +
                                 Change(name, role.target, role.limit) + " again"});
    return TakeBack(name, role, reading, input.time, output);
  }
  output.events.push_back(
      {false, kEventFindingOutcome, "Lowered " + Change(name, role.limit, role.target) + ": " + rates});
  Restart(role, reading, input.time);
}

// What is watched begins again with a new operator; what was asked for and found does not.
std::string MemoryReclaim::Save() const {
  Json all = Json::array();
  for (const Role& role : roles_) {
    if (role.stage == Stage::kWatching) {
      all.push_back(Json::array({static_cast<int>(role.stage), 0.0, 0, role.target, 0, role.floor, 0.0}));
      continue;
    }
    all.push_back(Json::array({static_cast<int>(role.stage), role.since, role.limit, role.target, role.asked_before,
                               role.floor, role.rate_before}));
  }
  return all.dump();
}

MemoryReclaim MemoryReclaim::Load(const std::string& saved) {
  MemoryReclaim reclaim;
  const Json all = Json::parse(saved, nullptr, /*allow_exceptions=*/false);
  if (!all.is_array() || all.size() != reclaim.roles_.size()) return reclaim;
  for (size_t i = 0; i < all.size(); ++i) {
    const Json& each = all[i];
    const bool fits = each.is_array() && each.size() == 7 &&
                      std::ranges::all_of(each, [](const Json& value) { return value.is_number(); }) &&
                      each[0].is_number_integer() && each[2].is_number_integer() && each[3].is_number_integer() &&
                      each[4].is_number_integer() && each[5].is_number_integer();
    if (!fits) continue;
    const int stage = each[0].get<int>();
    if (stage < static_cast<int>(Stage::kWatching) || stage > static_cast<int>(Stage::kMeasuring)) continue;
    Role& role = reclaim.roles_[i];
    role.stage = static_cast<Stage>(stage);
    role.since = each[1].get<double>();
    role.limit = each[2].get<int64_t>();
    role.target = each[3].get<int64_t>();
    role.asked_before = each[4].get<int64_t>();
    role.floor = each[5].get<int64_t>();
    role.rate_before = each[6].get<double>();
    role.steps = std::numeric_limits<uint64_t>::max();  // of another process' counter: measured from here on
  }
  return reclaim;
}

}  // namespace attune::controller
