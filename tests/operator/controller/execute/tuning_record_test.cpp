// What the tuner must not forget is in a ConfigMap of the job: an operator that ends at any call is continued, and what
// is not this job's, or older than it, is not believed and not touched.
#include "operator/controller/objects/tuning_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/objects/pods.h"
#include "operator/controller/tuning/tuning_loop.h"
#include "operator/kube/client/api_error.h"
#include "proto/contract.h"
#include "tests/operator/controller/execute/tuned_rig.h"

namespace attune::controller::tuning_record_test {
namespace {

using kube::Json;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const kube::ObjectKey kRecord{"default", "j-tuning"};

bool IsOfRecord(const ApiCall& call) { return call.kind == "ConfigMap" && call.name == kRecord.name; }
bool IsChangeOfSpec(const ApiCall& call) {
  return call.kind == "TrainingJob" && call.verb == "patch" && call.body.contains("spec");
}

TEST(TuningRecord, IsOfTheJobAndHoldsWhatTheStatusHeld) {
  TunedRig rig;
  rig.Train(60, [&] { return rig.IsChanged(); });
  ASSERT_TRUE(rig.IsChanged()) << rig.Condition(api::kTuning);
  const Json record = rig.Record();
  ASSERT_TRUE(record.is_object());
  const api::TrainingJob job = api::ParseTrainingJob(rig.Job()).job;
  EXPECT_TRUE(IsOwnedBy(record, job));
  EXPECT_EQ(record["metadata"]["labels"], OwnedMetadata(job, "j-tuning")["labels"]);
  EXPECT_GE(TuningLoop::StoryOf(rig.State()).size(), 1U);
  EXPECT_EQ(rig.Status().tuning->state, "");
  EXPECT_FALSE(rig.Job()["status"]["tuning"].contains("state"));
  EXPECT_EQ(rig.CallsWith("get ConfigMap j-tuning"), 1U) << "once in the life of an operator";
  EXPECT_EQ(rig.CallsWith("list ConfigMap"), 0U);
  rig.DeleteJob();
  rig.Run(seconds(60));
  EXPECT_TRUE(rig.Record().is_null()) << "it is gone with the job";
}

TEST(TuningRecord, TheStatusHasSettingsAndDecisionsAsFields) {
  TunedRig rig;
  rig.Train(150);
  const api::TuningStatus tuning = *rig.Status().tuning;
  ASSERT_TRUE(tuning.current && tuning.best);
  EXPECT_GT(tuning.best->updates_per_second.value_or(0), 0);
  EXPECT_GT(tuning.best->remaining_seconds.value_or(0), 0);
  ASSERT_GE(tuning.decisions.size(), 2U);
  EXPECT_LE(tuning.decisions.size(), api::TuningStatus::kDecisionsShown);
  const api::TuningDecision& first = tuning.decisions.front();
  EXPECT_THAT(first.from, HasSubstr("workers="));
  EXPECT_NE(first.from, first.to);
  EXPECT_THAT(first.expected, HasSubstr("%"));
  EXPECT_THAT(first.measured, HasSubstr("%"));
  EXPECT_THAT(first.outcome, Not(testing::AnyOf("", "Open")));
  EXPECT_THAT(first.time, StartsWith("2023-11-14T2")) << "by the calendar";
  EXPECT_FALSE(first.why.empty());
  EXPECT_GT(first.expected_speedup.value_or(0), 0) << "the same for programs";
  EXPECT_GT(first.measured_speedup.value_or(0), 0);
  EXPECT_TRUE(first.cost_seconds);
  const uint64_t newest = tuning.decisions.back().number;
  EXPECT_EQ(newest, TuningLoop::StoryOf(rig.State()).back().record.number);
  EXPECT_LT(rig.Job()["status"]["tuning"].dump().size(), 8U << 10);
}

// The whole of it: whichever call is the operator's last, with or without its effect, each change that was begun is
// made once, and no change is made that the record does not know.
TEST(TuningRecord, AnOperatorThatDiesAtAnyCallIsContinued) {
  for (const bool carried_out : {false, true}) {
    for (int at = 0; at < 10; ++at) {
      SCOPED_TRACE("dies at call " + std::to_string(at) + (carried_out ? ", carried out" : ""));
      TunedRig rig;
      int calls = 0;
      std::map<std::string, int> changes;  // of the spec, by the state in the record at that time
      rig.api.SetJudge([&](const ApiCall& call) -> std::optional<Fault> {
        if (IsChangeOfSpec(call)) {
          const std::string state = rig.State();
          EXPECT_THAT(Json::parse(state)["here"].dump(),
                      StartsWith("[1," + call.body["spec"]["workers"]["replicas"].dump()))
              << "the record knows of it first";
          ++changes[call.body.dump()];
        }
        const bool is_of_tuning =
            IsOfRecord(call) || IsChangeOfSpec(call) || (call.verb == "apply" && !rig.State().empty() && calls > 2);
        if (!is_of_tuning || calls++ != at) return std::nullopt;
        return Fault{.carried_out = carried_out, .operator_dies = true};
      });
      rig.Train(300, [&] { return rig.Begun() >= 3 && calls > at; });
      EXPECT_EQ(rig.deaths(), 1U);
      ASSERT_GE(rig.Begun(), 2U) << rig.Condition(api::kTuning);
      const auto story = TuningLoop::StoryOf(rig.State());
      for (size_t i = 1; i < story.size(); ++i)
        EXPECT_EQ(story[i].record.number, story[i - 1].record.number + 1) << "none is forgotten or repeated";
      EXPECT_EQ(rig.Status().tuning->changes, Json::parse(rig.State())["changes"].get<uint64_t>());
      // The spec follows what is on record.
      rig.Train(3);
      EXPECT_EQ(rig.Workers(), Json::parse(rig.State())["here"][1].get<int>());
    }
  }
}

struct Refused {
  const char* name;
  Status status;
  const char* reason;  // of condition Blocked
};

std::vector<Refused> Refusals() {
  Status busy = Error(StatusCode::kUnavailable, "too many requests");
  kube::SetRetryAfter(busy, seconds(3));
  return {
      {"403", Error(StatusCode::kPermissionDenied, "configmaps is forbidden: User \"o\" cannot touch resource"),
       kReasonForbidden},
      {"409", Error(StatusCode::kAborted, "the object has been modified"), kReasonApiAway},
      {"422", Error(StatusCode::kInvalidArgument, "admission webhook \"policy\" denied the request"), kReasonRefused},
      {"429", busy, kReasonApiAway},
      {"500", Error(StatusCode::kUnavailable, "the API server answered 500"), kReasonApiAway}};
}

TEST(TuningRecord, WhichCallIsRefusedAndHoweverOnlyTheTunerWaits) {
  for (const Refused& refused : Refusals()) {
    for (const char* verb : {"get", "create", "patch"}) {
      SCOPED_TRACE(std::string(refused.name) + " of " + verb);
      TunedRig rig;
      rig.api.SetJudge([&](const ApiCall& call) {
        return IsOfRecord(call) && call.verb == verb ? std::optional<Fault>({.status = refused.status}) : std::nullopt;
      });
      rig.Train(30);
      EXPECT_EQ(rig.Workers(), 1) << "nothing is tried that could be forgotten";
      EXPECT_EQ(rig.Stage(), "Unavailable") << rig.Condition(api::kTuning);
      EXPECT_THAT(rig.Condition(api::kTuning),
                  AllOf(StartsWith("False/Unavailable: "), HasSubstr("default/j-tuning"), HasSubstr(": ")));
      EXPECT_THAT(rig.Condition(api::kBlocked), StartsWith(std::string("True/") + refused.reason));
      EXPECT_THAT(rig.Condition(api::kReady), StartsWith("True/")) << "the job trains on";
      EXPECT_EQ(std::ranges::count(rig.EventReasons(), std::string(refused.reason)), 1);
      EXPECT_LE(rig.CallsWith(std::string(verb) + " ConfigMap j-tuning"), 40U) << "from time to time";
      rig.Scale(3);
      rig.Train(15);
      EXPECT_TRUE(rig.Pod("j-worker-2")) << "a user's change is made";
      rig.api.SetJudge({});
      rig.Train(300, [&] { return rig.Stage() != "Unavailable" && !TuningLoop::StoryOf(rig.State()).empty(); });
      EXPECT_THAT(TuningLoop::StoryOf(rig.State()), Not(IsEmpty())) << rig.Condition(api::kTuning);
      EXPECT_NE(rig.Stage(), "Unavailable");
      EXPECT_THAT(rig.Condition(api::kBlocked), Not(StartsWith("True/")));
    }
  }
}

Json Foreign(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"data", {{"state", "of another owner"}}}};
}

TEST(TuningRecord, AnObjectOfAnotherOwnerIsLeftAloneAndReportedOnce) {
  TunedRig rig;
  ASSERT_TRUE(rig.real.Create(kube::kConfigMaps, Foreign("j-tuning")).ok());
  const Json before = rig.Record();
  rig.Train(40);
  EXPECT_EQ(rig.Record(), before);
  EXPECT_THAT(rig.Condition(api::kTuning), AllOf(StartsWith("False/Unavailable: "),
                                                 HasSubstr("ConfigMap default/j-tuning exists and does not belong"),
                                                 HasSubstr("delete it, or give the job another name")));
  EXPECT_EQ(std::ranges::count(rig.EventReasons(), std::string(kReasonNameTaken)), 1);
  EXPECT_THAT(rig.Condition(api::kReady), StartsWith("True/")) << "all else goes its way";
  EXPECT_EQ(rig.Workers(), 1);
  ASSERT_TRUE(rig.real.Delete(kube::kConfigMaps, kRecord).ok());
  rig.Train(200, [&] { return rig.IsChanged(); });
  EXPECT_TRUE(rig.IsChanged()) << rig.Condition(api::kTuning);
}

TEST(TuningRecord, WhatAnEarlierJobOfThatNameLeftIsNotBelieved) {
  TunedRig rig;
  rig.Train(60, [&] { return rig.IsChanged(); });
  ASSERT_TRUE(rig.IsChanged());
  Json earlier = rig.Record();
  // Its garbage collector is slow, or it was brought back from a copy: the uid is another job's.
  ASSERT_TRUE(rig.real.Delete(kube::kConfigMaps, kRecord).ok());
  for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "managedFields"})
    earlier["metadata"].erase(field);
  earlier["metadata"]["labels"][contract::kLabelJobUid] = "another";
  Json other = {{"apiVersion", "attune.dev/v1alpha1"}, {"kind", "TrainingJob"}};
  other["metadata"] = {{"name", "k"}, {"namespace", "default"}};
  other["spec"] = rig.Job()["spec"];
  const auto owner = rig.real.Create(kube::kTrainingJobs, other);
  ASSERT_TRUE(owner.ok()) << owner.status();
  earlier["metadata"]["ownerReferences"][0]["uid"] = kube::Uid(*owner);
  TunedRig next;
  const auto next_owner = next.real.Create(kube::kTrainingJobs, other);
  ASSERT_TRUE(next_owner.ok());
  earlier["metadata"]["ownerReferences"][0]["uid"] = kube::Uid(*next_owner);
  earlier["metadata"]["ownerReferences"][0]["name"] = "k";
  ASSERT_TRUE(next.real.Create(kube::kConfigMaps, earlier).ok());
  const Json before = next.Record();
  ASSERT_TRUE(before.is_object());
  next.Train(60);
  EXPECT_EQ(next.Record(), before);
  EXPECT_EQ(next.Workers(), 1);
  EXPECT_EQ(next.Begun(), 0U);
  EXPECT_THAT(next.Condition(api::kTuning), HasSubstr("to an earlier one, whose objects are going"));
  // It goes, and the tuner begins with nothing.
  ASSERT_TRUE(next.real.Delete(kube::kConfigMaps, kRecord).ok());
  next.Train(200, [&] { return next.IsChanged(); });
  EXPECT_TRUE(next.IsChanged());
  EXPECT_EQ(TuningLoop::StoryOf(next.State()).front().record.number, 1U);
}

// A new operator whose cache shows the job as it was before its last change would take that change for a user's.
TEST(TuningRecord, ARecordThatIsNewerThanTheJobInTheCacheWaitsForIt) {
  TunedRig rig;
  rig.Train(120, [&] { return rig.IsChanged(); });
  ASSERT_TRUE(rig.IsChanged());
  const uint64_t begun = rig.Begun();
  const int64_t generation = kube::Generation(rig.Job());
  Json data = rig.Record()["data"];
  data["generation"] = std::to_string(generation + 1);
  ASSERT_TRUE(rig.real.Patch(kube::kConfigMaps, kRecord, kube::PatchType::kMerge, {{"data", data}}).ok());
  rig.RestartOperator();
  rig.api.ForgetCalls();
  rig.Train(10);
  EXPECT_EQ(rig.Begun(), begun);
  EXPECT_EQ(rig.CallsWith("patch ConfigMap j-tuning"), 0U);
  EXPECT_GE(rig.CallsWith("get ConfigMap j-tuning"), 5U);
  rig.SetSpec({{"runPolicy", {{"ttlSecondsAfterFinished", 1000}}}});  // the job in the cache is as new by now
  rig.Train(10, [&] { return rig.CallsWith("patch ConfigMap j-tuning") > 0; });
  EXPECT_GE(rig.CallsWith("patch ConfigMap j-tuning"), 1U);
  EXPECT_THAT(rig.Condition(api::kTuning), Not(HasSubstr("a user chose")));
  EXPECT_GE(rig.Begun(), begun);
}

TEST(TuningRecord, AnotherOperatorsWriteIsReadBeforeAnythingElseIsDone) {
  TunedRig rig;
  rig.Train(60, [&] { return rig.Stage() == "Keeping" || rig.IsChanged(); });
  ASSERT_FALSE(rig.State().empty());
  // The other one has learned more.
  Json state = Json::parse(rig.State());
  state["time"] = state["time"].get<double>() + 5;
  state["message"] = "by another operator";
  const Json data = {{"state", state.dump()}, {"writer", "another"}};
  ASSERT_TRUE(rig.real.Patch(kube::kConfigMaps, kRecord, kube::PatchType::kMerge, {{"data", data}}).ok());
  const int workers = rig.Workers();
  bool read = false, wrote_before = false, changed_before = false;
  rig.api.SetJudge([&](const ApiCall& call) -> std::optional<Fault> {
    if (read) return std::nullopt;
    read = IsOfRecord(call) && call.verb == "get";
    changed_before = changed_before || IsChangeOfSpec(call);
    wrote_before = wrote_before || rig.State().find("by another operator") == std::string::npos;
    return std::nullopt;
  });
  rig.Train(60, [&] { return read; });
  EXPECT_TRUE(read);
  EXPECT_FALSE(wrote_before) << "it was not written over";
  EXPECT_FALSE(changed_before && rig.Workers() != workers);
  rig.Train(60);
  EXPECT_EQ(rig.Workers(), Json::parse(rig.State())["here"][1].get<int>());
}

// The answer is lost, the write is not: it is known as our own by its writer.
TEST(TuningRecord, AWriteWhoseAnswerIsLostForgetsNothing) {
  TunedRig rig;
  int lost = 0;
  rig.api.SetJudge([&](const ApiCall& call) -> std::optional<Fault> {
    if (!IsOfRecord(call) || call.verb == "get" || ++lost % 2 == 0) return std::nullopt;
    return Fault{.status = Error(StatusCode::kDeadlineExceeded, "silent"), .carried_out = true};
  });
  rig.Train(300, [&] { return rig.Begun() >= 4; });
  EXPECT_GE(rig.Begun(), 4U) << rig.Condition(api::kTuning);
  const auto story = TuningLoop::StoryOf(rig.State());
  for (size_t i = 1; i < story.size(); ++i) EXPECT_EQ(story[i].record.number, story[i - 1].record.number + 1);
}

TEST(TuningRecord, ADeletedRecordIsMadeAgainWithAllThatWasLearned) {
  TunedRig rig;
  rig.Train(120, [&] { return rig.Begun() >= 2; });
  const size_t known = TuningLoop::StoryOf(rig.State()).size();
  ASSERT_GE(known, 1U);
  ASSERT_TRUE(rig.real.Delete(kube::kConfigMaps, kRecord).ok());
  rig.Train(120, [&] { return !rig.State().empty(); });
  EXPECT_GE(TuningLoop::StoryOf(rig.State()).size(), known);
}

// Written by another and deleted before it is looked at: nothing was refused, so it is tried again at once.
TEST(TuningRecord, ARecordDeletedWhileItIsLookedAtIsNoRefusal) {
  TunedRig rig;
  rig.Train(120, [&] { return rig.Begun() >= 2; });
  const size_t known = TuningLoop::StoryOf(rig.State()).size();
  ASSERT_GE(known, 1U);
  bool deleted = false;
  rig.api.SetJudge([&](const ApiCall& call) -> std::optional<Fault> {
    if (deleted || !IsOfRecord(call) || call.verb != "patch") return std::nullopt;
    deleted = rig.real.Delete(kube::kConfigMaps, kRecord).ok();
    return Fault{.status = Error(StatusCode::kAborted, "the object has been modified"), .carried_out = false};
  });
  rig.Train(120, [&] { return deleted; });
  ASSERT_TRUE(deleted);
  std::string stages;
  rig.Train(5, [&] {
    stages += rig.Stage() + " ";
    return !rig.State().empty();
  });
  EXPECT_GE(TuningLoop::StoryOf(rig.State()).size(), known) << stages;
  EXPECT_EQ(stages.find("Unavailable"), std::string::npos) << stages;
}

// A user's change that the cache does not show yet is not undone by a decision that was made without it.
TEST(TuningRecord, AChangeOfAUserThatTheCacheDoesNotShowIsNotUndone) {
  TunedRig rig;
  bool scaled = false;
  rig.api.SetJudge([&](const ApiCall& call) -> std::optional<Fault> {
    if (!scaled && IsChangeOfSpec(call)) {
      scaled = true;
      rig.Scale(4);  // a moment before
    }
    return std::nullopt;
  });
  rig.Train(120, [&] { return scaled; });
  ASSERT_TRUE(scaled);
  EXPECT_EQ(rig.Workers(), 4);
  rig.Train(3);
  EXPECT_EQ(rig.Workers(), 4);
  EXPECT_EQ(Json::parse(rig.State())["here"][1], 4) << rig.Condition(api::kTuning);
}

// --- upgrade: an operator before this one kept the state in the status

// A job that was tuned, as the earlier version left it.
void MakeOld(TunedRig& rig) {
  const std::string state = rig.State();
  ASSERT_FALSE(state.empty());
  rig.SetStatus({{"tuning", {{"state", state}, {"current", nullptr}, {"best", nullptr}, {"decisions", nullptr}}}});
  ASSERT_TRUE(rig.real.Delete(kube::kConfigMaps, kRecord).ok());
  rig.RestartOperator();
  rig.api.ForgetCalls();
}

TEST(TuningRecord, WhatAnEarlierVersionLeftInTheStatusIsMovedWhereverTheOperatorDies) {
  for (int at = -1; at < 6; ++at) {
    SCOPED_TRACE("dies at call " + std::to_string(at));
    TunedRig rig;
    rig.Train(120, [&] { return rig.Begun() >= 2; });
    const size_t known = TuningLoop::StoryOf(rig.State()).size();
    const uint64_t begun = rig.Begun();
    ASSERT_GE(known, 1U);
    MakeOld(rig);
    int calls = 0;
    rig.api.SetJudge([&](const ApiCall& call) -> std::optional<Fault> {
      const bool counts = IsOfRecord(call) || call.verb == "apply";
      if (!counts || calls++ != at) return std::nullopt;
      return Fault{.carried_out = at % 2 == 0, .operator_dies = true};
    });
    rig.Train(15);
    EXPECT_GE(TuningLoop::StoryOf(rig.State()).size(), known);
    EXPECT_GE(rig.Begun(), begun);
    EXPECT_EQ(rig.Status().tuning->state, "") << "moved";
    EXPECT_THAT(rig.Status().tuning->decisions, Not(IsEmpty()));
  }
}

// An earlier version ran again for a while: it knew nothing of the record and began afresh, in the status.
TEST(TuningRecord, OfTwoTheNewerOneCounts) {
  TunedRig rig;
  rig.Train(120, [&] { return rig.Begun() >= 2; });
  Json later = Json::parse(rig.State());
  later["time"] = later["time"].get<double>() + 100;
  later["changes"] = 77;
  rig.SetStatus({{"tuning", {{"state", later.dump()}}}});
  rig.RestartOperator();
  rig.Train(10);
  EXPECT_GE(rig.Begun(), 77U);
  Json earlier = Json::parse(rig.State());
  earlier["time"] = 1;
  earlier["changes"] = 3;
  rig.SetStatus({{"tuning", {{"state", earlier.dump()}}}});
  rig.RestartOperator();
  rig.Train(10);
  EXPECT_GE(rig.Begun(), 77U);
  EXPECT_EQ(rig.Status().tuning->state, "");
}

TEST(TuningRecord, ATunerThatIsOffTouchesNothingAndContinuesLater) {
  TunedRig rig;
  rig.Train(120, [&] { return rig.Begun() >= 2; });
  const size_t known = TuningLoop::StoryOf(rig.State()).size();
  MakeOld(rig);
  rig.SetSpec({{"tuning", {{"mode", "Off"}}}});
  rig.Train(5);
  EXPECT_TRUE(rig.Record().is_null()) << "no job that is not tuned has one";
  EXPECT_EQ(TuningLoop::StoryOf(rig.Status().tuning->state).size(), known);
  rig.SetSpec({{"tuning", {{"mode", "Auto"}}}});
  rig.Train(10);
  EXPECT_GE(TuningLoop::StoryOf(rig.State()).size(), known);
  EXPECT_EQ(rig.Status().tuning->state, "");
}

}  // namespace
}  // namespace attune::controller::tuning_record_test
