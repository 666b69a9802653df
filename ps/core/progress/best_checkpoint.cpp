#include "ps/core/progress/best_checkpoint.h"

#include <algorithm>
#include <sstream>

#include "base/check.h"

namespace attune::ps {

void BestCheckpointKeeper::Restore(const std::optional<BestCheckpoint>& kept) {
  kept_.reset();
  if (rule_ && kept && kept->metric == rule_->metric && kept->maximize == rule_->maximize) kept_ = kept;
}

void BestCheckpointKeeper::Note(const std::string& metric, const MetricBoard& metrics, MonotonicTime now) {
  if (!rule_ || metric != rule_->metric) return;
  fresh_until_.reset();
  if (WouldBeBest(metrics)) fresh_until_ = now + kFresh;
}

bool BestCheckpointKeeper::WouldBeBest(const MetricBoard& metrics) const {
  const MetricState* state = rule_ ? metrics.Find(rule_->metric) : nullptr;
  if (state == nullptr || !state->value) return false;
  return !kept_ || IsBetterMetric(*state->value, kept_->value, rule_->maximize);
}

bool BestCheckpointKeeper::IsDue(const MetricBoard& metrics, MonotonicTime now, bool goal_reached) const {
  if (!fresh_until_ || now >= *fresh_until_ || !WouldBeBest(metrics)) return false;
  return goal_reached || !rest_until_ || now >= *rest_until_;
}

BestCheckpoint BestCheckpointKeeper::Mark(const MetricBoard& metrics, const std::string& directory,
                                          uint64_t checkpoint) const {
  ATTUNE_CHECK(WouldBeBest(metrics));
  const MetricState& state = *metrics.Find(rule_->metric);
  return {.metric = rule_->metric,
          .maximize = rule_->maximize,
          .value = *state.value,
          .at = state.at,
          .directory = directory,
          .checkpoint = checkpoint};
}

void BestCheckpointKeeper::End(const std::optional<BestCheckpoint>& complete, MonotonicTime now, Duration took) {
  if (complete) kept_ = complete;
  rest_until_ = now + std::clamp(kRestsPerCut * took, kRestMin, kRestMax);
}

std::string Describe(const BestCheckpoint& best) {
  std::ostringstream text;  // four significant digits, as displays have them
  text.precision(4);
  text << best.metric << " " << best.value;
  text << (best.at.epoch > 0 ? " at epoch " + std::to_string(best.at.epoch)
                             : " at step " + std::to_string(best.at.step));
  return text.str();
}

}  // namespace attune::ps
