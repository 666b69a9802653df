// The rows of a pull have one writer: a real worker core and real readers of frames, joined as the runtime joins them.
// Rows that have been returned are filled with a pattern, which must still be there at the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/worker/worker_core.h"
#include "ps/transport/frame.h"
#include "ps/transport/frame_reader.h"

namespace attune::ps::pull_placement_test {
namespace {

constexpr NodeId kServerA{1}, kServerB{2}, kSelf{3};
constexpr uint32_t kDim = 64;
constexpr size_t kKeys = 1000, kValues = kKeys * kDim;
constexpr MapVersion kMap{1};

class PullPlacementTest : public testing::Test {
 protected:
  // One connection's receiving side, with what the runtime does for it.
  struct Connection final : FrameReader::Sink {
    Connection(PullPlacementTest& test, NodeId peer) : test(test), peer(peer) {}
    std::span<float> Place(const wire::FrameHeader& header) override {
      return test.core_.PlaceOf(peer, RequestId(header.number), header.value_count);
    }
    Status OnFrame(const wire::FrameHeader& header, const FramePayload& payload) override {
      ASSIGN_OR_RETURN(Message message, DecodeFrame(header, payload));
      test.Step(Received{.from = peer, .message = std::move(message)});
      return OkStatus();
    }
    void Take(std::string_view bytes) {
      while (!bytes.empty()) {
        iovec parts[FrameReader::kSpacePartsMax];
        const size_t count = reader.Space(parts);
        size_t taken = 0;
        for (size_t i = 0; i < count && !bytes.empty(); ++i) {
          const size_t here = std::min(parts[i].iov_len, bytes.size());
          std::copy_n(bytes.data(), here, static_cast<char*>(parts[i].iov_base));
          bytes.remove_prefix(here);
          taken += here;
        }
        ASSERT_TRUE(reader.Filled(taken, *this).ok());
      }
    }
    PullPlacementTest& test;
    const NodeId peer;
    FrameReader reader;
  };

  PullPlacementTest() : core_(Options()) {
    ShardMap map{.version = kMap, .recovered_at = {}, .shards = EvenShards(1, std::vector{kServerA}, false, kMap)};
    map.members = {{.node = kServerA, .role = Role::kServer, .index = 0, .address = "127.0.0.1:1"},
                   {.node = kServerB, .role = Role::kServer, .index = 1, .address = "127.0.0.1:2"},
                   {.node = kSelf, .role = Role::kWorker, .index = 0}};
    Step(PeerConnected{kCoordinator});
    Step(Received{kCoordinator, Welcome{.node = kSelf, .map = map, .servers_expected = 2, .servers_joined = 2}});
    Step(PeerConnected{kServerA});
    Step(PeerConnected{kServerB});
    Step(OpenTableCall{.call = CallId(1), .deadline = kNever, .spec = {.name = "t", .options = {.dim = kDim}}});
    Step(Received{kCoordinator, TableOpened{.request = Sent<OpenTable>()->header.request, .table = TableId(1)}});
    std::iota(keys_.begin(), keys_.end(), 0);
  }
  static WorkerOptions Options() {
    WorkerOptions options;
    options.job_uid = "job";
    return options;
  }

  // Carries out what the core asks of its shell, in the runtime's order.
  void Step(WorkerInput input) {
    WorkerOutputs out;
    core_.Step(std::move(input), now_, out);
    for (Outgoing& outgoing : out.send) sent_.push_back(std::move(outgoing));
    for (const RevokeRows& revoke : out.revoke) {
      ++revoked_;
      Unplace(revoke.rows);
      Step(RowsRevoked{revoke.request});
    }
    for (const Completion& completion : out.completions) {
      if (!completion.status.ok() && rows_ != nullptr) Unplace(*rows_);
      ended_[completion.call] = completion.status;
    }
  }
  void Unplace(std::span<const float> rows) {
    a_.reader.Unplace(rows);
    b_.reader.Unplace(rows);
  }
  template <typename Kind>
  const Kind* Sent() const {
    for (auto it = sent_.rbegin(); it != sent_.rend(); ++it) {
      if (const auto* message = std::get_if<Kind>(&it->message)) return message;
    }
    return nullptr;
  }
  void Pull() {
    rows_ = std::make_unique<std::vector<float>>(kValues, -1.0F);
    Step(PullCall{.call = CallId(2),
                  .deadline = now_ + std::chrono::seconds(30),
                  .table = TableId(1),
                  .keys = Slice<Key>(nullptr, keys_),
                  .rows = *rows_});
    ASSERT_NE(Sent<ps::Pull>(), nullptr);
  }
  // Time passes until the pull is asked for again.
  void AskAgain() {
    const auto pulls = [&] {
      return std::ranges::count_if(sent_,
                                   [](const auto& out) { return std::holds_alternative<ps::Pull>(out.message); });
    };
    const auto before = pulls();
    Pass(std::chrono::seconds(3));
    ASSERT_EQ(pulls(), before + 1);
  }
  // In steps that come in time: a late one would count as time in which the worker was stopped.
  void Pass(Duration time) {
    for (const MonotonicTime until = now_ + time; now_ < until;) {
      now_ += std::chrono::milliseconds(500);
      Step(Timer{});
    }
  }
  std::string Answer(float value, Positions positions = {.first = 0, .count = kKeys}) const {
    const PullReply reply{.request = Sent<ps::Pull>()->request,
                          .map_version = kMap,
                          .rows = std::vector<float>(positions.size() * kDim, value),
                          .positions = std::move(positions),
                          .versions = {}};
    const StatusOr<OutgoingFrame> frame = EncodeFrame(reply);
    EXPECT_TRUE(frame.ok()) << frame.status();
    iovec parts[OutgoingFrame::kPartsMax];
    std::string bytes;
    const int count = frame->Gather(0, parts);
    for (int i = 0; i < count; ++i) bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    return bytes;
  }
  bool Ended(StatusCode code = StatusCode::kOk) const {
    const auto it = ended_.find(CallId(2));
    return it != ended_.end() && it->second.code() == code;
  }
  // The program's memory is its own again: nothing may be written there until the test has ended.
  void ReturnRows() {
    std::ranges::fill(*rows_, kPattern);
    returned_.push_back(std::move(rows_));
  }
  void ReturnRows(float value) {
    EXPECT_EQ(std::ranges::count(*rows_, value), kValues) << "rows of more than one answer";
    ReturnRows();
  }
  void TearDown() override {
    for (const auto& rows : returned_) {
      EXPECT_EQ(std::ranges::count(*rows, kPattern), kValues) << "rows were written after their call had returned";
    }
  }
  static constexpr float kPattern = -77;
  static constexpr size_t kCutAt = sizeof(wire::FrameHeader) + 8004 * sizeof(float);  // in the middle of a row

  std::vector<Key> keys_ = std::vector<Key>(kKeys);
  std::unique_ptr<std::vector<float>> rows_;  // of the open call
  std::vector<std::unique_ptr<std::vector<float>>> returned_;
  WorkerCore core_;
  MonotonicTime now_{std::chrono::seconds(1)};
  std::vector<Outgoing> sent_;
  std::map<CallId, Status> ended_;
  int revoked_ = 0;
  Connection a_{*this, kServerA}, b_{*this, kServerB};
};

TEST_F(PullPlacementTest, AnAnswerIsReceivedInPlaceWhenItIsTheOnlyOne) {
  Pull();
  a_.Take(Answer(1));
  EXPECT_TRUE(Ended());
  EXPECT_EQ(revoked_, 0);
  ReturnRows(1);
}

TEST_F(PullPlacementTest, TheAnswerToASecondRequestDoesNotMixWithTheFirst) {
  Pull();
  const std::string first = Answer(1);
  a_.Take(std::string_view(first).substr(0, kCutAt));
  AskAgain();
  b_.Take(Answer(2));
  ASSERT_TRUE(Ended());
  EXPECT_EQ(revoked_, 1);
  ReturnRows(2);
  a_.Take(std::string_view(first).substr(kCutAt));  // to nowhere of the program's
}

TEST_F(PullPlacementTest, TheFirstAnswerMayEndWhileTheSecondIsOnItsWay) {
  Pull();
  const std::string first = Answer(1), second = Answer(2);
  a_.Take(std::string_view(first).substr(0, kCutAt));
  AskAgain();
  b_.Take(std::string_view(second).substr(0, kCutAt));
  a_.Take(std::string_view(first).substr(kCutAt));
  ASSERT_TRUE(Ended());
  ReturnRows(1);
  b_.Take(std::string_view(second).substr(kCutAt));
}

TEST_F(PullPlacementTest, PartsOfOthersWaitUntilThePlaceIsFree) {
  Pull();
  const std::string first = Answer(1);
  a_.Take(std::string_view(first).substr(0, kCutAt));
  AskAgain();
  b_.Take(Answer(2, {.first = 0, .count = 10}));
  EXPECT_FALSE(Ended());
  EXPECT_EQ(std::count(rows_->begin(), rows_->begin() + 10 * kDim, 2.0F), 10 * kDim);
  a_.Take(std::string_view(first).substr(kCutAt));  // completed from memory of its own
  ASSERT_TRUE(Ended());
  ReturnRows(1);
}

TEST_F(PullPlacementTest, NothingIsWrittenAfterTheDeadline) {
  Pull();
  const std::string first = Answer(1);
  a_.Take(std::string_view(first).substr(0, kCutAt));
  Pass(std::chrono::seconds(31));
  ASSERT_TRUE(Ended(StatusCode::kDeadlineExceeded));
  ReturnRows();
  a_.Take(std::string_view(first).substr(kCutAt));
}

TEST_F(PullPlacementTest, NothingIsWrittenAfterThePullIsGivenUp) {
  Pull();
  const std::string first = Answer(1);
  a_.Take(std::string_view(first).substr(0, kCutAt));
  Step(CancelPull{CallId(2)});
  ASSERT_TRUE(Ended(StatusCode::kCancelled));
  ReturnRows();
  a_.Take(std::string_view(first).substr(kCutAt));
}

TEST_F(PullPlacementTest, ABrokenConnectionFreesThePlace) {
  Pull();
  a_.Take(std::string_view(Answer(1)).substr(0, kCutAt));
  Step(PeerDisconnected{kServerA});
  b_.Take(Answer(2));
  ASSERT_TRUE(Ended());
  EXPECT_EQ(revoked_, 0);
  ReturnRows(2);
}

// The map that the answer was sent under is not here yet.
TEST_F(PullPlacementTest, AnAnswerThatWaitsForAMapKeepsNothingOfTheProgramsMemory) {
  Pull();
  PullReply reply{
      .request = Sent<ps::Pull>()->request, .map_version = MapVersion(2), .rows = std::vector<float>(kValues, 1)};
  reply.positions = {.first = 0, .count = kKeys};
  const std::span<float> place = core_.PlaceOf(kServerA, reply.request, kValues);
  ASSERT_EQ(place.data(), rows_->data());
  std::ranges::fill(place, 1.0F);
  reply.rows = Slice<float>(nullptr, place);
  Step(Received{.from = kServerA, .message = reply});
  EXPECT_FALSE(Ended());
  std::ranges::fill(*rows_, -1.0F);
  AskAgain();
  b_.Take(std::string_view(Answer(2)).substr(0, kCutAt));
  ShardMap map = core_.map();
  map.version = MapVersion(2);
  Step(Received{kCoordinator, MapUpdate{.map = map}});
  ASSERT_TRUE(Ended());
  ReturnRows(1);
}

TEST_F(PullPlacementTest, AnAnswerOfOtherPositionsThanWereAskedForIsRefused) {
  const std::vector<Positions> wrong = {
      {.first = 1, .count = kKeys},
      {.first = UINT32_MAX, .count = 2},
      {.list = {5, kKeys}},
      {.list = {UINT32_MAX, 5}},  // the last one alone looks right
      {.list = {5, 5}},
      {.list = {6, 5}},
  };
  for (const Positions& positions : wrong) {
    ended_.clear();
    Pull();
    PullReply reply{.request = Sent<ps::Pull>()->request, .map_version = kMap};
    reply.rows = std::vector<float>(positions.size() * kDim, 1);
    reply.positions = positions;
    Step(Received{.from = kServerA, .message = std::move(reply)});
    EXPECT_TRUE(Ended(StatusCode::kInternal)) << positions.first << " " << positions.size();
  }
}

}  // namespace
}  // namespace attune::ps::pull_placement_test
