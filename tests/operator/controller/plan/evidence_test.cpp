// Which signs together say that a process is gone, and which are too few.
#include "operator/controller/plan/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/pod_number.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::evidence_test {
namespace {

using std::chrono::seconds;
using testing::AnyOf;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

constexpr bool kReady = true;

// Three servers and three workers, each on its own node, all heard a moment ago.
class LostMachineTest : public testing::Test {
 protected:
  LostMachineTest() : cluster_(Running(MakeTrainingJob("j").Servers(3).Backups(1).Workers(3).DrainSeconds(30))) {
    cluster_.nodes.emplace();
    for (const std::string& name : cluster_.PodNames()) {
      cluster_.pod(name)["spec"]["nodeName"] = "node-of-" + name;
      (*cluster_.nodes)["node-of-" + name] = {kReady, false};
    }
    cluster_.sample.job->set_workers(3);
    Hear();
  }

  // Time passes; all but these report all the while.
  void Pass(seconds time, const std::vector<std::string>& silent = {}) {
    for (seconds passed{}; passed < time; passed += seconds(1)) {
      cluster_.Advance(seconds(1));
      Hear(silent);
      const auto done = cluster_.Settle();
      done_.insert(done_.end(), done.begin(), done.end());
      cluster_.Answer("gone=", telemetry::DirectiveAnswer::Outcome::kDone);
    }
  }
  void Hear(const std::vector<std::string>& silent = {}) {
    for (telemetry::PodSample& sample : cluster_.sample.pods) {
      if (std::ranges::find(silent, sample.pod) != silent.end() || !cluster_.Has(sample.pod)) continue;
      sample.pod_uid = kube::Uid(cluster_.pod(sample.pod));
      sample.heard_at = sample.reported_at = cluster_.now().monotonic;
      sample.window.set_sequence(100);
      if (sample.role == "server") sample.window.mutable_server();
    }
  }
  void LoseNode(const std::string& pod) {
    (*cluster_.nodes)["node-of-" + pod].ready = false;
    cluster_.LoseNodeOf(pod);
  }
  telemetry::PodSample& SampleOf(const std::string& pod) {
    return *std::ranges::find(cluster_.sample.pods, pod, &telemetry::PodSample::pod);
  }
  std::string Uid(const std::string& pod) { return std::string(kube::Uid(cluster_.pod(pod))); }

  FakeCluster cluster_;
  std::vector<std::string> done_;
};

TEST_F(LostMachineTest, AWorkerWhoseNodeIsNotReadyAndThatIsSilentIsReplacedAtOnce) {
  const std::string lost = Uid("j-worker-1");
  LoseNode("j-worker-1");
  Pass(seconds(10), {"j-worker-1"});
  ASSERT_TRUE(cluster_.Has("j-worker-1"));
  EXPECT_NE(Uid("j-worker-1"), lost) << "without waiting for its name";
  EXPECT_TRUE(cluster_.HasEvent(kEventNodeLost));
  EXPECT_EQ(cluster_.status().workers.failed, 0) << "not a failure of the program";
  EXPECT_THAT(cluster_.sent_texts(), Not(Contains("j-server-0 gone=" + lost))) << "it may run on, on its machine";
}

TEST_F(LostMachineTest, AServerWhoseNodeIsNotReadyAndThatIsSilentIsReplaced) {
  const std::string lost = Uid("j-server-2");
  LoseNode("j-server-2");
  Pass(seconds(10), {"j-server-2"});
  ASSERT_TRUE(cluster_.Has("j-server-2"));
  EXPECT_NE(Uid("j-server-2"), lost);
  EXPECT_EQ(cluster_.status().servers.failed, 0);
  EXPECT_FALSE(api::IsTrue(cluster_.status(), api::kFailed));
}

// The old coordinator may have gone on with its own vote alone, and then only it has the newest rows: its machine may
// come back.
TEST_F(LostMachineTest, NoServerIsRemovedBeforeAnotherCoordinatorLeads) {
  const std::string lost = Uid("j-server-0");
  LoseNode("j-server-0");
  SampleOf("j-server-1").window.mutable_server()->set_coordinator_silent_seconds(10);
  SampleOf("j-server-2").window.mutable_server()->set_coordinator_silent_seconds(10);
  Pass(seconds(120), {"j-server-0"});
  ASSERT_EQ(cluster_.status().coordinator, "j-server-1") << "appointed, and not leading";
  ASSERT_TRUE(cluster_.Has("j-server-0"));
  EXPECT_EQ(Uid("j-server-0"), lost);
  cluster_.sample.job->set_term(2);
  Pass(seconds(10), {"j-server-0"});
  ASSERT_TRUE(cluster_.Has("j-server-0"));
  EXPECT_NE(Uid("j-server-0"), lost);
}

TEST_F(LostMachineTest, OneSignAloneRemovesNothing) {
  const std::vector<std::string> before = cluster_.PodNames();
  LoseNode("j-worker-1");
  LoseNode("j-server-1");
  Pass(seconds(60), {"j-worker-2"});  // silent, on a node that is well; the coordinator counts all
  for (const std::string& action : done_) EXPECT_THAT(action, Not(StartsWith("DeletePod"))) << action;
  EXPECT_EQ(cluster_.PodNames(), before);
}

// The coordinator counts workers, and one that has left by itself may write its model for long.
TEST_F(LostMachineTest, AWorkerThatHasLeftAndReportsNothingAnyMoreIsLeftAlone) {
  const std::string busy = Uid("j-worker-1");
  cluster_.sample.job->set_workers(2);
  Pass(seconds(60), {"j-worker-1"});
  EXPECT_EQ(Uid("j-worker-1"), busy);
}

TEST_F(LostMachineTest, AServerThatTheCoordinatorDroppedAndThatIsSilentIsAskedToEndFirst) {
  const std::string hung = Uid("j-server-1");
  cluster_.sample.job->mutable_server_states()->DeleteSubrange(1, 1);
  cluster_.LoseNodeOf("j-server-1");  // its container does not end
  Pass(seconds(9), {"j-server-1"});
  EXPECT_TRUE(cluster_.HasEvent(kEventProcessHung));
  EXPECT_EQ(Uid("j-server-1"), hung) << "asked first";
  Pass(seconds(20), {"j-server-1"});
  EXPECT_NE(Uid("j-server-1"), hung) << "then by force";
}

// Servers that have just joined included: the operator need not guess whether they ever were members.
TEST_F(LostMachineTest, WhoIsDeclaredLostByNameAndSilentIsAskedToEndAtOnce) {
  for (const std::string name : {"j-server-1", "j-worker-1"}) {
    const std::string hung = Uid(name);
    cluster_.LoseNodeOf(name);  // its container does not end
    cluster_.sample.job->add_lost_pods(contract::PodNumber(hung));
    for (telemetry::PodSample& sample : cluster_.sample.pods) {
      if (sample.pod == name) sample.window.set_sequence(1);
    }
    Pass(seconds(9), {name});
    EXPECT_TRUE(cluster_.HasEvent(kEventProcessHung)) << name;
    Pass(seconds(20), {name});
    EXPECT_NE(Uid(name), hung) << "then by force";
    const std::string next = Uid(name);
    cluster_.StartAll();
    cluster_.Connect(name);
    Pass(seconds(20));
    EXPECT_EQ(Uid(name), next) << "its successor of the same name is another process";
  }
  EXPECT_EQ(cluster_.status().workers.failed + cluster_.status().servers.failed, 0) << "not a failure of the program";
}

TEST_F(LostMachineTest, WhoIsDeclaredLostButHeardEndsByItself) {
  const std::string heard = Uid("j-worker-1");
  cluster_.sample.job->add_lost_pods(contract::PodNumber(heard));
  Pass(seconds(60));
  EXPECT_EQ(Uid("j-worker-1"), heard) << "it may only have been cut off from the coordinator";
}

// It had joined a coordinator that was lost at once, and all servers that it knew are gone: it would wait for ever.
TEST_F(LostMachineTest, AWorkerThatHasHadNoWordOfACoordinatorWhichIsHeardIsReplaced) {
  const std::string astray = Uid("j-worker-1");
  v1::WindowReport& window = SampleOf("j-worker-1").window;
  window.mutable_worker()->set_coordinator_silent_seconds(59);
  Pass(seconds(1));
  EXPECT_EQ(Uid("j-worker-1"), astray) << "it may find the coordinator yet";
  window.mutable_worker()->set_coordinator_silent_seconds(61);
  Pass(seconds(20));
  EXPECT_NE(Uid("j-worker-1"), astray);
  EXPECT_TRUE(cluster_.HasEvent(kEventProcessHung));
  EXPECT_EQ(cluster_.status().workers.failed, 0) << "not a failure of the program";
}

TEST_F(LostMachineTest, AWorkerWithoutWordOfACoordinatorThatMayNotActEitherIsLeftAlone) {
  const std::string waits = Uid("j-worker-1");
  v1::WindowReport& window = SampleOf("j-worker-1").window;
  window.mutable_worker()->set_coordinator_silent_seconds(61);
  SampleOf("j-server-0").window.mutable_leader_lease()->set_held(false);
  Pass(seconds(20));
  EXPECT_EQ(Uid("j-worker-1"), waits) << "the coordinator is the one that is cut off";
  SampleOf("j-server-0").window.mutable_leader_lease()->set_held(true);
  window.set_duration_seconds(61);
  Pass(seconds(20));
  EXPECT_EQ(Uid("j-worker-1"), waits) << "it was stopped itself, and has only just woken up";
}

TEST_F(LostMachineTest, APodThatNeverStartedOnALostNodeIsMadeAgain) {
  for (const std::string name : {"j-server-2", "j-worker-2"}) {
    cluster_.DeleteFromOutside(name, 0);
    Pass(seconds(2));
    cluster_.pod(name)["spec"]["nodeName"] = "node-of-" + name;
    const std::string stuck = Uid(name);
    (*cluster_.nodes)["node-of-" + name].ready = false;
    Pass(seconds(40), {name});
    EXPECT_NE(Uid(name), stuck) << name;
  }
}

TEST_F(LostMachineTest, AProcessThatHasOnlyJustBegunIsNotSilent) {
  cluster_.DeleteFromOutside("j-worker-1", 0);
  Pass(seconds(40), {"j-worker-1"});  // no message from the new one ever came
  cluster_.pod("j-worker-1")["spec"]["nodeName"] = "node-of-j-worker-1";
  cluster_.Start("j-worker-1");
  const std::string fresh = Uid("j-worker-1");
  (*cluster_.nodes)["node-of-j-worker-1"].ready = false;
  Pass(seconds(20), {"j-worker-1"});
  EXPECT_EQ(Uid("j-worker-1"), fresh) << "its node alone says that it is lost";
  Pass(seconds(20), {"j-worker-1"});
  EXPECT_NE(Uid("j-worker-1"), fresh);
}

TEST_F(LostMachineTest, AnOperatorThatWasPausedTakesItsPauseForNobodysDeath) {
  LoseNode("j-worker-1");
  cluster_.Advance(std::chrono::minutes(10));
  cluster_.RestartOperator();
  const std::string name = "j-worker-1", uid = Uid(name);
  cluster_.Settle();
  EXPECT_EQ(Uid(name), uid) << "it has not listened yet";
}

TEST_F(LostMachineTest, APodOnALostNodeDoesNotHoldItsName) {
  const std::string lost = Uid("j-worker-1");
  LoseNode("j-worker-1");
  cluster_.DeleteFromOutside("j-worker-1", 30);  // by the node controller
  Pass(seconds(10), {"j-worker-1"});
  EXPECT_NE(Uid("j-worker-1"), lost) << "not after the grace period that no process there will use";
}

TEST_F(LostMachineTest, APodThatIsHeardIsNotForcedHoweverLateItEnds) {
  const std::string slow = Uid("j-worker-1");
  cluster_.LoseNodeOf("j-worker-1");  // only its kubelet does not confirm
  cluster_.DeleteFromOutside("j-worker-1", 30);
  Pass(seconds(120));
  EXPECT_EQ(Uid("j-worker-1"), slow);
}

TEST_F(LostMachineTest, WithoutBackupsAServersMachineIsWaitedFor) {
  FakeCluster cluster = Running(MakeTrainingJob("j").Servers(2).Backups(0).Workers(1));
  cluster.nodes.emplace();
  cluster.Advance(seconds(60));
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("j-server-1"));
  EXPECT_FALSE(api::IsTrue(cluster.status(), api::kFailed));
}

struct End {
  const char* reason;
  bool disruption;
};

TEST(EvidenceTest, WhichEndsAreNobodysFailure) {
  const auto failed = [](const char* reason, bool target) {
    ObservedPod pod;
    pod.phase = PodPhase::kFailed;
    pod.reason = reason;
    pod.disruption_target = target;
    return pod;
  };
  for (const char* reason : {"Evicted", "NodeLost", "Preempting", "NodeShutdown", "Terminated", "OutOfcpu"}) {
    EXPECT_TRUE(WasDisrupted(failed(reason, false))) << reason;
  }
  EXPECT_TRUE(WasDisrupted(failed("", true))) << "the condition DisruptionTarget";
  EXPECT_FALSE(WasDisrupted(failed("", false))) << "its program";
  EXPECT_FALSE(WasDisrupted(failed("DeadlineExceeded", false))) << "the template's activeDeadlineSeconds";
  ObservedPod unknown = failed("", false);
  unknown.container.state = RoleContainer::State::kTerminated;
  unknown.container.exit_code = 137;
  unknown.container.reason = "ContainerStatusUnknown";
  EXPECT_TRUE(WasDisrupted(unknown)) << "the node came back without it";
  unknown.container.reason = "OOMKilled";
  EXPECT_FALSE(WasDisrupted(unknown)) << "it takes more than it asked for";
}

// --- restarts

class RestartTest : public testing::Test {
 protected:
  // It trains for so long, then dies.
  void TrainAndDie(FakeCluster& cluster, const std::string& name, seconds trained) {
    cluster.StartAll();
    for (const std::string& each : cluster.PodNames()) cluster.Connect(each);
    for (telemetry::PodSample& sample : cluster.sample.pods) {
      if (sample.pod == name && trained > seconds(0)) sample.window.mutable_worker()->set_clock(10);
    }
    cluster.Advance(trained);
    cluster.Exit(name, 1);
    cluster.Settle();
  }
  // How long until `name` is made again.
  static seconds UntilReplaced(FakeCluster& cluster, const std::string& name) {
    const std::string before(kube::Uid(cluster.pod(name)));
    for (seconds waited{0}; waited < seconds(200); waited += seconds(1)) {
      if (cluster.Has(name) && kube::Uid(cluster.pod(name)) != before) return waited;
      cluster.Advance(seconds(1));
      cluster.Settle();
    }
    return seconds(200);
  }
};

TEST_F(RestartTest, EightWorkersLostWithinAMinuteAreReplacedWithoutWaitingForEachOther) {
  FakeCluster cluster = Running(MakeTrainingJob("j").Servers(1).Workers(8).BackoffLimit(50));
  for (int i = 0; i < 8; ++i) TrainAndDie(cluster, PodName("j", RoleName::kWorker, i), seconds(7));
  for (int i = 0; i < 8; ++i) {
    const std::string name = PodName("j", RoleName::kWorker, i);
    if (kube::At(cluster.pod(name), {"status", "phase"}) == "Failed") {
      EXPECT_LE(UntilReplaced(cluster, name), seconds(2));
    }
  }
  EXPECT_EQ(cluster.status().workers.failed, 8) << "they count, against the limit";
}

TEST_F(RestartTest, AnIndexThatFailsWithoutProgressWaitsLongerEveryTime) {
  FakeCluster cluster = Running(MakeTrainingJob("j").Servers(1).Workers(2).BackoffLimit(50));
  seconds before{0};
  for (int failure = 0; failure < 5; ++failure) {
    TrainAndDie(cluster, "j-worker-1", seconds(0));
    const seconds waited = UntilReplaced(cluster, "j-worker-1");
    EXPECT_GE(waited, before * 2 - seconds(1)) << failure;
    before = waited;
  }
  EXPECT_GE(before, seconds(15));
  TrainAndDie(cluster, "j-worker-0", seconds(0));
  EXPECT_LE(UntilReplaced(cluster, "j-worker-0"), seconds(2)) << "another index";
  TrainAndDie(cluster, "j-worker-1", seconds(30));
  EXPECT_LE(UntilReplaced(cluster, "j-worker-1"), seconds(2)) << "it had trained";
}

TEST_F(RestartTest, DisruptionsCountNeitherForTheDelayNorForTheLimit) {
  FakeCluster cluster = Running(MakeTrainingJob("j").Servers(1).Workers(2).BackoffLimit(1));
  for (int i = 0; i < 10; ++i) {
    const std::string before(kube::Uid(cluster.pod("j-worker-1")));
    if (i % 2 == 0) {
      cluster.Evict("j-worker-1");
    } else {
      cluster.Disrupt("j-worker-1", "Terminated");
    }
    cluster.Settle();
    ASSERT_TRUE(cluster.Has("j-worker-1"));
    EXPECT_NE(kube::Uid(cluster.pod("j-worker-1")), before) << "at once";
    cluster.StartAll();
    cluster.Settle();
  }
  EXPECT_EQ(cluster.status().workers.failed, 0);
  EXPECT_FALSE(api::IsTrue(cluster.status(), api::kFailed));
}

TEST_F(RestartTest, AnEvictedServerIsReplacedWithoutCountingAFailure) {
  FakeCluster cluster = Running(MakeTrainingJob("j").Servers(3).Backups(1).Workers(1).BackoffLimit(0));
  const std::string evicted(kube::Uid(cluster.pod("j-server-1")));
  cluster.Evict("j-server-1");
  for (int i = 0; i < 15; ++i) {
    cluster.Settle();
    cluster.Answer("gone=", telemetry::DirectiveAnswer::Outcome::kDone);
    cluster.Advance(seconds(1));
  }
  EXPECT_NE(kube::Uid(cluster.pod("j-server-1")), evicted);
  EXPECT_EQ(cluster.status().servers.failed, 0);
  EXPECT_FALSE(api::IsTrue(cluster.status(), api::kFailed)) << cluster.Condition(api::kFailed);
}

// --- drains of nodes

class NodeDrainTest : public testing::Test {
 protected:
  static FakeCluster OnNodes(JobBuilder job) {
    FakeCluster cluster = Running(std::move(job));
    cluster.nodes.emplace();
    for (const std::string& name : cluster.PodNames()) {
      cluster.pod(name)["spec"]["nodeName"] = "node-of-" + name;
      (*cluster.nodes)["node-of-" + name] = {};
    }
    return cluster;
  }
  static void Cordon(FakeCluster& cluster, const std::string& pod) {
    (*cluster.nodes)["node-of-" + pod].cordoned = true;
    cluster.Settle();
  }
};

TEST_F(NodeDrainTest, TheBudgetIsWhatTheJobCanLoseNow) {
  FakeCluster cluster = OnNodes(MakeTrainingJob("j").Servers(3).Backups(1).Workers(1));
  EXPECT_EQ(cluster.budget(), 2) << "every row has its copy";
  cluster.sample.job->mutable_relocation()->set_bytes_left(1);
  cluster.Settle();
  EXPECT_EQ(cluster.budget(), 3) << "copies are being made";
  cluster.sample.job->clear_relocation();
  cluster.Settle();
  EXPECT_EQ(cluster.budget(), 2);
  cluster.Advance(cluster.options.lost_silence);
  cluster.Settle();
  EXPECT_EQ(cluster.budget(), 3) << "the coordinator is not heard; copies may be made since";
  cluster.Connect("j-server-0");
  cluster.Settle();
  EXPECT_EQ(cluster.budget(), 2);
  cluster.DeleteFromOutside("j-server-2");
  cluster.Settle();
  EXPECT_EQ(cluster.budget(), 3) << "one is gone already";
  EXPECT_EQ(OnNodes(MakeTrainingJob("k").Servers(3).Backups(0).Workers(1)).budget(), 3) << "rows are nowhere else";
}

TEST_F(NodeDrainTest, AServerOfACordonedNodeIsEmptiedAndMadeAgainElsewhere) {
  FakeCluster cluster = OnNodes(MakeTrainingJob("j").Servers(3).Backups(0).Workers(1));
  const std::string moved(kube::Uid(cluster.pod("j-server-2")));
  Cordon(cluster, "j-server-2");
  EXPECT_THAT(cluster.sent_texts(), Contains("j-server-0 drain=" + moved));
  EXPECT_EQ(kube::Uid(cluster.pod("j-server-2")), moved) << "not before its rows have moved";
  cluster.Advance(seconds(10));
  Say(cluster, {kServing, kServing, kDraining});
  cluster.Settle();
  EXPECT_EQ(kube::Uid(cluster.pod("j-server-2")), moved) << "it is not called back";
  for (const std::string& reported : cluster.sent_texts())
    EXPECT_THAT(reported, Not(testing::HasSubstr("servers="))) << reported;
  Say(cluster, {kServing, kServing, kDrained});
  cluster.Settle();
  ASSERT_TRUE(cluster.Has("j-server-2"));
  EXPECT_NE(kube::Uid(cluster.pod("j-server-2")), moved);
  EXPECT_FALSE(api::IsTrue(cluster.status(), api::kFailed)) << cluster.Condition(api::kFailed);
}

TEST_F(NodeDrainTest, TheCoordinatorMovesFirst) {
  FakeCluster cluster = OnNodes(MakeTrainingJob("j").Servers(3).Backups(0).Workers(1));
  const std::string host(kube::Uid(cluster.pod("j-server-0")));
  Cordon(cluster, "j-server-0");
  EXPECT_EQ(cluster.status().coordinator, "j-server-1");
  cluster.sample.job->set_term(2);
  cluster.Settle();
  EXPECT_THAT(cluster.sent_texts(), Contains("j-server-1 drain=" + host + " in term 2"));
}

TEST_F(NodeDrainTest, OneAfterTheOther) {
  FakeCluster cluster = OnNodes(MakeTrainingJob("j").Servers(3).Backups(0).Workers(1));
  (*cluster.nodes)["node-of-j-server-1"].cordoned = true;
  Cordon(cluster, "j-server-2");
  int drained = 0;
  for (const std::string& reported : cluster.sent_texts())
    drained += reported.find("drain=") != std::string::npos ? 1 : 0;
  EXPECT_EQ(drained, 1);
}

TEST_F(NodeDrainTest, TheOnlyServerStaysUntilAnotherOneHasItsRows) {
  FakeCluster cluster = OnNodes(MakeTrainingJob("j").Servers(1).Workers(1));
  Cordon(cluster, "j-server-0");
  ASSERT_TRUE(cluster.status().move);
  EXPECT_EQ(cluster.status().move->state, api::kMoving);
  EXPECT_THAT(cluster.status().move->message, testing::HasSubstr("because node node-of-j-server-0 is cordoned"));
  EXPECT_TRUE(cluster.Has("j-server-1"));
  cluster.Advance(seconds(60));
  cluster.Settle();
  EXPECT_TRUE(cluster.Has("j-server-0"));
  EXPECT_GE(cluster.budget(), 1) << "no eviction is let through";
  cluster.Advance(cluster.options.server_move_timeout);
  cluster.Settle();
  EXPECT_EQ(cluster.status().move->state, api::kMoveGivenUp) << "no machine had room for another one";
  EXPECT_FALSE(cluster.Has("j-server-1"));
  EXPECT_TRUE(cluster.Has("j-server-0"));
}

}  // namespace
}  // namespace attune::controller::evidence_test
