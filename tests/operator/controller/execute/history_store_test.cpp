// What finished jobs leave to similar ones of their namespace, in a ConfigMap that belongs to none of them.
#include "operator/controller/execute/history_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/tuning/tuning_loop.h"
#include "tests/operator/controller/execute/tuned_rig.h"

namespace attune::controller::history_store_test {
namespace {

using kube::Json;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

const kube::ObjectKey kHistory{"default", HistoryStore::kName};

tuner::HistoryEntry EntryOf(const std::string& job, const std::string& signature = "s") {
  tuner::HistoryEntry entry;
  entry.signature = signature;
  entry.job = job;
  entry.knobs = {"workers"};
  entry.speeds = {{.setting = {2}, .log_seconds = -1, .updates = 10, .windows = 3}};
  entry.best = {2};
  return entry;
}

class HistoryStoreTest : public testing::Test {
 protected:
  TestClock clock;
  local::MemoryApi real{clock, {.own_thread = false}};
  FaultyApi api{real, [](Duration) {}};
  HistoryStore store{api, {}, "default"};
  Json Object() { return real.Get(kube::kConfigMaps, kHistory).value_or(Json()); }
};

TEST_F(HistoryStoreTest, KeepsEachJobOnceAndIsBounded) {
  ASSERT_TRUE(store.Read().ok());
  EXPECT_TRUE(store.Read()->empty()) << "nothing is there yet";
  EXPECT_TRUE(Object().is_null()) << "and looking makes nothing";
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(store.Add(EntryOf("job-" + std::to_string(i), "s" + std::to_string(i / 2))).ok());
  }
  ASSERT_TRUE(store.Add(EntryOf("job-99", "s49")).ok());
  const auto history = store.Read();
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->entries().size(), tuner::JobHistory::kEntriesMax);
  EXPECT_EQ(history->Similar("s49", {"workers"}).size(), 2U) << "the same job twice is one";
  EXPECT_LT(Object()["data"]["history"].get<std::string>().size(), tuner::JobHistory::kBytesMax);
  EXPECT_FALSE(Object()["metadata"].contains("ownerReferences"));
  EXPECT_TRUE(HistoryStore(api, {}, "other").Read()->empty()) << "a namespace knows its own jobs only";
}

TEST_F(HistoryStoreTest, WhatAnotherJobAddsInTheSameMomentIsNotLost) {
  for (const char* verb : {"create", "patch"}) {
    bool between = false;
    api.SetJudge([&](const ApiCall& call) -> std::optional<Fault> {
      if (call.verb != verb || between) return std::nullopt;
      between = true;
      EXPECT_TRUE(HistoryStore(real, {}, "default").Add(EntryOf(std::string("first ") + verb, verb)).ok());
      return std::nullopt;
    });
    EXPECT_EQ(store.Add(EntryOf(std::string("second ") + verb, verb)).code(), StatusCode::kAborted) << verb;
    ASSERT_TRUE(store.Add(EntryOf(std::string("second ") + verb, verb)).ok());
    EXPECT_EQ(store.Read()->Similar(verb, {"workers"}).size(), 2U) << verb;
  }
}

TEST_F(HistoryStoreTest, ADamagedOneBeginsAgainAndAnotherOwnersIsLeftAlone) {
  ASSERT_TRUE(store.Add(EntryOf("a")).ok());
  const Json damage = {{"data", {{"history", "{"}}}};
  ASSERT_TRUE(real.Patch(kube::kConfigMaps, kHistory, kube::PatchType::kMerge, damage).ok());
  EXPECT_TRUE(store.Read()->empty());
  ASSERT_TRUE(store.Add(EntryOf("b")).ok());
  EXPECT_EQ(store.Read()->entries().size(), 1U);
  const Json other = {{"metadata", {{"labels", nullptr}}}};
  ASSERT_TRUE(real.Patch(kube::kConfigMaps, kHistory, kube::PatchType::kMerge, other).ok());
  const Json before = Object();
  EXPECT_THAT(std::string(Message(store.Add(EntryOf("c")))), HasSubstr("exists and is not the operator's"));
  EXPECT_FALSE(store.Read().ok());
  EXPECT_EQ(Object(), before);
}

// The goal is reached, and the worker ends.
void Finish(TunedRig& rig) {
  rig.SayFinished();
  rig.store.sample.job->set_workers(0);
  for (const std::string& name : rig.PodNames()) {
    if (name.starts_with("j-worker")) rig.Exit(name, 0);
  }
  rig.Run(seconds(30));
  ASSERT_THAT(rig.Condition(api::kSucceeded), StartsWith("True/"));
}

TEST(TuningHistory, AFinishedJobLeavesItAndTheNextOneStartsFromIt) {
  TunedRig rig;
  rig.Train(150);
  Finish(rig);
  const auto history = rig.real.Get(kube::kConfigMaps, kHistory);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(HistoryStore(rig.real, {}, "default").Read()->entries().size(), 1U);
  EXPECT_EQ(rig.CallsWith("ConfigMap attune-tuner-history"), 3U) << "read at the begin; read and created at the end";
  Json left = *history;
  left["metadata"] = {
      {"name", left["metadata"]["name"]}, {"namespace", "default"}, {"labels", left["metadata"]["labels"]}};
  TunedRig cold, warm;
  ASSERT_TRUE(warm.real.Create(kube::kConfigMaps, left).ok());
  for (TunedRig* next : {&cold, &warm}) next->Train(60, [&] { return next->IsChanged(); });
  EXPECT_EQ(warm.Workers(), 2) << "it begins with the best one, " << warm.Condition(api::kTuning);
  EXPECT_NE(cold.Workers(), 2) << "which is no matter of course";
}

TEST(TuningHistory, ARefusalHoldsNothingUpAndTheEntryIsKeptLater) {
  TunedRig rig;
  rig.api.SetJudge([](const ApiCall& call) -> std::optional<Fault> {
    if (call.name != HistoryStore::kName) return std::nullopt;
    return Fault{.status = Error(StatusCode::kPermissionDenied, "forbidden: User \"o\" cannot touch resource")};
  });
  rig.Train(60);
  EXPECT_TRUE(rig.IsChanged()) << "a tuner begins without it, " << rig.Condition(api::kTuning);
  Finish(rig);
  EXPECT_THAT(rig.Condition(api::kBlocked), StartsWith("True/MissingPermission"));
  EXPECT_EQ(std::ranges::count(rig.EventReasons(), std::string(kReasonForbidden)), 1);
  rig.api.SetJudge({});
  rig.Run(seconds(60));
  EXPECT_EQ(HistoryStore(rig.real, {}, "default").Read()->entries().size(), 1U);
  EXPECT_THAT(rig.Condition(api::kBlocked), StartsWith("False/"));
  rig.api.ForgetCalls();
  rig.Run(seconds(30));
  EXPECT_THAT(rig.api.calls(), testing::IsEmpty());
}

TEST(TuningHistory, WithAFileNoConfigMapIsUsed) {
  TunedRig rig;
  rig.options.tuner_history = testing::TempDir() + "history_store_test.json";
  rig.RestartOperator();
  rig.Train(20);
  rig.api.ForgetCalls();
  Finish(rig);
  EXPECT_EQ(rig.CallsWith(HistoryStore::kName), 0U);
}

}  // namespace
}  // namespace attune::controller::history_store_test
