// A home whose rows two workers announce, for tests of the copies that it gives them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "ps/core/rows/replicas/row_replicas.h"
#include "tests/ps/core/rows/node_parts.h"

namespace attune::ps {

// What an answer says, in all its pieces.
struct WholeAnswer {
  std::map<Key, float> rows;
  std::map<Key, RowVersion> versions;
  std::vector<Key> left;
  size_t pieces = 0;
  size_t rows_max = 0;    // of one piece
  bool is_ended = false;  // by the last piece
};

// This node is home of all rows; two workers announce them.
class AnnouncingWorkersTest : public testing::Test {
 protected:
  static constexpr NodeId kPeer = NodeParts::kPeer, kWorker = NodeParts::kWorker, kOther{5};
  static constexpr TableId kTable = NodeParts::kTable;
  static constexpr AnnouncedUse kOften{.reads = 200, .writes = 20, .milliseconds = 1000},
      kOftenWithCopy{.reads = 200, .writes = 20, .milliseconds = 1000, .has_copy = 1}, kNoMore{.has_copy = 1};

  explicit AnnouncingWorkersTest(RowOptions options = {}) : parts_(std::move(options)) {
    parts_.AdoptChanged([](ShardMap& map) { map.members.push_back({.node = kOther, .role = Role::kWorker}); });
  }

  Round RoundOf(NodeId from, const std::vector<std::pair<Key, AnnouncedUse>>& said) {
    Round round{.map_version = parts_.node.map().version,
                .number = ++numbers_[from],
                .last = true,
                .rounds_per_second = 100,
                .table = kTable};
    std::vector<Key> keys;
    std::vector<AnnouncedUse> uses;
    for (const auto& [key, use] : said) {
      keys.push_back(key);
      uses.push_back(use);
    }
    round.keys = std::move(keys);
    round.uses = std::move(uses);
    return round;
  }
  WholeAnswer Send(NodeId from, const Round& round) {
    replicas_.On(from, round, now_, parts_.out);
    WholeAnswer answer;
    for (const auto& [to, reply] : parts_.Sent<RoundReply>()) {
      EXPECT_EQ(to, from);
      EXPECT_EQ(reply.number, round.number);
      EXPECT_FALSE(answer.is_ended) << "more comes after the last piece";
      ++answer.pieces;
      answer.rows_max = std::max(answer.rows_max, reply.keys.size());
      answer.is_ended = reply.last;
      EXPECT_EQ(reply.rows.size(), reply.keys.size());
      for (size_t i = 0; i < reply.keys.size(); ++i) {
        EXPECT_TRUE(answer.rows.emplace(reply.keys[i], reply.rows[i]).second) << "twice";
        answer.versions[reply.keys[i]] = reply.versions[i];
      }
      answer.left.insert(answer.left.end(), reply.left.begin(), reply.left.end());
    }
    return answer;
  }
  WholeAnswer Say(NodeId from, const std::vector<std::pair<Key, AnnouncedUse>>& said) {
    return Send(from, RoundOf(from, said));
  }
  // The row is in the process and contains it; `folds`: it is a fold of the origin's pushes.
  void Push(NodeId origin, Key key, float gradient = 1, std::vector<FoldCounts> folds = {}) {
    const ps::Push push{.origin = origin,
                        .sequence = SequenceNumber(++pushes_),
                        .table = kTable,
                        .positions = {.first = 0, .count = 1, .list = {}},
                        .keys = std::vector<Key>{key},
                        .gradients = std::vector<float>{gradient},
                        .folds = std::move(folds)};
    ASSERT_TRUE(parts_.rows().Push(push.keys.view(), push.gradients.view(), {.folds = push.folds}).ok());
    replicas_.Changed(push);
  }
  void PushFold(NodeId origin, Key key) { Push(origin, key, -1, {{.pushes = 1, .updates = 1}}); }
  template <typename Change>
  void AdoptChanged(Change&& change) {
    const ShardMap old = parts_.node.map();
    parts_.AdoptChanged(change);
    replicas_.AdoptMap(old);
  }

  NodeParts parts_;
  RowReplicas& replicas_ = parts_.replicas;
  std::map<NodeId, uint64_t> numbers_;
  uint64_t pushes_ = 0;
  MonotonicTime now_{std::chrono::seconds(100)};
};

}  // namespace attune::ps
