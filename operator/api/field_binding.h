// How a field of the table is tied to the member it lives in: type, reading and writing follow from the member's type.
// Internal to this room: spec_fields.cpp and status_fields.cpp are written in these words.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "operator/api/failure/failure_policy_fields.h"
#include "operator/api/fields.h"
#include "operator/kube/quantity.h"

namespace attune::api {

inline constexpr int32_t kPodsMax = 1024;        // per role
inline constexpr int64_t kCountMax = 1LL << 53;  // whole numbers that survive JSON readers working in doubles
inline constexpr int64_t kSecondsMax = 10LL * 365 * 86400;

// The parts of the table; fields.cpp puts them together.
void AddSpec(std::vector<Field>& fields);
void AddTuning(std::vector<Field>& fields);
void AddStatus(std::vector<Field>& fields);
std::vector<FieldRule> MakeRules();

// Names in the order of the enumerators.
inline std::vector<std::string> Names(Synchronization::Mode) { return {"Async", "BSP", "SSP"}; }
inline std::vector<std::string> Names(RowManagement) {
  return {kRowManagementNames.begin(), kRowManagementNames.end()};
}
inline std::vector<std::string> Names(TuningMode) { return {"Off", "Recommend", "Initial", "InPlaceOnly", "Auto"}; }
inline std::vector<std::string> Names(WriteTo) { return {"ByOwner", "Spec", "Status"}; }
inline std::vector<std::string> Names(FindingPolicy) { return {"ByMode", "Act", "Report", "Off"}; }
inline std::vector<std::string> Names(ServerPlacement) { return {"Any", "Spread", "Pack", "WithWorkers"}; }
inline std::vector<std::string> Names(WorkerPlacement) { return {"Any", "Spread", "Pack"}; }
inline std::vector<std::string> Names(ObjectiveKind) { return {"Time", "Cost", "TimeUnderBudget"}; }
inline std::vector<std::string> Names(Transport) { return {"Authenticated", "Encrypted"}; }
inline std::vector<std::string> Names(Direction) { return {"Minimize", "Maximize"}; }
inline std::vector<std::string> Names(ResumeAt) { return {"Newest", "Best"}; }
inline std::vector<std::string> Names(SuccessPolicy) { return {"ClosingWorkDone", "GoalReached"}; }
inline std::vector<std::string> Names(CleanPods) { return {"None", "Running", "All"}; }

template <class T>
struct Binding {
  static constexpr FieldType kType = std::is_enum_v<T>             ? FieldType::kChoice
                                     : std::is_same_v<T, Json>     ? FieldType::kPodTemplate
                                     : std::is_same_v<T, bool>     ? FieldType::kBoolean
                                     : std::is_floating_point_v<T> ? FieldType::kNumber
                                     : std::is_integral_v<T>       ? FieldType::kInteger
                                                                   : FieldType::kString;
  static std::vector<std::string> Choices() requires std::is_enum_v<T> { return Names(T{}); }
  static void Set(T& target, const Json& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto names = Names(T{});
      const auto at = std::find(names.begin(), names.end(), value.get<std::string>());
      target = static_cast<T>(at - names.begin());
    } else {
      target = value.get<T>();
    }
  }
  static Json Get(const T& source) {
    if constexpr (std::is_enum_v<T>) {
      return Names(T{}).at(static_cast<size_t>(source));
    } else {
      return source;
    }
  }
};

template <class T>
struct Binding<std::optional<T>> {
  static constexpr FieldType kType = Binding<T>::kType;
  static void Set(std::optional<T>& target, const Json& value) { Binding<T>::Set(target.emplace(), value); }
  static Json Get(const std::optional<T>& source) { return source ? Binding<T>::Get(*source) : Json(); }
  static std::vector<std::string> Choices() requires std::is_enum_v<T> { return Names(T{}); }
};

template <>
struct Binding<std::map<std::string, double>> {
  static constexpr FieldType kType = FieldType::kMetrics;
  static void Set(std::map<std::string, double>& target, const Json& value) {
    for (const auto& [name, number] : value.items()) {
      if (number.is_number()) target[name] = number.get<double>();
    }
  }
  static Json Get(const std::map<std::string, double>& source) { return source.empty() ? Json() : Json(source); }
};

template <>
struct Binding<std::vector<uint32_t>> {
  static constexpr FieldType kType = FieldType::kNumbers;
  static void Set(std::vector<uint32_t>& target, const Json& value) {
    for (const Json& each : value) {
      if (each.is_number_unsigned() && each.get<uint64_t>() <= UINT32_MAX) target.push_back(each.get<uint32_t>());
    }
  }
  static Json Get(const std::vector<uint32_t>& source) { return source; }
};

inline std::string TextAt(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

template <>
struct Binding<std::vector<Condition>> {
  static constexpr FieldType kType = FieldType::kConditions;
  static void Set(std::vector<Condition>& target, const Json& value) {
    for (const Json& each : value) {
      if (!each.is_object()) continue;
      Condition& condition = target.emplace_back();
      condition.type = TextAt(each, "type");
      condition.status = TextAt(each, "status");
      condition.reason = TextAt(each, "reason");
      condition.message = TextAt(each, "message");
      condition.last_transition_time = TextAt(each, "lastTransitionTime");
      const auto generation = each.find("observedGeneration");
      if (generation != each.end() && generation->is_number_integer()) {
        condition.observed_generation = generation->get<int64_t>();
      }
    }
  }
  static Json Get(const std::vector<Condition>& source) {
    if (source.empty()) return {};
    Json list = Json::array();
    for (const Condition& condition : source) {
      list.push_back({{"type", condition.type},
                      {"status", condition.status},
                      {"reason", condition.reason},
                      {"message", condition.message},
                      {"lastTransitionTime", condition.last_transition_time},
                      {"observedGeneration", condition.observed_generation}});
    }
    return list;
  }
};

template <>
struct Binding<std::vector<MetricStatus>> {
  static constexpr FieldType kType = FieldType::kMetricList;
  static void Set(std::vector<MetricStatus>& target, const Json& value);
  static Json Get(const std::vector<MetricStatus>& source);
};

template <>
struct Binding<std::vector<TableRows>> {
  static constexpr FieldType kType = FieldType::kTableList;
  static void Set(std::vector<TableRows>& target, const Json& value);
  static Json Get(const std::vector<TableRows>& source);
};

template <>
struct Binding<std::vector<PodRowTrace>> {
  static constexpr FieldType kType = FieldType::kRowTraceList;
  static void Set(std::vector<PodRowTrace>& target, const Json& value);
  static Json Get(const std::vector<PodRowTrace>& source);
};

template <>
struct Binding<std::vector<TuningDecision>> {
  static constexpr FieldType kType = FieldType::kDecisionList;
  static void Set(std::vector<TuningDecision>& target, const Json& value);
  static Json Get(const std::vector<TuningDecision>& source);
};

template <>
struct Binding<std::vector<MachineLoss>> {
  static constexpr FieldType kType = FieldType::kLossList;
  static void Set(std::vector<MachineLoss>& target, const Json& value);
  static Json Get(const std::vector<MachineLoss>& source);
};

template <>
struct Binding<std::vector<ChosenSetting>> {
  static constexpr FieldType kType = FieldType::kSettingList;
  static void Set(std::vector<ChosenSetting>& target, const Json& value);
  static Json Get(const std::vector<ChosenSetting>& source);
};

template <>
struct Binding<std::vector<FailureRule>> {
  static constexpr FieldType kType = FieldType::kFailureRules;
  static void Set(std::vector<FailureRule>& target, const Json& value) { target = ReadFailureRules(value); }
  static Json Get(const std::vector<FailureRule>& source) { return WriteFailureRules(source); }
};

// `lens` gives the member for a mutable and for a constant job.
template <class Lens>
Field Bound(std::string path, std::string description, Lens lens) {
  using Member = std::remove_cvref_t<decltype(lens(std::declval<TrainingJob&>()))>;
  Field field;
  field.path = std::move(path);
  field.description = std::move(description);
  field.type = Binding<Member>::kType;
  if constexpr (requires { Binding<Member>::Choices(); }) field.choices = Binding<Member>::Choices();
  field.set = [lens](TrainingJob& job, const Json& value) { Binding<Member>::Set(lens(job), value); };
  field.get = [lens](const TrainingJob& job) { return Binding<Member>::Get(lens(job)); };
  return field;
}

enum class Unit { kMillicores, kBytes };

inline std::string QuantityText(int64_t amount, Unit unit) {
  return unit == Unit::kMillicores ? kube::FormatMillicores(amount) : kube::FormatByteCount(amount);
}

// A member std::optional<int64_t> in this unit, which a manifest writes as Kubernetes writes amounts.
template <class Lens>
Field BoundQuantity(std::string path, std::string description, Unit unit, Lens lens) {
  constexpr int32_t kLengthMax = 32;
  const auto parse = unit == Unit::kMillicores ? kube::ParseMillicores : kube::ParseByteCount;
  Field field;
  field.path = std::move(path);
  field.description = std::move(description);
  field.type = FieldType::kQuantity;
  field.pattern = R"(^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$)";
  field.pattern_words = unit == Unit::kMillicores ? "an amount of cpu as in a pod's resources, such as 500m or \"2\""
                                                  : "an amount of memory as in a pod's resources, such as 512Mi or 2Gi";
  field.length_max = kLengthMax;
  field.fits = [parse](const std::string& text) { return parse(text).has_value(); };
  field.set = [lens, parse](TrainingJob& job, const Json& value) { lens(job) = parse(value.get<std::string>()); };
  field.get = [lens, unit](const TrainingJob& job) {
    return lens(job) ? Json(QuantityText(*lens(job), unit)) : Json();
  };
  return field;
}
#define LENS(member) \
  [](auto& job) -> auto& { return job.member; }

inline Field Object(std::string path, std::string description) {
  Field field;
  field.path = std::move(path);
  field.description = std::move(description);
  return field;
}

inline Field Default(Field field, Json value) {
  field.default_value = std::move(value);
  return field;
}

inline Field Required(Field field) {
  field.required = true;
  return field;
}

inline Field Range(Field field, int64_t minimum, int64_t maximum) {
  field.minimum = minimum;
  field.maximum = maximum;
  return field;
}

inline Field OmitEmpty(Field field) {
  field.omit_empty = true;
  return field;
}

}  // namespace attune::api
