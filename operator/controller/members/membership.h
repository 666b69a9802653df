// Which pods a role has: who stays, who leaves, which are to be made. A pure function of the number that is wanted and
// of the pods that exist, so that every operator that looks at the same pods decides the same. Indices name pods and
// need not be 0..N-1: who exists stays, whatever its index, and a new one gets the lowest that is free.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace attune::controller {

// A pod that exists. No two of a role have the same index.
struct Seat {
  int32_t index = 0;
  bool leaving = false;    // asked to leave before: it is not counted any more, and only its name is taken
  bool moves = false;      // another one takes its place; should one have to go, it is this
  bool stands_in = false;  // for one that stays until this one has begun to work
  double dispensable = 0;  // the more, the sooner it goes when there are too many; of equal ones the highest index
};

struct Membership {
  std::vector<int32_t> wanted;      // as many as are wanted, ascending: who stays, and who is to be made
  std::vector<int32_t> too_many;    // exist and are to be asked to leave, highest index first
  std::optional<int32_t> stand_in;  // beyond the wanted number, for the one that moves; it exists or is to be made
};

// A missing one gets the lowest index below `count` that no pod has, rather than one whose pod is still leaving: that
// one's end is waited for only when there is no other. `count`: 0 or more.
Membership MembershipOf(int32_t count, std::vector<Seat> pods);

}  // namespace attune::controller
