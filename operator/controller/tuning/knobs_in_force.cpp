#include "operator/controller/tuning/knobs_in_force.h"

#include <utility>

#include "operator/controller/tuning/job_space.h"

namespace attune::controller {
namespace {

// At the end of the key of a space in which nothing is tried.
constexpr char kRecommends[] = "recommend";

}  // namespace

void KnobsInForce::Narrow(TuningInput& input, std::optional<int32_t> threads) {
  if (threads_max_ == 0) threads_max_ = input.threads_max;
  if (threads_max_ == 0) {
    input.wanted.threads.reset();
  } else if (!input.wanted.threads) {  // no worker has reported yet, to this operator
    input.wanted.threads = threads.value_or(1);
  }
  if (!AllowsSlack(input)) input.wanted.slack.reset();
  ceiling_.Narrow(input.high);
}

bool KnobsInForce::Look(const TuningInput& input) {
  room_.Look(input.room, input.time);
  std::string key = RangesKey(Space(input)) + room_.Key() + ObjectiveKey(input.policy.objective);
  // What was only recommended was not tried: a tuner that goes to work begins with the measurements alone.
  if (input.policy.mode == api::TuningMode::kRecommend) key += kRecommends;
  return std::exchange(key_, key) != key;
}

tuner::SpaceDescription KnobsInForce::Space(const TuningInput& input) const {
  return SpaceOf(input, room_.room(), threads_max_);
}

std::optional<std::string> KnobsInForce::Lower(const InfeasibleCpu& size, const JobSetting& from) {
  return ceiling_.Lower(size, from);
}

bool KnobsInForce::AreTried(const std::string& key) { return !key.ends_with(kRecommends); }

KnobsInForce::Kept KnobsInForce::kept() const {
  return {.key = key_, .threads_max = threads_max_, .ceiling = ceiling_.next()};
}

void KnobsInForce::Load(Kept kept, bool settled) {
  key_ = std::move(kept.key);
  threads_max_ = kept.threads_max;
  ceiling_.Load(kept.ceiling, settled);
}

}  // namespace attune::controller
