#include "cli/policies/policy_table.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "cli/runs/jobs.h"
#include "operator/kube/quantity.h"

namespace attune::cli {
namespace {

void Append(std::string& text, const std::string& part, const char* separator) {
  if (!part.empty()) text += (text.empty() ? "" : separator) + part;
}

std::string CountedOrNothing(size_t count, const std::string& what) {
  if (count == 0) return "";
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string ModesText(const api::PolicySpec& spec) {
  std::string text;
  for (const api::TuningMode mode : spec.allowed_modes) Append(text, ToString(mode), ", ");
  if (spec.default_mode) Append(text, std::string("default ") + ToString(*spec.default_mode), ", ");
  return text.empty() ? "" : "mode " + text;
}

std::string KnobText(const std::string& name, const api::KnobBounds& bounds) {
  if (bounds.forbidden) return name + " fixed";
  const auto figure = [&](int64_t value) {
    return name.ends_with("Cpu") ? kube::FormatMillicores(value) : std::to_string(value);
  };
  if (bounds.min && bounds.max) return name + " " + figure(*bounds.min) + ".." + figure(*bounds.max);
  if (bounds.max) return name + " <= " + figure(*bounds.max);
  if (bounds.min) return name + " >= " + figure(*bounds.min);
  return "";
}

std::string KnobsText(const api::PolicySpec& spec) {
  std::string text;
  for (size_t knob = 0; knob < api::kPolicyKnobs; ++knob)
    Append(text, KnobText(std::string(api::kPolicyKnobNames.at(knob)), spec.knobs.at(knob)), ", ");
  return text;
}

size_t LimitsOf(const api::PolicySpec& spec) {
  size_t count = 0;
  for (const auto& limit :
       {spec.trials_per_hour, spec.moves_per_hour, spec.cool_down_seconds, spec.crashes_per_job,
        spec.concurrent_changes_per_namespace, spec.millicores_per_namespace, spec.bytes_per_namespace}) {
    if (limit) ++count;
  }
  for (const auto& limit : {spec.min_gain_percent, spec.certainty, spec.budget_per_job}) {
    if (limit) ++count;
  }
  return count;
}

}  // namespace

std::string SelectsText(const api::Policy& policy) {
  const std::string jobs = ToString(policy.spec.jobs), namespaces = ToString(policy.spec.namespaces);
  return (jobs.empty() ? "all jobs" : jobs) + (namespaces.empty() ? "" : " in namespaces " + namespaces);
}

std::string RulesText(const api::PolicySpec& spec) {
  std::string text = ModesText(spec);
  Append(text, KnobsText(spec), "; ");
  Append(text, CountedOrNothing(LimitsOf(spec), "limit"), "; ");
  if (spec.default_objective || spec.core_hour || spec.gib_hour) Append(text, "objective", "; ");
  Append(text, CountedOrNothing(spec.windows.size(), "window"), "; ");
  if (spec.on_violation == api::OnViolation::kShrinkNow) Append(text, "ShrinkNow", "; ");
  return text.empty() ? "none" : text;
}

Table PolicyTable(const std::vector<kube::Json>& policies, double now) {
  Table table{{"KIND", "NAMESPACE", "NAME", "SELECTS", "RULES", "JOBS", "CONFLICTS", "AGE"}, {}};
  for (const kube::Json& object : policies) {
    const api::Policy policy = api::ParsePolicy(object).policy;
    // Without a status the operator has not looked at it, which is another thing than no jobs.
    const bool counted = kube::At(object, {"status"}).is_object();
    const auto count = [&](int64_t value) { return counted ? std::to_string(value) : std::string("-"); };
    table.rows.push_back({TypeOf(policy).kind, policy.name_space.empty() ? "-" : policy.name_space, policy.name,
                          SelectsText(policy), RulesText(policy.spec), count(policy.status.jobs),
                          count(policy.status.conflicts),
                          AgeText(std::string(kube::StringAt(object, {"metadata", "creationTimestamp"})), now)});
  }
  return table;
}

std::vector<std::string> PolicyComplaints(const std::vector<kube::Json>& policies) {
  std::vector<std::string> lines;
  for (const kube::Json& object : policies) {
    const api::ParsedPolicy parsed = api::ParsePolicy(object);
    const std::string name = NameOf(parsed.policy) + ": ";
    if (!parsed.policy.status.message.empty()) lines.push_back(name + parsed.policy.status.message);
    for (const api::FieldProblem& problem : parsed.problems) lines.push_back(name + api::ToString(problem));
  }
  return lines;
}

}  // namespace attune::cli
