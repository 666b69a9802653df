// What the operator chooses beside the spec: it counts as long as the owner of the spec says the same as before, and
// never makes a manifest invalid.
#include "operator/api/status/chosen_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/job_metadata.h"

namespace attune::api::chosen_settings_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// As an API server has it: with the defaults of absent fields.
Json Job(const Json& spec = Json::object(), const Json& settings = nullptr) {
  Json job = Json::parse(R"({
    "apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "word2vec"},
    "spec": {"servers": {"replicas": 1}, "workers": {"replicas": 2,
      "template": {"spec": {"containers": [{"name": "worker", "image": "w"}]}}}}})");
  job["spec"].merge_patch(spec);
  job = WithDefaults(std::move(job));
  if (!settings.is_null()) job["status"]["settings"] = settings;
  return job;
}

// Chosen at once, as the operator writes it.
Json Choose(Json job, const Json& spec) {
  job["status"]["settings"] = ToJson(ChosenAfter(job, spec));
  return job;
}

TrainingJobSpec SpecOf(const Json& job) { return ParseInForce(job).job.spec; }

TEST(ChosenSettings, TheSpecSaysOneThingAndTheJobHasAnother) {
  const Json job =
      Choose(Job(), {{"workers", {{"replicas", 4}, {"threads", 3}, {"resources", {{"cpu", {{"target", "1250m"}}}}}}},
                     {"servers", {{"replicas", 1}}},
                     {"synchronization", SynchronizationFields(SyncMode::Ssp(4))}});
  const ParsedJob parsed = ParseInForce(job);
  EXPECT_THAT(parsed.problems, IsEmpty());
  EXPECT_EQ(parsed.job.spec.workers.replicas, 4);
  EXPECT_EQ(parsed.job.spec.servers.replicas, 1);
  EXPECT_EQ(parsed.job.spec.worker_threads, 3);
  EXPECT_EQ(parsed.job.spec.workers.resources.cpu.target, 1250);
  EXPECT_EQ(FromManifest(parsed.job.spec.synchronization), SyncMode::Ssp(4));
  EXPECT_EQ(ParseTrainingJob(job).job.spec.workers.replicas, 2) << "the spec itself is untouched";
  EXPECT_EQ(ToString(parsed.job.chosen),
            "synchronization SSP:4 instead of Async, workers 4 instead of 2, cpu of workers 1250m instead of what its "
            "pods begin with, threads 3 instead of what its pods begin with");
  EXPECT_EQ(parsed.job.chosen, parsed.job.status.settings);
}

TEST(ChosenSettings, WhatTheSpecSaysItselfIsNoChoice) {
  EXPECT_THAT(ChosenAfter(Job(), {{"workers", {{"replicas", 2}}}}), IsEmpty());
  const Json four = Choose(Job(), {{"workers", {{"replicas", 4}}}});
  EXPECT_THAT(ChosenAfter(four, {{"workers", {{"replicas", 2}}}}), IsEmpty()) << "the way back";
  EXPECT_THAT(ChosenAfter(four, Json::object()), ElementsAre(ChosenSetting{"spec.workers.replicas", "4", "2"}));
  EXPECT_THAT(ChosenAfter(four, {{"goal", {{"epochs", 9}}}}),
              ElementsAre(ChosenSetting{"spec.workers.replicas", "4", "2"}))
      << "not a field that can be chosen";
}

TEST(ChosenSettings, WhoeverChangesTheSpecHasTheLastSay) {
  struct Case {
    const char* name;
    Json change;
    int workers, servers;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"nothing changes", Json::object(), 4, 3},
           {"the owner wants as many as were chosen", {{"workers", {{"replicas", 4}}}}, 4, 3},
           {"the owner wants another number", {{"workers", {{"replicas", 7}}}}, 7, 3},
           {"it is pinned", {{"tuning", {{"workers", {{"pinned", 2}}}}}}, 2, 3},
           {"what was chosen is above the new maximum", {{"workers", {{"max", 3}}}}, 2, 3},
           {"one of two is below the new minimum", {{"servers", {{"min", 1}, {"max", 2}}}}, 4, 1}}) {
    Json job = Choose(Job(), {{"workers", {{"replicas", 4}}}, {"servers", {{"replicas", 3}}}});
    job["spec"].merge_patch(each.change);
    const ParsedJob parsed = ParseInForce(job);
    EXPECT_THAT(parsed.problems, IsEmpty()) << each.name;
    EXPECT_EQ(parsed.job.spec.workers.replicas, each.workers) << each.name;
    EXPECT_EQ(parsed.job.spec.servers.replicas, each.servers) << each.name;
    EXPECT_EQ(ParseInForce(Choose(job, Json::object())).job.chosen, parsed.job.chosen) << each.name << ": tidied";
  }
}

TEST(ChosenSettings, AManifestWithAProblemOfItsOwnHasThatProblem) {
  Json job = Choose(Job(), {{"workers", {{"replicas", 4}}}});
  job["spec"]["goal"]["epochs"] = -1;
  const ParsedJob parsed = ParseInForce(job);
  ASSERT_EQ(parsed.problems.size(), 1U);
  EXPECT_EQ(parsed.problems[0].path, "spec.goal.epochs");
  EXPECT_THAT(parsed.job.chosen, IsEmpty());
}

TEST(ChosenSettings, WhatNoOperatorWritesIsLeftOut) {
  for (const char* settings :
       {R"("x")", R"([1, null, "x"])", R"([{"field": "spec.workers.template", "value": "{}", "instead": ""}])",
        R"([{"field": "spec.workers.replicas", "value": "4.5", "instead": "2"}])",
        R"([{"field": "spec.workers.replicas", "value": "99999999999", "instead": "2"}])",
        R"([{"field": "spec.workers.replicas", "value": "-4", "instead": "2"}])",
        R"([{"field": "spec.workers.replicas", "value": "4", "instead": "3"}])",
        R"([{"field": "spec.workers.replicas", "value": "4"}])",
        R"([{"field": "spec.workers.resources.cpu.target", "value": "many"}])",
        R"([{"field": "spec.synchronization", "value": "[]", "instead": "{\"mode\":\"Async\"}"}])",
        R"([{"field": "spec.synchronization", "value": "{\"mode\": 7}", "instead": "{\"mode\":\"Async\"}"}])",
        R"([{"field": "spec.synchronization", "value": "{", "instead": "{\"mode\":\"Async\"}"}])"}) {
    const Json job = Job(Json::object(), Json::parse(settings));
    const ParsedJob parsed = ParseInForce(job);
    EXPECT_THAT(parsed.problems, IsEmpty()) << settings;
    EXPECT_EQ(parsed.job.spec.workers.replicas, 2) << settings;
    EXPECT_EQ(FromManifest(parsed.job.spec.synchronization), SyncMode::Async()) << settings;
    EXPECT_THAT(parsed.job.chosen, IsEmpty()) << settings;
    EXPECT_THAT(ChosenAfter(job, Json::object()), IsEmpty()) << settings;
  }
  EXPECT_FALSE(ParseInForce(Json::parse(R"({"spec": {"workers": 7}, "status": {"settings": [
    {"field": "spec.workers.replicas", "value": "4"}]}})"))
                   .problems.empty());
}

TEST(ChosenSettings, AsAPatchOfTheSpecTheySayTheSame) {
  const Json spec = {{"workers", {{"replicas", 4}}}, {"synchronization", SynchronizationFields(SyncMode::Bsp())}};
  Json job = Choose(Job({{"synchronization", {{"mode", "SSP"}, {"staleness", 4}}}}), spec);
  const TrainingJobSpec before = SpecOf(job);
  job["spec"].merge_patch(SpecPatchOf(ChosenInForce(job)));
  EXPECT_EQ(ToJson(ParseTrainingJob(job).job.spec), ToJson(before));
  EXPECT_THAT(ChosenInForce(job), IsEmpty());
}

TEST(ChosenSettings, TheManagerOfReplicasIsKnown) {
  const auto manager = [](const char* name, const char* fields) {
    return ReplicasManager(Json::array({{{"manager", name}, {"fieldsV1", Json::parse(fields)}}}));
  };
  constexpr char kWorkers[] = R"({"f:spec": {"f:workers": {"f:replicas": {}}}})";
  EXPECT_EQ(manager("argocd-controller", kWorkers), "argocd-controller");
  EXPECT_EQ(manager("kustomize-controller", R"({"f:spec": {"f:servers": {"f:replicas": {}}}})"),
            "kustomize-controller");
  EXPECT_EQ(manager("kustomize-controller", R"({"f:spec": {"f:servers": {"f:max": {}}}})"), "");
  EXPECT_EQ(manager("kubectl-client-side-apply", kWorkers), "");
  EXPECT_EQ(manager("kubectl", kWorkers), "");
  EXPECT_EQ(manager("attune", kWorkers), "");
  EXPECT_EQ(manager("attune-operator", kWorkers), "");
  EXPECT_EQ(manager("", kWorkers), "");
  EXPECT_EQ(manager("x", "[]"), "");
  EXPECT_EQ(manager("x", R"({"f:spec": 1})"), "");
  EXPECT_EQ(ReplicasManager(Json(7)), "");
  EXPECT_EQ(ReplicasManager(Json::array({1, nullptr})), "");
}

}  // namespace
}  // namespace attune::api::chosen_settings_test
