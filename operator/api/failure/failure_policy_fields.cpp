#include "operator/api/failure/failure_policy_fields.h"

#include <signal.h>

#include <algorithm>
#include <optional>
#include <set>

#include "operator/api/names.h"
#include "operator/api/pod_template.h"

namespace attune::api {
namespace {

constexpr int kSignalsMax = 31;  // those with names
constexpr int64_t kExitCodeMax = 255;
constexpr size_t kConditionTypeMax = 316;

const std::vector<std::string> kOperators = {"In", "NotIn"};
const std::vector<std::string> kConditionStatuses = {"True", "False", "Unknown"};
const std::vector<std::string> kPatterns = {"onExitCodes", "onSignals", "onPodConditions"};

const std::vector<std::string>& SignalNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int number = 1; number <= kSignalsMax; ++number) all.push_back(SignalName(number));
    return all;
  }();
  return names;
}

Json Member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? Json() : *found;
}

class FailureRuleChecker {
 public:
  explicit FailureRuleChecker(std::vector<FieldProblem>& problems) : problems_(problems) {}

  void Rules(const Json& list, const std::string& path) {
    if (!IsList(list, path, kFailureRulesMax, 0)) return;
    for (size_t i = 0; i < list.size(); ++i) Rule(list[i], path + "[" + std::to_string(i) + "]");
  }

 private:
  void Problem(const std::string& path, const Json& value, const std::string& allowed) {
    problems_.push_back({path, FoundText(value), allowed});
  }

  bool IsList(const Json& value, const std::string& path, size_t most, size_t least) {
    if (value.is_array() && value.size() <= most && value.size() >= least) return true;
    Problem(path, value,
            "a list of " + std::string(least > 0 ? "1 to " : "at most ") + std::to_string(most) + " entries");
    return false;
  }

  bool IsObject(const Json& value, const std::string& path, const std::vector<std::string>& names) {
    if (!value.is_object()) {
      Problem(path, value, "a mapping with " + JoinNames(names));
      return false;
    }
    for (const auto& item : value.items()) {
      if (std::ranges::find(names, item.key()) != names.end()) continue;
      const auto nearest = NearestName(item.key(), names);
      FieldProblem problem{path + "." + item.key(), "an unknown field",
                           (nearest ? *nearest + " (nearest); all: " : "") + JoinNames(names)};
      problem.about_key = true;
      problems_.push_back(std::move(problem));
    }
    return true;
  }

  void Choice(const Json& value, const std::string& path, const std::vector<std::string>& choices) {
    const bool is_text = value.is_string();
    if (is_text && std::ranges::find(choices, value.get_ref<const std::string&>()) != choices.end()) return;
    const auto nearest = is_text ? NearestName(value.get_ref<const std::string&>(), choices) : std::nullopt;
    Problem(path, value, (nearest ? *nearest + " (nearest); all: " : "") + JoinNames(choices));
  }

  void Rule(const Json& rule, const std::string& path) {
    if (!IsObject(rule, path, {"action", "roles", "onExitCodes", "onSignals", "onPodConditions"})) return;
    Choice(Member(rule, "action"), path + ".action", Names(FailureAction{}));
    if (rule.contains("roles") && IsList(rule["roles"], path + ".roles", 2, 1)) {
      for (const Json& role : rule["roles"]) Choice(role, path + ".roles", Names(FailureRole{}));
      NoneTwice(rule["roles"], path + ".roles");
    }
    const auto said = std::ranges::count_if(kPatterns, [&](const std::string& name) { return rule.contains(name); });
    if (said != 1) {
      problems_.push_back({path, said == 0 ? "a rule that matches nothing" : "several patterns",
                           "exactly one of " + JoinNames(kPatterns)});
    }
    if (rule.contains("onExitCodes")) Codes(rule["onExitCodes"], path + ".onExitCodes");
    if (rule.contains("onSignals")) Signals(rule["onSignals"], path + ".onSignals");
    if (rule.contains("onPodConditions")) Conditions(rule["onPodConditions"], path + ".onPodConditions");
  }

  // As the API server refuses it (x-kubernetes-list-type: set).
  void NoneTwice(const Json& list, const std::string& path) {
    std::set<Json> seen;
    for (const Json& each : list) {
      if (!seen.insert(each).second) problems_.push_back({path, FoundText(each) + " twice", "each value once"});
    }
  }

  bool IsPattern(const Json& pattern, const std::string& path) {
    if (!IsObject(pattern, path, {"operator", "values"})) return false;
    Choice(Member(pattern, "operator"), path + ".operator", kOperators);
    if (!IsList(Member(pattern, "values"), path + ".values", kFailureValuesMax, 1)) return false;
    NoneTwice(pattern["values"], path + ".values");
    return true;
  }

  void Codes(const Json& pattern, const std::string& path) {
    if (!IsPattern(pattern, path)) return;
    for (const Json& code : pattern["values"]) {
      if (code.is_number_integer() && code.get<int64_t>() >= 1 && code.get<int64_t>() <= kExitCodeMax) continue;
      Problem(path + ".values", code, "exit codes from 1 to 255; with 0 a process says that its work is done");
    }
  }

  void Signals(const Json& pattern, const std::string& path) {
    if (!IsPattern(pattern, path)) return;
    for (const Json& name : pattern["values"]) Choice(name, path + ".values", SignalNames());
  }

  void Conditions(const Json& list, const std::string& path) {
    if (!IsList(list, path, kFailureRulesMax, 1)) return;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string each = path + "[" + std::to_string(i) + "]";
      if (!IsObject(list[i], each, {"type", "status"})) continue;
      const Json type = Member(list[i], "type");
      if (!type.is_string() || !IsLabelKey(type.get_ref<const std::string&>())) {
        Problem(each + ".type", type, "the type of a condition of pods, such as DisruptionTarget");
      }
      if (list[i].contains("status")) Choice(list[i]["status"], each + ".status", kConditionStatuses);
    }
  }

  std::vector<FieldProblem>& problems_;
};

template <class Enum>
Enum Read(const Json& name) {
  const auto names = Names(Enum{});
  return static_cast<Enum>(std::ranges::find(names, name.get<std::string>()) - names.begin());
}

std::optional<NumberPattern> ReadPattern(const Json& rule, const char* name) {
  const Json pattern = Member(rule, name);
  if (pattern.is_null()) return std::nullopt;
  NumberPattern read{.in = pattern["operator"] == "In", .values = {}};
  for (const Json& value : pattern["values"]) {
    const auto signal = value.is_string()
                            ? std::ranges::find(SignalNames(), value.get<std::string>()) - SignalNames().begin() + 1
                            : value.get<int64_t>();
    read.values.push_back(static_cast<int32_t>(signal));
  }
  return read;
}

Json WritePattern(const NumberPattern& pattern, bool signals) {
  Json values = Json::array();
  for (const int32_t value : pattern.values) values.push_back(signals ? Json(SignalName(value)) : Json(value));
  return {{"operator", pattern.in ? "In" : "NotIn"}, {"values", std::move(values)}};
}

Json PatternSchema(const Json& item) {
  return {{"type", "object"},
          {"required", {"operator", "values"}},
          {"properties",
           {{"operator", {{"type", "string"}, {"enum", kOperators}}},
            {"values",
             {{"type", "array"},
              {"minItems", 1},
              {"maxItems", kFailureValuesMax},
              {"x-kubernetes-list-type", "set"},
              {"items", item}}}}}};
}

}  // namespace

std::string SignalName(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? "" : "SIG" + std::string(name);
}

void CheckFailureRules(const Json& list, const std::string& path, std::vector<FieldProblem>& problems) {
  FailureRuleChecker(problems).Rules(list, path);
}

std::vector<FailureRule> ReadFailureRules(const Json& list) {
  std::vector<FailureRule> rules;
  for (const Json& each : list) {
    FailureRule& rule = rules.emplace_back();
    rule.action = Read<FailureAction>(each["action"]);
    for (const Json& role : Member(each, "roles")) rule.roles.push_back(Read<FailureRole>(role));
    rule.exit_codes = ReadPattern(each, "onExitCodes");
    rule.signals = ReadPattern(each, "onSignals");
    for (const Json& condition : Member(each, "onPodConditions")) {
      rule.pod_conditions.push_back({condition["type"].get<std::string>(), condition.value("status", "True")});
    }
  }
  return rules;
}

Json WriteFailureRules(const std::vector<FailureRule>& rules) {
  if (rules.empty()) return {};
  Json list = Json::array();
  for (const FailureRule& rule : rules) {
    Json& written = list.emplace_back(Json::object());
    written["action"] = Names(rule.action)[static_cast<size_t>(rule.action)];
    for (const FailureRole role : rule.roles) written["roles"].push_back(Names(role)[static_cast<size_t>(role)]);
    if (rule.exit_codes) written["onExitCodes"] = WritePattern(*rule.exit_codes, false);
    if (rule.signals) written["onSignals"] = WritePattern(*rule.signals, true);
    for (const PodConditionPattern& condition : rule.pod_conditions) {
      written["onPodConditions"].push_back({{"type", condition.type}, {"status", condition.status}});
    }
  }
  return list;
}

Json FailureRulesSchema(const std::string& description) {
  const Json code = {{"type", "integer"}, {"format", "int32"}, {"minimum", 1}, {"maximum", kExitCodeMax}};
  const Json signal = {{"type", "string"}, {"enum", SignalNames()}};
  const Json condition = {
      {"type", "object"},
      {"required", {"type"}},
      {"properties",
       {{"type", {{"type", "string"}, {"maxLength", kConditionTypeMax}, {"pattern", kLabelKeyPattern}}},
        {"status", {{"type", "string"}, {"enum", kConditionStatuses}, {"default", "True"}}}}}};
  const Json item = {
      {"type", "object"},
      {"required", {"action"}},
      {"x-kubernetes-validations",
       Json::array({{{"rule",
                      "[has(self.onExitCodes), has(self.onSignals), has(self.onPodConditions)].filter(said, said)"
                      ".size() == 1"},
                     {"message", "a rule has exactly one of onExitCodes, onSignals, onPodConditions"}}})},
      {"properties",
       {{"action",
         {{"type", "string"},
          {"enum", Names(FailureAction{})},
          {"description",
           "FailJob: the job is Failed at once. Ignore: another pod follows, and it counts for nothing. "
           "Restart: another pod follows, and it counts for backoffLimit."}}},
        {"roles",
         {{"type", "array"},
          {"minItems", 1},
          {"maxItems", 2},
          {"x-kubernetes-list-type", "set"},
          {"description", "Of which pods. Absent: of all."},
          {"items", {{"type", "string"}, {"enum", Names(FailureRole{})}}}}},
        {"onExitCodes", PatternSchema(code)},
        {"onSignals", PatternSchema(signal)},
        {"onPodConditions",
         {{"type", "array"},
          {"minItems", 1},
          {"maxItems", kFailureRulesMax},
          {"x-kubernetes-list-type", "atomic"},
          {"items", condition}}}}}};
  return {{"type", "array"},
          {"description", description},
          {"maxItems", kFailureRulesMax},
          {"x-kubernetes-list-type", "atomic"},
          {"items", item}};
}

}  // namespace attune::api
