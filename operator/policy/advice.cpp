#include "operator/policy/advice.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "operator/api/policy/policy.h"
#include "operator/api/policy/schedule.h"
#include "operator/policy/calendar.h"
#include "operator/policy/resolve.h"

namespace attune::policy {
namespace {

using api::PolicySpec;
using api::TuningMode;

class Adviser {
 public:
  explicit Adviser(const api::Policy& policy) : policy_(policy), spec_(policy.spec) {}

  std::vector<Advice> Run(const kube::Json& object) {
    LookAtSelectors(object);
    LookAtModes(kube::At(object, {"spec", "mode", "allowed"}));
    LookAtWindows();
    LookAtKnobs();
    LookForRules();
    return std::move(advice_);
  }

 private:
  void Warn(std::string path, std::string text) { advice_.push_back({true, std::move(path), std::move(text)}); }
  void Note(std::string path, std::string text) { advice_.push_back({false, std::move(path), std::move(text)}); }

  void LookAtSelectors(const kube::Json& object) {
    const bool of_cluster = policy_.name_space.empty();
    const bool all_jobs = spec_.jobs == api::LabelSelector(), all = spec_.namespaces == api::LabelSelector();
    if (of_cluster && all && all_jobs) Note("spec.selector", "it selects every job of the cluster");
    if (!of_cluster && all_jobs) Note("spec.selector", "it selects every job of its namespace");
    if (of_cluster && !kube::Namespace(object).empty())
      Warn("metadata.namespace",
           "a ClusterTuningPolicy is in no namespace and about all of them; for one write kind: TuningPolicy");
  }

  void LookAtModes(const kube::Json& allowed) {
    const std::vector<TuningMode>& modes = spec_.allowed_modes;
    const auto is_off = [](TuningMode mode) { return mode == TuningMode::kOff; };
    // An empty list reads as none was given.
    if (allowed.is_array() && allowed.empty())
      Warn("spec.mode.allowed", "an empty list allows all modes; [\"Off\"] allows none");
    else if (!modes.empty() && std::ranges::all_of(modes, is_off))
      Warn("spec.mode.allowed", "no mode is allowed but Off: the jobs that it selects are not tuned at all");
    const bool bounded = !modes.empty() && spec_.default_mode;
    if (bounded && !is_off(*spec_.default_mode) && std::ranges::find(modes, *spec_.default_mode) == modes.end())
      Warn("spec.mode.default", std::string(ToString(*spec_.default_mode)) +
                                    " is not one of spec.mode.allowed: jobs without a mode have the next lower one");
  }

  void LookAtWindows() {
    for (size_t i = 0; i < spec_.windows.size(); ++i) {
      const api::PolicyWindow& window = spec_.windows[i];
      const std::string path = "spec.windows[" + std::to_string(i) + "]";
      const auto schedule = api::ParseSchedule(window.schedule);
      if (schedule && !IsKnownZone(schedule->zone))
        Warn(path + ".schedule", "this machine knows no time zone " + schedule->zone +
                                     "; where the operator's does not either, the window holds always");
      const auto lower = [&](TuningMode mode) { return Reach(mode) > Reach(window.mode); };
      const bool lowers = spec_.allowed_modes.empty() ? window.mode != TuningMode::kAuto
                                                      : std::ranges::any_of(spec_.allowed_modes, lower);
      if (!lowers)
        Warn(path + ".mode", "without effect: " + std::string(ToString(window.mode)) +
                                 " is no lower than what is allowed at other hours");
    }
  }

  void LookAtKnobs() {
    bool any = false;
    for (size_t knob = 0; knob < api::kPolicyKnobs; ++knob) {
      const api::KnobBounds& bounds = spec_.knobs.at(knob);
      any = any || bounds.min || bounds.max;
      if (bounds.forbidden && (bounds.min || bounds.max))
        Warn("spec.knobs." + std::string(api::kPolicyKnobNames.at(knob)),
             "min and max are without effect beside forbidden: the knob keeps the value that it has");
    }
    if (spec_.on_violation == api::OnViolation::kShrinkNow && !any)
      Note("spec.onViolation", "this policy has no min and no max; ShrinkNow is about those of other policies, too");
  }

  void LookForRules() {
    PolicySpec selectors_alone;
    selectors_alone.namespaces = spec_.namespaces;
    selectors_alone.jobs = spec_.jobs;
    if (spec_ == selectors_alone) Warn("spec", "it has no rule: jobs that it selects are tuned as without it");
  }

  const api::Policy& policy_;
  const PolicySpec& spec_;
  std::vector<Advice> advice_;
};

// "spec.windows" of "spec.windows[0].mode".
std::string_view SectionOf(std::string_view path) {
  const size_t first = path.find('.');
  if (first == std::string_view::npos) return path;
  return path.substr(0, path.find_first_of(".[", first + 1));
}

}  // namespace

std::vector<Advice> AdviceOn(const kube::Json& object) {
  if (!api::IsPolicy(object)) return {};
  const api::ParsedPolicy parsed = api::ParsePolicy(object);
  std::vector<Advice> advice = Adviser(parsed.policy).Run(object);
  // What is empty there may be what could not be read.
  std::erase_if(advice, [&](const Advice& each) {
    return std::ranges::any_of(parsed.problems, [&](const api::FieldProblem& problem) {
      return each.path == "spec" || SectionOf(problem.path) == SectionOf(each.path);
    });
  });
  return advice;
}

}  // namespace attune::policy
