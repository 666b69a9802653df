#include "operator/controller/tuning/job_health.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace attune::controller {
namespace {

using kube::Json;
using tuner::Finding;

bool IsSame(const Finding& a, const Finding& b) { return a.symptom == b.symptom && a.node == b.node; }

bool IsSilenced(tuner::Symptom symptom, const api::FindingPolicies& policies) {
  constexpr auto kOff = api::FindingPolicy::kOff;
  return (symptom == tuner::Symptom::kMemoryLimit && policies.memory == kOff) ||
         (symptom == tuner::Symptom::kStragglingWorker && policies.straggler == kOff) ||
         (symptom == tuner::Symptom::kStarvedWorkers && policies.network == kOff) ||
         (symptom == tuner::Symptom::kHotServer && policies.hot_server == kOff);
}

// Names the rung in the words of docs/tuning.md.
std::string TextOf(const Finding& finding) {
  return finding.text + " (asks for: " + std::string(tuner::Name(finding.remedy)) + ")";
}

void Append(const std::vector<NodeFigures>& figures, double time, std::vector<tuner::NodeTrace>& traces) {
  traces.resize(figures.size());
  for (size_t i = 0; i < figures.size(); ++i) {
    const NodeFigures& now = figures[i];
    tuner::NodeTrace& trace = traces[i];
    if (!trace.empty() && trace.back().node != now.index) trace.clear();  // another pod has its place
    trace.push_back({.time = time,
                     .cpu = now.cpu,
                     .memory = now.memory,
                     .requests = now.requests,
                     .step_seconds = now.step_seconds,
                     .wait_share = now.wait_share,
                     .node = now.index});
    if (trace.size() > JobHealth::kWindowsKept) trace.erase(trace.begin());
  }
}

}  // namespace

void JobHealth::TakeLoss(const TuningInput& input) {
  // Counters of another process begin again.
  if (input.steps < steps_ || input.loss_weight < loss_weight_) loss_sum_ = loss_weight_ = 0, steps_ = 0;
  const double weight = input.loss_weight - loss_weight_;
  if (weight > 0) {
    losses_.push_back((input.loss_sum - loss_sum_) / weight);
    without_loss_ = 0;
  } else if (input.steps > steps_ && !losses_.empty()) {
    // Workers leave losses out of their reports that are no numbers.
    if (++without_loss_ >= kWindowsWithoutLoss) losses_.push_back(std::numeric_limits<double>::quiet_NaN());
  }
  if (losses_.size() > kLossesKept) losses_.erase(losses_.begin());
  if (without_loss_ == 0) std::erase_if(losses_, [](double loss) { return std::isnan(loss); });
  steps_ = input.steps;
  loss_sum_ = input.loss_sum;
  loss_weight_ = input.loss_weight;
}

void JobHealth::TakeWindow(const TuningInput& input) {
  // Another setting: other load for every node, nothing to compare with.
  const bool complete = input.server_figures.size() == static_cast<size_t>(input.wanted.servers) &&
                        input.worker_figures.size() == static_cast<size_t>(input.wanted.workers);
  if (input.wanted != setting_ || !complete) {
    servers_.clear();
    workers_.clear();
    setting_ = input.wanted;
  }
  if (complete) {
    Append(input.server_figures, input.time, servers_);
    Append(input.worker_figures, input.time, workers_);
  }
  TakeLoss(input);
}

std::vector<Finding> JobHealth::Detect() const {
  std::vector<Finding> all = tuner::DetectHotServers(servers_);
  const auto add = [&](std::vector<Finding> more) { std::move(more.begin(), more.end(), std::back_inserter(all)); };
  const auto add_one = [&](std::optional<Finding> one) {
    if (one) all.push_back(*std::move(one));
  };
  add(tuner::DetectStragglers(workers_));
  add(tuner::DetectMemoryLimit(servers_, /*servers=*/true));
  add(tuner::DetectMemoryLimit(workers_, /*servers=*/false));
  add_one(tuner::DetectStarvedWorkers(workers_, servers_));
  add_one(tuner::DetectStalledLoss(losses_));
  add_one(tuner::DetectNotANumber(losses_));
  return all;
}

void JobHealth::Look(const TuningInput& input, std::vector<TuningOutput::Event>& events) {
  if (!input.training || !input.settled) return;
  if (window_at_ && input.time - *window_at_ < 0.98 * static_cast<double>(input.policy.window_seconds)) return;
  window_at_ = input.time;
  TakeWindow(input);
  std::vector<Finding> now = Detect();
  std::erase_if(now, [&](const Finding& finding) { return IsSilenced(finding.symptom, input.policy.findings); });
  for (Known& known : known_) {
    const bool seen = std::ranges::any_of(now, [&](const Finding& f) { return IsSame(f, known.finding); });
    known.absent = seen ? 0 : known.absent + 1;
    if (known.present && known.absent >= kWindowsUntilGone) {
      known.present = false;
      events.push_back({false, std::string(tuner::Name(known.finding.symptom)), "No longer: " + known.finding.text});
    }
  }
  for (const Finding& finding : now) {
    const auto known = std::ranges::find_if(known_, [&](const Known& k) { return IsSame(k.finding, finding); });
    if (known == known_.end()) {
      if (known_.size() >= kFindingsMax) {
        const auto gone = std::ranges::find_if(known_, [](const Known& k) { return !k.present; });
        if (gone == known_.end()) continue;
        known_.erase(gone);
      }
      known_.push_back({.finding = finding, .reported_at = input.time});
      events.push_back({true, std::string(tuner::Name(finding.symptom)), TextOf(finding)});
      continue;
    }
    if (known->present)
      continue;  // its figures stay as they were reported: a status that moves all the time is of no use
    known->finding = finding;
    known->present = true;
    if (input.time - known->reported_at < kQuietSeconds) continue;
    known->reported_at = input.time;
    events.push_back({true, std::string(tuner::Name(finding.symptom)), TextOf(finding)});
  }
}

std::vector<Finding> JobHealth::findings() const {
  std::vector<Finding> present;
  for (const Known& known : known_) {
    if (known.present) present.push_back(known.finding);
  }
  return present;
}

std::string JobHealth::Save() const {
  Json all = Json::array();
  for (const Finding& finding : findings()) {
    all.push_back({{"symptom", tuner::Name(finding.symptom)},
                   {"remedy", tuner::Name(finding.remedy)},
                   {"node", finding.node},
                   {"text", finding.text}});
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> FindingsOf(const std::string& saved) {
  std::vector<std::string> lines;
  const Json all = Json::parse(saved, nullptr, /*allow_exceptions=*/false);
  for (const Json& finding : all.is_array() ? all : Json::array()) {
    const auto word = [&](const char* name) {
      const Json& at = kube::At(finding, {name});
      return at.is_string() ? at.get<std::string>() : std::string("?");
    };
    lines.push_back(word("symptom") + ": " + word("text") + " (asks for: " + word("remedy") + ")");
    if (lines.size() == JobHealth::kFindingsMax) break;
  }
  return lines;
}

}  // namespace attune::controller
