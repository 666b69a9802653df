#include "sidecar/relay/relay.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace attune::sidecar::relay_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

v1::SidecarHello Identity() {
  v1::SidecarHello identity;
  identity.set_protocol_version(1);
  identity.set_namespace_("default");
  identity.set_job("word2vec");
  identity.set_job_uid("uid-1");
  identity.set_pod("word2vec-worker-2");
  identity.set_pod_uid("pod-uid");
  identity.set_role("worker");
  identity.set_index(2);
  return identity;
}

v1::ProcessHello GoodHello() {
  v1::ProcessHello hello;
  hello.set_protocol_version(1);
  hello.set_job_uid("uid-1");
  hello.set_role("worker");
  hello.set_index(2);
  return hello;
}

ProcessSaid Said(const v1::ProcessHello& hello) {
  ProcessSaid said;
  *said.message.mutable_hello() = hello;
  return said;
}

ProcessSaid Window(uint64_t sequence) {
  ProcessSaid said;
  said.message.mutable_window()->set_sequence(sequence);
  return said;
}

ProcessSaid Final(double loss) {
  ProcessSaid said;
  (*said.message.mutable_final()->mutable_metrics())["held_out_loss"] = loss;
  return said;
}

ProcessSaid Result(uint64_t id) {
  ProcessSaid said;
  said.message.mutable_directive_result()->set_id(id);
  said.message.mutable_directive_result()->set_accepted(true);
  return said;
}

OperatorSaid Accepted(double report_seconds = 1) {
  OperatorSaid said;
  said.message.mutable_accepted()->set_protocol_version(1);
  said.message.mutable_accepted()->set_report_seconds(report_seconds);
  return said;
}

OperatorSaid Drain(uint64_t id) {
  OperatorSaid said;
  said.message.mutable_directive()->set_id(id);
  said.message.mutable_directive()->mutable_drain()->set_reason("scaled down");
  return said;
}

// Drives a relay and keeps what it asked for. Messages to the operator count as sent at once unless held back.
class RelayTest : public testing::Test {
 protected:
  RelayTest() { Make({.identity = Identity(), .windows_max = 4}); }

  void Make(RelayOptions options) { relay_ = std::make_unique<Relay>(std::move(options)); }

  RelayOutput Do(const RelayInput& input) {
    const RelayOutput first = relay_->Step(input, now_);
    RelayOutput output = first;
    while (true) {
      Collect(output);
      if (!output.to_operator || (!operator_reads_ && output.to_operator->has_report())) break;
      output = relay_->Step(MessageSent{}, now_);
    }
    return first;
  }
  // One report interval after what was before.
  void DoLater(const RelayInput& input) {
    now_ += seconds(1);
    Do(input);
  }
  void Collect(const RelayOutput& output) {
    if (output.to_operator) up_.push_back(*output.to_operator);
    for (const auto& message : output.to_process) down_.push_back(message);
    finished_ = finished_ || output.finished;
    end_stream_ = end_stream_ || output.end_stream;
  }
  void ConnectProcess() {
    Do(ProcessConnected{});
    Do(Said(GoodHello()));
  }
  void ConnectOperator(double report_seconds = 1) {
    now_ = std::max(now_, relay_->connect_at());
    Do(Tick{});
    Do(Accepted(report_seconds));
  }
  std::vector<uint64_t> SentWindows() const {
    std::vector<uint64_t> sequences;
    for (const auto& message : up_) {
      if (message.has_report()) sequences.push_back(message.report().window().sequence());
    }
    return sequences;
  }
  size_t SentFinals() const {
    return std::count_if(up_.begin(), up_.end(), [](const auto& message) { return message.has_final(); });
  }

  MonotonicTime now_{seconds(100)};
  std::unique_ptr<Relay> relay_;
  bool operator_reads_ = true;
  std::vector<v1::SidecarMessage> up_;
  std::vector<v1::ProcessDirective> down_;
  bool finished_ = false;
  bool end_stream_ = false;
};

using Windows = std::vector<uint64_t>;

TEST_F(RelayTest, FirstThingSaidToTheOperatorIsTheHelloAndNothingFollowsBeforeItIsAccepted) {
  ConnectProcess();
  EXPECT_TRUE(relay_->process_accepted());
  Do(Window(1));
  ASSERT_EQ(up_.size(), 1u);
  EXPECT_EQ(up_[0].hello().pod(), "word2vec-worker-2");
  EXPECT_FALSE(relay_->stream_accepted());
  Do(Accepted());
  EXPECT_TRUE(relay_->stream_accepted());
  EXPECT_EQ(SentWindows(), Windows{1});
}

TEST_F(RelayTest, HelloOfAnotherReleaseJobRoleOrIndexIsRefusedWithBothValuesNamed) {
  struct Case {
    const char* name;
    void (*change)(v1::ProcessHello&);
    const char* want;
  };
  const Case cases[] = {
      {"protocol", [](v1::ProcessHello& h) { h.set_protocol_version(7); },
       "speaks telemetry protocol 7, this sidecar 1"},
      {"job", [](v1::ProcessHello& h) { h.set_job_uid("other"); }, "job id 'other', this sidecar to 'uid-1'"},
      {"role", [](v1::ProcessHello& h) { h.set_role("server"); }, "is server 2, this sidecar belongs to worker 2"},
      {"index", [](v1::ProcessHello& h) { h.set_index(3); }, "is worker 3, this sidecar belongs to worker 2"},
  };
  for (const Case& c : cases) {
    v1::ProcessHello hello = GoodHello();
    c.change(hello);
    Do(ProcessConnected{});
    const RelayOutput output = Do(Said(hello));
    EXPECT_TRUE(output.close_process) << c.name;
    ASSERT_EQ(output.to_process.size(), 1u) << c.name;
    EXPECT_NE(output.to_process[0].refused().reason().find(c.want), std::string::npos)
        << c.name << ": " << output.to_process[0].refused().reason();
    EXPECT_FALSE(relay_->process_accepted()) << c.name;
  }
}

TEST_F(RelayTest, SpeakingBeforeTheHelloOrSayingItTwiceIsRefused) {
  Do(ProcessConnected{});
  EXPECT_TRUE(Do(Window(1)).close_process);
  EXPECT_EQ(Do(Window(2)).to_process.size(), 0u);  // the rest of what was read is ignored
  ConnectProcess();
  EXPECT_TRUE(Do(Said(GoodHello())).close_process);
}

TEST_F(RelayTest, WindowsWaitWhileTheOperatorIsAwayAndTheOldestGiveWay) {
  ConnectProcess();
  for (uint64_t i = 1; i <= 6; ++i) Do(Window(i));
  EXPECT_EQ(relay_->buffered_reports(), 4u);
  EXPECT_EQ(relay_->dropped_reports(), 2u);
  Do(Accepted());
  EXPECT_EQ(SentWindows(), (Windows{3, 4, 5, 6}));
  EXPECT_EQ(up_.back().report().dropped_reports(), 2u);
}

TEST_F(RelayTest, OneMessageAtATimeSoASlowOperatorFillsTheBufferOnly) {
  ConnectProcess();
  ConnectOperator();
  operator_reads_ = false;
  for (uint64_t i = 1; i <= 9; ++i) DoLater(Window(i));
  EXPECT_EQ(SentWindows(), Windows{1});
  EXPECT_EQ(relay_->buffered_reports(), 4u);
  EXPECT_EQ(relay_->dropped_reports(), 4u);
}

TEST_F(RelayTest, TheWindowUnderWayWhenTheStreamBreaksIsSentAgainFirst) {
  ConnectProcess();
  ConnectOperator();
  operator_reads_ = false;
  DoLater(Window(1));
  DoLater(Window(2));
  Do(StreamEnded{Error(StatusCode::kUnavailable, "gone")});
  operator_reads_ = true;
  ConnectOperator();
  EXPECT_EQ(SentWindows(), (Windows{1, 1, 2}));
}

TEST_F(RelayTest, ReconnectsWithGrowingJitteredPausesThatAreBounded) {
  const char* replay = std::getenv("ATTUNE_TEST_SEED");
  const uint64_t seed = replay == nullptr ? 20261 : std::strtoull(replay, nullptr, 10);
  std::cout << "seed " << seed << " (replay: ATTUNE_TEST_SEED=" << seed << ")\n";
  Make({.identity = Identity(), .seed = seed});
  Do(Tick{});
  Duration expected = kBackoffMin;
  bool differed = false;
  for (int attempt = 0; attempt < 12; ++attempt) {
    Do(StreamEnded{Error(StatusCode::kResourceExhausted, "too many sidecars connect at once")});
    const Duration pause = relay_->connect_at() - now_;
    EXPECT_GE(pause, expected / 2) << "attempt " << attempt;
    EXPECT_LE(pause, expected) << "attempt " << attempt;
    differed = differed || pause != expected;
    EXPECT_EQ(relay_->next_wake(), relay_->connect_at());
    now_ += pause - milliseconds(1);
    EXPECT_FALSE(Do(Tick{}).open_stream) << "too early";
    now_ += milliseconds(1);
    EXPECT_TRUE(Do(Tick{}).open_stream);
    expected = std::min(2 * expected, kBackoffMax);
  }
  EXPECT_TRUE(differed) << "no jitter";
}

TEST_F(RelayTest, OnlyAStreamThatLastedResetsThePause) {
  ConnectOperator();
  for (int i = 0; i < 8; ++i) {  // accepted and thrown out at once, again and again
    Do(StreamEnded{OkStatus()});
    ConnectOperator();
  }
  Do(StreamEnded{OkStatus()});
  EXPECT_GE(relay_->connect_at() - now_, kBackoffMax / 2);
  ConnectOperator();
  now_ += kStableStream;
  Do(StreamEnded{OkStatus()});
  EXPECT_LE(relay_->connect_at() - now_, kFirstRetry);
}

// A restarted operator hears from every sidecar within seconds, however long it was away.
TEST_F(RelayTest, AnOperatorThatIsAwayIsTriedAtOnceAndThenEveryFewSeconds) {
  ConnectOperator();
  now_ += kStableStream;
  Duration longest = kFirstRetry;
  for (int attempt = 0; attempt < 12; ++attempt) {
    Do(StreamEnded{Error(StatusCode::kUnavailable, "connection refused")});
    EXPECT_LE(relay_->connect_at() - now_, longest) << "attempt " << attempt;
    now_ = relay_->connect_at();
    EXPECT_TRUE(Do(Tick{}).open_stream);
    longest = attempt == 0 ? kBackoffMin : std::min(2 * longest, kBackoffUnreachableMax);
  }
  EXPECT_EQ(longest, kBackoffUnreachableMax);
}

TEST_F(RelayTest, AnOperatorThatNeverAcceptsOrStopsReadingIsLeft) {
  Do(Tick{});
  EXPECT_EQ(relay_->next_wake(), now_ + kAcceptTimeout);
  now_ += kAcceptTimeout;
  EXPECT_TRUE(Do(Tick{}).cancel_stream);

  ConnectProcess();
  ConnectOperator();
  operator_reads_ = false;
  Do(Window(1));
  now_ += kSendTimeout;
  EXPECT_TRUE(Do(Tick{}).cancel_stream);
  EXPECT_EQ(relay_->buffered_reports(), 1u) << "the window is kept for the next stream";
}

TEST_F(RelayTest, AnOperatorOfAnotherProtocolVersionIsLeft) {
  Do(Tick{});
  OperatorSaid accepted = Accepted();
  accepted.message.mutable_accepted()->set_protocol_version(9);
  EXPECT_TRUE(Do(accepted).cancel_stream);
  EXPECT_FALSE(relay_->stream_accepted());
}

TEST_F(RelayTest, DirectivesGoDownAndTheirResultsComeBackUnderTheOperatorsId) {
  ConnectProcess();
  ConnectOperator();
  Do(Drain(41));
  ASSERT_EQ(down_.size(), 1u);
  EXPECT_EQ(down_[0].directive().drain().reason(), "scaled down");
  Do(Result(down_[0].directive().id()));
  EXPECT_EQ(up_.back().directive_result().id(), 41u);
  EXPECT_TRUE(up_.back().directive_result().accepted());
  Do(Result(down_[0].directive().id()));  // twice is ignored
  EXPECT_EQ(std::count_if(up_.begin(), up_.end(), [](const auto& m) { return m.has_directive_result(); }), 1);
}

TEST_F(RelayTest, WhatAProcessSaysOfARowComesWithItsResult) {
  ConnectProcess();
  ConnectOperator();
  Do(Drain(41));
  ProcessSaid result = Result(down_[0].directive().id());
  result.message.mutable_directive_result()->add_lines("0.001 s  read by the program");
  Do(result);
  ASSERT_EQ(up_.back().directive_result().lines_size(), 1);
  EXPECT_EQ(up_.back().directive_result().lines(0), "0.001 s  read by the program");
}

TEST_F(RelayTest, ADirectiveThatComesBeforeTheProcessIsHeldForItAndSurvivesALostStream) {
  ConnectOperator();
  Do(Drain(1));
  EXPECT_EQ(up_.back().directive_result().id(), 1u);
  EXPECT_TRUE(up_.back().directive_result().accepted());
  EXPECT_TRUE(down_.empty());
  Do(StreamEnded{Error(StatusCode::kUnavailable, "gone")});
  ConnectProcess();
  ASSERT_EQ(down_.size(), 1u);
  EXPECT_EQ(down_[0].directive().drain().reason(), "scaled down");
  ConnectOperator();
  const size_t before = up_.size();
  Do(Result(down_[0].directive().id()));
  EXPECT_EQ(up_.size(), before) << "it was answered when it was taken";
}

TEST_F(RelayTest, OnlyARequestToLeaveWaitsForAProcess) {
  ConnectOperator();
  OperatorSaid said;
  said.message.mutable_directive()->set_id(5);
  said.message.mutable_directive()->mutable_set_servers()->set_servers(3);
  Do(said);
  EXPECT_EQ(up_.back().directive_result().id(), 5u);
  EXPECT_FALSE(up_.back().directive_result().accepted());
  EXPECT_EQ(up_.back().directive_result().message(), "no training process is connected");
  ConnectProcess();
  EXPECT_TRUE(down_.empty());
}

TEST_F(RelayTest, DirectivesHeldForAProcessAreBounded) {
  ConnectOperator();
  for (uint64_t i = 1; i <= OpenDirectives::kMax + 1; ++i) Do(Drain(i));
  EXPECT_FALSE(up_.back().directive_result().accepted());
  ConnectProcess();
  EXPECT_EQ(down_.size(), OpenDirectives::kMax);
}

TEST_F(RelayTest, ADirectiveWhoseProcessEndsIsAnsweredWithARefusal) {
  ConnectProcess();
  ConnectOperator();
  Do(Drain(2));
  Do(ProcessGone{});
  EXPECT_EQ(up_.back().directive_result().id(), 2u);
  EXPECT_FALSE(up_.back().directive_result().accepted());
}

TEST_F(RelayTest, AResultForAnOldStreamIsNotMistakenForOneOfTheNew) {
  ConnectProcess();
  ConnectOperator();
  Do(Drain(1));
  Do(StreamEnded{Error(StatusCode::kUnavailable, "gone")});
  ConnectOperator();
  Do(Drain(1));  // ids are unique per stream only
  ASSERT_EQ(down_.size(), 2u);
  const size_t before = up_.size();
  Do(Result(down_[0].directive().id()));
  EXPECT_EQ(up_.size(), before) << "the old stream's answer went to the new one";
  Do(Result(down_[1].directive().id()));
  EXPECT_EQ(up_.size(), before + 1);
}

TEST_F(RelayTest, OpenDirectivesAreBounded) {
  ConnectProcess();
  ConnectOperator();
  for (uint64_t i = 1; i <= OpenDirectives::kMax; ++i) Do(Drain(i));
  EXPECT_EQ(down_.size(), OpenDirectives::kMax);
  Do(Drain(1000));
  EXPECT_EQ(down_.size(), OpenDirectives::kMax);
  EXPECT_FALSE(up_.back().directive_result().accepted());
}

TEST_F(RelayTest, AnOperatorThatWantsFewerReportsGetsTheNewestOfEachInterval) {
  ConnectProcess();
  ConnectOperator(5);
  for (uint64_t i = 1; i <= 12; ++i) {
    Do(Window(i));
    now_ += seconds(1);
  }
  EXPECT_EQ(SentWindows(), (Windows{1, 6, 11}));
  Do(ProcessGone{});
  EXPECT_EQ(SentWindows(), (Windows{1, 6, 11, 12})) << "the last one says how it ended";
}

TEST_F(RelayTest, AChangeOfTheLeaderLeaseDoesNotWaitForTheInterval) {
  ConnectProcess();
  ConnectOperator(5);
  const auto with_lease = [](uint64_t sequence, bool held) {
    ProcessSaid said = Window(sequence);
    said.message.mutable_window()->mutable_leader_lease()->set_term(1);
    said.message.mutable_window()->mutable_leader_lease()->set_held(held);
    return said;
  };
  Do(with_lease(1, true));
  Do(with_lease(2, true));
  EXPECT_EQ(SentWindows(), (Windows{1}));
  Do(with_lease(3, false));
  EXPECT_EQ(SentWindows(), (Windows{1, 3}));
  Do(with_lease(4, false));
  EXPECT_EQ(SentWindows(), (Windows{1, 3}));
}

TEST_F(RelayTest, TheFinalReportIsRepeatedUntilAStreamEndsCleanlyAfterIt) {
  ConnectProcess();
  ConnectOperator();
  Do(Window(1));
  Do(Final(0.25));
  EXPECT_EQ(SentFinals(), 1u);
  Do(StreamEnded{OkStatus()});  // the operator ended on its own: it may not have read everything
  ConnectOperator();
  EXPECT_EQ(SentFinals(), 2u);
  Do(ProcessGone{});
  Do(TerminateAsked{});
  EXPECT_TRUE(end_stream_);
  EXPECT_FALSE(finished_);
  Do(StreamEnded{OkStatus()});
  EXPECT_TRUE(finished_);
}

TEST_F(RelayTest, TerminateConnectsAtOnceWhenSomethingIsLeftToSay) {
  ConnectProcess();
  Do(StreamEnded{Error(StatusCode::kUnavailable, "away")});
  Do(Final(0.25));
  Do(ProcessGone{});
  EXPECT_TRUE(Do(TerminateAsked{}).open_stream);
  Do(Accepted());
  EXPECT_EQ(SentFinals(), 1u);
  Do(StreamEnded{OkStatus()});
  EXPECT_TRUE(finished_);
}

TEST_F(RelayTest, TerminateWithNothingToSayAndNobodyConnectedEndsAtOnce) {
  Do(Tick{});
  Do(StreamEnded{Error(StatusCode::kUnavailable, "away")});
  Do(TerminateAsked{});
  EXPECT_TRUE(finished_);
}

TEST_F(RelayTest, TerminateIsOverAfterItsDeadlineWhateverHappens) {
  ConnectProcess();
  Do(Final(0.25));
  Do(TerminateAsked{});
  EXPECT_FALSE(finished_) << "the process may still have something to say";
  EXPECT_EQ(relay_->next_wake(), now_ + kTerminateTimeout);
  now_ += kTerminateTimeout;
  EXPECT_TRUE(Do(Tick{}).cancel_stream);
  EXPECT_TRUE(finished_);
}

TEST_F(RelayTest, WithoutAnOperatorNothingIsOpenedOrKept) {
  Make({.identity = Identity(), .operator_configured = false});
  EXPECT_FALSE(Do(Tick{}).open_stream);
  EXPECT_EQ(relay_->next_wake(), kNever);
  ConnectProcess();
  Do(Window(1));
  EXPECT_EQ(relay_->buffered_reports(), 0u);
  Do(ProcessGone{});
  Do(TerminateAsked{});
  EXPECT_TRUE(finished_);
}

// Random histories: the bounds hold, windows keep their order, and nothing the operator does sends the process away.
TEST(RelayRandomTest, BoundsOrderAndIndependenceHoldInRandomHistories) {
  const char* replay = std::getenv("ATTUNE_TEST_SEED");
  const uint64_t first_seed = replay == nullptr ? 1 : std::strtoull(replay, nullptr, 10);
  const uint64_t last_seed = replay == nullptr ? 300 : first_seed;
  std::cout << "seeds " << first_seed << ".." << last_seed
            << ", 400 steps, windows_max 5 (replay: ATTUNE_TEST_SEED=N)\n";
  for (uint64_t seed = first_seed; seed <= last_seed; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Relay relay({.identity = Identity(), .windows_max = 5, .seed = seed});
    MonotonicTime now{seconds(1)};
    relay.Step(ProcessConnected{}, now);
    relay.Step(Said(GoodHello()), now);
    bool stream = false, under_way = false;
    uint64_t sequence = 0, newest_seen = 0;
    const auto take = [&](const RelayOutput& out) {
      ASSERT_FALSE(out.close_process);
      if (out.cancel_stream) stream = under_way = false;
      if (out.open_stream) stream = true;
      if (!out.to_operator) return;
      ASSERT_TRUE(stream);
      ASSERT_FALSE(under_way);
      under_way = true;
      if (!out.to_operator->has_report()) return;
      const uint64_t seen = out.to_operator->report().window().sequence();
      ASSERT_GE(seen, newest_seen);  // equal: sent again
      newest_seen = seen;
    };
    for (int step = 0; step < 400; ++step) {
      now += milliseconds(random.Below(2000));
      switch (random.Below(8)) {
        case 0:
        case 1:
        case 2:
          take(relay.Step(Window(++sequence), now));
          break;
        case 3:
          if (stream) take(relay.Step(Accepted(1 + static_cast<double>(random.Below(3))), now));
          break;
        case 4:
          if (std::exchange(under_way, false)) take(relay.Step(MessageSent{}, now));
          break;
        case 5:
          if (stream) take(relay.Step(Drain(random.Below(5)), now));
          break;
        case 6:
          if (stream && random.Chance(0.3)) {
            stream = under_way = false;
            take(relay.Step(StreamEnded{Error(StatusCode::kUnavailable, "cut")}, now));
          }
          break;
        default:
          take(relay.Step(Tick{}, now));
      }
      ASSERT_LE(relay.buffered_reports(), 5u);
      ASSERT_LE(relay.sent_reports() + relay.dropped_reports() + relay.buffered_reports(), sequence);
    }
  }
}

}  // namespace
}  // namespace attune::sidecar::relay_test
