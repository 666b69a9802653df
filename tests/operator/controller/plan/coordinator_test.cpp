// When another coordinator is appointed although the pod of this one runs, and when one is confirmed without a
// majority: two signs, records before orders, and no more than one server at a time.
#include "operator/controller/plan/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "proto/pod_number.h"
#include "tests/operator/controller/plan/running_job.h"

namespace attune::controller::coordinator_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Outcome = telemetry::DirectiveAnswer::Outcome;

// A job that trains, each pod on its own node. Time passes in steps in which all processes report, but `silent` ones.
class Story {
 public:
  explicit Story(int32_t servers, int32_t backups = 1)
      : cluster(Running(MakeTrainingJob("a").Servers(servers).Backups(backups).Workers(1))) {
    cluster.nodes.emplace();
    for (const std::string& name : cluster.PodNames()) {
      cluster.pod(name)["spec"]["nodeName"] = "node-of-" + name;
      (*cluster.nodes)["node-of-" + name] = {};
    }
    Report();
  }

  void Pass(Duration time) {
    constexpr Duration kStep = milliseconds(250);
    for (Duration passed{}; passed < time; passed += kStep) {
      cluster.Advance(kStep);
      Report();
      cluster.Settle();
    }
  }
  void Report() {
    for (telemetry::PodSample& sample : cluster.sample.pods) {
      if (silent.contains(sample.pod) || !cluster.Has(sample.pod)) continue;
      sample.pod_uid = kube::Uid(cluster.pod(sample.pod));
      sample.heard_at = sample.reported_at = cluster.now().monotonic;
      sample.window.set_sequence(sample.window.sequence() + 1);
      sample.window.set_duration_seconds(1);
      if (sample.role != "server") continue;
      const bool misses = missing.contains(sample.pod);
      Duration& for_so_long = missed_[sample.pod];
      for_so_long = misses ? for_so_long + milliseconds(250) : Duration::zero();
      sample.window.mutable_server()->set_coordinator_silent_seconds(Seconds(for_so_long));
    }
  }
  void LoseNode(const std::string& pod) { (*cluster.nodes)["node-of-" + pod].ready = false; }
  // What the coordinator in this pod says of its lease from now on.
  void ReportLease(const std::string& pod, uint64_t term, bool held, uint64_t map = 0,
                   const std::vector<uint32_t>& wanted = {}) {
    for (telemetry::PodSample& sample : cluster.sample.pods) {
      if (sample.pod != pod) continue;
      v1::LeaderLease& lease = *sample.window.mutable_leader_lease();
      lease.set_term(term);
      lease.set_held(held);
      lease.set_map_version(map);
      lease.mutable_wanted_voters()->Assign(wanted.begin(), wanted.end());
    }
  }
  void SayMap(const std::string& pod, uint64_t version) {
    for (telemetry::PodSample& sample : cluster.sample.pods) {
      if (sample.pod == pod) sample.window.mutable_server()->set_map_version(version);
    }
  }
  // The coordinator is silent, and all other servers say so.
  void Silence(const std::string& coordinator) {
    silent.insert(coordinator);
    for (const std::string& name : cluster.PodNames()) {
      if (name.find("server") != std::string::npos && name != coordinator) missing.insert(name);
    }
  }
  std::string coordinator() const { return cluster.status().coordinator; }
  int64_t term() const { return cluster.status().coordinator_term; }
  const v1::Directive* Last(const std::string& key_begin) const {
    const v1::Directive* last = nullptr;
    for (const SendDirective& each : cluster.directives()) {
      if (each.key.starts_with(key_begin)) last = &each.directive;
    }
    return last;
  }

  FakeCluster cluster;
  std::set<std::string> silent, missing;

 private:
  std::map<std::string, Duration> missed_;
};

TEST(SilentCoordinator, AnotherServerIsAppointedOnTwoSignsWithTwoServersAndWithThree) {
  for (const int servers : {2, 3}) {
    Story story(servers);
    story.Silence("a-server-0");
    story.Pass(seconds(3));
    EXPECT_EQ(story.coordinator(), "a-server-0") << servers;
    story.Pass(seconds(1));
    EXPECT_EQ(story.coordinator(), "a-server-1") << servers;
    EXPECT_EQ(story.term(), 2);
    EXPECT_THAT(story.cluster.sent_texts(), ElementsAre("a-server-1 coordinator of term 2"))
        << "and nothing of a process that has ended";
    EXPECT_TRUE(story.cluster.HasEvent(kEventCoordinatorAppointed));
    EXPECT_THAT(story.cluster.events().back().note,
                HasSubstr("a-server-1 takes over the coordinator from a-server-0, which is silent: nothing is heard of "
                          "its process, a-server-1 does not hear it"));
  }
}

TEST(SilentCoordinator, OneSignAloneAppointsNone) {
  Story silent(3);
  silent.silent.insert("a-server-0");
  silent.Pass(seconds(60));
  EXPECT_EQ(silent.term(), 0) << "its sidecar may be cut off from this operator";

  Story missed(3);
  missed.missing = {"a-server-1", "a-server-2"};
  missed.Pass(seconds(60));
  EXPECT_EQ(missed.term(), 0) << "they may be cut off from it";

  Story lost(3);
  lost.LoseNode("a-server-0");
  lost.Pass(seconds(60));
  EXPECT_EQ(lost.term(), 0) << "its node may be cut off from the API server";
}

TEST(SilentCoordinator, ANodeThatIsNotReadyIsTheSecondSignWhereServersSayNothing) {
  Story story(3);
  story.silent.insert("a-server-0");
  story.LoseNode("a-server-0");
  story.Pass(seconds(4));
  EXPECT_EQ(story.coordinator(), "a-server-1");
}

TEST(SilentCoordinator, FewerThanHalfOfTheOthersAreNoSign) {
  Story story(5);
  story.silent.insert("a-server-0");
  story.missing = {"a-server-3"};
  story.Pass(seconds(20));
  EXPECT_EQ(story.term(), 0);
  story.missing = {"a-server-2", "a-server-3"};
  story.Pass(seconds(4));
  EXPECT_EQ(story.coordinator(), "a-server-1");
}

TEST(SilentCoordinator, TheNextOneIsAMemberThatIsHeard) {
  Story story(5);
  story.Silence("a-server-0");
  story.silent.insert("a-server-1");
  Say(story.cluster, {kServing, kServing, kDrained, kServing, kServing});
  story.Pass(seconds(4));
  EXPECT_EQ(story.coordinator(), "a-server-3");
}

TEST(SilentCoordinator, OneThatFallsSilentAfterItsAppointmentIsFollowedByAnother) {
  Story story(3);
  story.Silence("a-server-0");
  story.Pass(seconds(4));
  ASSERT_EQ(story.coordinator(), "a-server-1");
  story.silent.insert("a-server-1");
  story.Pass(seconds(4));
  EXPECT_EQ(story.coordinator(), "a-server-2");
  EXPECT_EQ(story.term(), 3);
}

TEST(SilentCoordinator, WithoutBackupsItsMachineIsWaitedForLonger) {
  Story story(3, 0);
  story.cluster.sample.job->mutable_checkpoint()->set_directory("/c/1");
  story.Silence("a-server-0");
  story.Pass(seconds(9));
  EXPECT_EQ(story.term(), 0) << "it may bring its rows back";
  story.Pass(seconds(2));
  EXPECT_EQ(story.term(), 2);
}

TEST(SilentCoordinator, TheOnlyServerHasNoSuccessor) {
  Story story(1, 0);
  story.silent.insert("a-server-0");
  story.LoseNode("a-server-0");
  story.Pass(seconds(60));
  EXPECT_EQ(story.coordinator(), "a-server-0");
  EXPECT_EQ(story.term(), 0);
}

// --- what this operator itself has missed

TEST(SilentCoordinator, AnOperatorThatHasJustBegunListensFirst) {
  Story story(3);
  story.Silence("a-server-0");
  story.Report();
  story.cluster.RestartOperator();
  for (const char* name : {"a-server-1", "a-server-2"}) story.cluster.Connect(name);
  story.Pass(milliseconds(4500));
  EXPECT_EQ(story.term(), 0) << "its sidecar may need a moment to come back";
  story.Pass(seconds(1));
  EXPECT_EQ(story.coordinator(), "a-server-1");
}

TEST(SilentCoordinator, APauseOfTheOperatorIsNoSign) {
  Story story(3);
  story.missing = {"a-server-1", "a-server-2"};
  story.Pass(seconds(4));
  ASSERT_EQ(story.term(), 0);
  // Too short to be seen as a pause; the reports of that time are read a moment later.
  story.cluster.Advance(milliseconds(3600));
  story.cluster.Settle();
  EXPECT_EQ(story.term(), 0) << "none of the others is heard either";
}

TEST(SilentCoordinator, APauseOfTheWholeJobIsNoSign) {
  Story story(2);
  story.silent = {"a-server-0", "a-server-1", "a-worker-0"};
  story.Pass(seconds(60));
  // Server 1 is the first that reports again, with a window as long as its pause.
  for (telemetry::PodSample& sample : story.cluster.sample.pods) {
    if (sample.pod != "a-server-1") continue;
    sample.heard_at = sample.reported_at = story.cluster.now().monotonic;
    sample.window.set_duration_seconds(60);
    sample.window.mutable_server()->set_coordinator_silent_seconds(60);
  }
  story.cluster.Settle();
  EXPECT_EQ(story.term(), 0);
  story.silent.clear();
  story.Pass(seconds(10));
  EXPECT_EQ(story.term(), 0);
}

// --- a coordinator that is heard, but not by the others

TEST(CutOffCoordinator, OneOfTheServersThatDoNotHearItIsAppointed) {
  Story story(4);
  story.ReportLease("a-server-0", 1, false);
  story.missing = {"a-server-2", "a-server-3"};
  story.Pass(seconds(2));
  EXPECT_EQ(story.term(), 0);
  story.Pass(seconds(2));
  EXPECT_EQ(story.coordinator(), "a-server-2") << "the others may be on the side of the old one";
  EXPECT_THAT(story.cluster.events().back().note, HasSubstr("which is cut off: too few servers support it"));
}

TEST(CutOffCoordinator, OneThatHasItsLeaseOrAsksToBeConfirmedStays) {
  Story held(3);
  held.ReportLease("a-server-0", 1, true);
  held.missing = {"a-server-1", "a-server-2"};
  held.Pass(seconds(20));
  EXPECT_EQ(held.term(), 0);

  Story asks(2);
  asks.ReportLease("a-server-0", 1, false, 5, {1});
  asks.missing = {"a-server-1"};
  asks.Pass(seconds(20));
  EXPECT_EQ(asks.term(), 0);
  EXPECT_TRUE(asks.cluster.status().coordinator_voters);

  Story half(4);
  half.ReportLease("a-server-0", 1, false, 5, {1, 2});
  half.missing = {"a-server-2", "a-server-3"};
  half.Pass(seconds(20));
  EXPECT_EQ(half.term(), 0);
  EXPECT_TRUE(half.cluster.status().coordinator_voters);

  Story fewer(3);
  fewer.ReportLease("a-server-0", 1, false, 5, {1});
  fewer.missing = {"a-server-1", "a-server-2"};
  for (const std::string& member : fewer.missing) fewer.SayMap(member, 5);
  fewer.Pass(seconds(4));
  EXPECT_EQ(fewer.term(), 2) << "more servers continue without it than with it";

  Story begins(3);
  begins.ReportLease("a-server-0", 1, false, 5, {1});
  begins.missing = {"a-server-1", "a-server-2"};
  begins.Pass(seconds(4));
  EXPECT_EQ(begins.term(), 0) << "servers without a map have not joined, and know nothing of it";

  Story alone(3);
  alone.ReportLease("a-server-0", 1, false);
  alone.Pass(seconds(20));
  EXPECT_EQ(alone.term(), 0) << "the others hear it";
}

TEST(CutOffCoordinator, OneThatTakesOverHasSomeTimeToGatherTheServers) {
  Story story(3);
  story.Silence("a-server-0");
  story.Pass(seconds(4));
  ASSERT_EQ(story.coordinator(), "a-server-1");
  story.cluster.Answer("coordinator of term 2", Outcome::kDone);
  story.ReportLease("a-server-1", 2, false);
  story.Pass(seconds(14));
  EXPECT_EQ(story.term(), 2) << "the others have not heard from it yet";
  story.Pass(seconds(2));
  EXPECT_EQ(story.coordinator(), "a-server-2");
}

// It had been released and did not know it, so no member obeys it. The only member that is left joined after the last
// coordinator's last word.
TEST(CutOffCoordinator, OneThatNeverGotItsLeaseGivesWayToAServerNobodyHasNamedYet) {
  Story story(3);
  Say(story.cluster, {kServing, kServing});
  story.cluster.Exit("a-server-0", 137);
  story.Pass(seconds(1));
  ASSERT_EQ(story.coordinator(), "a-server-1") << "the only one that was named";
  story.cluster.Answer("coordinator of term 2", Outcome::kDone);
  story.ReportLease("a-server-1", 2, false);
  story.missing = {"a-server-2"};
  story.Pass(seconds(20));
  EXPECT_EQ(story.coordinator(), "a-server-2");
}

// The coordinator before it had declared the appointed one lost, which was cut off and does not know it.
TEST(CutOffCoordinator, OneWhoseMapIsOlderThanAnothersIsNotConfirmedAndGivesWay) {
  Story story(2);
  story.ReportLease("a-server-0", 1, false, 7, {1});
  story.SayMap("a-server-1", 8);
  story.missing = {"a-server-1"};
  story.Pass(seconds(4));
  EXPECT_FALSE(story.cluster.status().coordinator_voters);
  EXPECT_EQ(story.coordinator(), "a-server-1");
}

// The server that knows it is silent itself. What it said before is enough to know that the other one is behind.
TEST(CutOffCoordinator, OneIsNotConfirmedWhileAServerThatIsSilentFollowedALaterCoordinator) {
  constexpr uint64_t kTerm = uint64_t{1} << 32;
  for (const bool later : {true, false}) {
    Story story(2);
    story.SayMap("a-server-1", later ? 2 * kTerm + 3 : kTerm + 9);
    story.silent = {"a-server-1"};
    story.ReportLease("a-server-0", 1, false, kTerm + 8, {1});
    story.Pass(seconds(4));
    EXPECT_EQ(story.cluster.status().coordinator_voters.has_value(), !later);
  }
}

// It had been released, and was the only one that this operator heard for a while. The old one is there, and lacks
// votes.
TEST(CutOffCoordinator, OneThatWasAppointedInVainGivesWayToTheOneBefore) {
  Story story(3);
  story.Silence("a-server-0");
  story.Pass(seconds(4));
  ASSERT_EQ(story.coordinator(), "a-server-1");
  story.cluster.Answer("coordinator of term 2", Outcome::kDone);
  story.ReportLease("a-server-1", 2, false);
  story.SayMap("a-server-0", 9);
  story.silent.clear();
  story.missing.clear();
  story.Pass(seconds(20));
  EXPECT_EQ(story.coordinator(), "a-server-0");
  EXPECT_EQ(story.term(), 3);
}

TEST(SilentCoordinator, TheServerWithTheNewestMapFollows) {
  Story story(3);
  story.SayMap("a-server-1", 5);
  story.SayMap("a-server-2", 6);
  story.Silence("a-server-0");
  story.Pass(seconds(4));
  EXPECT_EQ(story.coordinator(), "a-server-2");
}

// --- confirmations

TEST(Confirmation, IsRecordedBeforeTheCoordinatorGetsIt) {
  Story story(2);
  story.ReportLease("a-server-0", 1, false, 7, {1});
  story.Report();
  story.cluster.Reconcile();
  const api::CoordinatorVoters recorded{.map_version = 7, .nodes = {1}};
  EXPECT_EQ(story.cluster.status().coordinator_voters, recorded);
  EXPECT_THAT(story.cluster.sent_texts(), IsEmpty()) << "not in the same plan";
  story.cluster.Reconcile();
  ASSERT_THAT(story.cluster.sent_texts(), ElementsAre("a-server-0 confirmed in term 1 from map 7,1"));
  const v1::Directive* directive = story.Last("confirmed");
  EXPECT_EQ(directive->confirm_leader().term(), 1U);
  EXPECT_EQ(directive->confirm_leader().voters().map_version(), 7U);
  EXPECT_THAT(directive->confirm_leader().voters().nodes(), ElementsAre(1U));
  story.cluster.Answer("confirmed", Outcome::kDone);
  story.ReportLease("a-server-0", 1, true, 7);
  story.Pass(seconds(5));
  EXPECT_EQ(story.cluster.sent_texts().size(), 1U);
  EXPECT_TRUE(story.cluster.HasEvent(kEventCoordinatorConfirmed));
  EXPECT_EQ(story.cluster.status().coordinator_voters, recorded) << "it stays, for those that follow";
}

TEST(Confirmation, IsGivenAheadOfTimeToo) {
  Story story(2);
  story.ReportLease("a-server-0", 1, true, 7, {1});
  story.Pass(seconds(1));
  EXPECT_TRUE(story.Last("confirmed"));
}

TEST(Confirmation, IsRepeatedSoonWhenItIsNotAnsweredOrRefused) {
  Story story(2);
  story.ReportLease("a-server-0", 1, false, 7, {1});
  story.Pass(seconds(1));
  ASSERT_EQ(story.cluster.sent_texts().size(), 1U);
  story.Pass(story.cluster.options.prompt_timeout);
  EXPECT_EQ(story.cluster.sent_texts().size(), 2U);
  story.cluster.Answer("confirmed", Outcome::kRefused, "older");
  story.Pass(story.cluster.options.appointment_retry + seconds(1));
  EXPECT_EQ(story.cluster.sent_texts().size(), 3U);
}

TEST(Confirmation, OfAnotherSetReplacesTheRecordAndAnOlderMapDoesNot) {
  Story story(4);
  story.ReportLease("a-server-0", 1, false, 7, {1, 2});
  story.Pass(seconds(1));
  story.ReportLease("a-server-0", 1, false, 7, {1});
  story.Pass(seconds(1));
  const api::CoordinatorVoters recorded{.map_version = 7, .nodes = {1}};
  EXPECT_EQ(story.cluster.status().coordinator_voters, recorded);
  story.ReportLease("a-server-0", 1, false, 6, {1, 2});
  story.Pass(seconds(1));
  EXPECT_EQ(story.cluster.status().coordinator_voters, recorded);
}

TEST(Confirmation, IsForTheLeadingCoordinatorOnly) {
  Story other_term(2);
  other_term.ReportLease("a-server-0", 3, false, 7, {1});
  other_term.Pass(seconds(2));
  EXPECT_FALSE(other_term.cluster.status().coordinator_voters);

  Story other_pod(2);
  other_pod.ReportLease("a-server-1", 1, false, 7, {2});
  other_pod.Pass(seconds(2));
  EXPECT_FALSE(other_pod.cluster.status().coordinator_voters);

  Story silent(3);
  silent.ReportLease("a-server-0", 1, false, 7, {1});
  silent.silent.insert("a-server-0");
  silent.cluster.Advance(seconds(3));
  silent.Pass(seconds(2));
  EXPECT_FALSE(silent.cluster.status().coordinator_voters) << "what it said is old";
}

// Two servers, the coordinator's silent: the normal way to continue.
TEST(Confirmation, OneThatTakesOverIsConfirmedBeforeItsFirstWordOfTheJob) {
  Story story(2);
  story.Silence("a-server-0");
  story.Pass(seconds(4));
  ASSERT_EQ(story.coordinator(), "a-server-1");
  story.cluster.Answer("coordinator of term 2", Outcome::kDone);
  story.ReportLease("a-server-1", 2, false, 9, {2});
  story.Pass(milliseconds(250));
  const api::CoordinatorVoters recorded{.map_version = 9, .nodes = {2}};
  EXPECT_EQ(story.cluster.status().coordinator_voters, recorded);
  EXPECT_THAT(story.cluster.sent_texts(), Contains("a-server-1 confirmed in term 2 from map 9,2"))
      << "within one round";
}

TEST(Confirmation, EverySuccessorIsAppointedWithTheVotersConfirmedLast) {
  Story story(3);
  story.ReportLease("a-server-0", 1, false, 7, {1, 3});
  story.Pass(seconds(1));
  story.cluster.Exit("a-server-0", 137);
  story.Pass(seconds(1));
  ASSERT_EQ(story.coordinator(), "a-server-1");
  EXPECT_TRUE(story.cluster.status().coordinator_voters) << "it is kept";
  const v1::Directive* directive = story.Last("coordinator of term 2");
  ASSERT_NE(directive, nullptr);
  EXPECT_EQ(directive->host_coordinator().voters().map_version(), 7U);
  EXPECT_THAT(directive->host_coordinator().voters().nodes(), ElementsAre(1U, 3U));

  Story none(2);
  none.cluster.Exit("a-server-0", 137);
  none.Pass(seconds(1));
  ASSERT_NE(none.Last("coordinator of term 2"), nullptr);
  EXPECT_FALSE(none.Last("coordinator of term 2")->host_coordinator().has_voters());
}

// --- a successor that cannot be one

TEST(Appointment, OfAServerThatWasReleasedMeanwhileGoesToTheNext) {
  Story story(4);
  story.cluster.Exit("a-server-0", 137);
  story.Pass(milliseconds(250));
  ASSERT_EQ(story.coordinator(), "a-server-1");
  Say(story.cluster, {kServing, kDrained, kServing, kServing});
  story.cluster.Answer("coordinator of term 2", Outcome::kRefused, "is not a member of the job");
  story.Pass(seconds(1));
  EXPECT_EQ(story.coordinator(), "a-server-2");
  EXPECT_EQ(story.term(), 3);
}

TEST(Appointment, OfAMemberThatRefusesAgainAndAgainGoesToTheNext) {
  Story story(4);
  story.cluster.Exit("a-server-0", 137);
  story.Pass(milliseconds(250));
  story.cluster.Answer("coordinator of term 2", Outcome::kRefused, "is not a member of the job yet");
  story.Pass(seconds(1));
  EXPECT_EQ(story.coordinator(), "a-server-1") << "it may have joined in a moment";
  for (int i = 0; i < 2; ++i) {
    story.Pass(seconds(5));
    story.cluster.Answer("coordinator of term 2", Outcome::kRefused, "is not a member of the job yet");
  }
  story.Pass(seconds(1));
  EXPECT_EQ(story.coordinator(), "a-server-2");
}

// The coordinator was lost before it could report the server that had just joined.
TEST(Appointment, GoesRoundAmongServersThatTheLastWordDoesNotName) {
  Story story(3);
  Say(story.cluster, {kServing});
  story.cluster.Exit("a-server-0", 137);
  story.Pass(milliseconds(250));
  ASSERT_EQ(story.coordinator(), "a-server-1");
  story.cluster.Answer("coordinator of term 2", Outcome::kRefused, "is no member yet");
  story.Pass(seconds(1));
  EXPECT_EQ(story.coordinator(), "a-server-2");
  story.cluster.Answer("coordinator of term 3", Outcome::kRefused, "is no member yet");
  story.Pass(seconds(1));
  EXPECT_EQ(story.coordinator(), "a-server-1");
}

// --- servers that the others continued without

// Else it would begin to serve its old rows, while the members have newer ones.
TEST(Appointment, OfAServerThatWasDeclaredLostIsNeverMade) {
  Story story(3);
  story.cluster.sample.job->add_lost_pods(contract::PodNumber(kube::Uid(story.cluster.pod("a-server-1"))));
  story.cluster.Exit("a-server-0", 137);
  story.Pass(seconds(1));
  EXPECT_EQ(story.coordinator(), "a-server-2");
}

TEST(Appointment, WhenOnlyAServerDeclaredLostIsLeftTheJobEndsAndSaysWhy) {
  Story story(2);
  story.cluster.sample.job->add_lost_pods(contract::PodNumber(kube::Uid(story.cluster.pod("a-server-1"))));
  story.cluster.Exit("a-server-0", 137);
  story.Pass(seconds(1));
  EXPECT_THAT(story.cluster.Condition(api::kFailed), HasSubstr("no other server can take over"));
}

// It may take a moment to end; the member that follows, to say its first word.
TEST(Appointment, OfAServerThatWasReleasedIsNotMadeWhileAMemberConnects) {
  Story story(3);
  story.cluster.job().spec.servers.replicas = 2;
  Say(story.cluster, {kServing, kServing});
  story.cluster.Connect("a-server-1", false);
  story.cluster.Exit("a-server-0", 137);
  story.Pass(seconds(2));
  EXPECT_EQ(story.coordinator(), "a-server-0") << "no other follows yet";
  story.cluster.Connect("a-server-1");
  story.Pass(seconds(1));
  EXPECT_EQ(story.coordinator(), "a-server-1");
}

// --- servers that end with 0 while the job continues

std::string UidOf(Story& story, const std::string& pod) { return std::string(kube::Uid(story.cluster.pod(pod))); }

// The coordinator had released it when the order that wants it again came.
TEST(EndWithoutError, OfAServerThatWasReleasedIsNoFailure) {
  Story story(3);
  const std::string before = UidOf(story, "a-server-2");
  Say(story.cluster, {kServing, kServing});
  story.cluster.Exit("a-server-2", 0);
  story.Pass(seconds(8));
  ASSERT_TRUE(story.cluster.Has("a-server-2"));
  EXPECT_NE(UidOf(story, "a-server-2"), before);
  EXPECT_EQ(story.cluster.status().servers.failed, 0);
  story.Pass(seconds(70));
  EXPECT_EQ(story.cluster.Condition(api::kFailed), "absent");
}

// Its absence would look like a loss, and without backups a loss ends the job.
TEST(EndWithoutError, OfAServerThatWasToLeaveIsKeptUntilTheCoordinatorNamesItNoMore) {
  Story story(3, 0);
  story.cluster.job().spec.servers.replicas = 2;
  story.cluster.Settle();
  const std::string before = UidOf(story, "a-server-2");
  story.cluster.Exit("a-server-2", 0);
  story.cluster.job().spec.servers.replicas = 3;
  story.Pass(seconds(2));
  EXPECT_EQ(UidOf(story, "a-server-2"), before);
  Say(story.cluster, {kServing, kServing});
  story.Pass(seconds(1));
  EXPECT_NE(UidOf(story, "a-server-2"), before);
  EXPECT_EQ(story.cluster.Condition(api::kFailed), "absent");
}

TEST(EndWithoutError, OfAMemberIsAFailureLikeOthers) {
  for (const bool declared_lost : {false, true}) {
    Story story(3);
    const std::string before = UidOf(story, "a-server-2");
    if (declared_lost) {
      Say(story.cluster, {kServing, kServing});
      story.cluster.sample.job->add_lost_pods(contract::PodNumber(before));
    }
    story.cluster.Exit("a-server-2", 0);
    story.Pass(seconds(20));
    EXPECT_NE(UidOf(story, "a-server-2"), before);
    EXPECT_EQ(story.cluster.status().servers.failed, 1) << "one that ends again and again ends the job";
    EXPECT_EQ(story.cluster.Condition(api::kFailed), "absent");
  }
}

TEST(EndWithoutError, WithoutBackupsOfAMemberEndsTheJob) {
  Story story(3, 0);
  story.cluster.Exit("a-server-2", 0);
  story.Pass(seconds(8));
  EXPECT_THAT(story.cluster.Condition(api::kFailed), HasSubstr("exited with code 0 before the workers had finished"));
}

TEST(EndWithoutError, OfAnotherServerDoesNotKeepALostCoordinatorFromBeingFollowed) {
  Story story(3);
  story.cluster.Exit("a-server-2", 0);
  story.Pass(milliseconds(250));
  story.cluster.Exit("a-server-0", 137);
  story.Pass(seconds(1));
  EXPECT_EQ(story.coordinator(), "a-server-1");
}

TEST(EndWithoutError, AfterTheGoalIsWaitedFor) {
  Story story(3);
  const std::string before = UidOf(story, "a-server-2");
  story.cluster.sample.job->set_goal_reached(true);
  story.cluster.Exit("a-server-2", 0);
  story.Pass(seconds(20));
  EXPECT_EQ(UidOf(story, "a-server-2"), before);
}

// The coordinator's own word may never come: its sidecar is cut off, and then the server ends.
TEST(EndWithoutError, AfterTheGoalThatAServerTellsOfIsWaitedForToo) {
  Story story(3, 0);
  for (telemetry::PodSample& sample : story.cluster.sample.pods) {
    if (sample.pod == "a-server-1") sample.window.mutable_server()->set_goal_reached(true);
  }
  story.cluster.Exit("a-server-2", 137);
  story.Pass(seconds(2));
  EXPECT_EQ(story.cluster.Condition(api::kFailed), "absent");
  EXPECT_THAT(story.cluster.Condition(kGoalReached), StartsWith("True"));
}

// --- what is proof that a process has ended

TEST(Appointment, OnlyTheMachinesWordProvesThatAProcessHasEnded) {
  Story story(3);
  story.cluster.Evict("a-worker-0");  // the pod as a whole; of its container nothing is known
  story.cluster.Exit("a-server-0", 137);
  story.Pass(milliseconds(500));
  EXPECT_THAT(story.cluster.sent_texts(), Contains("a-server-1 server 0 is gone, term 2"));
  EXPECT_THAT(story.cluster.sent_texts(), Not(Contains(HasSubstr("worker 0 is gone"))));
}

TEST(Appointment, AServerRemovedByForceIsNotCalledGone) {
  Story story(3);
  story.LoseNode("a-server-2");
  story.cluster.LoseNodeOf("a-server-2");
  story.silent.insert("a-server-2");
  story.Pass(seconds(12));
  EXPECT_TRUE(story.cluster.HasEvent(kEventNodeLost));
  EXPECT_THAT(story.cluster.sent_texts(), Not(Contains(HasSubstr("gone"))));
}

}  // namespace
}  // namespace attune::controller::coordinator_test
