#include "operator/controller/tuning/job_space.h"

#include <algorithm>
#include <ranges>
#include <utility>

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

// Between the limits of one pod, which the present figure need not keep to.
tuner::KnobRange CpuRange(const char* name, std::optional<int32_t> JobSetting::*cpu, const TuningInput& input) {
  const tuner::KnobRecord& knob = *tuner::FindKnob(name);
  const int32_t high = std::clamp((input.high.*cpu).value_or(knob.high), knob.low, knob.high);
  return {.name = name, .low = std::clamp((input.low.*cpu).value_or(knob.low), knob.low, high), .high = high};
}

std::vector<std::pair<const char*, std::optional<int32_t>>> Pins(const api::Tuning& policy) {
  return {{"servers", policy.servers.pinned},
          {"workers", policy.workers.pinned},
          {"threads", policy.threads.pinned},
          {"slack", policy.slack.pinned}};
}

// "servers=2 and workers=4 are pinned, and nothing else of this job may change"
std::string PinnedText(const api::Tuning& policy) {
  std::string text;
  int count = 0;
  for (const auto& [knob, value] : Pins(policy)) {
    if (!value) continue;
    text += (count++ == 0 ? "" : " and ") + std::string(knob) + "=" + tuner::ValueText(knob, *value);
  }
  return text + (count == 1 ? " is" : " are") + " pinned, and nothing else of this job may change";
}

bool AnyPinned(const api::Tuning& policy) {
  return std::ranges::any_of(Pins(policy), [](const auto& pin) { return pin.second.has_value(); });
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

tuner::SpaceDescription SpaceOf(const TuningInput& input, int32_t threads_max) {
  tuner::SpaceDescription space;
  const bool in_place = input.policy.mode == api::TuningMode::kInPlaceOnly;
  const bool fixed_servers = in_place || !input.elastic_servers;
  const int32_t least_servers = std::max(input.low.servers, input.backups > 0 ? 2 : 1);
  const JobSetting& now = input.wanted;
  // By name, as what is saved of a tuner lists them.
  if (now.server_millicores)
    space.knobs.push_back(CpuRange("server_millicores", &JobSetting::server_millicores, input));
  space.knobs.push_back(fixed_servers
                            ? tuner::KnobRange{.name = "servers", .low = now.servers, .high = now.servers}
                            : RangeOf("servers", input.policy.servers, least_servers, input.high.servers, now.servers));
  if (now.slack) space.knobs.push_back(SlackRange(input.policy.slack));
  if (now.threads) space.knobs.push_back(RangeOf("threads", input.policy.threads, 1, threads_max, *now.threads));
  if (now.worker_millicores)
    space.knobs.push_back(CpuRange("worker_millicores", &JobSetting::worker_millicores, input));
  space.knobs.push_back(
      in_place ? tuner::KnobRange{.name = "workers", .low = now.workers, .high = now.workers}
               : RangeOf("workers", input.policy.workers, input.low.workers, input.high.workers, now.workers));
  space.current = ToSetting(now);
  return space;
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

std::string WhyNothingToTry(const TuningInput& input) {
  const bool none_in_place = input.policy.mode == api::TuningMode::kInPlaceOnly && !input.wanted.threads &&
                             !input.wanted.slack && !input.wanted.worker_millicores && !input.wanted.server_millicores;
  return AnyPinned(input.policy)
             ? "nothing is left to try: " + PinnedText(input.policy) + "; `attune tune unpin` frees what is pinned"
         : none_in_place
             ? "this job has no knob that can be changed without other pods: its program offers no threads "
               "(OfferThreads), spec.tuning.slack allows no other pace, and spec.workers.resources.cpu names no max"
             : "there is one allowed setting only: widen min and max of servers or workers, or the tuner's own ranges "
               "(spec.tuning)";
}

}  // namespace attune::controller
