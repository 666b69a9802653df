// Who stays, who leaves and which pods are to be made: a table of cases, and random ones against a slow twin.
#include "operator/controller/members/membership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"
#include "tests/base/seeds.h"

namespace attune::controller::membership_test {
namespace {

using Indices = std::vector<int32_t>;

struct Case {
  const char* name;
  int32_t count;
  std::vector<Seat> pods;
  Indices want, want_too_many;
  std::optional<int32_t> want_stand_in;
};

TEST(MembershipTest, WhoIsWanted) {
  const Case cases[] = {
      {"a job that begins", 3, {}, {0, 1, 2}, {}, {}},
      {"nothing to do", 2, {{0}, {1}}, {0, 1}, {}, {}},
      {"one was lost", 3, {{0}, {2}}, {0, 1, 2}, {}, {}},
      {"fewer are wanted: the highest goes", 1, {{0}, {1}, {2}}, {0}, {2, 1}, {}},
      {"none is wanted", 0, {{0}, {1}}, {}, {1, 0}, {}},
      {"one that moved has left a gap that is not filled", 2, {{1}, {2}}, {1, 2}, {}, {}},
      {"of those one is lost: the lowest free index", 2, {{2}}, {0, 2}, {}, {}},
      {"more are wanted: the gap first", 4, {{1}, {2}}, {0, 1, 2, 3}, {}, {}},
      {"one leaves, and its place is wanted again: its end is awaited",
       2,
       {{0}, {.index = 1, .leaving = true}},
       {0, 1},
       {},
       {}},
      {"one leaves and another is lost: the free index first", 2, {{.index = 0, .leaving = true}, {2}}, {1, 2}, {}, {}},
      {"the slowest goes first", 2, {{0}, {.index = 1, .dispensable = 1.5}, {2}}, {0, 2}, {1}, {}},
      {"the slowest of several",
       1,
       {{.index = 0, .dispensable = 1.3}, {.index = 1, .dispensable = 1.5}, {2}},
       {2},
       {1, 0},
       {}},
      {"one moves: one more", 2, {{.index = 0, .moves = true}, {1}}, {0, 1}, {}, 2},
      {"one more is there", 2, {{.index = 0, .moves = true}, {1}, {.index = 2, .stands_in = true}}, {0, 1}, {}, 2},
      {"one moves, and one is lost: not the same index twice", 2, {{.index = 1, .moves = true}}, {0, 1}, {}, 2},
      {"more are wanted while one moves: the index of the one more is taken",
       3,
       {{.index = 0, .moves = true}, {1}, {.index = 2, .stands_in = true}},
       {0, 1, 3},
       {},
       2},
      {"fewer are wanted while one moves: it goes, and none takes its place",
       1,
       {{.index = 0, .moves = true}, {1}, {.index = 2, .stands_in = true}},
       {1},
       {2, 0},
       {}},
      {"the move was given up: the one more goes", 2, {{0}, {1}, {.index = 2, .stands_in = true}}, {0, 1}, {2}, {}},
      {"the one more has begun, and the old one is asked to leave",
       2,
       {{.index = 0, .leaving = true}, {1}, {2}},
       {1, 2},
       {},
       {}},
      {"the one that moves was evicted: the one more takes its place", 2, {{1}, {2}}, {1, 2}, {}, {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Membership members = MembershipOf(c.count, c.pods);
    EXPECT_EQ(members.wanted, c.want);
    EXPECT_EQ(members.too_many, c.want_too_many);
    EXPECT_EQ(members.stand_in, c.want_stand_in);
  }
}

// The rule for one pod after the other: while there are too many, the one that is missed least goes; while there are
// too few, the best free name is taken.
Membership Slow(int32_t count, const std::vector<Seat>& all) {
  Membership members;
  std::vector<Seat> stay;
  const auto is_named = [&](int32_t index, bool or_leaving) {
    return std::ranges::any_of(all,
                               [&](const Seat& pod) { return pod.index == index && (or_leaving || !pod.leaving); });
  };
  for (const Seat& pod : all) {
    if (!pod.leaving && !pod.stands_in) stay.push_back(pod);
  }
  while (static_cast<int32_t>(stay.size()) > count) {
    size_t worst = 0;
    for (size_t i = 1; i < stay.size(); ++i) {
      const Seat &a = stay[i], &b = stay[worst];
      bool worse = a.index > b.index;
      if (a.dispensable != b.dispensable) worse = a.dispensable > b.dispensable;
      if (a.moves != b.moves) worse = a.moves;
      if (worse) worst = i;
    }
    members.too_many.push_back(stay[worst].index);
    stay.erase(stay.begin() + static_cast<std::ptrdiff_t>(worst));
  }
  for (const Seat& pod : stay) members.wanted.push_back(pod.index);
  const auto is_wanted = [&](int32_t index) {
    return std::ranges::find(members.wanted, index) != members.wanted.end();
  };
  while (static_cast<int32_t>(members.wanted.size()) < count) {
    int32_t chosen = -1;
    for (int32_t index = 0; index < count && chosen < 0; ++index) {
      if (!is_wanted(index) && !is_named(index, true)) chosen = index;
    }
    for (int32_t index = 0; index < count && chosen < 0; ++index) {
      if (!is_wanted(index) && !is_named(index, false)) chosen = index;
    }
    for (int32_t index = count; chosen < 0; ++index) {
      if (!is_wanted(index) && !is_named(index, true)) chosen = index;
    }
    members.wanted.push_back(chosen);
  }
  const bool moves = std::ranges::any_of(stay, [](const Seat& pod) { return pod.moves; });
  std::vector<std::pair<double, int32_t>> others;
  for (const Seat& pod : all) {
    if (pod.stands_in && !pod.leaving) others.emplace_back(pod.dispensable, pod.index);
  }
  std::ranges::sort(others);
  for (const auto& [dispensable, index] : others) {
    if (moves && !members.stand_in) {
      members.stand_in = index;
    } else {
      members.too_many.push_back(index);
    }
  }
  for (int32_t index = 0; moves && !members.stand_in; ++index) {
    if (!is_wanted(index) && !is_named(index, true)) members.stand_in = index;
  }
  std::ranges::sort(members.wanted);
  std::ranges::sort(members.too_many, std::greater());
  return members;
}

std::string Describe(int32_t count, const std::vector<Seat>& pods) {
  std::string text = std::to_string(count) + " wanted;";
  for (const Seat& pod : pods) {
    text += " " + std::to_string(pod.index) + (pod.leaving ? " leaves" : "") + (pod.moves ? " moves" : "") +
            (pod.stands_in ? " stands in" : "") + " " + std::to_string(pod.dispensable) + ",";
  }
  return text;
}

TEST(MembershipTest, AgreesWithItsSlowTwin) {
  ForSeeds(2000, [](uint64_t seed) {
    Random random(seed);
    const auto count = static_cast<int32_t>(random.Between(0, 6));
    std::vector<Seat> pods;
    bool any_moves = false;
    for (int32_t index = 0; index < 9; ++index) {
      if (!random.Chance(0.5)) continue;
      Seat pod{.index = index, .leaving = random.Chance(0.2)};
      if (random.Chance(0.2)) pod.dispensable = 1 + random.Between(0, 2) * 0.1;
      if (!any_moves && random.Chance(0.3)) {
        pod.moves = any_moves = true;
      } else {
        pod.stands_in = random.Chance(0.2);
      }
      pods.push_back(pod);
    }
    SCOPED_TRACE(Describe(count, pods));
    const Membership members = MembershipOf(count, pods), slow = Slow(count, pods);
    EXPECT_EQ(members.wanted, slow.wanted);
    EXPECT_EQ(members.too_many, slow.too_many);
    EXPECT_EQ(members.stand_in, slow.stand_in);
    EXPECT_EQ(members.wanted.size(), static_cast<size_t>(count));
  });
}

// Carried out again and again it comes to rest: who is missing is made, who is too many is asked to leave.
TEST(MembershipTest, ComesToRest) {
  ForSeeds(300, [](uint64_t seed) {
    Random random(seed);
    const auto count = static_cast<int32_t>(random.Between(0, 5));
    std::vector<Seat> pods;
    for (int32_t index = 0; index < 8; ++index) {
      if (random.Chance(0.5)) pods.push_back({.index = index, .leaving = random.Chance(0.3)});
    }
    for (int round = 0; round < 4; ++round) {
      const Membership members = MembershipOf(count, pods);
      std::erase_if(pods, [](const Seat& pod) { return pod.leaving; });  // they end
      for (const int32_t index : members.too_many) {
        std::ranges::find(pods, index, &Seat::index)->leaving = true;
      }
      for (const int32_t index : members.wanted) {
        if (std::ranges::find(pods, index, &Seat::index) == pods.end()) pods.push_back({.index = index});
      }
    }
    const Membership members = MembershipOf(count, pods);
    EXPECT_EQ(pods.size(), static_cast<size_t>(count));
    EXPECT_TRUE(members.too_many.empty());
  });
}

}  // namespace
}  // namespace attune::controller::membership_test
