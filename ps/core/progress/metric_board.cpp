#include "ps/core/progress/metric_board.h"

#include <cmath>
#include <sstream>

#include "base/check.h"
#include "proto/metric_name.h"

namespace attune::ps {
namespace {

std::string Figure(double value) {
  std::ostringstream text;  // four significant digits, as displays have them
  text.precision(4);
  text << value;
  return text.str();
}

// As the manifest has it.
std::string Exact(double value) {
  std::ostringstream text;
  text.precision(15);
  text << value;
  return text.str();
}

std::string At(const MetricPlace& place) {
  return place.epoch > 0 ? "at epoch " + std::to_string(place.epoch) : "at step " + std::to_string(place.step);
}

}  // namespace

// One rule for a name, whatever asks for it.
bool MetricBoard::Maximize(const std::string& name) const {
  if (target_ && target_->name == name) return target_->maximize;
  if (early_stopping_ && early_stopping_->metric == name) return early_stopping_->maximize;
  return best_ && best_->metric == name && best_->maximize;
}

void MetricBoard::Restore(const std::vector<MetricState>& states) {
  states_.clear();
  for (const MetricState& state : states) {
    states_[state.name] = state;
    Judge(state, state.at);
  }
}

void MetricBoard::Continue(const std::vector<MetricState>& states) {
  states_.clear();
  for (const MetricState& state : states) {
    if (!contract::IsMetricName(state.name)) continue;
    if (state.maximize == Maximize(state.name) && states_.size() < contract::kJobMetricsMax) {
      states_[state.name] = state;
    }
  }
}

Status MetricBoard::Report(const std::string& name, std::optional<double> value, const MetricPlace& place) {
  ATTUNE_CHECK(!value || std::isfinite(*value));
  auto known = states_.find(name);
  if (known == states_.end()) {
    if (states_.size() >= contract::kJobMetricsMax) {
      return Error(StatusCode::kResourceExhausted, "metric \"" + name + "\" is left out: the job has " +
                                                       std::to_string(states_.size()) +
                                                       " others already, and more are not kept; report fewer names");
    }
    known = states_.emplace(name, MetricState{.name = name, .maximize = Maximize(name), .at = {}, .best_at = {}}).first;
  }
  MetricState& state = known->second;
  if (value) {
    ++state.reports;
    state.value = value;
    state.at = place;
    if (!state.best || IsBetterMetric(*value, *state.best, state.maximize)) {
      state.best = value;
      state.best_at = place;
    }
  } else {
    ++state.left_out;
  }
  const double delta = early_stopping_ && early_stopping_->metric == name ? early_stopping_->min_delta : 0;
  if (value && (!state.reference || IsBetterMetric(*value, *state.reference, state.maximize, delta))) {
    state.reference = value;
    state.without_gain = 0;
  } else {
    ++state.without_gain;
  }
  Judge(state, place);
  return OkStatus();
}

void MetricBoard::Judge(const MetricState& state, const MetricPlace& place) {
  if (!verdict_.empty()) return;
  if (target_ && target_->name == state.name && state.value && state.at == place) {
    const bool reached = state.maximize ? *state.value >= target_->value : *state.value <= target_->value;
    if (reached) {
      verdict_ = state.name + (state.maximize ? " >= " : " <= ") + Exact(target_->value) + " " + At(place) + " (" +
                 Figure(*state.value) + ")";
      return;
    }
  }
  if (!early_stopping_ || early_stopping_->metric != state.name || state.without_gain < early_stopping_->patience)
    return;
  verdict_ = state.name + " no better for " + std::to_string(state.without_gain) +
             (state.without_gain == 1 ? " report " : " reports ") + At(place);
  if (state.best) verdict_ += " (best " + Figure(*state.best) + " " + At(state.best_at) + ")";
}

const MetricState* MetricBoard::Find(const std::string& name) const {
  const auto known = states_.find(name);
  return known == states_.end() ? nullptr : &known->second;
}

std::vector<MetricState> MetricBoard::states() const {
  std::vector<MetricState> states;
  for (const auto& [name, state] : states_) states.push_back(state);
  return states;
}

}  // namespace attune::ps
