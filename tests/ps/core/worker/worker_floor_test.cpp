// What a worker makes of a floor that rises while its program waits.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "ps/core/worker/worker_core.h"

namespace attune::ps::worker_floor_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr NodeId kServer{1}, kSelf{2};
constexpr TableId kTable{1};
constexpr Key kKey = 7;

class WorkerFloorTest : public testing::Test {
 protected:
  WorkerFloorTest() : core_({.job_uid = "job", .incarnation = 7, .row_bytes_max = 1 << 20}) {
    ShardMap map;
    map.version = MapVersion(1, 0);
    map.shards = {{.home = kServer}};
    map.members = {{kServer, Role::kServer, 0, "127.0.0.1:1"}, {kSelf, Role::kWorker, 0, ""}};
    Step(PeerConnected{kCoordinator});
    Hear(Welcome{.node = kSelf, .map = map});
    Hear(HeartbeatAck{.number = 1, .sync = {}, .liveness = seconds(100)});
    Step(PeerConnected{kServer});
    const TableSpec spec{"rows", {.dim = 1, .optimizer = Sgd{.rate = 1}}};
    Step(OpenTableCall{.call = CallId(1), .deadline = now_ + seconds(100), .spec = spec});
    Hear(TableOpened{.request = RequestId(1), .table = kTable});
  }

  void Step(WorkerInput input) {
    out_.Clear();
    core_.Step(std::move(input), now_, out_);
    for (Outgoing& sent : out_.send) {
      if (auto* round = std::get_if<Round>(&sent.message)) rounds_.push_back(std::move(*round));
    }
    for (const Completion& completion : out_.completions) ended_.push_back(completion.call);
  }
  void Hear(Message message) { Step(Received{.from = kCoordinator, .message = std::move(message), .term = 1}); }
  void HearOfFloor(uint64_t floor) {
    Hear(SyncUpdate{.sync = {.revision = (uint64_t{1} << 32) + ++revision_,
                             .floor = floor,
                             .mode = SyncMode::Ssp(1),
                             .mode_before = SyncMode::Async(),
                             .mode_from = 5}});
  }
  // All rounds that were sent, and those that follow; the first one brings a copy of the row.
  void AnswerRounds(int count) {
    for (int i = 0; i < count && !rounds_.empty(); ++i) {
      const Round round = std::exchange(rounds_, {}).front();
      RoundReply reply{.map_version = MapVersion(1, 0), .number = round.number, .last = true, .table = kTable};
      if (!std::exchange(has_copy_, true)) {
        reply.keys = std::vector<Key>{kKey};
        reply.versions = std::vector<RowVersion>{RowVersion(1)};
        reply.rows = std::vector<float>{3};
      }
      now_ += milliseconds(1);
      Step(Received{.from = kServer, .message = std::move(reply), .link = {.sequence = ++sent_}});
    }
  }

  WorkerCore core_;
  WorkerOutputs out_;
  std::vector<Round> rounds_;
  std::vector<CallId> ended_;
  uint64_t revision_ = 0, sent_ = 0;
  bool has_copy_ = false;
  MonotonicTime now_{seconds(1)};
};

// Seed 83780726924 of whole jobs: the floor rose just after a pull had begun to wait for a copy, and every round after
// that confirmed copies at the floor of the step's beginning.
TEST_F(WorkerFloorTest, APullThatWaitsForACopyHearsOfAFloorThatRises) {
  for (int step = 0; step < 5; ++step) {
    if (step == 1) {
      Step(IntendCall{.table = kTable, .keys = {kKey}, .begin = 2, .end = 9, .age_max = seconds(10)});
    }
    now_ += milliseconds(50);
    Step(StepCall{.call = {}, .deadline = now_ + seconds(100), .samples = 1});
    AnswerRounds(1);
  }
  ASSERT_EQ(core_.steps().ended(), 5U);
  ASSERT_TRUE(core_.rows().replicas().HasCopy({kTable, kKey}));
  HearOfFloor(0);
  std::vector<float> row(1);
  Step(PullCall{.call = CallId(2),
                .deadline = now_ + seconds(100),
                .table = kTable,
                .keys = std::vector<Key>{kKey},
                .rows = row});
  ASSERT_EQ(std::ranges::count(ended_, CallId(2)), 0) << "step 5 may not read what others have pushed before step 4";
  HearOfFloor(4);
  AnswerRounds(3);
  EXPECT_EQ(std::ranges::count(ended_, CallId(2)), 1);
  EXPECT_EQ(row[0], 3);
}

}  // namespace
}  // namespace attune::ps::worker_floor_test
