// Tuning policies as values: what a manifest may say, what is said of mistakes, and the CRDs that say the same.
#include "operator/api/policy/policy.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/os/file.h"
#include "operator/api/manifest/yaml.h"
#include "operator/api/policy/schedule.h"

namespace attune::api::policy_test {
namespace {

constexpr char kNight[] = R"(
apiVersion: attune.dev/v1alpha1
kind: ClusterTuningPolicy
metadata: {name: shared-gpus-off-hours}
spec:
  selector:
    namespaces: {matchLabels: {tier: research}}
    jobs:
      matchLabels: {priority: low}
      matchExpressions: [{key: team, operator: In, values: [a, b]}]
  mode: {allowed: [Recommend, InPlaceOnly, Auto], default: Auto}
  objective: {default: time, price: {core-hour: 0.04, gib-hour: 0.005}, budgetPerJob: 20}
  knobs: {workers: {max: 16}, workerCpu: {max: "4"}, slack: {forbidden: true}}
  limits: {trialsPerHour: 6, movesPerHour: 4, coolDownSeconds: 120, crashesPerJob: 1, concurrentChangesPerNamespace: 2}
  resources: {perNamespace: {cpu: "64", memory: 256Gi}}
  adopt: {minGainPercent: 5, certainty: 0.95}
  windows: [{schedule: "Mon-Fri 08:00-20:00 Europe/Berlin", mode: Recommend}]
  onViolation: ShrinkNow
)";

Json Read(const std::string& text) { return ParseYaml(text, "policy.yaml")->at(0).value; }

Json Minimal(const char* kind = "ClusterTuningPolicy") {
  return {
      {"apiVersion", "attune.dev/v1alpha1"}, {"kind", kind}, {"metadata", {{"name", "a"}}}, {"spec", Json::object()}};
}

Json& Reach(Json& object, const std::string& path) {
  Json* at = &object;
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t dot = std::min(path.find('.', begin), path.size());
    at = &(*at)[path.substr(begin, dot - begin)];
    begin = dot + 1;
  }
  return *at;
}

// The first problem with this value at this path; "" when it is accepted.
std::string ProblemWith(const std::string& path, const Json& value, const char* kind = "ClusterTuningPolicy") {
  Json object = Minimal(kind);
  Reach(object, path) = value;
  const ParsedPolicy parsed = ParsePolicy(object);
  return parsed.problems.empty() ? "" : ToString(parsed.problems.front());
}

TEST(Policy, EveryFieldOfAFullManifestReachesItsValue) {
  const ParsedPolicy parsed = ParsePolicy(Read(kNight));
  for (const FieldProblem& problem : parsed.problems) ADD_FAILURE() << ToString(problem);
  const PolicySpec& spec = parsed.policy.spec;
  EXPECT_EQ(NameOf(parsed.policy), "ClusterTuningPolicy shared-gpus-off-hours");
  EXPECT_EQ(spec.namespaces.match_labels.at("tier"), "research");
  EXPECT_EQ(spec.jobs.match_expressions.at(0).values, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(spec.allowed_modes,
            (std::vector<TuningMode>{TuningMode::kRecommend, TuningMode::kInPlaceOnly, TuningMode::kAuto}));
  EXPECT_EQ(spec.default_mode, TuningMode::kAuto);
  EXPECT_EQ(spec.default_objective, ObjectiveKind::kTime);
  EXPECT_EQ(spec.core_hour, 0.04);
  EXPECT_EQ(spec.gib_hour, 0.005);
  EXPECT_EQ(spec.budget_per_job, 20);
  EXPECT_EQ(spec.knobs.at(static_cast<size_t>(PolicyKnob::kWorkers)).max, 16);
  EXPECT_EQ(spec.knobs.at(static_cast<size_t>(PolicyKnob::kWorkerCpu)).max, 4000);
  EXPECT_TRUE(spec.knobs.at(static_cast<size_t>(PolicyKnob::kSlack)).forbidden);
  EXPECT_EQ(spec.trials_per_hour, 6);
  EXPECT_EQ(spec.moves_per_hour, 4);
  EXPECT_EQ(spec.cool_down_seconds, 120);
  EXPECT_EQ(spec.crashes_per_job, 1);
  EXPECT_EQ(spec.concurrent_changes_per_namespace, 2);
  EXPECT_EQ(spec.millicores_per_namespace, 64'000);
  EXPECT_EQ(spec.bytes_per_namespace, 256LL << 30);
  EXPECT_EQ(spec.min_gain_percent, 5);
  EXPECT_EQ(spec.certainty, 0.95);
  EXPECT_EQ(spec.windows.at(0).mode, TuningMode::kRecommend);
  EXPECT_EQ(spec.on_violation, OnViolation::kShrinkNow);
}

TEST(Policy, WhatIsWrittenIsReadBackEqual) {
  const Policy policy = ParsePolicy(Read(kNight)).policy;
  Json again = Minimal();
  again["spec"] = ToJson(policy.spec);
  EXPECT_TRUE(ParsePolicy(again).problems.empty());
  EXPECT_EQ(ParsePolicy(again).policy.spec, policy.spec);
  const PolicyStatus status{.observed_generation = 3, .jobs = 7, .conflicts = 1, .message = "a and b leave nothing"};
  again["status"] = ToJson(status);
  EXPECT_EQ(ParsePolicy(again).policy.status, status);
}

TEST(Policy, MistakesNameTheFieldAndWhatIsAllowed) {
  EXPECT_EQ(ProblemWith("spec.limits.trialsPerHuor", 6),
            "spec.limits.trialsPerHuor: found an unknown field; allowed: trialsPerHour (nearest); all: trialsPerHour, "
            "movesPerHour, coolDownSeconds, crashesPerJob, concurrentChangesPerNamespace");
  EXPECT_EQ(ProblemWith("spec.knobs.worker.max", 6).substr(0, 69),
            "spec.knobs.worker: found an unknown field; allowed: workers (nearest)");
  EXPECT_EQ(
      ProblemWith("spec.mode.default", "auto"),
      "spec.mode.default: found \"auto\"; allowed: Auto (nearest); all: Off, Recommend, Initial, InPlaceOnly, Auto");
  EXPECT_NE(ProblemWith("spec.knobs.workers", {{"min", 8}, {"max", 4}}), "");
  EXPECT_NE(ProblemWith("spec.knobs.workerCpu", {{"min", "2"}, {"max", "500m"}}), "");
  EXPECT_EQ(ProblemWith("spec.knobs.workerCpu", {{"min", "500m"}, {"max", 2}}), "");
  EXPECT_NE(ProblemWith("spec.adopt.certainty", 1.5), "");
  EXPECT_NE(ProblemWith("spec.limits.movesPerHour", 1.5), "");
  EXPECT_NE(ProblemWith("spec.selector.jobs.matchExpressions", Json::array({{{"key", "a"}, {"operator", "In"}}})), "");
  EXPECT_EQ(ProblemWith("spec.selector.jobs.matchExpressions", Json::array({{{"key", "a"}, {"operator", "Exists"}}})),
            "");
  EXPECT_NE(ProblemWith("spec.selector.namespaces.matchLabels.tier", "a", "TuningPolicy"), "");
  EXPECT_EQ(ProblemWith("spec.selector.jobs.matchLabels.tier", "a", "TuningPolicy"), "");
}

TEST(Policy, AWindowThatCannotBeReadIsKept) {
  Json object = Minimal();
  object["spec"]["windows"] = Json::array({{{"schedule", "working hours"}, {"mode", "Off"}}});
  const ParsedPolicy parsed = ParsePolicy(object);
  ASSERT_EQ(parsed.problems.size(), 1U);
  EXPECT_EQ(parsed.problems[0].path, "spec.windows[0].schedule");
  ASSERT_EQ(parsed.policy.spec.windows.size(), 1U);
  EXPECT_EQ(parsed.policy.spec.windows[0].mode, TuningMode::kOff);
}

TEST(Policy, SelectorsFollowKubernetes) {
  const auto expression = [](LabelExpression::Operator op, std::vector<std::string> values = {}) {
    return LabelSelector{{}, {{"team", op, std::move(values)}}};
  };
  using Operator = LabelExpression::Operator;
  EXPECT_TRUE(Matches({}, {}));
  EXPECT_TRUE(Matches({{{"tier", "a"}}, {}}, {{"tier", "a"}, {"other", "b"}}));
  EXPECT_FALSE(Matches({{{"tier", "a"}}, {}}, {{"tier", "b"}}));
  EXPECT_FALSE(Matches({{{"tier", "a"}}, {}}, {}));
  EXPECT_TRUE(Matches(expression(Operator::kIn, {"a", "b"}), {{"team", "b"}}));
  EXPECT_FALSE(Matches(expression(Operator::kIn, {"a", "b"}), {}));
  EXPECT_TRUE(Matches(expression(Operator::kNotIn, {"a"}), {}));
  EXPECT_FALSE(Matches(expression(Operator::kNotIn, {"a"}), {{"team", "a"}}));
  EXPECT_TRUE(Matches(expression(Operator::kExists), {{"team", ""}}));
  EXPECT_FALSE(Matches(expression(Operator::kDoesNotExist), {{"team", ""}}));
}

TEST(Policy, TheFirstPartOfASelectorThatFailsIsNamed) {
  const LabelSelector selector{{{"tier", "research"}},
                               {{"team", LabelExpression::Operator::kIn, {"a", "b"}},
                                {"zone", LabelExpression::Operator::kNotIn, {"x"}},
                                {"gpu", LabelExpression::Operator::kExists, {}},
                                {"spot", LabelExpression::Operator::kDoesNotExist, {}}}};
  EXPECT_EQ(ToString(selector), "tier=research,team in (a,b),zone notin (x),gpu,!spot");
  EXPECT_EQ(ToString(LabelSelector()), "");
  const std::pair<Labels, const char*> kTable[] = {
      {{}, "has no label tier; asked for is tier=research"},
      {{{"tier", "prod"}}, "has label tier=prod; asked for is tier=research"},
      {{{"tier", "research"}, {"team", "c"}}, "has label team=c; asked for is team in (a,b)"},
      {{{"tier", "research"}, {"team", "a"}, {"zone", "x"}}, "has label zone=x; asked for is zone notin (x)"},
      {{{"tier", "research"}, {"team", "a"}}, "has no label gpu; asked for is gpu"},
      {{{"tier", "research"}, {"team", "a"}, {"gpu", ""}, {"spot", "1"}}, "has label spot=1; asked for is !spot"}};
  for (const auto& [labels, want] : kTable) {
    EXPECT_EQ(FirstMismatch(selector, labels), want);
    EXPECT_FALSE(Matches(selector, labels)) << want;
  }
  EXPECT_EQ(FirstMismatch(selector, {{"tier", "research"}, {"team", "a"}, {"gpu", ""}}), std::nullopt);
}

TEST(Schedule, DaysAndHours) {
  const auto work = ParseSchedule("Mon-Fri 08:00-20:00 Europe/Berlin");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->days, (std::array<bool, 7>{true, true, true, true, true, false, false}));
  EXPECT_EQ(work->begin, 480);
  EXPECT_EQ(work->end, 1200);
  EXPECT_EQ(work->zone, "Europe/Berlin");
  EXPECT_EQ(ParseSchedule("Sat-Mon,Wed 22:00-06:00 UTC")->days,
            (std::array<bool, 7>{true, false, true, false, false, true, true}));
  EXPECT_EQ(ParseSchedule("* 00:00-24:00 UTC")->end, kMinutesPerDay);
}

TEST(Schedule, WhatCannotBeReadOrNeverMatchesIsRefused) {
  for (const char* text : {"", "Mon", "Mon 08:00-20:00", "mon 08:00-20:00 UTC", "Mon-Tue-Wed 08:00-20:00 UTC",
                           "Mon 8:00-20:00 UTC", "Mon 08:00-24:01 UTC", "Mon 24:00-08:00 UTC", "Mon 08:60-20:00 UTC",
                           "Mon 08:00 UTC", "Mon 08:00-20:00 ../etc", "Mon 08:00-20:00  UTC"}) {
    EXPECT_FALSE(ParseSchedule(text)) << text;
  }
  std::string why;
  EXPECT_FALSE(ParseSchedule("Mon 08:00-08:00 UTC", &why));
  EXPECT_NE(why.find("never match"), std::string::npos) << why;
}

void ExpectFileHolds(const std::string& name, const Json& crd) {
  const std::string path = std::string(ATTUNE_SOURCE_DIR) + "/crds/" + name + ".yaml";
  const std::string text = "# " + crd["spec"]["names"]["kind"].get<std::string>() +
                           ", attune.dev/v1alpha1. Made from the table of fields in "
                           "operator/api/policy/policy_fields.cpp; change\n# that, then run ATTUNE_UPDATE_GOLDEN=1 "
                           "api_test to write this file again.\n" +
                           ToYaml(crd);
  if (std::getenv("ATTUNE_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  }
  const auto file = ReadFile(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*file, text) << "run with ATTUNE_UPDATE_GOLDEN=1 and review the difference";
}

TEST(PolicyCrd, TheFilesAreWhatTheFieldsSay) {
  ExpectFileHolds("clustertuningpolicy", ClusterTuningPolicyCrd());
  ExpectFileHolds("tuningpolicy", TuningPolicyCrd());
}

// What a schema of the file accepts, the parser accepts, and nothing next to it.
int CompareWithParser(const Json& schema, const std::string& path, const char* kind) {
  int fields = 0;
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, field] : properties.items()) {
    const std::string at = path + "." + name;
    const std::string type = field.value("x-kubernetes-int-or-string", false) ? "amount" : field["type"];
    ++fields;
    EXPECT_NE(ProblemWith(at, nullptr, kind), "") << at << " takes null";
    if (type == "integer" || type == "number") {
      EXPECT_EQ(ProblemWith(at, field["minimum"], kind), "");
      EXPECT_NE(ProblemWith(at, field["minimum"].get<int64_t>() - 1, kind), "") << at;
      if (field.contains("maximum")) {
        EXPECT_EQ(ProblemWith(at, field["maximum"], kind), "");
        EXPECT_NE(ProblemWith(at, field["maximum"].get<int64_t>() + 1, kind), "") << at;
      }
      EXPECT_NE(ProblemWith(at, "1", kind), "") << at;
    } else if (type == "amount") {
      EXPECT_EQ(ProblemWith(at, "2", kind), "");
      EXPECT_EQ(ProblemWith(at, 2, kind), "");
      EXPECT_NE(ProblemWith(at, "-1", kind), "") << at;
    } else if (field.contains("enum")) {
      for (const Json& choice : field["enum"]) EXPECT_EQ(ProblemWith(at, choice, kind), "") << at << " " << choice;
      EXPECT_NE(ProblemWith(at, "Other", kind), "") << at;
    } else if (type == "boolean") {
      EXPECT_EQ(ProblemWith(at, true, kind), "");
      EXPECT_NE(ProblemWith(at, "true", kind), "") << at;
    } else if (type == "object" && field.contains("properties")) {
      EXPECT_NE(ProblemWith(at + ".noSuchField", 1, kind), "") << at;
      fields += CompareWithParser(field, at, kind);
    } else {
      EXPECT_NE(ProblemWith(at, "text", kind), "") << at;
    }
  }
  return fields;
}

TEST(PolicyCrd, EveryFieldOfTheFilesBehavesTheSameInTheParser) {
  for (const char* name : {"clustertuningpolicy", "tuningpolicy"}) {
    const std::string path = std::string(ATTUNE_SOURCE_DIR) + "/crds/" + name + ".yaml";
    const Json crd = ParseYaml(*ReadFile(path), path)->at(0).value;
    const Json spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    const std::string kind = crd["spec"]["names"]["kind"];
    EXPECT_GE(CompareWithParser(spec, "spec", kind.c_str()), 40);
    EXPECT_EQ(spec["properties"]["selector"]["properties"].contains("namespaces"), kind == "ClusterTuningPolicy");
  }
}

}  // namespace
}  // namespace attune::api::policy_test
