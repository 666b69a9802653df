#include "operator/api/policy/policy_fields.h"

#include <algorithm>
#include <utility>

#include "operator/api/field_binding.h"
#include "operator/tuner/space/knob.h"

namespace attune::api {
namespace {

using FieldTable = std::vector<PolicyField>;

template <class Value>
size_t IndexOf(const std::vector<std::string>& names, const Value& name) {
  return static_cast<size_t>(std::ranges::find(names, name) - names.begin());
}

PolicyField& Add(FieldTable& fields, std::string path, PolicyFieldType type, std::string description) {
  PolicyField& field = fields.emplace_back();
  field.path = std::move(path);
  field.type = type;
  field.description = std::move(description);
  return field;
}

// An optional number, or one that is always there.
template <class Lens>
void AddNumber(FieldTable& fields, const std::string& path, const std::string& description, int64_t minimum,
               std::optional<int64_t> maximum, Lens lens) {
  using Member = std::remove_cvref_t<decltype(lens(std::declval<Policy&>()))>;
  constexpr bool kWhole = std::is_same_v<Member, std::optional<int64_t>> || std::is_same_v<Member, int64_t>;
  PolicyField& field = Add(fields, path, kWhole ? PolicyFieldType::kInteger : PolicyFieldType::kNumber, description);
  field.minimum = minimum;
  field.maximum = maximum;
  field.set = [lens](Policy& policy, const Json& value) { Binding<Member>::Set(lens(policy), value); };
  field.get = [lens](const Policy& policy) { return Binding<Member>::Get(lens(policy)); };
}

template <class Lens>
void AddQuantity(FieldTable& fields, const std::string& path, const std::string& description, bool is_cpu, Lens lens) {
  PolicyField& field = Add(fields, path, PolicyFieldType::kQuantity, description);
  field.is_cpu = is_cpu;
  field.set = [lens, is_cpu](Policy& policy, const Json& value) {
    const auto text = value.get<std::string>();
    lens(policy) = is_cpu ? kube::ParseMillicores(text) : kube::ParseByteCount(text);
  };
  field.get = [lens, is_cpu](const Policy& policy) {
    const std::optional<int64_t>& amount = lens(policy);
    return amount ? Json(QuantityText(*amount, is_cpu ? Unit::kMillicores : Unit::kBytes)) : Json();
  };
}

// An optional enumerator.
template <class Lens>
void AddChoice(FieldTable& fields, const std::string& path, const std::string& description,
               const std::vector<std::string>& names, Lens lens) {
  using Enum = typename std::remove_cvref_t<decltype(lens(std::declval<Policy&>()))>::value_type;
  PolicyField& field = Add(fields, path, PolicyFieldType::kChoice, description);
  field.choices = names;
  field.set = [lens, names](Policy& policy, const Json& value) {
    lens(policy) = static_cast<Enum>(IndexOf(names, value.get<std::string>()));
  };
  field.get = [lens, names](const Policy& policy) {
    return lens(policy) ? Json(names.at(static_cast<size_t>(*lens(policy)))) : Json();
  };
}

template <class Lens>
void AddSelector(FieldTable& fields, const std::string& path, const std::string& of_what, Lens lens) {
  Add(fields, path, PolicyFieldType::kObject, "By labels of " + of_what + "; absent: all.");
  PolicyField& labels =
      Add(fields, path + ".matchLabels", PolicyFieldType::kLabels, "Labels that must be there with these values.");
  labels.set = [lens](Policy& policy, const Json& value) { lens(policy).match_labels = value.get<Labels>(); };
  labels.get = [lens](const Policy& policy) {
    return lens(policy).match_labels.empty() ? Json() : Json(lens(policy).match_labels);
  };
  PolicyField& expressions = Add(fields, path + ".matchExpressions", PolicyFieldType::kExpressions,
                                 "Further conditions on labels; all must hold.");
  expressions.set = [lens](Policy& policy, const Json& value) {
    for (const Json& each : value) {
      LabelExpression& made = lens(policy).match_expressions.emplace_back();
      made.key = each.at("key").get<std::string>();
      made.op =
          static_cast<LabelExpression::Operator>(IndexOf(OperatorNames(), each.at("operator").get<std::string>()));
      if (each.contains("values")) made.values = each.at("values").get<std::vector<std::string>>();
    }
  };
  expressions.get = [lens](const Policy& policy) {
    Json list;
    for (const LabelExpression& each : lens(policy).match_expressions) {
      Json entry = {{"key", each.key}, {"operator", OperatorNames().at(static_cast<size_t>(each.op))}};
      if (!each.values.empty()) entry["values"] = each.values;
      list.push_back(std::move(entry));
    }
    return list;
  };
}

void AddMode(FieldTable& fields) {
  Add(fields, "spec.mode", PolicyFieldType::kObject, "How far tuning may go (spec.tuning.mode of a job).");
  PolicyField& allowed = Add(fields, "spec.mode.allowed", PolicyFieldType::kChoices,
                             "Modes that jobs may have; Off is always one of them. A job that asks for another one has "
                             "the next lower mode that is allowed. Absent: all.");
  allowed.choices = ModeNames();
  allowed.set = [](Policy& policy, const Json& value) {
    for (const Json& each : value) {
      const auto mode = static_cast<TuningMode>(IndexOf(ModeNames(), each.get<std::string>()));
      policy.spec.allowed_modes.push_back(mode);
    }
  };
  allowed.get = [](const Policy& policy) {
    Json list;
    for (const TuningMode mode : policy.spec.allowed_modes) list.push_back(ToString(mode));
    return list;
  };
  AddChoice(
      fields, "spec.mode.default", "The mode of jobs that state none.", ModeNames(),
      [](auto& policy) -> auto& { return policy.spec.default_mode; });
}

void AddObjective(FieldTable& fields) {
  Add(fields, "spec.objective", PolicyFieldType::kObject, "What better means, and what it may cost.");
  AddChoice(
      fields, "spec.objective.default", "The objective of jobs that state none.", ObjectiveNames(),
      [](auto& policy) -> auto& { return policy.spec.default_objective; });
  Add(fields, "spec.objective.price", PolicyFieldType::kObject,
      "What cores and memory cost, in any currency; in force instead of the prices that a job states.");
  AddNumber(
      fields, "spec.objective.price.core-hour", "Price of a core for an hour.", 0, std::nullopt,
      [](auto& policy) -> auto& { return policy.spec.core_hour; });
  AddNumber(
      fields, "spec.objective.price.gib-hour", "Price of a GiB of memory for an hour.", 0, std::nullopt,
      [](auto& policy) -> auto& { return policy.spec.gib_hour; });
  AddNumber(
      fields, "spec.objective.budgetPerJob", "What one job may cost as a whole.", 0, std::nullopt,
      [](auto& policy) -> auto& { return policy.spec.budget_per_job; });
}

void AddKnobs(FieldTable& fields) {
  Add(fields, "spec.knobs", PolicyFieldType::kObject, "Bounds of what the tuner may choose, by knob.");
  for (size_t knob = 0; knob < kPolicyKnobs; ++knob) {
    const std::string name(kPolicyKnobNames.at(knob)), path = "spec.knobs." + name;
    const auto bounds = [knob](auto& policy) -> auto& { return policy.spec.knobs.at(knob); };
    Add(fields, path, PolicyFieldType::kObject, "Bounds of " + name + ".").bounds_of_knob = true;
    const auto add = [&](const char* member, const char* description, auto lens) {
      if (name.ends_with("Cpu")) return AddQuantity(fields, path + "." + member, description, true, lens);
      const tuner::KnobRecord& record = *tuner::FindKnob(name);
      AddNumber(fields, path + "." + member, description, record.low, record.high, lens);
    };
    add(
        "min",
        "Least value that the tuner may choose.", [bounds](auto& policy) -> auto& { return bounds(policy).min; });
    add(
        "max",
        "Greatest value that the tuner may choose.", [bounds](auto& policy) -> auto& { return bounds(policy).max; });
    PolicyField& forbidden =
        Add(fields, path + ".forbidden", PolicyFieldType::kBoolean, "The tuner leaves this knob as it is.");
    forbidden.set = [bounds](Policy& policy, const Json& value) { bounds(policy).forbidden = value.get<bool>(); };
    forbidden.get = [bounds](const Policy& policy) { return bounds(policy).forbidden ? Json(true) : Json(); };
  }
}

#define POLICY_LENS(member) \
  [](auto& policy) -> auto& { return policy.member; }

void AddLimits(FieldTable& fields) {
  constexpr int64_t kCountMost = 1'000'000;
  Add(fields, "spec.limits", PolicyFieldType::kObject, "How often the tuner may change something.");
  const auto add = [&](const char* name, const char* description, int64_t most, auto lens) {
    AddNumber(fields, std::string("spec.limits.") + name, description, 0, most, lens);
  };
  add("trialsPerHour", "Settings that are tried in an hour, of one job.", kCountMost,
      POLICY_LENS(spec.trials_per_hour));
  add("movesPerHour", "Settings that are adopted in an hour, of one job.", kCountMost,
      POLICY_LENS(spec.moves_per_hour));
  add("coolDownSeconds", "Least time from one change of a job to the next.", kSecondsMax,
      POLICY_LENS(spec.cool_down_seconds));
  add("crashesPerJob", "After so many crashes at settings that were tried, nothing is tried any more.", kCountMost,
      POLICY_LENS(spec.crashes_per_job));
  add("concurrentChangesPerNamespace", "Jobs of one namespace that are changed at the same time.", kCountMost,
      POLICY_LENS(spec.concurrent_changes_per_namespace));
  Add(fields, "spec.resources", PolicyFieldType::kObject, "What tuning may use.");
  Add(fields, "spec.resources.perNamespace", PolicyFieldType::kObject,
      "What pods of all jobs of one namespace may request before the tuner makes none of them larger.");
  AddQuantity(fields, "spec.resources.perNamespace.cpu", "CPU.", true, POLICY_LENS(spec.millicores_per_namespace));
  AddQuantity(fields, "spec.resources.perNamespace.memory", "Memory.", false, POLICY_LENS(spec.bytes_per_namespace));
}

void AddRest(FieldTable& fields) {
  constexpr int64_t kPercentMost = 1000;
  Add(fields, "spec.adopt", PolicyFieldType::kObject, "When a better setting is adopted.");
  AddNumber(fields, "spec.adopt.minGainPercent", "Least gain of progress per second that is expected.", 0, kPercentMost,
            POLICY_LENS(spec.min_gain_percent));
  AddNumber(fields, "spec.adopt.certainty", "Least probability that there is a gain.", 0, 1,
            POLICY_LENS(spec.certainty));
  PolicyField& windows = Add(fields, "spec.windows", PolicyFieldType::kWindows,
                             "Hours of the week in which tuning may go no further than a mode.");
  windows.set = [](Policy& policy, const Json& value) {
    for (const Json& each : value) {
      PolicyWindow& window = policy.spec.windows.emplace_back();
      window.schedule = each.at("schedule").get<std::string>();
      window.mode = static_cast<TuningMode>(IndexOf(ModeNames(), each.at("mode").get<std::string>()));
    }
  };
  windows.get = [](const Policy& policy) {
    Json list;
    for (const PolicyWindow& window : policy.spec.windows)
      list.push_back({{"schedule", window.schedule}, {"mode", ToString(window.mode)}});
    return list;
  };
  AddChoice(fields, "spec.onViolation",
            "What happens to a job that runs outside of the bounds. Keep: it stays there until the tuner or a user "
            "changes it. ShrinkNow: it is brought into them at once. Absent: Keep.",
            {"Keep", "ShrinkNow"}, POLICY_LENS(spec.on_violation));
}

void AddStatusFields(FieldTable& fields) {
  Add(fields, "status", PolicyFieldType::kObject, "Written by the operator.");
  AddNumber(fields, "status.observedGeneration", "Of the spec that the rest is about.", 0, std::nullopt,
            POLICY_LENS(status.observed_generation));
  AddNumber(fields, "status.jobs", "Running jobs that are selected.", 0, std::nullopt, POLICY_LENS(status.jobs));
  AddNumber(fields, "status.conflicts", "Those of them where this policy and another one leave nothing.", 0,
            std::nullopt, POLICY_LENS(status.conflicts));
  PolicyField& message =
      Add(fields, "status.message", PolicyFieldType::kString, "What is wrong with the policy, or the first conflict.");
  message.set = [](Policy& policy, const Json& value) { policy.status.message = value.get<std::string>(); };
  message.get = [](const Policy& policy) {
    return policy.status.message.empty() ? Json() : Json(policy.status.message);
  };
}

}  // namespace

const std::vector<std::string>& ModeNames() {
  static const std::vector<std::string> kNames = Names(TuningMode{});
  return kNames;
}

const std::vector<std::string>& OperatorNames() {
  static const std::vector<std::string> kNames = {"In", "NotIn", "Exists", "DoesNotExist"};
  return kNames;
}

const std::vector<std::string>& ObjectiveNames() {
  static const std::vector<std::string> kNames = {"time", "cost", "timeUnderBudget"};
  return kNames;
}

const std::vector<PolicyField>& PolicyFields() {
  static const FieldTable kFields = [] {
    FieldTable fields;
    Add(fields, "spec", PolicyFieldType::kObject, "What tuning may do.");
    Add(fields, "spec.selector", PolicyFieldType::kObject, "The jobs that this is about; absent: all.");
    AddSelector(fields, "spec.selector.namespaces", "the job's namespace (ClusterTuningPolicy only)",
                POLICY_LENS(spec.namespaces));
    AddSelector(fields, "spec.selector.jobs", "the job", POLICY_LENS(spec.jobs));
    AddMode(fields);
    AddObjective(fields);
    AddKnobs(fields);
    AddLimits(fields);
    AddRest(fields);
    AddStatusFields(fields);
    return fields;
  }();
  return kFields;
}

const PolicyField& PolicyFieldAt(std::string_view path) {
  return *std::ranges::find(PolicyFields(), path, &PolicyField::path);
}

std::vector<const PolicyField*> PolicyChildrenOf(std::string_view path) {
  std::vector<const PolicyField*> children;
  for (const PolicyField& field : PolicyFields()) {
    if (field.path.size() > path.size() && field.parent() == path) children.push_back(&field);
  }
  return children;
}

}  // namespace attune::api
