#include "operator/policy/resolve.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "operator/api/format.h"
#include "operator/kube/quantity.h"
#include "operator/policy/calendar.h"
#include "operator/policy/strictest.h"

namespace attune::policy {
namespace {

using api::Policy;
using api::PolicySpec;
using api::TuningMode;

constexpr char kJob[] = "the job";
constexpr TuningMode kModes[] = {TuningMode::kAuto, TuningMode::kInitial, TuningMode::kInPlaceOnly,
                                 TuningMode::kRecommend, TuningMode::kOff};

std::string WholeText(int64_t value) { return std::to_string(value); }
std::string FigureText(double value) {
  constexpr double kWholeMost = 1e15;
  if (std::trunc(value) == value && std::abs(value) < kWholeMost) return WholeText(static_cast<int64_t>(value));
  return kube::Json(value).dump();
}

// Initial does what Auto does, and stops: where Auto is allowed, so is it.
bool Allows(const PolicySpec& spec, TuningMode mode) {
  if (spec.allowed_modes.empty() || mode == TuningMode::kOff) return true;
  return std::ranges::any_of(spec.allowed_modes, [&](TuningMode allowed) {
    return allowed == mode || (allowed == TuningMode::kAuto && mode == TuningMode::kInitial);
  });
}

std::string AllowedText(const PolicySpec& spec) {
  std::string text;
  for (const TuningMode mode : spec.allowed_modes)
    text += (text.empty() ? "allows " : ", ") + std::string(ToString(mode));
  return text;
}

std::string ObjectiveText(api::ObjectiveKind kind) {
  switch (kind) {
    case api::ObjectiveKind::kTime:
      return "time";
    case api::ObjectiveKind::kCost:
      return "cost";
    case api::ObjectiveKind::kTimeUnderBudget:
      return "timeUnderBudget";
  }
  return "";
}

// Cost spends least, time most.
int Thrift(api::ObjectiveKind kind) {
  return kind == api::ObjectiveKind::kCost ? 2 : kind == api::ObjectiveKind::kTimeUnderBudget ? 1 : 0;
}

class Resolver {
 public:
  Resolver(const JobFacts& job, const std::vector<Policy>& policies, WallTime now)
      : job_(job), policies_(policies), now_(now) {}

  Effective Run() {
    for (const Policy& policy : policies_) made_.policies.push_back(NameOf(policy));
    SetMode();
    SetObjective();
    for (size_t knob = 0; knob < api::kPolicyKnobs; ++knob) SetKnob(knob);
    SetLimits();
    return std::move(made_);
  }

 private:
  template <class Value, class Text, class Stricter>
  std::optional<Value> Take(const std::string& name, std::optional<Value> PolicySpec::*member, Text text,
                            Stricter stricter) {
    Field<Value> field(name, text);
    for (const Policy& policy : policies_) field.Say(policy.spec.*member, NameOf(policy));
    const auto settled = field.Settle(stricter, made_.fields);
    return settled ? std::optional<Value>(settled->value) : std::nullopt;
  }
  std::optional<int64_t> TakeLeast(const std::string& name, std::optional<int64_t> PolicySpec::*member) {
    return Take<int64_t>(name, member, WholeText, std::less<>());
  }

  // What was asked for, capped by windows that hold now, and then the highest mode that all policies allow.
  void SetMode() {
    TuningMode asked = job_.tuning.mode;
    std::string from = kJob;
    if (!job_.states_mode) {
      for (const Policy& policy : policies_) {
        const auto& other = policy.spec.default_mode;
        if (!other || (from != kJob && Reach(*other) >= Reach(asked))) continue;
        asked = *other;
        from = "the default of " + NameOf(policy);
      }
    }
    const std::string asked_from = from;
    TuningMode most = asked;
    for (const Policy& policy : policies_) {
      for (const api::PolicyWindow& window : policy.spec.windows) {
        if (!WindowHolds(window) || Reach(window.mode) >= Reach(most)) continue;
        most = window.mode;
        from = NameOf(policy) + ", window " + window.schedule;
      }
    }
    made_.mode = most;
    for (const TuningMode mode : kModes) {
      if (Reach(mode) > Reach(most)) continue;
      const auto objects = [&](const Policy& policy) { return !Allows(policy.spec, mode); };
      const auto objector = std::ranges::find_if(policies_, objects);
      made_.mode = mode;
      if (objector == policies_.end()) break;
      from = NameOf(*objector) + ", which " + AllowedText(objector->spec);
    }
    FieldInForce row{"mode", ToString(made_.mode), from, {}};
    if (made_.mode != asked) row.overruled.push_back({ToString(asked), asked_from});
    made_.fields.push_back(std::move(row));
    FindModeConflict();
  }

  void FindModeConflict() {
    Conflict conflict{"mode", {}, ""};
    for (const Policy& policy : policies_) {
      if (policy.spec.allowed_modes.empty()) continue;
      conflict.between.push_back(NameOf(policy));
      conflict.text += (conflict.text.empty() ? "" : ", ") + NameOf(policy) + " " + AllowedText(policy.spec);
    }
    const auto all_allow = [&](TuningMode mode) {
      return mode != TuningMode::kOff &&
             std::ranges::all_of(policies_, [&](const Policy& policy) { return Allows(policy.spec, mode); });
    };
    const auto asks_for_off = [](const Policy& policy) {
      return policy.spec.allowed_modes == std::vector<TuningMode>{TuningMode::kOff};
    };
    if (std::ranges::any_of(kModes, all_allow) || std::ranges::any_of(policies_, asks_for_off)) return;
    conflict.text = "no mode is left but Off: " + conflict.text;
    made_.conflicts.push_back(std::move(conflict));
  }

  bool WindowHolds(const api::PolicyWindow& window) {
    const auto schedule = api::ParseSchedule(window.schedule);
    if (!schedule) return true;
    const auto next = NextChange(*schedule, now_);
    if (next && (!made_.changes_at || *next < *made_.changes_at)) made_.changes_at = next;
    return Holds(*schedule, now_);
  }

  void SetObjective() {
    const auto stricter = [](api::ObjectiveKind a, api::ObjectiveKind b) { return Thrift(a) > Thrift(b); };
    Field<api::ObjectiveKind> kind("objective", ObjectiveText);
    if (job_.states_objective) {
      kind.Say(job_.tuning.objective.kind, kJob);
    } else {
      for (const Policy& policy : policies_)
        kind.Say(policy.spec.default_objective, "the default of " + NameOf(policy));
    }
    const auto settled = kind.Settle(stricter, made_.fields);
    made_.objective = settled ? settled->value : job_.tuning.objective.kind;
    if (!settled) made_.fields.push_back({"objective", ObjectiveText(made_.objective), kJob, {}});
    // The dearer price spends a budget sooner.
    made_.core_hour = Take<double>("objective.price.core-hour", &PolicySpec::core_hour, FigureText, std::greater<>());
    made_.gib_hour = Take<double>("objective.price.gib-hour", &PolicySpec::gib_hour, FigureText, std::greater<>());
    Field<double> budget("objective.budgetPerJob", FigureText);
    for (const Policy& policy : policies_) budget.Say(policy.spec.budget_per_job, NameOf(policy));
    budget.Say(job_.tuning.objective.budget, kJob);
    if (const auto least = budget.Settle(std::less<>(), made_.fields)) made_.budget = least->value;
    HoldToBudget();
  }

  // A job that is to be fast is to be so within what it may cost.
  void HoldToBudget() {
    const auto limits = [](const Policy& each) { return each.spec.budget_per_job.has_value(); };
    const auto limiting = std::ranges::find_if(policies_, limits);
    if (limiting == policies_.end() || made_.objective != api::ObjectiveKind::kTime) return;
    made_.objective = api::ObjectiveKind::kTimeUnderBudget;
    const auto row = std::ranges::find(made_.fields, "objective", &FieldInForce::field);
    row->overruled.insert(row->overruled.begin(), Overruled{row->value, row->from});
    row->value = ObjectiveText(made_.objective);
    row->from = "the budget of " + NameOf(*limiting);
  }

  // The job's own word about a knob.
  api::KnobBounds OwnBounds(size_t knob) const {
    const auto of = [](const auto& own) {
      return api::KnobBounds{.min = own.pinned ? own.pinned : own.min, .max = own.pinned ? own.pinned : own.max};
    };
    const api::Tuning& own = job_.tuning;
    switch (static_cast<api::PolicyKnob>(knob)) {
      case api::PolicyKnob::kServers:
        return of(own.servers);
      case api::PolicyKnob::kWorkers:
        return of(own.workers);
      case api::PolicyKnob::kThreads:
        return of(own.threads);
      case api::PolicyKnob::kSlack:
        return of(own.slack);
      case api::PolicyKnob::kServerCpu:
        return of(own.server_cpu);
      case api::PolicyKnob::kWorkerCpu:
        return of(own.worker_cpu);
    }
    return {};
  }

  void SetKnob(size_t knob) {
    const std::string name = "knobs." + std::string(api::kPolicyKnobNames.at(knob));
    const bool is_cpu = name.ends_with("Cpu");
    const auto text = [is_cpu](int64_t value) { return is_cpu ? kube::FormatMillicores(value) : WholeText(value); };
    Field<int64_t> min(name + ".min", text), max(name + ".max", text);
    Field<bool> forbidden(name + ".forbidden", [](bool value) { return value ? "true" : "false"; });
    for (const Policy& policy : policies_) {
      const api::KnobBounds& bounds = policy.spec.knobs.at(knob);
      min.Say(bounds.min, NameOf(policy));
      max.Say(bounds.max, NameOf(policy));
      if (bounds.forbidden) forbidden.Say(true, NameOf(policy));
    }
    const api::KnobBounds own = OwnBounds(knob);
    min.Say(own.min, kJob);
    max.Say(own.max, kJob);
    KnobRange& range = made_.knobs.at(knob);
    const auto least = min.Settle(std::greater<>(), made_.fields), most = max.Settle(std::less<>(), made_.fields);
    if (least) range.min = least->value;
    if (most) range.max = most->value;
    range.fixed = forbidden.Settle(std::less<>(), made_.fields).has_value();
    if (!least || !most || least->value <= most->value) return;
    range.fixed = true;
    made_.conflicts.push_back({name,
                               {least->from, most->from},
                               name + ": " + least->from + " asks for at least " + text(least->value) + ", " +
                                   most->from + " for at most " + text(most->value) +
                                   "; the job keeps its present setting until one of them is changed"});
  }

  void SetLimits() {
    made_.trials_per_hour = TakeLeast("limits.trialsPerHour", &PolicySpec::trials_per_hour);
    made_.moves_per_hour = TakeLeast("limits.movesPerHour", &PolicySpec::moves_per_hour);
    made_.cool_down_seconds =
        Take<int64_t>("limits.coolDownSeconds", &PolicySpec::cool_down_seconds, WholeText, std::greater<>());
    made_.crashes_per_job = TakeLeast("limits.crashesPerJob", &PolicySpec::crashes_per_job);
    made_.concurrent_changes_per_namespace =
        TakeLeast("limits.concurrentChangesPerNamespace", &PolicySpec::concurrent_changes_per_namespace);
    made_.millicores_per_namespace = Take<int64_t>("resources.perNamespace.cpu", &PolicySpec::millicores_per_namespace,
                                                   kube::FormatMillicores, std::less<>());
    made_.bytes_per_namespace = Take<int64_t>("resources.perNamespace.memory", &PolicySpec::bytes_per_namespace,
                                              kube::FormatByteCount, std::less<>());
    made_.min_gain_percent =
        Take<double>("adopt.minGainPercent", &PolicySpec::min_gain_percent, FigureText, std::greater<>());
    made_.certainty = Take<double>("adopt.certainty", &PolicySpec::certainty, FigureText, std::greater<>());
    const auto text = [](api::OnViolation value) {
      return std::string(value == api::OnViolation::kShrinkNow ? "ShrinkNow" : "Keep");
    };
    made_.shrinks_now = Take<api::OnViolation>("onViolation", &PolicySpec::on_violation, text, std::greater<>()) ==
                        api::OnViolation::kShrinkNow;
  }

  const JobFacts& job_;
  const std::vector<Policy>& policies_;
  const WallTime now_;
  Effective made_;
};

}  // namespace

int Reach(TuningMode mode) {
  switch (mode) {
    case TuningMode::kOff:
      return 0;
    case TuningMode::kRecommend:
      return 1;
    case TuningMode::kInPlaceOnly:
      return 2;
    case TuningMode::kInitial:
      return 3;
    case TuningMode::kAuto:
      return 4;
  }
  return 0;
}

bool Selects(const Policy& policy, const JobFacts& job) {
  if (!policy.name_space.empty() && policy.name_space != job.name_space) return false;
  if (!api::Matches(policy.spec.jobs, job.labels)) return false;
  return !job.namespace_labels || api::Matches(policy.spec.namespaces, *job.namespace_labels);
}

Effective Resolve(const JobFacts& job, std::vector<Policy> policies, WallTime now) {
  std::erase_if(policies, [&](const Policy& policy) { return !Selects(policy, job); });
  // Whether one is about this namespace may not be known: then it bounds what is to come, and changes nothing that is.
  for (Policy& policy : policies) {
    const bool is_certain = job.namespace_labels || policy.spec.namespaces == api::LabelSelector();
    if (!is_certain) policy.spec.on_violation = api::OnViolation::kKeep;
  }
  std::ranges::sort(policies, {}, [](const Policy& policy) { return std::tie(policy.name_space, policy.name); });
  return Resolver(job, policies, now).Run();
}

api::Tuning Restricted(api::Tuning tuning, const Effective& effective) {
  const bool capped = Reach(effective.mode) < Reach(TuningMode::kAuto) && !effective.policies.empty();
  const auto hold = [&](api::FindingPolicy& finding, TuningMode least) {
    const bool too_far = capped && Reach(effective.mode) < Reach(least);
    if (too_far && finding == api::FindingPolicy::kAct) finding = api::FindingPolicy::kByMode;
  };
  hold(tuning.findings.memory, TuningMode::kInPlaceOnly);
  hold(tuning.findings.straggler, TuningMode::kAuto);
  hold(tuning.findings.network, TuningMode::kAuto);
  tuning.mode = effective.mode;
  tuning.objective.kind = effective.objective;
  if (effective.core_hour) tuning.objective.core_hour = *effective.core_hour;
  if (effective.gib_hour) tuning.objective.gib_hour = *effective.gib_hour;
  tuning.objective.budget = effective.budget;
  return tuning;
}

}  // namespace attune::policy
