// A worker's rows whose homes the test plays by hand, for tests of copies of rows: what the worker sends is sorted by
// kind, and answers to its rounds bring it copies. The table has one value per row, which a gradient lowers by itself.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "ps/core/worker/rows/worker_rows.h"
#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps {

// All pieces of one round.
struct SentRound {
  NodeId to;
  uint64_t number = 0;
  bool first = false;
  uint64_t rounds_per_second = 0, picoseconds_per_byte = 0;
  std::map<Key, AnnouncedUse> uses;
  std::vector<std::pair<Key, uint64_t>> after;  // with the number of the open push
};

class HomeByHandTest : public testing::Test {
 protected:
  static constexpr TableId kTable{1};
  struct Row {
    Key key = 0;
    float value = 0;
    uint64_t version = 0;
  };

  explicit HomeByHandTest(WorkerOptions options = Options()) : options_(std::move(options)) {
    rows_.own().SetSelf(kWorker);
    for (const NodeId server : {kFirstServer, kSecondServer}) rows_.Connected(server, now_, out_);
    rows_.routes().OpenTable(kTable, {"rows", {.dim = 1, .optimizer = Sgd{.rate = 1}}});
  }
  static WorkerOptions Options() {
    WorkerOptions options;
    options.row_bytes_max = 1 << 20;
    return options;
  }

  // --- the program

  // The steps from the next one on, so many, read and write these rows.
  void Intend(std::vector<Key> keys, uint64_t steps = 4) {
    rows_.On(IntendCall{.table = kTable,
                        .keys = std::move(keys),
                        .begin = at_.clock + 1,
                        .end = at_.clock + 1 + steps,
                        .age_max = kAge},
             at_, now_, out_);
  }
  void BeginStep() { rows_.fetches().StepBegan(at_, now_, out_); }
  void NextStep() {
    rows_.fetches().StepEnded(now_);
    ++at_.clock;
    ++at_.step;
    BeginStep();
  }
  // What the program reads without waiting.
  std::optional<float> ReadHere(Key key, CopyReads copies = CopyReads::kAnnounced) {
    float value = 0;
    return rows_.PullHere(kTable, {&key, 1}, {&value, 1}, at_, now_, copies) ? std::optional(value) : std::nullopt;
  }
  // Its rows are in `pulled_` once it has ended.
  void Pull(std::vector<Key> keys) {
    pulled_.assign(keys.size(), -1);
    rows_.On(PullCall{.call = CallId(++calls_),
                      .deadline = now_ + std::chrono::seconds(10),
                      .table = kTable,
                      .keys = std::move(keys),
                      .rows = pulled_},
             at_, now_, out_);
    rows_.fetches().TakeEnded(now_, out_);
  }
  // False: not at once.
  bool PushHere(std::vector<Key> keys, std::vector<float> gradients) {
    const std::optional<Status> pushed = rows_.PushHere(kTable, keys, gradients, at_.step);
    return pushed.has_value() && pushed->ok();
  }
  void Push(std::vector<Key> keys, std::vector<float> gradients) {
    rows_.On(PushCall{.call = CallId(++calls_),
                      .deadline = now_ + std::chrono::seconds(10),
                      .table = kTable,
                      .keys = std::move(keys),
                      .gradients = std::move(gradients)},
             at_, now_, out_);
  }
  bool HasCopy(Key key) const { return rows_.replicas().HasCopy({kTable, key}); }
  void Tick() { rows_.replicas().OnTimer(now_, out_); }
  void Flush() { rows_.replicas().Hurry(now_, out_); }
  size_t Ended() { return std::exchange(out_.completions, {}).size(); }
  SequenceNumber Settled() const { return rows_.pushes().window().SettledBelow(); }

  // --- what homes hear. Each call returns what it has not returned before.

  std::vector<SentRound> Rounds() { return Take(rounds_); }
  // The only round that has been sent since the last call.
  SentRound TheRound() {
    const std::vector<SentRound> rounds = Rounds();
    EXPECT_EQ(rounds.size(), 1U);
    return rounds.empty() ? SentRound{} : rounds[0];
  }
  std::vector<std::pair<NodeId, ps::Push>> Pushes() { return Take(pushes_); }
  std::vector<std::pair<NodeId, ps::Pull>> Pulls() { return Take(pulls_); }

  // --- what they say

  void Answer(const SentRound& round, const std::vector<Row>& rows = {}, std::vector<Key> left = {}) {
    RoundReply reply{.map_version = cluster_.map().version, .number = round.number, .table = kTable};
    std::vector<Key> keys;
    std::vector<RowVersion> versions;
    std::vector<float> values;
    for (const Row& row : rows) {
      keys.push_back(row.key);
      versions.push_back(RowVersion(row.version));
      values.push_back(row.value);
    }
    reply.keys = std::move(keys);
    reply.versions = std::move(versions);
    reply.rows = std::move(values);
    reply.left = std::move(left);
    if (!reply.keys.empty() || !reply.left.empty()) rows_.OnMessage(round.to, std::move(reply), now_, out_);
    rows_.OnMessage(round.to, RoundReply{.map_version = cluster_.map().version, .number = round.number, .last = true},
                    now_, out_);
  }
  void Acknowledge(const std::pair<NodeId, ps::Push>& pushed) {
    rows_.OnMessage(pushed.first,
                    PushAck{.sequence = pushed.second.sequence,
                            .map_version = cluster_.map().version,
                            .positions = pushed.second.positions},
                    now_, out_);
  }
  void Answer(const std::pair<NodeId, ps::Pull>& asked, float value) {
    const auto count = static_cast<uint32_t>(asked.second.keys.size());
    rows_.OnMessage(asked.first,
                    PullReply{.request = asked.second.request,
                              .map_version = cluster_.map().version,
                              .rows = std::vector<float>(count, value),
                              .positions = {.first = 0, .count = count, .list = {}},
                              .versions = std::vector<RowVersion>(count, RowVersion(1))},
                    now_, out_);
    rows_.fetches().TakeEnded(now_, out_);
  }

  // The program announces these rows of one home, whose answer gives copies of them. Nothing else is in flight then.
  void GiveCopies(const std::vector<Row>& rows) {
    std::vector<Key> keys;
    for (const Row& row : rows) keys.push_back(row.key);
    Intend(keys);
    BeginStep();
    Answer(TheRound(), rows);
    for (const Row& row : rows) ASSERT_TRUE(rows_.replicas().HasCopy({kTable, row.key}));
    Pulls();
  }

  static constexpr Duration kAge = std::chrono::seconds(1);
  const WorkerOptions options_;
  ClusterView cluster_ = SmallCluster();
  LivenessLease lease_;
  WorkerRows rows_{options_, cluster_, lease_};
  WorkerOutputs out_;
  std::vector<float> pulled_;
  uint64_t calls_ = 0;
  StepPoint at_;
  MonotonicTime now_{std::chrono::seconds(100)};
  const Key first_ = KeyAt(kFirstServer), second_ = KeyAt(kSecondServer);

 private:
  template <typename Kind>
  std::vector<Kind> Take(std::vector<Kind>& kind) {
    for (Outgoing& outgoing : std::exchange(out_.send, {})) {
      if (auto* round = std::get_if<Round>(&outgoing.message)) Note(outgoing.to, *round);
      if (auto* push = std::get_if<ps::Push>(&outgoing.message)) pushes_.emplace_back(outgoing.to, std::move(*push));
      if (auto* pull = std::get_if<ps::Pull>(&outgoing.message)) pulls_.emplace_back(outgoing.to, std::move(*pull));
    }
    return std::exchange(kind, {});
  }
  void Note(NodeId to, const Round& piece) {
    SentRound& whole = open_rounds_[to];
    whole.to = to;
    whole.number = piece.number;
    whole.first = whole.first || piece.first;
    whole.rounds_per_second = piece.rounds_per_second;
    whole.picoseconds_per_byte = piece.picoseconds_per_byte;
    for (size_t i = 0; i < piece.keys.size(); ++i) whole.uses[piece.keys[i]] = piece.uses[i];
    for (const After& after : piece.after) {
      whole.after.emplace_back(piece.keys[after.key_index], after.sequence.value());
    }
    if (piece.last) rounds_.push_back(std::exchange(whole, {}));
  }

  std::map<NodeId, SentRound> open_rounds_;
  std::vector<SentRound> rounds_;
  std::vector<std::pair<NodeId, ps::Push>> pushes_;
  std::vector<std::pair<NodeId, ps::Pull>> pulls_;
};

}  // namespace attune::ps
