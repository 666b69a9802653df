#include "ps/core/intent/row_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/ps/core/intent/managed_row.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::row_decision_test {
namespace {

using enum RowPlace;

constexpr RowBytes kRow{.values = 256, .state = 256};
constexpr AccessCosts kCosts{.flushes_per_second = 100};

struct DecisionCase {
  const char* name;
  std::vector<RowInterest> interests;
  std::vector<RowPlace> want;
  RowRules rules = {};
};

RowInterest Node(uint32_t node, RowUse use, double seconds, RowPlace place = kLeft, uint32_t refreshes = 0) {
  return {.node = NodeId(node), .use = use, .seconds = seconds, .place = place, .refreshes_since_use = refreshes};
}

const RowUse kNone;
const RowUse kHot{.reads = 20, .writes = 20};  // within a tenth of a second, in which there are 10 flushes
const RowUse kReads{.reads = 20};

class RowDecision : public ::testing::TestWithParam<DecisionCase> {};

TEST_P(RowDecision, GivesEachNodeItsPlace) {
  std::vector<RowInterest> interests = GetParam().interests;
  DecideRow(interests, kRow, GetParam().rules, kCosts);
  std::vector<RowPlace> places;
  for (const RowInterest& interest : interests) places.push_back(interest.place);
  EXPECT_EQ(places, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RowDecision,
    ::testing::Values(
        DecisionCase{"a_row_used_in_two_steps_is_left", {Node(1, {2, 2}, 0.1)}, {kLeft}},
        DecisionCase{"a_row_used_often_by_one_node_is_copied", {Node(1, kHot, 0.1)}, {kReplicated}},
        DecisionCase{"a_row_used_often_by_all_is_copied_to_all",
                     {Node(1, kHot, 0.1), Node(2, kHot, 0.1), Node(3, kHot, 0.1)},
                     {kReplicated, kReplicated, kReplicated}},
        DecisionCase{"one_reader_of_what_all_write_often_asks_for_it_when_it_needs_it",
                     {Node(1, kHot, 0.1), Node(2, {3, 0}, 0.1)},
                     {kReplicated, kLeft}},
        DecisionCase{"what_is_only_read_is_copied_to_all_readers",
                     {Node(1, kReads, 0.1), Node(2, kReads, 0.1)},
                     {kReplicated, kReplicated}},
        DecisionCase{
            "without_copies_a_row_of_one_node_moves_there", {Node(1, kHot, 0.1)}, {kOwned}, {.may_replicate = false}},
        DecisionCase{"without_copies_a_row_of_two_stays_at_home",
                     {Node(1, kHot, 0.1), Node(2, kHot, 0.1)},
                     {kLeft, kLeft},
                     {.may_replicate = false}},
        DecisionCase{"without_copies_and_owners_everything_is_left",
                     {Node(1, kHot, 0.1)},
                     {kLeft},
                     {.may_replicate = false, .may_own = false}},
        DecisionCase{"interest_of_a_second_node_calls_an_owned_row_home",
                     {Node(1, kHot, 0.1, kOwned), Node(2, {2, 2}, 0.1)},
                     {kReplicated, kLeft}},
        DecisionCase{"an_owner_that_uses_the_row_no_more_keeps_it_while_no_other_node_asks",
                     {Node(1, kNone, 0, kOwned)},
                     {kOwned}},
        DecisionCase{"and_gives_it_to_one_that_asks",
                     {Node(1, kNone, 0, kOwned), Node(2, kHot, 0.1)},
                     {kLeft, kOwned},
                     {.may_replicate = false}},
        DecisionCase{"a_copy_announced_no_more_is_kept_until_it_costs_as_much_as_another",
                     {Node(1, kNone, 0, kReplicated, 0), Node(2, kNone, 0, kReplicated, 1)},
                     {kReplicated, kLeft}},
        DecisionCase{"a_copy_that_saves_less_than_a_fifth_is_not_made", {Node(1, {9, 6}, 0.1)}, {kReplicated}},
        DecisionCase{"nor_is_it_given_up_for_less", {Node(1, {3, 3}, 0.03, kReplicated)}, {kReplicated}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(RowDecision, AChangeMustSaveAFifth) {
  std::vector<RowInterest> little = {Node(1, {2, 1}, 0.1)}, enough = {Node(1, {4, 1}, 0.1)};
  const RowCosts costs = CostsOf(little[0], {}, kRow, kCosts);
  ASSERT_LT(costs.replicated, costs.left);
  ASSERT_GT(costs.replicated, 0.8 * costs.left) << "not the case of this test";
  DecideRow(little, kRow, {}, kCosts);
  EXPECT_EQ(little[0].place, kLeft);
  DecideRow(enough, kRow, {}, kCosts);
  EXPECT_EQ(enough[0].place, kReplicated);
}

TEST(RowDecision, EachNodeCountsItsOwnCosts) {
  constexpr RowUse kUse{.reads = 12, .writes = 30};
  NodeCosts costs(kCosts);
  costs.Set(NodeId(2), {.seconds_per_byte = 1e-6, .flushes_per_second = 100});
  const auto decide = [&](uint32_t first, uint32_t second) {
    std::vector<RowInterest> interests = {Node(first, kUse, 0.1), Node(second, kUse, 0.1)};
    DecideRow(interests, kRow, {}, costs);
    std::map<uint32_t, RowPlace> places;
    for (const RowInterest& interest : interests) places[interest.node.value()] = interest.place;
    return places;
  };
  EXPECT_EQ(decide(1, 3), (std::map<uint32_t, RowPlace>{{1, kReplicated}, {3, kReplicated}}));
  EXPECT_EQ(decide(1, 2), (std::map<uint32_t, RowPlace>{{1, kReplicated}, {2, kLeft}}));
  EXPECT_EQ(decide(2, 1), (std::map<uint32_t, RowPlace>{{1, kReplicated}, {2, kLeft}}));
  costs.Retain([](NodeId node) { return node != NodeId(2); });
  EXPECT_EQ(decide(2, 1), (std::map<uint32_t, RowPlace>{{1, kReplicated}, {2, kReplicated}})) << "forgotten";
}

TEST(RowDecision, CostsAreThoseOfTheFormulas) {
  const AccessCosts costs{.seconds_per_key = 2, .seconds_per_byte = 1, .flushes_per_second = 10};
  const RowBytes row{.values = 3, .state = 5};  // remote 5, copy 10
  // Many more uses than flushes: each flush has something to send.
  const RowCosts total = CostsOf(Node(1, {1000, 2000}, 1), {.reads = 4, .writes = 3000}, row, costs);
  EXPECT_NEAR(total.left, 3000 * 5, 1e-6);
  EXPECT_NEAR(total.replicated, (10 + 10) * 10 + 10, 1e-6);
  EXPECT_NEAR(total.owned, 10 * 10 + 2 * 3004 * 5 + 15, 1e-6);
  const RowCosts few = CostsOf(Node(1, {0, 1}, 1, kReplicated), {}, row, costs);
  EXPECT_NEAR(few.replicated, 10, 1) << "a write or two are a flush each";
}

UseTrace RandomTrace(Random& random, const ManagedJob& job) {
  UseTrace trace;
  const double active = random.Uniform();        // share of slots in which a node uses the row
  const double writes = random.Uniform();        // share of those in which it writes
  const double burst = 0.02 + random.Uniform();  // chance that a node's phase changes
  std::vector<bool> is_on(job.nodes);
  for (uint32_t slot = 0; slot < 200; ++slot) {
    for (uint32_t node = 0; node < job.nodes; ++node) {
      if (random.Chance(burst / 10)) is_on[node] = !is_on[node];
      if (!is_on[node] || !random.Chance(active)) continue;
      const auto steps = static_cast<uint32_t>(1 + random.Below(6));
      trace.push_back({slot, node, steps, random.Chance(writes) ? steps : 0});
    }
  }
  return trace;
}

// Sums over many traces: of one, a decision may well be wrong in hindsight.
TEST(RowDecision, IsNearTheBestInHindsightOnRandomTraces) {
  Random random(TestSeed("400 traces of 2 to 4 nodes, 200 slots"));
  constexpr ManagementRule kRules[] = {LeaveAlone, ReplicateAnnounced, MoveAnnounced, MoveOrReplicate};
  double decided = 0, least = 0;
  std::array<double, std::size(kRules)> ruled{};
  for (int i = 0; i < 400; ++i) {
    const ManagedJob job{.nodes = static_cast<uint32_t>(2 + random.Below(3)),
                         .look_ahead = static_cast<uint32_t>(4 + random.Below(20))};
    const UseTrace trace = RandomTrace(random, job);
    const double best = LeastCost(job, trace), found = CostOf(job, trace, DecideByCost);
    EXPECT_GE(found, best * (1 - 1e-9)) << "better than the best: the costs are not the same";
    EXPECT_LE(found, 4 * best + 4 * job.copy());
    decided += found;
    least += best;
    for (size_t rule = 0; rule < ruled.size(); ++rule) {
      const double cost = CostOf(job, trace, kRules[rule]);
      EXPECT_GE(cost, best * (1 - 1e-9));
      ruled[rule] += cost;
    }
  }
  std::printf("cost of the decisions: %.3f of the least\n", decided / least);
  EXPECT_LE(decided, 1.25 * least);
  for (const double cost : ruled) EXPECT_LE(decided, 1.05 * cost);
}

}  // namespace
}  // namespace attune::ps::row_decision_test
