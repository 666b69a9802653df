// An act that fails stops nothing but what needs it: whichever call the API server refuses, and however, a lost server
// is reported to the coordinator, a lost coordinator is replaced, workers drain and pods are released; people are
// informed once, the server is not asked again and again, and when the trouble is over everything is as it should be.
#include "operator/controller/execute/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/objects/job_secret.h"
#include "operator/kube/client/api_error.h"
#include "tests/operator/controller/execute/executor_rig.h"

namespace attune::controller::executor_test {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

struct Refusal {
  const char* name;
  Fault fault;
  const char* reason;  // of the Event; "" when it may pass by itself before anybody needs to know
};

std::vector<Refusal> Refusals() {
  Status busy = Error(StatusCode::kUnavailable, "too many requests");
  kube::SetRetryAfter(busy, seconds(3));
  return {
      {"403 quota",
       {.status =
            Error(StatusCode::kPermissionDenied, "pods \"x\" is forbidden: exceeded quota: compute, requested: 1")},
       kReasonQuota},
      {"403 rights",
       {.status = Error(StatusCode::kPermissionDenied,
                        "forbidden: User \"system:serviceaccount:a:b\" cannot touch resource in the namespace")},
       kReasonForbidden},
      {"409", {.status = Error(StatusCode::kAborted, "the object has been modified; please apply your changes")}, ""},
      {"422 webhook",
       {.status = Error(StatusCode::kInvalidArgument, "admission webhook \"policy.example\" denied the request")},
       kReasonRefused},
      {"429", {.status = busy}, ""},
      {"500", {.status = Error(StatusCode::kUnavailable, "the API server answered 500")}, ""},
      {"time-out",
       {.status = Error(StatusCode::kDeadlineExceeded, "silent in the middle of a call"),
        .takes = Carrier::kCallTimeout},
       ""},
      {"time-out of a call that was carried out",
       {.status = Error(StatusCode::kDeadlineExceeded, "silent in the middle of a call"),
        .carried_out = true,
        .takes = Carrier::kCallTimeout},
       ""},
  };
}

// The acts of this verb and kind, on all objects or on this one.
struct Act {
  std::string verb, kind, name;
  bool Matches(const ApiCall& call) const {
    return call.verb == verb && call.kind == kind && (name.empty() || call.name == name);
  }
  std::string ToString() const { return verb + " " + kind + " " + (name.empty() ? "(any)" : name); }
};

// What a loss of a server, together with a request for one more worker, makes the operator do.
const std::vector<Act> kActsOfALoss = {
    {"create", "Pod", ""}, {"create", "Pod", "j-worker-3"},      {"create", "Service", ""},
    {"delete", "Pod", ""}, {"patch", "PodDisruptionBudget", ""}, {"log", "Pod", ""},
};
const std::vector<Act> kActsOfADrain = {
    {"patch", "Pod", "j-worker-2"}, {"delete", "Pod", ""}, {"create", "Service", ""}};
const std::vector<Act> kActsOfADeletion = {{"patch", "Pod", "j-worker-2"}, {"get", "TrainingJob", ""}};

class ExecutorTest : public testing::TestWithParam<Refusal> {
 protected:
  // Every one of these acts is refused from now on.
  static void Refuse(ExecutorRig& rig, const Act& act) {
    rig.api.SetJudge([act](const ApiCall& call) {
      return act.Matches(call) ? std::optional<Fault>(GetParam().fault) : std::nullopt;
    });
    rig.api.ForgetCalls();
  }
  static int CallsOf(const ExecutorRig& rig, const Act& act) {
    return static_cast<int>(std::ranges::count_if(rig.api.calls(), [&](const std::string& call) {
      return call.starts_with(act.verb + " " + act.kind + " " + act.name);
    }));
  }
  // The trouble is over: all comes to rest, and nothing is said to be in the way.
  static void ExpectRest(ExecutorRig& rig) {
    rig.api.SetJudge({});
    for (int round = 0; round < 4; ++round) {
      rig.Run(seconds(10));
      rig.StartAll();
      rig.AnswerAll(telemetry::DirectiveAnswer::Outcome::kDone);
    }
    rig.Run(seconds(15));
    rig.api.ForgetCalls();
    rig.Run(seconds(3));
    EXPECT_THAT(rig.api.calls(), testing::IsEmpty());
    EXPECT_THAT(rig.Condition(api::kBlocked), testing::Not(StartsWith("True/")));
  }
  static void ExpectTold(ExecutorRig& rig, const Act& act) {
    const std::string reason = GetParam().reason;
    if (reason.empty() || act.verb == "log" || CallsOf(rig, act) == 0) return;
    EXPECT_THAT(rig.EventReasons(), Contains(reason));
    EXPECT_THAT(rig.Condition(api::kBlocked), StartsWith("True/" + reason));
  }
};

TEST_P(ExecutorTest, ALostServerIsReportedToTheCoordinator) {
  for (const Act& act : kActsOfALoss) {
    if (HasFailure()) return;
    SCOPED_TRACE(act.ToString());
    ExecutorRig rig(3, 3);
    rig.BringUp();
    const std::string coordinator(kube::Uid(*rig.Pod("j-server-0"))), lost(kube::Uid(*rig.Pod("j-server-1")));
    ASSERT_TRUE(rig.real.Delete(kube::kServices, {"default", "j"}).ok());
    Refuse(rig, act);
    rig.Scale(4);
    rig.Exit("j-server-1", 137);
    rig.Run(seconds(8));
    EXPECT_TRUE(rig.WasTold(coordinator, "gone=" + lost));
    EXPECT_THAT(rig.EventReasons(), Contains(kEventServerFailed));
    EXPECT_FALSE(api::IsTrue(rig.Status(), api::kFailed)) << rig.Condition(api::kFailed);
    ExpectTold(rig, act);
    if (&act != &kActsOfALoss.front()) continue;  // long: what it takes until all is well is much alike
    ExpectRest(rig);
    EXPECT_EQ(rig.PodNames().size(), 7U) << "a new server and the fourth worker";
  }
}

TEST_P(ExecutorTest, ALostCoordinatorIsReplaced) {
  for (const Act& act : kActsOfALoss) {
    if (HasFailure()) return;
    SCOPED_TRACE(act.ToString());
    ExecutorRig rig(3, 3);
    rig.BringUp();
    const std::string successor(kube::Uid(*rig.Pod("j-server-1")));
    Refuse(rig, act);
    rig.Scale(4);
    rig.Exit("j-server-0", 137);
    rig.Run(seconds(10));
    EXPECT_EQ(rig.Status().coordinator, "j-server-1");
    EXPECT_TRUE(rig.WasTold(successor, "coordinator of term 2"));
    EXPECT_THAT(rig.EventReasons(), Contains(kEventCoordinatorAppointed));
    ExpectTold(rig, act);
    if (&act != &kActsOfALoss.front()) continue;
    rig.Say(3, 2);
    ExpectRest(rig);
  }
}

TEST_P(ExecutorTest, OtherWorkersDrain) {
  for (const Act& act : kActsOfADrain) {
    if (HasFailure()) return;
    SCOPED_TRACE(act.ToString());
    ExecutorRig rig(1, 4);
    rig.BringUp();
    ASSERT_TRUE(rig.real.Delete(kube::kServices, {"default", "j"}).ok());
    Refuse(rig, act);
    rig.Scale(1);
    rig.Run(seconds(8));
    for (const char* name : {"j-worker-1", "j-worker-3"}) {
      const std::string uid(kube::Uid(*rig.Pod(name)));
      EXPECT_TRUE(rig.WasTold(uid, "")) << name;
    }
    EXPECT_THAT(rig.EventReasons(), Contains(kEventWorkersDraining));
    ExpectTold(rig, act);
    if (&act != &kActsOfADrain.front()) continue;
    for (const char* name : {"j-worker-1", "j-worker-2", "j-worker-3"}) {
      if (rig.Pod(name)) rig.Exit(name, 0);
    }
    ExpectRest(rig);
    EXPECT_THAT(rig.PodNames(), testing::ElementsAre("j-server-0", "j-worker-0"));
  }
}

TEST_P(ExecutorTest, PodsOfADeletedJobAreLetGo) {
  for (const Act& act : kActsOfADeletion) {
    if (HasFailure()) return;
    SCOPED_TRACE(act.ToString());
    ExecutorRig rig(2, 4);
    rig.BringUp();
    Refuse(rig, act);
    rig.DeleteJob();
    rig.Run(seconds(10));
    for (const std::string& name : rig.PodNames()) {
      // Whether the job is really gone is the server's word alone.
      EXPECT_TRUE(act.kind == "TrainingJob" || name == act.name) << name << " is still there";
    }
    rig.api.SetJudge({});
    rig.Run(seconds(20));
    EXPECT_THAT(rig.PodNames(), testing::IsEmpty());
  }
}

// Without its status the operator appoints no server, since a new operator would appoint another one; but it says so,
// and everything that needs no status happens.
TEST_P(ExecutorTest, AStatusThatCannotBeWrittenIsReportedAndHoldsUpNothingElse) {
  const Act act{"apply", "TrainingJob", ""};
  ExecutorRig rig(3, 3);
  rig.BringUp();
  const std::string coordinator(kube::Uid(*rig.Pod("j-server-0"))), lost(kube::Uid(*rig.Pod("j-server-1")));
  Refuse(rig, act);
  rig.Scale(4);
  rig.Exit("j-server-1", 137);
  rig.Run(seconds(20));
  EXPECT_TRUE(rig.WasTold(coordinator, "gone=" + lost));
  EXPECT_TRUE(rig.Pod("j-worker-3")) << "created";
  EXPECT_LE(CallsOf(rig, act), 12);
  if (*GetParam().reason != '\0') {
    EXPECT_THAT(rig.EventReasons(), Contains(GetParam().reason));
  }
  ExpectRest(rig);
}

TEST_P(ExecutorTest, WhatIsRefusedIsNotAskedForAgainAndAgain) {
  ExecutorRig rig(1, 2);
  rig.BringUp();
  const Act act{"create", "Pod", ""};
  Refuse(rig, act);
  rig.Scale(20);
  rig.Run(seconds(20));
  // A pause of a second after every fourth failure, and each of the 18 in turn.
  EXPECT_LE(CallsOf(rig, act), 4 * 20 + 4);
  EXPECT_GE(CallsOf(rig, act), 4);
  ExpectTold(rig, act);
  const auto reasons = rig.EventReasons();
  EXPECT_LE(std::ranges::count(reasons, std::string(GetParam().reason)), 18) << "each once";
  ExpectRest(rig);
  EXPECT_EQ(rig.PodNames().size(), 21U);
}

// A pod without its token would be one that the others do not talk to.
TEST_P(ExecutorTest, NoPodIsMadeBeforeItsSecret) {
  const Act act{"create", "Secret", ""};
  ExecutorRig rig(2, 2);
  Refuse(rig, act);
  rig.Run(seconds(20));
  EXPECT_THAT(rig.PodNames(), testing::IsEmpty());
  EXPECT_LE(CallsOf(rig, act), 12);
  ExpectTold(rig, act);
  rig.api.SetJudge({});
  rig.Run(seconds(40));
  rig.BringUp();
  EXPECT_EQ(rig.PodNames().size(), 4U);
  EXPECT_EQ(rig.real.List(kSecrets, {})->items.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Refused, ExecutorTest, testing::ValuesIn(Refusals()), [](const auto& info) {
  std::string name = info.param.name;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

// --- appointments and confirmations: of two that contradict each other exactly one is recorded, whatever caches show

v1::LeaderLease Wants(uint64_t term, const std::vector<uint32_t>& voters) {
  v1::LeaderLease lease;
  lease.set_term(term);
  lease.set_map_version(7);
  lease.mutable_wanted_voters()->Assign(voters.begin(), voters.end());
  return lease;
}

void PassWithStaleCaches(ExecutorRig& rig, seconds time) {
  for (seconds passed{}; passed < time; passed += seconds(1)) {
    rig.clock.Advance(seconds(1));
    rig.Report();
    rig.Round();
  }
}

TEST(LeaderRaceTest, AConfirmationAfterAnAppointmentThatTheCacheDoesNotShowFails) {
  ExecutorRig rig(2, 1);
  rig.BringUp();
  const std::string old(kube::Uid(*rig.Pod("j-server-0"))), successor(kube::Uid(*rig.Pod("j-server-1")));
  rig.SyncCaches();  // for the last time
  // One operator sees a silent coordinator and appoints the other server.
  rig.Silence("j-server-0");
  PassWithStaleCaches(rig, seconds(4));
  ASSERT_EQ(rig.Status().coordinator, "j-server-1");
  // Another one, whose caches are older, hears the old coordinator.
  rig.RestartOperator();
  rig.Silence("");
  rig.ReportLease("j-server-0", Wants(1, {1}));
  rig.Report();
  rig.api.ForgetCalls();
  rig.Round();
  EXPECT_THAT(rig.api.calls(), Contains(HasSubstr("apply TrainingJob"))) << "it tries";
  EXPECT_FALSE(rig.Status().coordinator_voters);
  rig.Run(seconds(5));
  EXPECT_FALSE(rig.WasTold(old, "confirmed"));
  EXPECT_FALSE(rig.Status().coordinator_voters);
  EXPECT_EQ(rig.Status().coordinator_term, 2);
  EXPECT_TRUE(rig.WasTold(successor, "coordinator of term 2"));
}

TEST(LeaderRaceTest, AnAppointmentAfterAConfirmationThatTheCacheDoesNotShowFailsAndThenNamesTheVoters) {
  ExecutorRig rig(2, 1);
  rig.BringUp();
  const std::string successor(kube::Uid(*rig.Pod("j-server-1")));
  rig.SyncCaches();  // for the last time
  rig.ReportLease("j-server-0", Wants(1, {1}));
  rig.Report();
  rig.Round();
  ASSERT_TRUE(rig.Status().coordinator_voters);
  // Another operator, whose caches are older, sees a silent coordinator.
  rig.RestartOperator();
  rig.Silence("j-server-0");
  rig.api.ForgetCalls();
  PassWithStaleCaches(rig, seconds(8));
  EXPECT_THAT(rig.api.calls(), Contains(HasSubstr("apply TrainingJob"))) << "it tries";
  EXPECT_EQ(rig.Status().coordinator, "j-server-0");
  EXPECT_EQ(rig.Status().coordinator_term, 0);
  EXPECT_THAT(rig.EventReasons(), testing::Not(Contains(kEventCoordinatorAppointed))) << "it did not happen";
  rig.Run(seconds(3));
  EXPECT_EQ(rig.Status().coordinator, "j-server-1");
  ASSERT_TRUE(rig.WasTold(successor, "coordinator of term 2"));
  for (const TestService::Sent& each : rig.service.sent) {
    if (!each.directive.has_host_coordinator()) continue;
    EXPECT_THAT(each.directive.host_coordinator().voters().nodes(), testing::ElementsAre(1U));
  }
}

// The word to the coordinator needs the record, however often that fails.
TEST(LeaderRaceTest, WithoutTheRecordTheCoordinatorGetsNoConfirmation) {
  ExecutorRig rig(2, 1);
  rig.BringUp();
  const std::string host(kube::Uid(*rig.Pod("j-server-0")));
  rig.api.SetJudge([](const ApiCall& call) {
    return call.verb == "apply" ? std::optional<Fault>(Fault{.status = Error(StatusCode::kUnavailable, "500")})
                                : std::nullopt;
  });
  rig.ReportLease("j-server-0", Wants(1, {1}));
  rig.Run(seconds(5));
  EXPECT_FALSE(rig.WasTold(host, "confirmed"));
  rig.api.SetJudge({});
  rig.Run(seconds(35));
  EXPECT_TRUE(rig.WasTold(host, "confirmed in term 1 from map 7,1"));
}

TEST(LeaderRaceTest, AnOperatorThatWasStoppedAppointsNoneOnItsReturn) {
  ExecutorRig rig(2, 1);
  rig.BringUp();
  rig.clock.Advance(seconds(600));
  rig.Silence("j-server-0");
  rig.Report();  // the other server's is read first
  rig.SyncCaches();
  rig.Round();
  EXPECT_EQ(rig.Status().coordinator_term, 0);
  rig.Silence("");
  rig.Run(seconds(10));
  EXPECT_EQ(rig.Status().coordinator_term, 0);
}

// A pod that hangs in the API server's admission must not take the next look at the job with it.
TEST(ExecutorRoundTest, ARoundOfCallsThatTimeOutEndsInTime) {
  ExecutorRig rig(1, 2);
  rig.BringUp();
  rig.api.SetJudge([](const ApiCall& call) {
    return call.verb == "create" ? std::optional<Fault>(Fault{.status = Error(StatusCode::kDeadlineExceeded, "silent"),
                                                              .takes = Carrier::kCallTimeout})
                                 : std::nullopt;
  });
  rig.Scale(30);
  rig.SyncCaches();
  const MonotonicTime begin = rig.clock.Now();
  rig.Round();
  EXPECT_LE(rig.clock.Now() - begin, 2 * Carrier::kCallTimeout);
}

// --- old caches: what cannot be taken back is decided on what the API server has

TEST(OldCacheTest, ServersThatHaveBeenReplacedMeanwhileDoNotEndTheJob) {
  ExecutorRig rig(3, 1);
  rig.BringUp();
  rig.Exit("j-server-1", 137);
  rig.Exit("j-server-2", 137);
  rig.SyncCaches();  // for the last time: they look lost at the same time
  for (const char* name : {"j-server-1", "j-server-2"}) {
    kube::Json next = *rig.Pod(name);
    const std::string uid(kube::Uid(next));
    ASSERT_TRUE(rig.real
                    .Patch(kube::kPods, {"default", name}, kube::PatchType::kMerge,
                           {{"metadata", {{"finalizers", kube::Json::array()}}}})
                    .ok());
    ASSERT_TRUE(rig.real.Delete(kube::kPods, {"default", name}, {.uid = uid}).ok());
    for (const char* field : {"uid", "resourceVersion", "creationTimestamp"}) next["metadata"].erase(field);
    next["spec"].erase("nodeName");
    next.erase("status");
    ASSERT_TRUE(rig.real.Create(kube::kPods, next).ok());
    rig.Start(name);
  }
  rig.Say(3);  // all three serve
  for (int round = 0; round < 3; ++round) {
    rig.Report();
    rig.Round();
    rig.clock.Advance(seconds(2));
  }
  EXPECT_EQ(rig.Condition(api::kFailed), "absent");
}

TEST(OldCacheTest, AnEndWaitsForTheApiServer) {
  ExecutorRig rig(1, 1);
  rig.BringUp();
  rig.Exit("j-worker-0", 0);
  rig.SayFinished();
  rig.api.SetJudge([](const ApiCall& call) {
    return call.verb == "list" ? std::optional<Fault>(Fault{.status = Error(StatusCode::kUnavailable, "500")})
                               : std::nullopt;
  });
  rig.Run(seconds(5));
  EXPECT_EQ(rig.Condition(api::kSucceeded), "absent");
  rig.api.SetJudge({});
  rig.Run(seconds(2));
  EXPECT_THAT(rig.Condition(api::kSucceeded), StartsWith("True/"));
}

// The record that the job has begun is newer than what this operator sees.
TEST(OldCacheTest, AJobThatHasServedDoesNotBeginAgain) {
  for (const bool begun_meanwhile : {false, true}) {
    ExecutorRig rig(1, 1);
    rig.options.begin_unheard_after = seconds(60);
    rig.RestartOperator();
    rig.Run(seconds(2));
    rig.StartAll();
    rig.Run(seconds(2));
    ASSERT_EQ(rig.Status().coordinator, "j-server-0");
    ASSERT_FALSE(rig.Status().begun);
    ASSERT_TRUE(rig.real
                    .Patch(kube::kPods, {"default", "j-server-0"}, kube::PatchType::kMerge,
                           {{"metadata", {{"finalizers", kube::Json::array()}}}})
                    .ok());
    ASSERT_TRUE(rig.real.Delete(kube::kPods, {"default", "j-server-0"}, {.grace_period_seconds = 0}).ok());
    rig.Connect("j-server-0", false);
    rig.SyncCaches();  // for the last time
    if (begun_meanwhile) {
      ASSERT_TRUE(rig.real
                      .Patch(kube::kTrainingJobs, {"default", "j"}, kube::PatchType::kMerge,
                             {{"status", {{"begun", true}}}}, "status")
                      .ok());
    }
    rig.clock.Advance(seconds(6));
    rig.Round();
    EXPECT_EQ(rig.Pod("j-server-0").has_value(), !begun_meanwhile);
  }
}

TEST(OldCacheTest, APodThatHasStartedSinceItWasSeenIsNotRemoved) {
  for (const bool started : {false, true}) {
    ExecutorRig rig(1, 1);
    rig.BringUp();
    rig.Scale(2);
    rig.Run(seconds(2));
    ASSERT_TRUE(rig.Pod("j-worker-1"));
    rig.Scale(1);
    rig.SyncCaches();  // for the last time
    if (started) rig.Start("j-worker-1");
    rig.clock.Advance(seconds(6));
    rig.Round();
    const auto pod = rig.Pod("j-worker-1");
    EXPECT_EQ(pod && !kube::IsBeingDeleted(*pod), started);
    rig.Run(seconds(5));
    if (started) {
      EXPECT_THAT(rig.EventReasons(), Contains(kEventWorkersDraining)) << "it is asked to leave like any other";
    }
  }
}

std::vector<kube::Json> SecretsOf(ExecutorRig& rig) { return rig.real.List(kSecrets, {})->items; }

// The right to create Secrets is all that the operator has.
TEST(ExecutorSecretTest, SecretsAreMadeAndNeverRead) {
  ExecutorRig rig(2, 2);
  rig.BringUp();
  EXPECT_THAT(SecretsOf(rig), testing::SizeIs(1));
  for (const std::string& call : rig.api.calls()) {
    if (call.find(" Secret ") == std::string::npos) continue;
    EXPECT_THAT(call, StartsWith("create "));
  }
  EXPECT_THAT(rig.api.calls(), Contains("create Secret " + rig.Status().secret).Times(1));
  rig.DeleteJob();
  rig.Run(seconds(30));
  EXPECT_THAT(SecretsOf(rig), testing::IsEmpty());
}

// The status was written and the answer was lost: a look at an old cache must not put another name in its place.
TEST(ExecutorSecretTest, ANameThatIsOnRecordIsNeverReplaced) {
  ExecutorRig rig(1, 1);
  rig.api.SetJudge([](const ApiCall& call) -> std::optional<Fault> {
    if (call.verb != "apply") return std::nullopt;
    return Fault{.status = Error(StatusCode::kDeadlineExceeded, "silent"), .carried_out = true};
  });
  rig.Round();
  const std::string name = rig.Status().secret;
  ASSERT_NE(name, "");
  rig.api.SetJudge({});
  for (int round = 0; round < 3; ++round) {
    rig.clock.Advance(seconds(2));
    rig.Round();  // its caches still show a job without a Secret
    EXPECT_EQ(rig.Status().secret, name);
    EXPECT_THAT(SecretsOf(rig), testing::IsEmpty());
  }
  rig.Run(seconds(5));
  ASSERT_THAT(SecretsOf(rig), testing::SizeIs(1));
  EXPECT_EQ(kube::Name(SecretsOf(rig)[0]), name);
}

}  // namespace
}  // namespace attune::controller::executor_test
