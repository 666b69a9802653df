// Whom a server obeys, and when it may serve.
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "ps/core/server/server_core.h"
#include "ps/core/server/server_terms.h"
#include "tests/ps/core/rows/map_store.h"

namespace attune::ps::server_terms_test {
namespace {

using std::chrono::seconds;

class ServerTermsTest : public testing::Test {
 protected:
  static constexpr NodeId kSelf{1}, kOther{2}, kWorker{3};

  ServerTermsTest() { Begin(false); }

  void Begin(bool leaving) {
    core_.emplace(
        ServerOptions{.job_uid = "job", .incarnation = 7, .address = "127.0.0.1:1", .create_store = MapStore::Make});
    map_.version = MapVersion(1, 0);
    map_.shards = {{.home = kSelf}};
    map_.members = {{kSelf, Role::kServer, 0, "127.0.0.1:1", leaving},
                    {kOther, Role::kServer, 1, "127.0.0.9:2"},
                    {kWorker, Role::kWorker, 0, ""}};
    Step(PeerConnected{kCoordinator});
    Hear(1, Welcome{.node = kSelf, .map = map_});
    Hear(1, InstallTable{.table = TableId(1), .spec = {"rows", {.dim = 1}}});
    Step(PeerConnected{kWorker});
  }

  void Step(ServerInput input) {
    out_.Clear();
    core_->Step(std::move(input), now_, out_);
    for (const Outgoing& sent : out_.send) {
      if (const auto* heartbeat = std::get_if<Heartbeat>(&sent.message)) heartbeat_ = heartbeat->number;
    }
  }
  void Hear(uint32_t term, Message message) {
    Step(Received{.from = kCoordinator, .message = std::move(message), .term = term});
  }
  bool AnswersAPush() {
    Step(Received{.from = kWorker,
                  .message = Push{.origin = kWorker,
                                  .sequence = SequenceNumber(++sequence_),
                                  .table = TableId(1),
                                  .map_version = map_.version,
                                  .positions = {0, 1, {}},
                                  .keys = std::vector<Key>{5},
                                  .gradients = std::vector<float>{1}}});
    return Sent<PushAck>(kWorker) != nullptr;
  }
  template <typename Kind>
  const Kind* Sent(NodeId to) const {
    for (const Outgoing& sent : out_.send) {
      if (sent.to == to && std::holds_alternative<Kind>(sent.message)) return &std::get<Kind>(sent.message);
    }
    return nullptr;
  }

  std::optional<ServerCore> core_;
  ServerOutputs out_;
  ShardMap map_;
  MonotonicTime now_{seconds(1)};
  uint64_t heartbeat_ = 0, sequence_ = 0;
};

TEST_F(ServerTermsTest, ServesAsLongAsTheCoordinatorAnswers) {
  EXPECT_TRUE(AnswersAPush());
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = seconds(10)});
  now_ += seconds(8);
  EXPECT_TRUE(AnswersAPush());
  now_ += seconds(2);
  EXPECT_FALSE(AnswersAPush()) << "10 s less a margin are over, another server may be home by now";
  Step(Timer{});
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = seconds(10)});
  EXPECT_TRUE(AnswersAPush());
}

// The push has waited for a map, which comes when others may have taken the server's place.
TEST_F(ServerTermsTest, WhatHasWaitedIsNotAcknowledgedWithoutALease) {
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = seconds(10)});
  map_.version = map_.version.Next();
  EXPECT_FALSE(AnswersAPush()) << "sent under a map that has not come";
  now_ += seconds(20);
  Hear(1, MapUpdate{.map = map_});
  EXPECT_EQ(Sent<PushAck>(kWorker), nullptr);
  Step(Timer{});
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = seconds(10)});
  --sequence_;
  EXPECT_TRUE(AnswersAPush()) << "asked again";
}

// Else it would come again only when the link to it tries again, seconds later.
TEST_F(ServerTermsTest, WhatComesWithoutALeaseWaitsForOne) {
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = seconds(3)});
  now_ += seconds(5);
  EXPECT_FALSE(AnswersAPush());
  Step(Timer{});
  EXPECT_EQ(Sent<PushAck>(kWorker), nullptr);
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = Duration::zero()});
  EXPECT_EQ(Sent<PushAck>(kWorker), nullptr) << "the coordinator is without the leader lease";
  now_ += seconds(1);
  Step(Timer{});
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = seconds(3)});
  EXPECT_NE(Sent<PushAck>(kWorker), nullptr);
  now_ += seconds(1);
  Step(Timer{});
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = seconds(3)});
  EXPECT_EQ(Sent<PushAck>(kWorker), nullptr) << "once";
}

TEST_F(ServerTermsTest, AClockThatGoesBackGivesNoTime) {
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = seconds(10)});
  now_ += seconds(20);
  EXPECT_FALSE(AnswersAPush());
  now_ -= seconds(19);
  EXPECT_FALSE(AnswersAPush());
}

TEST_F(ServerTermsTest, FollowsTheHighestTermAndTellsOthers) {
  Step(Received{.from = kOther, .message = CoordinatorAt{.term = 3, .host = kOther, .port = 7400}});
  ASSERT_TRUE(out_.coordinator.has_value());
  EXPECT_EQ(out_.coordinator->address, "127.0.0.9:7400");
  EXPECT_EQ(out_.coordinator->term, 3U);
  ASSERT_NE(Sent<CoordinatorAt>(kWorker), nullptr);
  Step(Received{.from = kOther, .message = CoordinatorAt{.term = 2, .host = kOther, .port = 7400}});
  EXPECT_FALSE(out_.coordinator.has_value()) << "an older one";
  map_.version = MapVersion(1, 1);
  Hear(1, MapUpdate{.map = map_});
  EXPECT_EQ(core_->map().version, MapVersion(1, 0)) << "of a coordinator that is obeyed no longer";
  Hear(3, Promise{});
  const auto* promised = Sent<Promised>(kCoordinator);
  ASSERT_NE(promised, nullptr);
  EXPECT_EQ(promised->map.version, MapVersion(1, 0));
  ASSERT_EQ(promised->tables.size(), 1U);
  EXPECT_EQ(promised->tables[0].spec.name, "rows");
}

// One frame from a node that belongs to nothing.
TEST_F(ServerTermsTest, TheWordOfAStrangerIsIgnored) {
  constexpr NodeId kStranger{77};
  Step(Received{.from = kStranger, .message = CoordinatorAt{.term = 9, .host = kOther, .port = 7400}});
  EXPECT_FALSE(out_.coordinator.has_value());
  Step(Received{.from = kWorker, .message = CoordinatorAt{.term = 9, .host = kOther, .port = 7400}});
  EXPECT_FALSE(out_.coordinator.has_value()) << "a worker has no say in it";
  ASSERT_EQ(out_.rejected.size(), 1U);
  EXPECT_EQ(out_.rejected[0].from, kWorker);
  Step(Received{.from = kOther, .message = CoordinatorAt{.term = 9, .host = kWorker, .port = 7400}});
  EXPECT_FALSE(out_.coordinator.has_value()) << "a worker runs no coordinator";
  EXPECT_EQ(core_->terms().term(), 1U);
  EXPECT_EQ(core_->terms().notices_ignored(), 2U);
  EXPECT_TRUE(AnswersAPush());
  Step(Received{.from = kOther, .message = CoordinatorAt{.term = 2, .host = kOther, .port = 7400}});
  EXPECT_TRUE(out_.coordinator.has_value());
}

TEST_F(ServerTermsTest, ATermOutOfReachIsIgnored) {
  Step(Received{.from = kOther, .message = CoordinatorAt{.term = 4'000'000'000, .host = kOther, .port = 7400}});
  EXPECT_FALSE(out_.coordinator.has_value());
  Hear(4'000'000'000, Promise{});
  EXPECT_EQ(Sent<Promised>(kCoordinator), nullptr);
  EXPECT_EQ(core_->terms().term(), 1U) << "no coordinator could follow that one";
  Step(Received{.from = kOther, .message = CoordinatorAt{.term = 100, .host = kOther, .port = 7400}});
  EXPECT_TRUE(out_.coordinator.has_value()) << "it may have missed many";
}

TEST_F(ServerTermsTest, AServerWithoutACoordinatorStaysAndServesNobody) {
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = seconds(10)});
  Step(PeerDisconnected{kCoordinator});
  for (int second = 0; second < 3600; ++second) {
    now_ += seconds(1);
    Step(Timer{});
    ASSERT_FALSE(out_.lost.has_value()) << "after " << second << " s";
  }
  EXPECT_FALSE(AnswersAPush()) << "another server may be home by now";
  Step(PeerConnected{kCoordinator});
  ASSERT_NE(Sent<Join>(kCoordinator), nullptr);
  Hear(1, Welcome{.node = kSelf, .map = map_});
  Hear(1, HeartbeatAck{.number = heartbeat_, .sync = {}, .liveness = seconds(10)});
  EXPECT_TRUE(AnswersAPush());
}

// The host had the map first and opened the link: it reports once.
TEST_F(ServerTermsTest, ObeysACoordinatorWhoseHostItLearnsOfLater) {
  constexpr NodeId kLater{9};
  Step(Received{.from = kLater, .message = CoordinatorAt{.term = 3, .host = kLater, .port = 7400}});
  EXPECT_FALSE(out_.coordinator.has_value()) << "no process knows its address";
  map_.version = map_.version.Next();
  map_.members.push_back({.node = kLater, .role = Role::kServer, .index = 2, .address = "127.0.0.8:7000"});
  for (uint32_t stranger = 100; stranger < 130; ++stranger) {
    Step(Received{.from = NodeId(stranger), .message = CoordinatorAt{.term = 900, .host = kOther, .port = 7400}});
  }
  Hear(1, MapUpdate{.map = map_});
  ASSERT_TRUE(out_.coordinator.has_value());
  EXPECT_EQ(out_.coordinator->address, "127.0.0.8:7400");
  EXPECT_EQ(core_->terms().term(), 3U);
}

TEST_F(ServerTermsTest, KeepsWhatItsOwnCoordinatorKnewLast) {
  Hear(1, MirrorUpdate{.record = {.number = 5}});
  core_->KeepRecord({.number = 7});
  core_->KeepRecord({.number = 6});
  Hear(2, Promise{});
  ASSERT_TRUE(Sent<Promised>(kCoordinator)->mirror.has_value());
  EXPECT_EQ(Sent<Promised>(kCoordinator)->mirror->number, 7U);
}

// The coordinator was lost before the job had formed, and its replacement counts from the beginning.
TEST(ServerBeforeTheJob, TakesTheNumberThatAnotherCoordinatorGivesIt) {
  ServerCore core({.job_uid = "job", .incarnation = 7, .address = "127.0.0.1:1", .create_store = MapStore::Make});
  ServerOutputs out;
  const auto hear = [&](Message message) {
    core.Step(Received{.from = kCoordinator, .message = std::move(message), .term = 1}, MonotonicTime{seconds(1)}, out);
  };
  core.Step(PeerConnected{kCoordinator}, MonotonicTime{seconds(1)}, out);
  hear(Welcome{.node = NodeId(5), .map = {}});
  core.Step(PeerDisconnected{kCoordinator}, MonotonicTime{seconds(1)}, out);
  out.Clear();
  core.Step(PeerConnected{kCoordinator}, MonotonicTime{seconds(1)}, out);
  ASSERT_FALSE(out.send.empty());
  EXPECT_EQ(std::get<Join>(out.send.front().message).node, NodeId()) << "it is no member of anything yet";
  hear(Welcome{.node = NodeId(2), .map = {}});
  EXPECT_EQ(core.node(), NodeId(2));
}

// Its release was lost with the coordinator that gave it; the next one knows no such member.
TEST_F(ServerTermsTest, OneThatWasToLeaveEndsWellWhenItIsNoMemberAnyMore) {
  const Status no_member = Error(StatusCode::kAborted, "no longer a member");
  const auto ends_well = [&](bool leaving, Message word) {
    Begin(leaving);
    Hear(2, std::move(word));
    EXPECT_NE(out_.finished, out_.lost.has_value());
    return out_.finished;
  };
  ShardMap without = map_;
  without.version = MapVersion(2, 1);
  without.shards[0].home = kOther;
  std::erase_if(without.members, [](const Member& member) { return member.node == kSelf; });
  for (const Message& word :
       {Message(SessionLost{no_member}), Message(JoinRefused{no_member}), Message(MapUpdate{without})}) {
    EXPECT_TRUE(ends_well(true, word));
    EXPECT_FALSE(ends_well(false, word)) << "it was declared lost, and does not know why";
  }
  EXPECT_FALSE(ends_well(true, SessionLost{Error(StatusCode::kDataLoss, "the job has failed")}));
}

TEST_F(ServerTermsTest, DropsACopyThatIsOutOfDate) {
  core_->KeepRecord({.number = 7});
  map_.version = map_.version.Next();
  map_.records_from = 7;
  Hear(1, MapUpdate{.map = map_});
  Hear(1, Promise{});
  ASSERT_NE(Sent<Promised>(kCoordinator), nullptr);
  EXPECT_TRUE(Sent<Promised>(kCoordinator)->mirror.has_value());
  map_.version = map_.version.Next();
  map_.records_from = 8;
  Hear(1, MapUpdate{.map = map_});
  core_->KeepRecord({.number = 7});
  Hear(1, Promise{});
  ASSERT_NE(Sent<Promised>(kCoordinator), nullptr);
  EXPECT_FALSE(Sent<Promised>(kCoordinator)->mirror.has_value());
}

TEST_F(ServerTermsTest, KeepsTheNewestCopy) {
  CoordinatorRecord record{.number = 5};
  Hear(1, MirrorUpdate{.record = record});
  ASSERT_NE(Sent<MirrorAck>(kCoordinator), nullptr);
  EXPECT_EQ(Sent<MirrorAck>(kCoordinator)->number, 5U);
  Hear(2, Promise{});
  record.number = 6;
  Hear(1, MirrorUpdate{.record = record});
  EXPECT_EQ(Sent<MirrorAck>(kCoordinator), nullptr) << "its coordinator is obeyed no longer";
  Hear(2, Promise{});
  ASSERT_TRUE(Sent<Promised>(kCoordinator)->mirror.has_value());
  EXPECT_EQ(Sent<Promised>(kCoordinator)->mirror->number, 5U);
}

// So that it can know when the coordinator's map has reached no other member.
TEST_F(ServerTermsTest, KnowsThatTheGoalIsReachedFromTheCoordinatorAlone) {
  Step(Received{.from = kWorker, .message = GoalReached{.reason = "2 epochs done"}, .term = 1});
  EXPECT_FALSE(core_->goal_reached());
  Hear(1, GoalReached{.reason = "2 epochs done"});
  EXPECT_TRUE(core_->goal_reached());
}

TEST_F(ServerTermsTest, TheServerThatRunsItTellsEveryPeer) {
  Step(CoordinatorHere{.term = 2, .port = 7400});
  const auto* at = Sent<CoordinatorAt>(kWorker);
  ASSERT_NE(at, nullptr);
  EXPECT_EQ(at->host, kSelf);
  Step(PeerConnected{kOther});
  EXPECT_NE(Sent<CoordinatorAt>(kOther), nullptr) << "also who comes later";
}

class ServerTermsAlone : public testing::Test {
 protected:
  static constexpr NodeId kSelf{1}, kOther{2};

  ServerTermsAlone() {
    map_.version = MapVersion(1, 1);
    map_.shards = {{.home = kSelf}};
    map_.members = {{kSelf, Role::kServer, 0, "127.0.0.1:1"}, {kOther, Role::kServer, 1, "127.0.0.9:2"}};
  }
  static CoordinatorAt At(NodeId host, uint32_t term) { return {.term = term, .host = host, .port = 7400}; }
  static CoordinatorRecord Record(uint64_t number) {
    CoordinatorRecord record;
    record.number = number;
    return record;
  }

  ServerTerms terms_;
  ShardMap map_;
};

TEST_F(ServerTermsAlone, ANoticeIsPassedOnOnceTheCoordinatorIsSomewhereElse) {
  EXPECT_TRUE(terms_.Obeys(3));
  EXPECT_EQ(terms_.notice(), nullptr) << "it is where it was";
  EXPECT_FALSE(terms_.Follow(kOther, At(kOther, 2), kSelf, map_).has_value()) << "its time is over";
  EXPECT_FALSE(terms_.Follow(kOther, At(kSelf, 4), kSelf, map_).has_value()) << "this process knows better";
  const auto place = terms_.Follow(kOther, At(kOther, 3), kSelf, map_);
  ASSERT_TRUE(place.has_value()) << "the term is known, the place is not";
  EXPECT_EQ(place->address, "127.0.0.9:7400");
  ASSERT_NE(terms_.notice(), nullptr);
  EXPECT_EQ(terms_.notice()->host, kOther);
  EXPECT_FALSE(terms_.Follow(kOther, At(kOther, 3), kSelf, map_).has_value()) << "now it is";
}

TEST_F(ServerTermsAlone, ACoordinatorBeginsHereUnlessALaterOneIsKnown) {
  EXPECT_TRUE(terms_.BeginsHere(At(kSelf, 5)));
  EXPECT_EQ(terms_.term(), 5U);
  EXPECT_FALSE(terms_.BeginsHere(At(kSelf, 5)));
  EXPECT_TRUE(terms_.Obeys(7));
  EXPECT_FALSE(terms_.BeginsHere(At(kSelf, 6)));
  EXPECT_EQ(terms_.notice()->term, 5U);
}

TEST_F(ServerTermsAlone, TheNewestRecordIsKeptUntilAnotherServerHasANewerOne) {
  terms_.Keep(Record(3), map_);
  terms_.Keep(Record(2), map_);
  ASSERT_TRUE(terms_.kept().has_value());
  EXPECT_EQ(terms_.kept()->number, 3U);
  map_.records_from = 3;
  terms_.OnMap(map_);
  EXPECT_TRUE(terms_.kept().has_value());
  map_.records_from = 4;
  terms_.OnMap(map_);
  EXPECT_FALSE(terms_.kept().has_value());
  terms_.Keep(Record(3), map_);
  EXPECT_FALSE(terms_.kept().has_value());
}

TEST_F(ServerTermsAlone, ACoordinatorIsHeardWithItsQuestions) {
  const MonotonicTime now{seconds(100)};
  EXPECT_TRUE(terms_.Obeys(2));
  terms_.OnQuestion({.number = 8, .lasts = seconds(10)}, now);
  EXPECT_EQ(terms_.Silence(now + seconds(4)), seconds(4));
  EXPECT_EQ(terms_.support().number(), 8U);
  EXPECT_TRUE(terms_.Obeys(3));
  terms_.OnQuestion({.number = 1, .lasts = seconds(10)}, now + seconds(4));
  EXPECT_EQ(terms_.support().FormerTerm(now + seconds(4)), 2U);
  map_.version = MapVersion(3, 1);
  terms_.OnMap(map_);
  EXPECT_EQ(terms_.support().FormerTerm(now + seconds(4)), 0U) << "the third coordinator has acted";
}

}  // namespace
}  // namespace attune::ps::server_terms_test
