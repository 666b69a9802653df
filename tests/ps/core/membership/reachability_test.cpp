// Who goes when members do not reach each other.
#include "ps/core/membership/reachability.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attune::ps::reachability_test {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr MonotonicTime kStart{std::chrono::seconds(100)};
constexpr uint32_t kCheap = 0, kDear = 1;

NodeId Node(uint32_t number) { return NodeId(number); }

class ReachabilityTest : public testing::Test {
 protected:
  // The first of each pair says that it has no link to the second one.
  void Miss(const std::vector<std::pair<uint32_t, uint32_t>>& links) {
    std::map<NodeId, std::vector<NodeId>> said;
    for (const auto& [who, whom] : links) said[Node(who)].push_back(Node(whom));
    for (const auto& [who, whom] : said) links_.Said(who, whom, kStart);
  }
  static Reachability::Candidate Candidate(uint32_t node, uint32_t cost = kCheap, uint32_t times = 0) {
    return {.node = Node(node), .cost = {times, cost}};
  }
  Reachability links_{kTimeout};
};

struct Choice {
  std::string name;
  std::vector<std::pair<uint32_t, uint32_t>> missing;
  std::vector<Reachability::Candidate> candidates;
  std::optional<NodeId> goes;
};

TEST_F(ReachabilityTest, TheMemberGoesThatMissesMostLinks) {
  const auto may = [](uint32_t node, uint32_t cost = kCheap, uint32_t times = 0) {
    return Candidate(node, cost, times);
  };
  const std::vector<Choice> choices = {
      {"the cheaper end of a single link", {{1, 2}}, {may(1, kDear), may(2, kCheap)}, Node(2)},
      {"the other end when the cheaper one went last time", {{1, 2}}, {may(1, kDear, 0), may(2, kCheap, 1)}, Node(1)},
      {"the one that three others miss, though it is dear",
       {{1, 9}, {2, 9}, {3, 9}},
       {may(1), may(2), may(3), may(9, kDear)},
       Node(9)},
      {"the one that misses three others by its own word",
       {{9, 1}, {9, 2}, {9, 3}},
       {may(1), may(2), may(3), may(9, kDear)},
       Node(9)},
      {"a link that both ends miss is one link",
       {{1, 2}, {2, 1}, {3, 2}, {3, 4}},
       {may(2, kDear), may(3, kCheap)},
       Node(3)},
      {"none when the one that misses most may not go", {{1, 9}, {2, 9}}, {may(1), may(2)}, std::nullopt},
      {"the one that may, of two that miss equally many", {{1, 9}}, {may(1, kDear)}, Node(1)},
      {"none without a missing link", {}, {may(1)}, std::nullopt}};
  for (const Choice& choice : choices) {
    SCOPED_TRACE(choice.name);
    links_ = Reachability(kTimeout);
    Miss(choice.missing);
    EXPECT_EQ(links_.ToGo(choice.candidates, kStart + kTimeout), choice.goes);
  }
}

TEST_F(ReachabilityTest, ALinkIsDialedAgainForAWhileFirst) {
  Miss({{1, 2}});
  EXPECT_FALSE(links_.HasAllLinks(Node(1)));
  EXPECT_FALSE(links_.HasAllLinks(Node(2)));
  EXPECT_EQ(links_.ToGo({Candidate(1)}, kStart + kTimeout - Duration(1)), std::nullopt);
  EXPECT_THAT(links_.ToGo({Candidate(1)}, kStart + kTimeout), Optional(Node(1)));
}

TEST_F(ReachabilityTest, WhatIsSaidAgainCountsFromTheFirstTime) {
  Miss({{1, 2}});
  links_.Said(Node(1), {Node(2), Node(3)}, kStart + kTimeout / 2);
  EXPECT_THAT(links_.Missing(kStart + kTimeout),
              ElementsAre(std::pair(Node(1), std::vector{Node(2)}), std::pair(Node(2), std::vector{Node(1)})));
}

TEST_F(ReachabilityTest, ALinkThatIsBackCountsFromItsNextLoss) {
  Miss({{1, 2}});
  links_.Said(Node(1), {}, kStart + kTimeout / 2);
  EXPECT_TRUE(links_.HasAllLinks(Node(2)));
  links_.Said(Node(1), {Node(2)}, kStart + kTimeout);
  EXPECT_TRUE(links_.Missing(kStart + kTimeout).empty());
}

TEST_F(ReachabilityTest, TimeInWhichNobodyWasHeardDoesNotCount) {
  Miss({{1, 2}});
  links_.Forgive(std::chrono::seconds(8), kStart + kTimeout);
  EXPECT_TRUE(links_.Missing(kStart + kTimeout).empty());
  EXPECT_FALSE(links_.Missing(kStart + kTimeout + std::chrono::seconds(8)).empty());
}

TEST_F(ReachabilityTest, OfAMemberThatIsGoneNothingStays) {
  Miss({{1, 2}, {2, 3}, {4, 2}});
  links_.Forget(Node(2));
  EXPECT_TRUE(links_.Missing(kStart + kTimeout).empty());
}

}  // namespace
}  // namespace attune::ps::reachability_test
