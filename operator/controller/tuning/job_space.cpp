#include "operator/controller/tuning/job_space.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "operator/kube/quantity.h"

namespace attune::controller {
namespace {

// The range of one knob: what the role allows, narrowed by the policy; never empty.
tuner::KnobRange RangeOf(const char* name, const api::KnobPolicy& policy, int32_t low, int32_t high, int32_t current) {
  if (policy.pinned) return {.name = name, .low = *policy.pinned, .high = *policy.pinned};
  const int32_t most = policy.max ? std::min(*policy.max, high) : std::min(high, std::max(kHighestByDefault, current));
  const int32_t least = policy.min ? std::max(*policy.min, low) : low;
  return {.name = name, .low = std::min(least, most), .high = most};
}

tuner::KnobRange SlackRange(const api::KnobPolicy& policy) {
  if (policy.pinned) return {.name = "slack", .low = *policy.pinned, .high = *policy.pinned};
  const int32_t most = policy.max.value_or(tuner::kSlackAsync);
  return {.name = "slack", .low = std::min(policy.min.value_or(0), most), .high = most};
}

// Between the limits of one pod, which the present figure need not keep to, narrowed by the policy; never empty.
tuner::KnobRange CpuRange(const char* name, std::optional<int32_t> JobSetting::*cpu, const api::AmountPolicy& policy,
                          const TuningInput& input) {
  const tuner::KnobRecord& knob = *tuner::FindKnob(name);
  const auto within = [&](int64_t value) {
    return static_cast<int32_t>(std::clamp<int64_t>(value, knob.low, knob.high));
  };
  if (policy.pinned) return {.name = name, .low = within(*policy.pinned), .high = within(*policy.pinned)};
  int64_t high = (input.high.*cpu).value_or(knob.high), low = (input.low.*cpu).value_or(knob.low);
  if (policy.max) high = std::min(high, *policy.max);
  if (policy.min) low = std::max(low, *policy.min);
  return {.name = name, .low = within(std::min(low, high)), .high = within(high)};
}

// Narrowed by policies. What they leave nothing of keeps its present value, as what they forbid to touch.
tuner::KnobRange Narrowed(tuner::KnobRange range, const TuningInput& input, api::PolicyKnob knob, int32_t current) {
  const policy::KnobRange& rule = input.rules.Of(knob);
  if (rule.min) range.low = static_cast<int32_t>(std::max<int64_t>(range.low, *rule.min));
  if (rule.max) range.high = static_cast<int32_t>(std::min<int64_t>(range.high, *rule.max));
  if (rule.fixed || range.low > range.high) range.low = range.high = current;
  return range;
}

// What the pods of both roles may request together.
std::vector<tuner::Limit> LimitsOf(const NamespaceRoom& room, const JobSetting& now) {
  std::vector<tuner::Limit> limits;
  if (room.millicores) {
    tuner::Limit limit{.terms = {}, .most = static_cast<double>(*room.millicores), .what = "cpu of the namespace"};
    const auto add = [&](const PodClaim& pod, const char* count, const char* cpu, bool is_knob) {
      const int64_t fixed = pod.millicores + (is_knob ? 0 : pod.limit.value_or(0));
      limit.terms.push_back({.coefficient = static_cast<double>(fixed), .knobs = {count}});
      if (pod.limit && is_knob) limit.terms.push_back({.coefficient = 1, .knobs = {count, cpu}});
    };
    add(room.pods.server, "servers", "server_millicores", now.server_millicores.has_value());
    add(room.pods.worker, "workers", "worker_millicores", now.worker_millicores.has_value());
    limits.push_back(std::move(limit));
  }
  if (room.bytes) {
    limits.push_back({.terms = {{.coefficient = static_cast<double>(room.pods.server.bytes), .knobs = {"servers"}},
                                {.coefficient = static_cast<double>(room.pods.worker.bytes), .knobs = {"workers"}}},
                      .most = static_cast<double>(*room.bytes),
                      .what = "memory of the namespace"});
  }
  return limits;
}

// "servers=2", each by the words of `attune tune pin`.
std::vector<std::string> Pins(const api::Tuning& policy) {
  std::vector<std::string> pins;
  const auto add = [&](const char* knob, const std::optional<int32_t>& value) {
    if (value) pins.push_back(std::string(knob) + "=" + tuner::ValueText(knob, *value));
  };
  const auto add_cpu = [&](const char* knob, const std::optional<int64_t>& value) {
    if (value) pins.push_back(std::string(knob) + "=" + kube::FormatMillicores(*value));
  };
  add("servers", policy.servers.pinned);
  add("workers", policy.workers.pinned);
  add("threads", policy.threads.pinned);
  add("slack", policy.slack.pinned);
  add_cpu("worker-cpu", policy.worker_cpu.pinned);
  add_cpu("server-cpu", policy.server_cpu.pinned);
  return pins;
}

// "servers=2 and workers=4 are pinned, and nothing else of this job may change"
std::string PinnedText(const api::Tuning& policy) {
  std::string text;
  const std::vector<std::string> pins = Pins(policy);
  for (const std::string& pin : pins) text += (text.empty() ? "" : " and ") + pin;
  return text + (pins.size() == 1 ? " is" : " are") + " pinned, and nothing else of this job may change";
}

tuner::ObjectiveKind KindOf(api::ObjectiveKind kind) {
  switch (kind) {
    case api::ObjectiveKind::kTime:
      return tuner::ObjectiveKind::kTime;
    case api::ObjectiveKind::kCost:
      return tuner::ObjectiveKind::kCost;
    case api::ObjectiveKind::kTimeUnderBudget:
      return tuner::ObjectiveKind::kTimeUnderBudget;
  }
  return tuner::ObjectiveKind::kTime;
}

}  // namespace

bool AllowsSlack(const TuningInput& input) {
  const api::KnobPolicy& policy = input.policy.slack;
  return input.switches_modes && (policy.min || policy.max || policy.pinned);
}

tuner::Setting ToSetting(const JobSetting& from) {
  tuner::Setting setting;
  if (from.server_millicores) setting.push_back(*from.server_millicores);
  setting.push_back(from.servers);
  if (from.slack) setting.push_back(*from.slack);
  if (from.threads) setting.push_back(*from.threads);
  if (from.worker_millicores) setting.push_back(*from.worker_millicores);
  setting.push_back(from.workers);
  return setting;
}

JobSetting FromSetting(const tuner::SearchSpace& space, const tuner::Setting& from) {
  const auto value = [&](const char* knob) -> std::optional<int32_t> {
    const auto at = space.KnobIndex(knob);
    return at ? std::optional<int32_t>(from.at(static_cast<size_t>(*at))) : std::nullopt;
  };
  return {.servers = value("servers").value_or(0),
          .workers = value("workers").value_or(0),
          .threads = value("threads"),
          .slack = value("slack"),
          .worker_millicores = value("worker_millicores"),
          .server_millicores = value("server_millicores")};
}

tuner::SpaceDescription SpaceOf(const TuningInput& input, const NamespaceRoom& room, int32_t threads_max) {
  tuner::SpaceDescription space;
  const bool in_place = input.policy.mode == api::TuningMode::kInPlaceOnly;
  const bool fixed_servers = in_place || !input.elastic_servers;
  const int32_t least_servers = std::max(input.low.servers, input.backups > 0 ? 2 : 1);
  const JobSetting& now = input.wanted;
  // By name, as what is saved of a tuner lists them.
  const auto add = [&](tuner::KnobRange range, api::PolicyKnob knob, int32_t current) {
    space.knobs.push_back(Narrowed(std::move(range), input, knob, current));
  };
  if (now.server_millicores)
    add(CpuRange("server_millicores", &JobSetting::server_millicores, input.policy.server_cpu, input),
        api::PolicyKnob::kServerCpu, *now.server_millicores);
  add(fixed_servers ? tuner::KnobRange{.name = "servers", .low = now.servers, .high = now.servers}
                    : RangeOf("servers", input.policy.servers, least_servers, input.high.servers, now.servers),
      api::PolicyKnob::kServers, now.servers);
  if (now.slack) add(SlackRange(input.policy.slack), api::PolicyKnob::kSlack, *now.slack);
  if (now.threads)
    add(RangeOf("threads", input.policy.threads, 1, threads_max, *now.threads), api::PolicyKnob::kThreads,
        *now.threads);
  if (now.worker_millicores)
    add(CpuRange("worker_millicores", &JobSetting::worker_millicores, input.policy.worker_cpu, input),
        api::PolicyKnob::kWorkerCpu, *now.worker_millicores);
  add(in_place ? tuner::KnobRange{.name = "workers", .low = now.workers, .high = now.workers}
               : RangeOf("workers", input.policy.workers, input.low.workers, input.high.workers, now.workers),
      api::PolicyKnob::kWorkers, now.workers);
  space.limits = LimitsOf(room, now);
  space.current = ToSetting(now);
  return space;
}

std::string RangesKey(const tuner::SpaceDescription& space) {
  std::string key;
  for (const tuner::KnobRange& knob : space.knobs)
    key += knob.name + std::to_string(knob.low) + "-" + std::to_string(knob.high) + " ";
  return key;
}

std::optional<tuner::Ending> EndingOf(const TuningInput& input) {
  tuner::Ending ending;
  const auto made = static_cast<double>(input.job_steps);
  if (input.goal.steps) ending.steps = static_cast<double>(*input.goal.steps) - made;
  if (input.items_total > 0) {
    if (input.items_done == 0 || input.job_steps == 0) return std::nullopt;
    const double per_item = made / static_cast<double>(input.items_done);
    const auto left = static_cast<double>(input.items_total - std::min(input.items_done, input.items_total));
    ending.steps = std::min(ending.steps, left * per_item);
  }
  if (input.goal.max_duration_seconds)
    ending.seconds = static_cast<double>(*input.goal.max_duration_seconds) - input.trained_seconds;
  ending.steps = std::max(ending.steps, 0.0);
  ending.seconds = std::max(ending.seconds, 0.0);
  return ending;
}

std::optional<tuner::Goal> GoalOf(const TuningInput& input, const tuner::Ending& ending) {
  tuner::Goal goal{.max_steps = ending.steps, .max_seconds = ending.seconds};
  const api::TargetMetric& metric = input.goal.target_metric;
  const bool falls = metric.direction == api::Direction::kMinimize;
  if (input.goal.target_loss && *input.goal.target_loss > 0) {
    goal.kind = tuner::GoalKind::kLoss;
    goal.target = *input.goal.target_loss;
    return goal;
  }
  if (!metric.name.empty() && metric.value && (!falls || *metric.value > 0)) {
    goal.kind = tuner::GoalKind::kMetric;
    goal.target = *metric.value;
    goal.metric_falls = falls;
    return goal;
  }
  if (!std::isfinite(ending.steps) && !std::isfinite(ending.seconds)) return std::nullopt;
  return tuner::Goal{.kind = tuner::GoalKind::kSteps, .target = ending.steps, .max_seconds = ending.seconds};
}

tuner::Objective ObjectiveOf(const TuningInput& input, double spent) {
  constexpr double kLeastBudget = 1e-6;  // of a budget that is used up: the least cost is looked for
  const api::TuningObjective& wanted = input.policy.objective;
  tuner::Objective objective;
  objective.kind = KindOf(wanted.kind);
  if (wanted.budget) objective.budget = std::max(*wanted.budget - spent, kLeastBudget);
  const auto price = [&](const std::string& role, const PodSize& pod, bool cpu_is_knob) {
    constexpr double kCoresUnknown = 1;  // of a pod that requests none
    const double cores = pod.cores > 0 ? pod.cores : kCoresUnknown;
    objective.prices.emplace_back(role + "s", (cpu_is_knob ? 0 : wanted.core_hour * cores) + wanted.gib_hour * pod.gib);
    if (cpu_is_knob) objective.prices.emplace_back(role + "_millicores", wanted.core_hour);
  };
  price("server", input.server_pod, input.wanted.server_millicores.has_value());
  price("worker", input.worker_pod, input.wanted.worker_millicores.has_value());
  // Memory alone costs something, and no pod requests any: every setting costs the same.
  const auto is_free = [](const auto& each) { return each.second <= 0; };
  if (std::ranges::all_of(objective.prices, is_free)) objective.prices.clear();
  return objective;
}

std::string ObjectiveKey(const api::TuningObjective& objective) {
  if (objective.kind == api::ObjectiveKind::kTime) return "";
  return "objective" + std::to_string(static_cast<int>(objective.kind)) + "-" + std::to_string(objective.core_hour) +
         "-" + std::to_string(objective.gib_hour) + "-" + std::to_string(objective.budget.value_or(0)) + " ";
}

std::string WhyNothingToTry(const TuningInput& input) {
  const bool none_in_place = input.policy.mode == api::TuningMode::kInPlaceOnly && !input.wanted.threads &&
                             !input.wanted.slack && !input.wanted.worker_millicores && !input.wanted.server_millicores;
  const bool by_policy =
      input.room.millicores || input.room.bytes ||
      std::ranges::any_of(input.rules.knobs, [](const policy::KnobRange& each) { return each.fixed || each.max; });
  return by_policy && !input.rules.policies.empty()
             ? "policies leave one setting only (" + input.rules.policies.front() +
                   "); status.policy of the job names "
                   "them, and any conflict"
         : !Pins(input.policy).empty()
             ? "nothing is left to try: " + PinnedText(input.policy) + "; `attune tune unpin` frees what is pinned"
         : none_in_place
             ? "this job has no knob that can be changed without other pods: its program offers no threads "
               "(OfferThreads), spec.tuning.slack allows no other pace, and neither spec.workers.resources.cpu nor "
               "spec.tuning.workerCpu names a max"
             : "there is one allowed setting only: widen min and max of servers or workers, or the tuner's own ranges "
               "(spec.tuning)";
}

}  // namespace attune::controller
