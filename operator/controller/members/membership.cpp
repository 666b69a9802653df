#include "operator/controller/members/membership.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace attune::controller {
namespace {

int32_t LowestBeyond(const std::set<int32_t>& taken) {
  int32_t index = 0;
  while (taken.contains(index)) ++index;
  return index;
}

// Who stays comes first.
bool StaysLonger(const Seat& a, const Seat& b) {
  return std::tuple(a.stands_in, a.moves, a.dispensable, a.index) <
         std::tuple(b.stands_in, b.moves, b.dispensable, b.index);
}

// Indices that are missing: free ones below `count`, then those of pods that are leaving, then any free one (those
// below may be taken by one that stands in for another).
std::vector<int32_t> Missing(size_t number, int32_t count, const std::set<int32_t>& taken,
                             const std::set<int32_t>& leaving) {
  std::vector<int32_t> missing;
  const auto add = [&](int32_t index) {
    if (missing.size() < number) missing.push_back(index);
  };
  for (int32_t index = 0; index < count; ++index) {
    if (!taken.contains(index)) add(index);
  }
  for (const int32_t index : leaving) {
    if (index < count) add(index);
  }
  std::set<int32_t> beyond = taken;
  beyond.insert(missing.begin(), missing.end());
  while (missing.size() < number) {
    missing.push_back(LowestBeyond(beyond));
    beyond.insert(missing.back());
  }
  return missing;
}

}  // namespace

Membership MembershipOf(int32_t count, std::vector<Seat> pods) {
  std::set<int32_t> taken, leaving;
  for (const Seat& pod : pods) {
    taken.insert(pod.index);
    if (pod.leaving) leaving.insert(pod.index);
  }
  std::erase_if(pods, [](const Seat& pod) { return pod.leaving; });
  std::ranges::sort(pods, StaysLonger);
  Membership members;
  std::optional<int32_t> standing_in;
  bool moves = false;
  for (const Seat& pod : pods) {
    const bool stays = !pod.stands_in && static_cast<int32_t>(members.wanted.size()) < count;
    if (stays) {
      members.wanted.push_back(pod.index);
      moves = moves || pod.moves;
    } else if (pod.stands_in && moves && !standing_in) {
      standing_in = pod.index;
    } else {
      members.too_many.push_back(pod.index);
    }
  }
  const size_t number = static_cast<size_t>(std::max(count, 0)) - members.wanted.size();
  for (const int32_t index : Missing(number, count, taken, leaving)) {
    members.wanted.push_back(index);
    taken.insert(index);
  }
  if (moves) members.stand_in = standing_in ? *standing_in : LowestBeyond(taken);
  std::ranges::sort(members.wanted);
  std::ranges::sort(members.too_many, std::greater());
  return members;
}

}  // namespace attune::controller
