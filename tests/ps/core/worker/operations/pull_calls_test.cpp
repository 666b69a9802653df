#include "ps/core/worker/operations/pull_calls.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::pull_calls_test {
namespace {

using std::chrono::seconds;

constexpr TableId kTable{1};
constexpr CallId kCall{7};

// One call of four keys with rows of one value.
class PullCallsTest : public testing::Test {
 protected:
  struct Sent {
    NodeId to;
    Pull message;
  };

  auto Send() {
    return [this](NodeId to, Pull message) { sent_.push_back({to, std::move(message)}); };
  }
  PullCalls::Sender Sender(uint64_t acked_below = 0) {
    return {.cluster = cluster_, .acked_below = SequenceNumber(acked_below), .now = now_};
  }
  void Begin() {
    rows_.assign(4, 0);
    pulls_.Begin({.call = kCall, .deadline = now_ + seconds(10), .table = kTable, .keys = {}, .rows = rows_});
  }
  RequestId Add(NodeId to, std::vector<uint32_t> places, std::vector<After> after = {}) {
    pulls_.Add(Part(to, places, std::move(after)), Sender(), Send());
    return RequestId(++requests_);
  }
  PullCalls::Part Part(NodeId to, const std::vector<uint32_t>& places, std::vector<After> after = {}) {
    std::vector<Key> keys;
    for (const uint32_t place : places) keys.push_back(KeyAt(kFirstServer, place));
    return {.call = kCall,
            .to = to,
            .table = kTable,
            .dim = 1,
            .keys = std::move(keys),
            .places = places,
            .after = std::move(after)};
  }
  bool Hear(NodeId from, RequestId request, Positions positions, std::vector<float> rows) {
    PullReply reply{.request = request, .map_version = {}, .rows = std::move(rows), .positions = std::move(positions)};
    return Hear(from, std::move(reply));
  }
  bool Hear(NodeId from, PullReply reply) {
    out_.Clear();
    const bool taken = pulls_.Take(from, reply, cluster_.map(), out_).has_value();
    for (Completion& completion : out_.completions) completions_.push_back(std::move(completion));
    return taken;
  }
  // An answer that was received where PlaceOf had said.
  static PullReply InPlace(RequestId request, std::span<float> place) {
    const auto count = static_cast<uint32_t>(place.size());
    return {.request = request,
            .map_version = {},
            .rows = Slice<float>(std::shared_ptr<const void>(), place),
            .positions = {.first = 0, .count = count, .list = {}}};
  }

  ClusterView cluster_ = SmallCluster();
  PullCalls pulls_{{.resend_after = seconds(2), .resend_after_max = seconds(3)}};
  std::vector<float> rows_;
  std::vector<Sent> sent_;
  std::vector<Completion> completions_;
  WorkerOutputs out_;
  uint64_t requests_ = 0;
  MonotonicTime now_{seconds(100)};
};

using Values = std::vector<float>;

TEST_F(PullCallsTest, AnswersAreWrittenToTheirPlacesAndTheLastEndsTheCall) {
  Begin();
  const RequestId first = Add(kFirstServer, {0, 2});
  const RequestId second = Add(kSecondServer, {1, 3});
  pulls_.Added(kCall, completions_);
  EXPECT_TRUE(completions_.empty());
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_[1].to, kSecondServer);
  EXPECT_EQ(sent_[1].message.remaining, seconds(10));
  EXPECT_TRUE(Hear(kSecondServer, second, {.first = 0, .count = 2, .list = {}}, {10, 30}));
  EXPECT_TRUE(completions_.empty());
  EXPECT_TRUE(Hear(kFirstServer, first, {.first = 0, .count = 2, .list = {}}, {5, 20}));
  EXPECT_EQ(rows_, (Values{5, 10, 20, 30}));
  ASSERT_EQ(completions_.size(), 1U);
  EXPECT_TRUE(completions_[0].status.ok());
  EXPECT_EQ(pulls_.in_flight(), 0U);
  EXPECT_FALSE(Hear(kFirstServer, first, {.first = 0, .count = 2, .list = {}}, {9, 9})) << "the second copy";
  EXPECT_EQ(rows_[0], 5) << "the rows are the caller's again";
}

TEST_F(PullCallsTest, SeveralNodesMayAnswerOneRequest) {
  Begin();
  const RequestId request = Add(kFirstServer, {0, 1, 2});
  EXPECT_TRUE(Hear(kFirstServer, request, {.list = {0, 2}}, {1, 3}));
  EXPECT_TRUE(Hear(kFirstServer, request, {.list = {0, 2}}, {1, 3})) << "a repeated answer counts once";
  EXPECT_TRUE(completions_.empty());
  EXPECT_TRUE(Hear(kOtherWorker, request, {.first = 1, .count = 1, .list = {}}, {2}));
  EXPECT_EQ(rows_, (Values{1, 2, 3, 0}));
  EXPECT_EQ(completions_.size(), 1U);
}

TEST_F(PullCallsTest, AnAnswerThatDoesNotFitEndsTheCall) {
  for (const auto& [positions, values] :
       std::vector<std::pair<Positions, size_t>>{{{.first = 0, .count = 2, .list = {}}, 3},
                                                 {{.first = 1, .count = 2, .list = {}}, 2},
                                                 {{.list = {0, 7}}, 2},
                                                 {{.list = {1, 1}}, 2}}) {
    completions_.clear();
    Begin();
    const RequestId request = Add(kFirstServer, {0, 1});
    EXPECT_FALSE(Hear(kFirstServer, request, positions, Values(values, 1)));
    ASSERT_EQ(completions_.size(), 1U);
    EXPECT_EQ(completions_[0].status.code(), StatusCode::kInternal);
    EXPECT_EQ(rows_, Values(4, 0)) << "nothing of it is written";
  }
}

TEST_F(PullCallsTest, ACallWhoseKeysAreAllHereEndsWithoutAMessage) {
  auto store = TableStore::Create({"rows", {.dim = 1}});
  ASSERT_TRUE(store.ok()) << store.status();
  Begin();
  const std::vector<uint32_t> places = {1, 3};
  const PullCalls::Part part = Part(kWorker, places);
  EXPECT_FALSE(pulls_.TakeFrom(**store, part));
  std::vector<Key> keys(part.keys.begin(), part.keys.end());
  ASSERT_TRUE((*store)->CreateRows(keys, RowVersion()).ok());
  ASSERT_TRUE((*store)->PushIfPresent(keys, Values{1, 2}, {.step = 0}).has_value());
  Values expected(2);
  (*store)->Pull(keys, expected);
  ASSERT_NE(expected[0], 0);
  EXPECT_TRUE(pulls_.TakeFrom(**store, part));
  EXPECT_EQ(rows_, (Values{0, expected[0], 0, expected[1]}));
  pulls_.Added(kCall, completions_);
  EXPECT_EQ(completions_.size(), 1U);
  EXPECT_TRUE(sent_.empty());
}

// --- one writer of the caller's rows

TEST_F(PullCallsTest, APlaceIsGivenOnlyForRowsInOnePiece) {
  Begin();
  const RequestId scattered = Add(kFirstServer, {0, 2});
  const RequestId piece = Add(kSecondServer, {1});
  EXPECT_TRUE(pulls_.PlaceOf(kFirstServer, scattered, 2).empty());
  EXPECT_TRUE(pulls_.PlaceOf(kSecondServer, piece, 2).empty()) << "another number of values";
  EXPECT_TRUE(pulls_.PlaceOf(kSecondServer, RequestId(99), 1).empty());
  EXPECT_EQ(pulls_.PlaceOf(kSecondServer, piece, 1).data(), &rows_[1]);
}

TEST_F(PullCallsTest, AnAnswerInItsPlaceIsNotCopied) {
  Begin();
  const RequestId request = Add(kFirstServer, {1, 2});
  const std::span<float> place = pulls_.PlaceOf(kFirstServer, request, 2);
  ASSERT_EQ(place.size(), 2U);
  EXPECT_TRUE(pulls_.PlaceOf(kSecondServer, request, 2).empty()) << "one place at a time";
  std::ranges::copy(Values{4, 5}, place.begin());
  EXPECT_TRUE(Hear(kFirstServer, InPlace(request, place)));
  EXPECT_EQ(rows_, (Values{0, 4, 5, 0}));
  EXPECT_EQ(completions_.size(), 1U);
}

TEST_F(PullCallsTest, WhileAnAnswerIsBeingReceivedOthersWaitUntilThePlaceIsRevoked) {
  Begin();
  const RequestId request = Add(kFirstServer, {0, 1});
  const std::span<float> place = pulls_.PlaceOf(kFirstServer, request, 2);
  EXPECT_FALSE(Hear(kSecondServer, request, {.first = 0, .count = 2, .list = {}}, {7, 8}));
  ASSERT_EQ(out_.revoke.size(), 1U);
  EXPECT_EQ(out_.revoke[0].rows.data(), place.data());
  EXPECT_EQ(rows_, Values(4, 0)) << "another node writes there";
  EXPECT_FALSE(Hear(kSecondServer, request, {.first = 0, .count = 2, .list = {}}, {7, 8}));
  EXPECT_TRUE(out_.revoke.empty()) << "it has been asked for";
  auto waiting = pulls_.Revoked(request);
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting[0].first, kSecondServer);
  EXPECT_TRUE(Hear(kSecondServer, std::move(waiting[0].second)));
  EXPECT_EQ(rows_, (Values{7, 8, 0, 0}));
  EXPECT_EQ(completions_.size(), 1U);
}

TEST_F(PullCallsTest, AClosedConnectionNamesThePlacesItHad) {
  Begin();
  const RequestId first = Add(kFirstServer, {0});
  const RequestId second = Add(kFirstServer, {1});
  pulls_.PlaceOf(kFirstServer, first, 1);
  EXPECT_EQ(pulls_.PlacedBy(kFirstServer), std::vector<RequestId>{first});
  EXPECT_TRUE(pulls_.PlacedBy(kSecondServer).empty());
  EXPECT_TRUE(pulls_.Revoked(first).empty());
  EXPECT_TRUE(pulls_.PlacedBy(kFirstServer).empty());
  EXPECT_EQ(pulls_.PlaceOf(kFirstServer, second, 1).data(), &rows_[1]);
}

TEST_F(PullCallsTest, AnAnswerThatIsKeptForLaterLeavesTheCallersRows) {
  Begin();
  const RequestId request = Add(kFirstServer, {0, 1});
  const std::span<float> place = pulls_.PlaceOf(kFirstServer, request, 2);
  std::ranges::copy(Values{4, 5}, place.begin());
  PullReply reply = InPlace(request, place);
  pulls_.TakeOutOfPlace(kFirstServer, reply);
  EXPECT_NE(reply.rows.data(), place.data());
  EXPECT_EQ(reply.rows, Slice<float>(Values{4, 5}));
  EXPECT_FALSE(pulls_.PlaceOf(kSecondServer, request, 2).empty()) << "the place is free";
}

// --- time and connections

TEST_F(PullCallsTest, ARequestIsSentAgainToTheHomeOfItsFirstKey) {
  Begin();
  Add(kOtherWorker, {0});
  sent_.clear();
  EXPECT_EQ(pulls_.SendAgain(Sender(), Send()), now_ + seconds(2));
  EXPECT_TRUE(sent_.empty());
  now_ += seconds(2);
  EXPECT_EQ(pulls_.SendAgain(Sender(), Send()), now_ + seconds(3)) << "later and later, bounded";
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_EQ(sent_[0].to, kFirstServer);
  EXPECT_EQ(sent_[0].message.remaining, seconds(8));
}

TEST_F(PullCallsTest, ARequestWaitsForTheConnectionToItsNode) {
  cluster_.SetDisconnected(kFirstServer);
  Begin();
  Add(kFirstServer, {0});
  Add(kSecondServer, {1});
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_EQ(sent_[0].to, kSecondServer);
  sent_.clear();
  cluster_.SetConnected(kFirstServer);
  pulls_.SendTo(kFirstServer, Sender(), Send());
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_EQ(sent_[0].message.request, RequestId(1));
}

TEST_F(PullCallsTest, PushesThatAreAcknowledgedMeanwhileAreNotAskedFor) {
  cluster_.SetDisconnected(kFirstServer);
  Begin();
  Add(kFirstServer, {0}, {{.sequence = SequenceNumber(3)}, {.sequence = SequenceNumber(5)}});
  cluster_.SetConnected(kFirstServer);
  pulls_.SendAll(Sender(4), Send());
  ASSERT_EQ(sent_.size(), 1U);
  ASSERT_EQ(sent_[0].message.after.size(), 1U);
  EXPECT_EQ(sent_[0].message.after[0].sequence, SequenceNumber(5));
}

TEST_F(PullCallsTest, ACallEndsAtItsDeadlineAndSaysWhoIsSilent) {
  Begin();
  const RequestId first = Add(kFirstServer, {0});
  Add(kSecondServer, {1});
  Hear(kFirstServer, first, {.first = 0, .count = 1, .list = {}}, {1});
  pulls_.Postpone(seconds(1));
  now_ += seconds(10);
  EXPECT_EQ(pulls_.EndOverdue(now_, cluster_.map(), completions_), now_ + seconds(1));
  EXPECT_TRUE(completions_.empty());
  now_ += seconds(1);
  EXPECT_EQ(pulls_.EndOverdue(now_, cluster_.map(), completions_), kNever);
  ASSERT_EQ(completions_.size(), 1U);
  EXPECT_EQ(completions_[0].status.code(), StatusCode::kDeadlineExceeded);
  const std::string text(attune::Message(completions_[0].status));
  EXPECT_NE(text.find(Describe(cluster_.map(), kSecondServer)), std::string::npos) << text;
  EXPECT_EQ(text.find(Describe(cluster_.map(), kFirstServer)), std::string::npos) << text;
  EXPECT_EQ(pulls_.in_flight(), 0U);
}

TEST_F(PullCallsTest, ARefusedRequestEndsItsCallOnce) {
  Begin();
  const RequestId first = Add(kFirstServer, {0});
  const RequestId second = Add(kSecondServer, {1});
  pulls_.Refused(first, Error(StatusCode::kNotFound, "no such table"), completions_);
  pulls_.Refused(second, Error(StatusCode::kNotFound, "no such table"), completions_);
  pulls_.End(kCall, Error(StatusCode::kCancelled, "given up"), completions_);
  ASSERT_EQ(completions_.size(), 1U);
  EXPECT_EQ(completions_[0].status.code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace attune::ps::pull_calls_test
